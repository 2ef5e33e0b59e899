#include "by_compilers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_rows.h"

#define RATIOS_MOST 1024

static int identify(struct sm_by_compilers *by, const struct sm_bench_builder *builder, const struct sm_strings *words,
                    bool dry, FILE *listing, char *why, size_t why_bytes)
{
    if (words->count > SM_COMPILERS_MOST) {
        snprintf(why, why_bytes, "--compilers takes at most %d", SM_COMPILERS_MOST);
        return -1;
    }
    for (size_t i = 0; i < words->count; i++) {
        struct sm_by_compiler *c = &by->at[by->count++];
        bool built = false;
        c->word = words->value[i];
        if (builder->name(c->word, c->name, sizeof c->name, &built, why, why_bytes)) return -1;
        for (size_t j = 0; j < i; j++) {
            if (strcmp(by->at[j].name, c->name)) continue;
            snprintf(why, why_bytes, "--compilers: '%.100s' and '%.100s' are the same compiler, %s", by->at[j].word,
                     c->word, c->name);
            return -1;
        }
        if (dry)
            fprintf(listing, "# the kernels by %s: %s\n", c->name, built ? "built already" : "would be built first");
    }
    return 0;
}

static const struct sm_family *family_in(const struct sm_kernels *k, const struct sm_family *like, size_t *place)
{
    for (size_t i = 0; i < k->family_count; i++) {
        const struct sm_family *f = k->families[i];
        if (strcmp(f->name, like->name)) continue;
        bool same = f->dim_count == like->dim_count;
        for (size_t d = 0; same && d < f->dim_count; d++) same = !strcmp(f->dims[d].name, like->dims[d].name);
        *place = i;
        return same ? f : NULL;
    }
    return NULL;
}

/* The case in the compiler's build, or why it is not there. */
static void move_to(struct sm_bench_case *c, const struct sm_by_compiler *by, const char *flags)
{
    size_t place, used = strlen(c->id);
    c->compiler = by->name;
    c->flags = flags;
    snprintf(c->id + used, sizeof c->id - used, "/%s", by->name);
    for (char *at = c->id + used; *at; at++)
        if (*at == ' ') *at = '-';
    if (!by->kernels) return; /* nothing will run */
    const struct sm_family *family = family_in(by->kernels, c->family, &place);
    const struct sm_variant *variant = NULL;
    for (size_t v = 0; family && v < family->variant_count; v++)
        if (!strcmp(family->variants[v].name, c->variant->name)) variant = &family->variants[v];
    if (!variant) {
        c->refused = family ? "the sources that this program was built from have no such variant"
                            : "the sources that this program was built from have no such family any more";
        return;
    }
    c->family = family;
    c->variant = variant;
    c->workload = by->kernels->workloads[place];
}

static int multiply(const struct sm_by_compilers *by, const char *flags, struct sm_bench_cases *cases, char *why,
                    size_t why_bytes)
{
    struct sm_bench_cases all = {.capacity = cases->count * by->count};
    all.at = calloc(all.capacity + 1, sizeof *all.at);
    for (size_t i = 0; all.at && i < cases->count; i++) {
        for (size_t k = 0; k < by->count; k++) {
            struct sm_bench_case *copy = malloc(sizeof *copy);
            if (!copy) goto no_memory;
            *copy = *cases->at[i];
            move_to(copy, &by->at[k], flags);
            all.at[all.count++] = copy;
        }
    }
    if (all.at) {
        sm_bench_cases_free(cases);
        *cases = all;
        return 0;
    }
no_memory:
    if (all.at) sm_bench_cases_free(&all);
    snprintf(why, why_bytes, "no memory for the list of cases");
    return -1;
}

int sm_by_compilers(struct sm_by_compilers *by, const struct sm_bench_builder *builder, const struct sm_strings *words,
                    bool dry, FILE *listing, FILE *progress, struct sm_bench_cases *cases, char *why, size_t why_bytes)
{
    *by = (struct sm_by_compilers){0};
    if (!builder) {
        snprintf(why, why_bytes, "--compilers: nothing here builds kernels");
        return -1;
    }
    if (identify(by, builder, words, dry, listing, why, why_bytes)) return -1;
    for (size_t i = 0; i < by->count && !dry; i++) {
        by->at[i].kernels = builder->kernels(by->at[i].word, progress, why, why_bytes);
        if (!by->at[i].kernels) return -1;
        by->at[i].kernels->loosen_guards();
    }
    return multiply(by, builder->flags, cases, why, why_bytes);
}

static bool same_case(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"family", "variant", "shape", "threads", "cache_state"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i]))) return false;
    return true;
}

double sm_by_compilers_ratio(const json_t *records, const json_t *record, double *spread)
{
    const json_t *first = NULL, *other;
    double ratios[RATIOS_MOST];
    size_t index, count = 0;
    json_array_foreach(records, index, other)
    {
        if (!first && *sm_row_compiler(other) && same_case(other, record)) first = other;
    }
    if (!first || first == record || !sm_row_ok(first) || !sm_row_ok(record)) return NAN;
    const json_t *a = json_object_get(first, "samples"), *b = json_object_get(record, "samples");
    for (size_t i = 0; i < json_array_size(a) && i < json_array_size(b) && count < RATIOS_MOST; i++)
        ratios[count++] = json_number_value(json_array_get(b, i)) / json_number_value(json_array_get(a, i));
    struct sm_summary s;
    if (sm_summarise(ratios, count, &s)) return NAN;
    if (spread) *spread = 100 * (s.q75 - s.q25) / s.median;
    return s.median;
}

struct widths {
    int variant, shape;
};

static void print_head(struct sm_row *const *rows, size_t begin, size_t end, const char *const *names, size_t count,
                       struct widths *w, FILE *out)
{
    char text[SM_ROW_SHAPE_BYTES];
    const json_t *first = rows[begin]->record;
    *w = (struct widths){7, 5};
    for (size_t i = begin; i < end; i++) {
        sm_row_shape(rows, begin, end, rows[i]->record, true, text, sizeof text);
        const int name = (int)strlen(sm_row_text(rows[i]->record, "variant")), shape = (int)strlen(text);
        if (name > w->variant) w->variant = name;
        if (shape > w->shape) w->shape = shape;
    }
    sm_row_shape(rows, begin, end, first, false, text, sizeof text);
    fprintf(out, "\n**%s**%s%s\n\n", sm_row_text(first, "family"), *text ? ", all at " : "", text);
    fprintf(out, "| %-*s | %-*s | t | caches |", w->variant, "variant", w->shape, "shape");
    for (size_t k = 0; k < count; k++) fprintf(out, " %12s | op/cy |%s", names[k], k ? " ratio | +-%  |" : "");
    fprintf(out, "\n|:");
    for (int i = 0; i < w->variant + 1; i++) fputc('-', out);
    fputs("|:", out);
    for (int i = 0; i < w->shape + 1; i++) fputc('-', out);
    fputs("|--:|:-------|", out);
    for (size_t k = 0; k < count; k++) fprintf(out, "-------------:|------:|%s", k ? "------:|-----:|" : "");
    fputc('\n', out);
}

static void print_cell(const json_t *records, const struct sm_row *row, bool is_first, FILE *out)
{
    char time[32];
    double spread = NAN;
    if (!row || !sm_row_ok(row->record)) {
        fprintf(out, " %12s |       |%s", row ? sm_row_text(row->record, "status") : "",
                is_first ? "" : "       |      |");
        return;
    }
    fprintf(out, " %12s |", sm_bench_time_text(row->summary.median, time, sizeof time));
    if (isfinite(row->ops_per_cycle))
        fprintf(out, " %5.*f |", row->ops_per_cycle < 9.995 ? 2 : 1, row->ops_per_cycle);
    else
        fprintf(out, "       |");
    if (is_first) return;
    const double ratio = sm_by_compilers_ratio(records, row->record, &spread);
    if (isfinite(ratio))
        fprintf(out, " %5.3f | %4.*f |", ratio, spread < 99.95 ? 1 : 0, spread);
    else
        fprintf(out, "       |      |");
}

/* The compilers of the records, each once, in the order in which the records name them. */
static size_t names_of(const json_t *records, const char **names)
{
    size_t count = 0, index;
    const json_t *record;
    json_array_foreach(records, index, record)
    {
        const char *name = sm_row_compiler(record);
        size_t k = 0;
        while (k < count && strcmp(names[k], name)) k++;
        if (*name && k == count && count < SM_COMPILERS_MOST) names[count++] = name;
    }
    return count;
}

void sm_by_compilers_print(json_t *records, FILE *out)
{
    const char *names[SM_COMPILERS_MOST];
    const size_t count = json_array_size(records), compilers = names_of(records, names);
    struct sm_row *storage = NULL, **rows = sm_rows_sorted(records, &storage);
    struct widths w = {0};
    for (size_t i = 0, begin = 0, end = 0; rows && i < count;) {
        const json_t *r = rows[i]->record;
        if (i == end) {
            begin = i;
            while (end < count && sm_row_family(rows[end]->record) == sm_row_family(r)) end++;
            print_head(rows, begin, end, names, compilers, &w, out);
        }
        size_t next = i;
        while (next < end && same_case(rows[next]->record, r)) next++;
        char shape[SM_ROW_SHAPE_BYTES];
        sm_row_shape(rows, begin, end, r, true, shape, sizeof shape);
        fprintf(out, "| %-*s | %-*s | %1.0f | %-6s |", w.variant, sm_row_text(r, "variant"), w.shape, shape,
                sm_row_number(r, "threads"), sm_row_text(r, "cache_state"));
        for (size_t k = 0; k < compilers; k++) {
            const struct sm_row *row = NULL;
            for (size_t j = i; j < next; j++)
                if (!strcmp(sm_row_compiler(rows[j]->record), names[k])) row = rows[j];
            print_cell(records, row, !k, out);
        }
        fputc('\n', out);
        i = next;
    }
    free(rows);
    free(storage);
}
