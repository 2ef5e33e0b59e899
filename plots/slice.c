#include "slice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 512

struct sm_slice sm_slice_kind(const struct sm_results *results, const char *kind)
{
    struct sm_slice slice = {.at = calloc(results->count + 1, sizeof *slice.at)};
    slice.failed = !slice.at;
    for (size_t i = 0; slice.at && i < results->count; i++)
        if (results->at[i].median > 0 && !strcmp(sm_result_text(&results->at[i], "kind"), kind))
            slice.at[slice.count++] = &results->at[i];
    return slice;
}

struct sm_slice sm_slice_copy(const struct sm_slice *from)
{
    struct sm_slice slice = {.at = calloc(from->count + 1, sizeof *slice.at)};
    slice.failed = from->failed || !slice.at;
    if (slice.at) memcpy(slice.at, from->at, (slice.count = from->count) * sizeof *slice.at);
    return slice;
}

void sm_slice_destroy(struct sm_slice *slice)
{
    free(slice->at);
    *slice = (struct sm_slice){0};
}

void sm_slice_keep(struct sm_slice *slice, int (*fits)(const struct sm_result *r))
{
    size_t kept = 0;
    for (size_t i = 0; i < slice->count; i++)
        if (fits(slice->at[i])) slice->at[kept++] = slice->at[i];
    slice->count = kept;
}

void sm_slice_keep_text(struct sm_slice *slice, const char *key, const char *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < slice->count; i++)
        if (!strcmp(sm_result_text(slice->at[i], key), text)) slice->at[kept++] = slice->at[i];
    slice->count = kept;
}

void sm_slice_keep_axis(struct sm_slice *slice, const char *axis, double value)
{
    size_t kept = 0;
    for (size_t i = 0; i < slice->count; i++)
        if (sm_result_axis(slice->at[i], axis) == value) slice->at[kept++] = slice->at[i];
    slice->count = kept;
}

int sm_attention_is_full(const struct sm_result *r)
{
    const double valid = sm_result_axis(r, "valid");
    const double most = sm_result_axis(r, "max_seq") - sm_result_axis(r, "rows");
    return !(valid >= 0) || valid >= most;
}

int sm_attention_is_plain(const struct sm_result *r)
{
    return sm_attention_is_full(r) && !(sm_result_axis(r, "window") > 0) && !(sm_result_axis(r, "softcap") > 0);
}

static int listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return 1;
    return 0;
}

/* The axes of a record that are not free, as text that equals for records that belong together. A full cache
 * has another count of valid slots at each shape, so it is known by its fullness. */
static void group_key(const struct sm_result *r, const char *free_axes, char key[KEY_BYTES])
{
    static const char *const axes[] = {"out",      "in",      "cols",    "head_dim", "heads",
                                       "kv_heads", "rows",    "max_seq", "window",   "softcap",
                                       "valid",    "threads", "bucket",  "n_prompt", "n_depth"};
    const int kernel = !strcmp(sm_result_text(r, "kind"), "bench");
    size_t used = 0;
    key[0] = 0;
    for (size_t i = 0; i < sizeof axes / sizeof *axes && used < KEY_BYTES; i++) {
        double value = sm_result_axis(r, axes[i]);
        if (isnan(value) || listed(free_axes, axes[i])) continue;
        if (!strcmp(axes[i], "bucket") && kernel) continue; /* there it is the rows by another name */
        if (!strcmp(axes[i], "valid") && sm_attention_is_full(r)) value = -1;
        const int n = snprintf(key + used, KEY_BYTES - used, "%s=%.17g ", axes[i], value);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* How many different ones of n values there are, which it sorts; each that is no number is another. */
static size_t count_different(double *values, size_t n)
{
    size_t numbers = 0, count = n;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i])) values[numbers++] = values[i];
    qsort(values, numbers, sizeof *values, sm_number_order);
    for (size_t i = 1; i < numbers; i++) count -= values[i] == values[i - 1];
    return count;
}

static size_t distinct(struct sm_slice *slice, const char *axis)
{
    double *values = malloc((slice->count + 1) * sizeof *values);
    if (!values) {
        slice->failed = 1;
        return 0;
    }
    for (size_t i = 0; i < slice->count; i++) values[i] = sm_result_axis(slice->at[i], axis);
    const size_t count = count_different(values, slice->count);
    free(values);
    return count;
}

/* A record, the group it is of, and its place in the slice. */
struct member {
    const struct sm_result *r;
    char *key;
    size_t place;
};

static int member_order(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    const int order = strcmp(x->key, y->key);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* The members by group, or NULL: no memory. */
static struct member *group_members(const struct sm_slice *slice, const char *free_axes)
{
    struct member *members = calloc(slice->count + 1, sizeof *members);
    char key[KEY_BYTES];
    size_t i = 0;
    for (; members && i < slice->count; i++) {
        group_key(slice->at[i], free_axes, key);
        members[i] = (struct member){slice->at[i], strdup(key), i};
        if (!members[i].key) break;
    }
    if (members && i == slice->count) {
        qsort(members, i, sizeof *members, member_order);
        return members;
    }
    while (members && i) free(members[--i].key);
    free(members);
    return NULL;
}

struct group {
    size_t begin, end, values;
    double ops;
};

/* Whether group a is to be preferred to b; of equals the one that comes first in the slice. */
static int better(const struct group *a, const struct group *b, const struct member *members)
{
    if (b->end == 0 || a->values != b->values) return b->end == 0 || a->values > b->values;
    return a->ops != b->ops ? a->ops > b->ops : members[a->begin].place < members[b->begin].place;
}

void sm_slice_pick(struct sm_slice *slice, const char *x, const char *free_axes)
{
    const size_t n = slice->count;
    struct member *members = group_members(slice, free_axes);
    double *values = malloc((slice->count + 1) * sizeof *values);
    struct group best = {0};
    if (!members || !values) {
        slice->failed = 1;
        goto out;
    }
    for (size_t i = 0; i < slice->count;) {
        struct group g = {.begin = i};
        for (; i < slice->count && !strcmp(members[i].key, members[g.begin].key); i++) {
            const double ops = sm_result_number(members[i].r, "ops");
            if (ops > 0) g.ops += ops;
            values[i - g.begin] = sm_result_axis(members[i].r, x);
        }
        g.end = i;
        g.values = count_different(values, g.end - g.begin);
        if (better(&g, &best, members)) best = g;
    }
    for (size_t i = best.begin; i < best.end; i++) slice->at[i - best.begin] = members[i].r;
    slice->count = best.end - best.begin;
out:
    for (size_t i = 0; members && i < n; i++) free(members[i].key);
    free(members);
    free(values);
}

void sm_slice_fastest(struct sm_slice *slice, const char *x)
{
    const char *names[SM_SLICE_NAMES], *best = "";
    const size_t n = sm_slice_texts(slice, "variant", names);
    size_t best_values = 0, references = 0;
    double best_time = INFINITY;
    for (size_t i = 0; i < n; i++) references += !strncmp(names[i], "ref", 3);
    for (size_t i = 0; i < n; i++) {
        if (references < n && !strncmp(names[i], "ref", 3)) continue;
        struct sm_slice one = sm_slice_copy(slice);
        sm_slice_keep_text(&one, "variant", names[i]);
        const size_t values = distinct(&one, x);
        double time = 0; /* the mean of logarithms: no point outweighs another */
        for (size_t j = 0; j < one.count; j++) time += log(one.at[j]->median) / (double)one.count;
        slice->failed |= one.failed;
        sm_slice_destroy(&one);
        if (values < best_values || (values == best_values && time >= best_time)) continue;
        best = names[i];
        best_values = values;
        best_time = time;
    }
    sm_slice_keep_text(slice, "variant", best);
}

/* Names as readers expect them: types from wide to narrow, the reference first, else by the alphabet. */
static int rank(const char *name)
{
    static const char *const order[] = {"_f32", "_f16", "_i16", "_i8"};
    const char *end = strrchr(name, '_');
    for (int i = 0; end && i < 4; i++)
        if (!strcmp(end, order[i])) return i;
    return !strncmp(name, "ref", 3) ? -1 : 4;
}

static int text_order(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    const size_t stem = (size_t)(strchr(x, '_') ? strrchr(x, '_') - x : 0);
    if (rank(x) != rank(y) && (rank(x) < 0 || rank(y) < 0 || (stem && !strncmp(x, y, stem + 1))))
        return rank(x) < rank(y) ? -1 : 1;
    return strcmp(x, y);
}

size_t sm_slice_texts(const struct sm_slice *slice, const char *key, const char *texts[SM_SLICE_NAMES])
{
    size_t n = 0;
    for (size_t i = 0; i < slice->count && n < SM_SLICE_NAMES; i++) {
        const char *text = sm_result_text(slice->at[i], key);
        size_t j = 0;
        while (j < n && strcmp(texts[j], text) != 0) j++;
        if (j == n && *text) texts[n++] = text;
    }
    qsort(texts, n, sizeof *texts, text_order);
    return n;
}

size_t sm_slice_values(const struct sm_slice *slice, const char *axis, double values[SM_SLICE_NAMES])
{
    size_t n = 0;
    for (size_t i = 0; i < slice->count && n < SM_SLICE_NAMES; i++) {
        const double value = sm_result_axis(slice->at[i], axis);
        size_t j = 0;
        while (j < n && values[j] != value) j++;
        if (j == n && !isnan(value)) values[n++] = value;
    }
    qsort(values, n, sizeof *values, sm_number_order);
    return n;
}

struct point {
    const struct sm_result *r;
    double x;
    size_t place;
};

/* By value, what has none behind; of equals by place. */
static int point_order(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    if (isnan(p->x) != isnan(q->x)) return isnan(p->x) ? 1 : -1;
    const int order = (p->x > q->x) - (p->x < q->x);
    return order ? order : (p->place > q->place) - (p->place < q->place);
}

void sm_slice_sort(struct sm_slice *slice, const char *x)
{
    struct point *points = malloc((slice->count + 1) * sizeof *points);
    if (!points) {
        slice->failed = 1;
        return;
    }
    for (size_t i = 0; i < slice->count; i++)
        points[i] = (struct point){slice->at[i], sm_result_axis(slice->at[i], x), i};
    qsort(points, slice->count, sizeof *points, point_order);
    for (size_t i = 0; i < slice->count; i++) slice->at[i] = points[i].r;
    free(points);
}

void sm_slice_curve(struct sm_slice *slice, const char *x)
{
    sm_slice_sort(slice, x);
    size_t kept = 0;
    for (size_t i = 0; i < slice->count; i++) {
        const struct sm_result *r = slice->at[i], *last = kept ? slice->at[kept - 1] : NULL;
        if (!last || sm_result_axis(last, x) != sm_result_axis(r, x))
            slice->at[kept++] = r;
        else if (strcmp(sm_result_text(r, "started"), sm_result_text(last, "started")) >= 0)
            slice->at[kept - 1] = r;
    }
    slice->count = kept;
}

static int is_hot(const struct sm_result *r)
{
    return strcmp(sm_result_text(r, "cache_state"), "cold") != 0;
}

void sm_slice_usual(struct sm_slice *slice)
{
    size_t hot = 0;
    for (size_t i = 0; i < slice->count; i++) hot += (size_t)is_hot(slice->at[i]);
    if (hot) sm_slice_keep(slice, is_hot);
    double least = INFINITY;
    for (size_t i = 0; i < slice->count; i++) {
        const double threads = sm_result_axis(slice->at[i], "threads");
        if (threads < least) least = threads;
    }
    if (least < INFINITY) sm_slice_keep_axis(slice, "threads", least);
}
