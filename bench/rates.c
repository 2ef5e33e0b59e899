#include "rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ceilings.h"
#include "ridge.h"

#define REPEATS_MOST 2

struct team {
    struct sm_ceilings *ceilings; /* NULL: not measured, or not measurable */
    bool asked;
    int repeats;
};

struct sm_rates {
    struct team team[SM_TEAM_MOST + 1];
};

struct sm_rates *sm_rates_create(void)
{
    return calloc(1, sizeof(struct sm_rates));
}

void sm_rates_destroy(struct sm_rates *rates)
{
    for (size_t t = 0; rates && t <= SM_TEAM_MOST; t++) free(rates->team[t].ceilings);
    free(rates);
}

/* How the family moves its bytes, mostly. */
static const char *kind_of(const struct sm_bench_case *c)
{
    const char *group = c->family->group, *name = c->family->name;
    if (!strcmp(group, "matmul") || !strcmp(group, "attention") || !strcmp(name, "argmax")) return "read";
    return !strcmp(name, "mask_build") ? "write" : "copy";
}

/* The arithmetic that binds a variant of this instruction set, and the fastest that it could use instead: int8 keys
 * may be converted and multiplied as floats, or not. False: none is known. */
static bool schemes_of(const struct sm_bench_case *c, const char **binds, const char **fastest)
{
    static const struct {
        const char *isa, *four, *eight, *sixteen, *real; /* by the bits that are multiplied */
    } table[] = {
        {"any", NULL, NULL, NULL, "fma_f32_any"},
        {"avx2", "maddubs_i4_avx2", "maddubs_i8_avx2", "madd_i16_avx2", "fma_f32_avx2"},
        {"avx512", "maddubs_i8_avx512", "maddubs_i8_avx512", "madd_i16_avx512", "fma_f32_avx512"},
        {"avx512vnni", "dpbusd_i8_avx512vnni", "dpbusd_i8_avx512vnni", "dpwssd_i16_avx512vnni", "fma_f32_avx512"}};
    const char *name = c->family->name, *type = strrchr(name, '_'), *unit = c->workload->ops_unit;
    if (!type || !unit || strcmp(unit, "multiply-adds")) return false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].isa, c->variant->isa)) continue;
        const char *eight = strstr(name, "_w4") ? table[i].four : table[i].eight;
        *binds = !strcmp(type, "_a8") ? eight : !strcmp(type, "_a16") ? table[i].sixteen : table[i].real;
        *fastest = !strcmp(type, "_i8") ? table[i].eight : !strcmp(type, "_i16") ? table[i].sixteen : *binds;
        return *binds && *fastest;
    }
    return false;
}

/* The function of a float that a vector variant works out again and again, and how often for each of the family's ops;
 * NULL: none. */
static const char *function_of(const struct sm_bench_case *c, double *per_op, char *name, size_t bytes)
{
    const char *family = c->family->name, *isa = c->variant->isa, *function = NULL;
    *per_op = 1;
    if (!strcmp(isa, "any")) return NULL;
    if (!strncmp(family, "softcap", 7)) function = "tanh";
    if (!strncmp(family, "gated", 5)) function = "exp";
    if (!strcmp(c->family->group, "attention")) { /* one for each score, which costs 2 * head_dim multiply-adds */
        const int cap = sm_dim_index(c->family, "softcap"), width = sm_dim_index(c->family, "head_dim");
        function = cap >= 0 && c->shape.dim[cap] ? "tanh" : "exp";
        *per_op = width >= 0 ? 0.5 / (double)c->shape.dim[width] : 0;
    }
    if (!function || !(*per_op > 0)) return NULL;
    snprintf(name, bytes, "%s_f32_%s", function, strcmp(isa, "avx2") ? "avx512" : isa);
    return name;
}

/* ops and bytes count every column of a static shape; where a mask hides some, a variant may leave them out. */
static bool may_leave_out(const struct sm_bench_case *c)
{
    if (strcmp(c->family->group, "attention")) return false;
    static const struct {
        const char *axis;
        int64_t all; /* the value that hides nothing */
    } axes[] = {{"rows", 1}, {"valid", -1}, {"window", 0}};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        const int axis = sm_dim_index(c->family, axes[i].axis);
        if (axis >= 0 && c->shape.dim[axis] != axes[i].all) return true;
    }
    return false;
}

/* The ceiling's value at that clock of the cores, NAN when it has none: what a core does by itself moves with it. */
static double at_clock(const struct sm_ceilings *ceilings, const char *name, double core_hz)
{
    const struct sm_ceiling *c = sm_ceiling_named(ceilings, name);
    if (!c || !(c->value > 0)) return NAN;
    return core_hz > 0 && c->core_hz > 0 ? c->value * core_hz / c->core_hz : c->value;
}

/* Records the ceiling and returns its value. */
static double use(const struct sm_ceilings *ceilings, const char *name, double core_hz, struct sm_record *record)
{
    const struct sm_ceiling *c = sm_ceiling_named(ceilings, name);
    const double value = at_clock(ceilings, name, core_hz);
    if (value > 0) sm_record_add_ceiling(record, c->name, value, c->unit, c->threads);
    return value;
}

/* The same of a function, in the family's own ops: how many of them a cycle has if it does nothing else. */
static double use_function(const struct sm_ceilings *ceilings, const char *name, double per_op, const char *unit,
                           struct sm_record *record)
{
    const struct sm_ceiling *c = sm_ceiling_named(ceilings, name);
    char text[64];
    if (!c) return NAN;
    snprintf(text, sizeof text, "%s/cycle", unit);
    sm_record_add_ceiling(record, name, c->value / per_op, text, c->threads);
    return c->value / per_op;
}

static struct sm_ceilings *ceilings_of(struct team *team, int threads)
{
    if (team->asked) return team->ceilings;
    team->asked = true;
    const struct sm_ceilings *measured = sm_ceilings(threads);
    team->ceilings = measured ? malloc(sizeof *measured) : NULL;
    if (team->ceilings) *team->ceilings = *measured;
    return team->ceilings;
}

/* Measures again and keeps the higher of each. False: that was done often enough, or cannot be done. */
static bool raise_ceilings(struct team *team, int threads)
{
    char why[256];
    struct sm_ceilings *again = malloc(sizeof *again);
    bool done = false;
    if (again && team->repeats++ < REPEATS_MOST &&
        !sm_ceilings_measure(again, threads, SM_CEILINGS_QUICK, why, sizeof why)) {
        sm_ceilings_best(team->ceilings, again);
        done = true;
    }
    free(again);
    return done;
}

struct call {
    double working_set, ns, core_hz;
};

static struct sm_share judge(const struct sm_ceilings *ceilings, const struct sm_bench_case *c, const struct call *call,
                             struct sm_record *record)
{
    static const char *const kinds[] = {"read", "write", "copy"};
    const double seconds = call->ns * 1e-9, threads = (double)c->threads;
    const char *level = sm_ceilings_level(call->working_set, (int)threads);
    const double rate = c->workload->bytes(&c->shape) / seconds;
    double most = NAN, arithmetic_share = NAN, arithmetic_most = NAN;
    char name[32], memory[32];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(name, sizeof name, "%s_%s", level, kinds[i]);
        most = fmax(most, at_clock(ceilings, name, call->core_hz));
    }
    use(ceilings, "dram_read", call->core_hz, record);
    snprintf(memory, sizeof memory, "%s_%s", level, kind_of(c));
    const double memory_share = rate / use(ceilings, memory, call->core_hz, record);
    const char *scheme = "", *fastest = "";
    const double per_cycle = c->workload->ops(&c->shape) / (seconds * call->core_hz * threads);
    if (schemes_of(c, &scheme, &fastest)) {
        const struct sm_ceiling *limit = sm_ceiling_named(ceilings, fastest);
        arithmetic_share = per_cycle / use(ceilings, scheme, call->core_hz, record);
        if (limit) arithmetic_most = per_cycle / limit->value;
        sm_ridge_record(record, c, ceilings, scheme, call->core_hz);
    }
    char function[32];
    double per_op;
    if (function_of(c, &per_op, function, sizeof function)) {
        const double share = per_cycle / use_function(ceilings, function, per_op, c->workload->ops_unit, record);
        if (share > arithmetic_share || isnan(arithmetic_share)) scheme = function;
        arithmetic_share = fmax(arithmetic_share, share);
        arithmetic_most = fmax(arithmetic_most, share);
    }
    const bool by_arithmetic = arithmetic_share > memory_share || isnan(memory_share);
    struct sm_share share = {by_arithmetic ? arithmetic_share : memory_share, false};
    if (isfinite(share.value)) sm_record_set_string(record, "binding_ceiling", by_arithmetic ? scheme : memory);
    /* what is impossible is faster than any way of moving the bytes, not than the one that was named */
    share.impossible = !may_leave_out(c) && (arithmetic_most > SM_RATE_IMPOSSIBLE || rate > SM_RATE_IMPOSSIBLE * most);
    return share;
}

struct sm_share sm_rates_judge(struct sm_rates *rates, const struct sm_bench_case *c, double working_set, double ns,
                               double core_hz, struct sm_record *record)
{
    const struct call call = {working_set, ns, core_hz};
    struct team *team = &rates->team[c->threads];
    struct sm_ceilings *ceilings = ceilings_of(team, (int)c->threads);
    if (!ceilings) return (struct sm_share){NAN, false};
    char why[256];
    if (c->cold) sm_ceilings_refresh(ceilings, why, sizeof why); /* else those of this run's beginning remain */
    struct sm_share share = judge(ceilings, c, &call, record);
    /* a neighbour may have held the ceilings down while they were measured: ask again before crying foul */
    while (share.impossible && raise_ceilings(team, (int)c->threads)) share = judge(ceilings, c, &call, record);
    return share;
}
