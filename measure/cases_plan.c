/* What to run, and in which order: resume, then budget, then order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "build.h"
#include "cases.h"
#include "machine.h"

struct finished {
    json_t *ids;     /* case -> true when its last record was ok, or says that it crashed */
    json_t *machine; /* of this process */
};

static int same_text(const json_t *object, const char *key, const char *text)
{
    const char *other = json_string_value(json_object_get(object, key));
    return text && other ? !strcmp(text, other) : !text && !other;
}

/* A result of another commit, other flags or another machine does not finish a case of this run. A dirty
 * tree counts as itself: the user who resumes it knows whether it changed. */
static int same_run(const json_t *record, const json_t *machine)
{
    const struct sm_build *b = sm_build();
    const json_t *build = json_object_get(record, "build"), *theirs = json_object_get(record, "machine");
    const json_t *dirty = json_object_get(build, "dirty");
    if (!same_text(build, "commit", b->commit) || !same_text(build, "compiler", b->compiler) ||
        !same_text(build, "flags", b->flags) ||
        (b->dirty < 0 ? json_is_boolean(dirty) : json_is_true(dirty) != b->dirty))
        return 0;
    for (const char *const *key = (const char *const[]){"cpu", "cores", "hypervisor", "kernel", NULL}; *key; key++) {
        const json_t *a = json_object_get(machine, *key), *c = json_object_get(theirs, *key);
        if ((a && !json_is_null(a)) != (c && !json_is_null(c)) || (a && c && !json_equal(a, c))) return 0;
    }
    return 1;
}

static int note(void *context, const json_t *record)
{
    struct finished *f = context;
    if (!same_run(record, f->machine)) return 0;
    const char *id = json_string_value(json_object_get(record, "case"));
    const char *why = json_string_value(json_object_get(record, "why"));
    const bool crashed = why && !strncmp(why, "crashed by ", 11); /* it would end this process too */
    const bool ok = !strcmp(json_string_value(json_object_get(record, "status")), "ok");
    json_object_set_new(f->ids, id, json_boolean(ok || crashed));
    return 0;
}

/* A case is finished when a record bears its id, or begins with it before a '/', and none of those failed. */
static int is_finished(json_t *ids, const char *id)
{
    const size_t n = strlen(id);
    const char *key;
    json_t *ok;
    const json_t *exact = json_object_get(ids, id);
    if (exact) return json_is_true(exact);
    int found = 0;
    json_object_foreach(ids, key, ok) if (!strncmp(key, id, n) && key[n] == '/')
    {
        if (!json_is_true(ok)) return 0;
        found = 1;
    }
    return found;
}

static int leave_out_finished(struct sm_case_plan *plan, const char *resume, char *why, size_t why_bytes)
{
    struct sm_records_summary summary;
    struct finished f = {json_object(), sm_machine_json()};
    const int failed = sm_records_read(resume, note, &f, &summary, why, why_bytes);
    size_t kept = 0;
    for (size_t i = 0; !failed && i < plan->count; i++)
        if (is_finished(f.ids, plan->cases[i]->id))
            plan->finished++;
        else
            plan->cases[kept++] = plan->cases[i];
    plan->count = kept;
    plan->torn = summary.torn;
    json_decref(f.ids);
    json_decref(f.machine);
    return failed;
}

struct group {
    const char *name;
    size_t begin, count; /* in the list sorted by group */
    double seconds, share;
};

/* The sum of k of the group's cases, evenly spread; marks them in keep when given. */
static double spread(const struct sm_case *const *cases, size_t n, size_t k, bool *keep)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        const size_t at = (2 * i + 1) * n / (2 * k);
        sum += cases[at]->seconds;
        if (keep) keep[at] = true;
    }
    return sum;
}

/* As many of the group as its share pays for; the cheapest one when even that is hard. */
static void choose(const struct sm_case *const *cases, const struct group *g, bool *keep)
{
    size_t k = g->count;
    for (double sum; k > 0 && (sum = spread(cases, g->count, k, NULL)) > g->share;) {
        const size_t guess = (size_t)((double)k * g->share / sum);
        k = guess < k ? guess : k - 1;
    }
    if (k > 0) {
        /* The guess may have jumped too far down. */
        while (k < g->count && spread(cases, g->count, k + 1, NULL) <= g->share) k++;
        spread(cases, g->count, k, keep);
        return;
    }
    size_t cheapest = 0;
    for (size_t i = 1; i < g->count; i++)
        if (cases[i]->seconds < cases[cheapest]->seconds) cheapest = i;
    if (cases[cheapest]->seconds <= g->share) keep[cheapest] = true;
}

/* Every group gets an equal share; what a small group leaves over goes to the others. */
static void share_out(struct group *groups, size_t count, double budget)
{
    size_t open = count;
    for (size_t i = 0; i < count; i++) groups[i].share = -1;
    for (int again = 1; again && open;) {
        again = 0;
        const double each = budget / (double)open;
        for (size_t i = 0; i < count; i++)
            if (groups[i].share < 0 && groups[i].seconds <= each) {
                groups[i].share = groups[i].seconds;
                budget -= groups[i].seconds;
                open--;
                again = 1;
                break;
            }
    }
    for (size_t i = 0; i < count; i++)
        if (groups[i].share < 0) groups[i].share = budget / (double)open;
}

/* The cases brought together by group, groups in the order of first appearance. */
static size_t by_group(struct sm_case_plan *plan, struct group *groups)
{
    size_t count = 0, placed = 0;
    const struct sm_case **sorted = malloc((plan->count + 1) * sizeof *sorted);
    if (!sorted) return 0;
    for (size_t i = 0; i < plan->count; i++) {
        const char *name = plan->cases[i]->group;
        size_t g = 0;
        while (g < count && strcmp(groups[g].name, name)) g++;
        if (g < count) continue;
        struct group *new = &groups[count++];
        *new = (struct group){.name = name, .begin = placed};
        for (size_t j = i; j < plan->count; j++)
            if (!strcmp(plan->cases[j]->group, name)) {
                sorted[placed++] = plan->cases[j];
                new->count++;
                new->seconds += plan->cases[j]->seconds;
            }
    }
    memcpy(plan->cases, sorted, plan->count * sizeof *sorted);
    free(sorted);
    return count;
}

/* Groups in turn, so that a run cut off by its budget has seen something of each. */
static void interleave(struct sm_case_plan *plan, const struct group *groups, size_t count,
                       const struct sm_case **scratch)
{
    size_t placed = 0;
    for (size_t rank = 0; placed < plan->count; rank++)
        for (size_t g = 0; g < count; g++)
            if (rank < groups[g].count) scratch[placed++] = plan->cases[groups[g].begin + rank];
    memcpy(plan->cases, scratch, placed * sizeof *scratch);
}

static int trim(struct sm_case_plan *plan, double budget)
{
    int result = -1;
    struct group *groups = malloc((plan->count + 1) * sizeof *groups);
    bool *keep = calloc(plan->count + 1, sizeof *keep);
    const struct sm_case **scratch = malloc((plan->count + 1) * sizeof *scratch);
    const size_t count = groups && keep && scratch ? by_group(plan, groups) : 0;
    if (count || (plan->count == 0 && groups)) {
        share_out(groups, count, budget);
        size_t kept = 0;
        for (size_t g = 0; g < count; g++) {
            const size_t begin = groups[g].begin, before = kept;
            choose(plan->cases + begin, &groups[g], keep + begin);
            for (size_t i = begin; i < begin + groups[g].count; i++)
                if (keep[i]) {
                    plan->cases[kept++] = plan->cases[i];
                } else {
                    plan->dropped++;
                    plan->dropped_seconds += plan->cases[i]->seconds;
                }
            groups[g].begin = before;
            groups[g].count = kept - before;
        }
        plan->count = kept;
        interleave(plan, groups, count, scratch);
        result = 0;
    }
    free(groups);
    free(keep);
    free(scratch);
    return result;
}

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void shuffle(struct sm_case_plan *plan)
{
    uint64_t state = (uint64_t)plan->seed;
    for (size_t i = plan->count; i > 1; i--) {
        const size_t j = (size_t)(next_random(&state) % i);
        const struct sm_case *c = plan->cases[i - 1];
        plan->cases[i - 1] = plan->cases[j];
        plan->cases[j] = c;
    }
}

int sm_cases_plan(const struct sm_cases *cases, const struct sm_case_options *options, struct sm_case_plan *plan,
                  char *why, size_t why_bytes)
{
    *plan = (struct sm_case_plan){.count = sm_cases_count(cases), .seed = options->seed};
    plan->cases = malloc((plan->count + 1) * sizeof *plan->cases);
    if (!plan->cases) {
        snprintf(why, why_bytes, "cannot plan %zu cases: out of memory", plan->count);
        return -1;
    }
    for (size_t i = 0; i < plan->count; i++) plan->cases[i] = sm_cases_at(cases, i);
    if (options->resume && leave_out_finished(plan, options->resume, why, why_bytes)) {
        sm_case_plan_free(plan);
        return -1;
    }
    if (options->budget > 0 && trim(plan, options->budget)) {
        snprintf(why, why_bytes, "cannot plan %zu cases: out of memory", plan->count);
        sm_case_plan_free(plan);
        return -1;
    }
    if (options->order == SM_CASE_ORDER_RANDOM) {
        if (!plan->seed) plan->seed = (int64_t)time(NULL) % 1000000 + 1;
        shuffle(plan);
    }
    for (size_t i = 0; i < plan->count; i++) plan->seconds += plan->cases[i]->seconds;
    return 0;
}

void sm_case_plan_free(struct sm_case_plan *plan)
{
    free(plan->cases);
    plan->cases = NULL;
}
