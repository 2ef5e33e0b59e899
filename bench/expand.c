/* From a line of a sweep to its cases: models' shapes, the product of the axes, variants, teams. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shape.h"
#include "sweep.h"

static bool is_there(const struct sm_bench_cases *cases, const char *id)
{
    for (size_t i = cases->count; i-- > 0;)
        if (!strcmp(cases->at[i]->id, id)) return true;
    return false;
}

static void write_id(struct sm_bench_case *c)
{
    size_t used = (size_t)snprintf(c->id, sizeof c->id, "%s/%s/", c->family->name, c->variant->name);
    for (size_t d = 0; d < c->family->dim_count && used < sizeof c->id; d++)
        used += (size_t)snprintf(c->id + used, sizeof c->id - used, "%s%s=%lld", d ? "," : "", c->family->dims[d].name,
                                 (long long)c->shape.dim[d]);
    if (used < sizeof c->id)
        snprintf(c->id + used, sizeof c->id - used, "/t%zu/%s", c->threads, c->cold ? "cold" : "hot");
}

static int add(struct sm_bench_cases *cases, const struct sm_bench_case *c)
{
    if (is_there(cases, c->id)) return 0;
    if (cases->count == cases->capacity) {
        const size_t capacity = cases->capacity ? 2 * cases->capacity : 64;
        struct sm_bench_case **at = realloc(cases->at, capacity * sizeof *at);
        if (!at) return -1;
        cases->at = at;
        cases->capacity = capacity;
    }
    struct sm_bench_case *copy = malloc(sizeof *copy);
    if (!copy) return -1;
    *copy = *c;
    cases->at[cases->count++] = copy;
    return 0;
}

void sm_bench_cases_free(struct sm_bench_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++) free(cases->at[i]);
    free(cases->at);
    *cases = (struct sm_bench_cases){0};
}

/* Two variants that answer for the same thing: one of them is the best of it. Weight layouts compete within a
 * format; layouts of a cache are given by whoever owns the cache, so each is a competition of its own. */
static bool compete(const struct sm_variant *a, const struct sm_variant *b)
{
    if (a->layout->format != b->layout->format) return false;
    return a->layout->pack || !strcmp(a->layout->name, b->layout->name);
}

static bool eligible(const struct sm_variant *v, const struct sm_sweep_choice *choice, const char *pattern)
{
    if ((v->needs & ~choice->features) || fnmatch(pattern, v->name, 0)) return false;
    if (!choice->layouts.count) return true;
    for (size_t i = 0; i < choice->layouts.count; i++)
        if (!fnmatch(choice->layouts.value[i], v->layout->name, 0)) return true;
    return false;
}

/* No later one of the list, which is sorted slowest first, beats it: within its ISA only when `levels`. */
static bool is_best(const struct sm_family *f, const struct sm_variant *v, const struct sm_sweep_choice *choice,
                    const char *pattern, bool levels)
{
    if (!eligible(v, choice, pattern)) return false;
    for (const struct sm_variant *later = v + 1; later < f->variants + f->variant_count; later++)
        if (eligible(later, choice, pattern) && compete(v, later) && (!levels || later->needs == v->needs))
            return false;
    return true;
}

static bool variant_wanted(const struct sm_sweep_line *line, const struct sm_variant *v,
                           const struct sm_sweep_choice *choice)
{
    static const char best[] = "best:";
    const struct sm_family *f = line->family;
    if (!line->variants.count) return is_best(f, v, choice, "*", false);
    bool wanted = false;
    for (size_t i = 0; i < line->variants.count && !wanted; i++) {
        const char *word = line->variants.value[i];
        if (!strcmp(word, "best"))
            wanted = is_best(f, v, choice, "*", false);
        else if (!strcmp(word, "levels"))
            wanted = is_best(f, v, choice, "*", true);
        else if (!strncmp(word, best, sizeof best - 1))
            wanted = is_best(f, v, choice, word + sizeof best - 1, false);
        else
            wanted = !strcmp(word, "all") || !fnmatch(word, v->name, 0);
    }
    if (!wanted || !choice->layouts.count) return wanted;
    for (size_t i = 0; i < choice->layouts.count; i++)
        if (!fnmatch(choice->layouts.value[i], v->layout->name, 0)) return true;
    return false;
}

static int add_states(const struct sm_sweep_choice *choice, struct sm_bench_case *c, struct sm_bench_cases *cases)
{
    for (int cold = 0; cold <= 1; cold++) {
        if (cold ? !choice->cold : choice->cold && !choice->hot) continue;
        c->cold = cold;
        write_id(c);
        if (add(cases, c)) return -1;
    }
    return 0;
}

static int add_variants(const struct sm_sweep_line *line, const struct sm_sweep_choice *choice,
                        const struct sm_shape *shape, struct sm_bench_cases *cases, char *why, size_t why_bytes)
{
    static const struct sm_list one = SM_LIST(1);
    const struct sm_list *threads = line->threads.count ? &line->threads : &one;
    const struct sm_family *f = line->family;
    struct sm_bench_case c = {.family = f, .workload = sm_workload_named(f->name), .shape = *shape};
    c.seed = choice->seed;
    if (!c.workload) {
        snprintf(why, why_bytes, "family %s has no workload", f->name);
        return -1;
    }
    for (size_t v = 0; v < f->variant_count; v++) {
        c.variant = &f->variants[v];
        if (!variant_wanted(line, c.variant, choice)) continue;
        const char *refused = c.workload->refuse(shape);
        if (!refused && (c.variant->needs & ~choice->features))
            refused = "this CPU lacks the instruction set that it needs";
        for (size_t t = 0; t < threads->count; t++) {
            c.threads = (size_t)threads->value[t];
            const bool crowded = choice->hardware_threads && c.threads > choice->hardware_threads;
            c.refused = refused || !crowded ? refused : "the team is larger than this machine's hardware threads";
            if (add_states(choice, &c, cases)) {
                snprintf(why, why_bytes, "no memory for the list of cases");
                return -1;
            }
        }
    }
    return 0;
}

static int expand_axes(const struct sm_sweep_line *line, const struct sm_sweep_choice *choice,
                       struct sm_bench_cases *cases, char *why, size_t why_bytes)
{
    const size_t dims = line->family->dim_count;
    size_t at[SM_MAX_DIMS] = {0};
    for (;;) {
        struct sm_shape shape = {{0}};
        for (size_t d = 0; d < dims; d++) shape.dim[d] = line->values[d].value[at[d]];
        for (size_t d = 0; d < dims; d++)
            if (line->same[d] >= 0) shape.dim[d] = shape.dim[line->same[d]];
        if (add_variants(line, choice, &shape, cases, why, why_bytes)) return -1;
        size_t d = dims;
        while (d-- > 0) {
            if (line->same[d] < 0 && ++at[d] < line->values[d].count) break;
            at[d] = 0;
        }
        if (d == (size_t)-1) return 0;
    }
}

/* One value for an axis, unless it was named. */
static void fix(struct sm_sweep_line *line, const char *axis, size_t value)
{
    const int d = sm_dim_index(line->family, axis);
    if (d < 0 || line->named[d]) return;
    line->values[d].count = 1;
    line->values[d].value[0] = (int64_t)value;
}

static int expand_model(struct sm_sweep_line *line, const struct sm_model_shape *model,
                        const struct sm_sweep_choice *choice, struct sm_bench_cases *cases, char *why, size_t why_bytes)
{
    const struct sm_family *f = line->family;
    if (sm_dim_index(f, "out") >= 0 && sm_dim_index(f, "in") >= 0) {
        struct sm_matmul_shape list[SM_SHAPE_MAX_MATMULS];
        const size_t count = sm_shape_matmuls(model, list, SM_SHAPE_MAX_MATMULS);
        for (size_t i = 0; i < count; i++) {
            fix(line, "out", list[i].out);
            fix(line, "in", list[i].in);
            if (expand_axes(line, choice, cases, why, why_bytes)) return -1;
        }
        return 0;
    }
    if (sm_dim_index(f, "head_dim") >= 0 && sm_dim_index(f, "kv_heads") >= 0) {
        struct sm_attention_shape list[8];
        const size_t count = sm_shape_attentions(model, list, 8);
        for (size_t i = 0; i < count; i++) {
            fix(line, "heads", list[i].heads);
            fix(line, "kv_heads", list[i].kv_heads);
            fix(line, "head_dim", list[i].head_dim);
            fix(line, "window", list[i].window);
            fix(line, "softcap", (size_t)list[i].softcap);
            if (expand_axes(line, choice, cases, why, why_bytes)) return -1;
        }
        return 0;
    }
    if (!strcmp(f->group, "softcap")) fix(line, "cols", model->vocab);
    return expand_axes(line, choice, cases, why, why_bytes);
}

int sm_sweep_expand(const struct sm_sweep_line *line, const struct sm_sweep_choice *choice,
                    struct sm_bench_cases *cases, char *why, size_t why_bytes)
{
    if (!line->shape) return expand_axes(line, choice, cases, why, why_bytes);
    struct sm_model_shape *model = malloc(sizeof *model);
    struct sm_sweep_line *copy = malloc(sizeof *copy);
    int result = -1;
    if (!model || !copy) {
        snprintf(why, why_bytes, "no memory");
    } else {
        *copy = *line;
        result = sm_shape_load(model, line->shape, why, why_bytes) ||
                         expand_model(copy, model, choice, cases, why, why_bytes)
                     ? -1
                     : 0;
    }
    free(model);
    free(copy);
    return result;
}
