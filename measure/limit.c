#include "limit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How the call moves its bytes, mostly. */
static const char *kind_of(const struct sm_limited_call *c)
{
    if (!strcmp(c->group, "matmul") || !strcmp(c->group, "attention") || !strcmp(c->family, "argmax")) return "read";
    if (!strcmp(c->family, "mask_build")) return "write";
    return c->in_place ? "update" : "copy";
}

/* The arithmetic that binds a variant of this instruction set, and the fastest that it could use instead: int8 and
 * int16 keys may be converted and multiplied as floats, or not. False: none is known. */
static bool schemes_of(const struct sm_limited_call *c, const char **binds, const char **fastest)
{
    static const struct {
        const char *isa, *four, *eight, *sixteen, *real; /* by the bits that are multiplied */
    } table[] = {
        {"any", NULL, NULL, NULL, "fma_f32_any"},
        {"avx2", "maddubs_i4_avx2", "maddubs_i8_avx2", "madd_i16_avx2", "fma_f32_avx2"},
        {"avx512", "maddubs_i8_avx512", "maddubs_i8_avx512", "madd_i16_avx512", "fma_f32_avx512"},
        {"avx512vnni", "dpbusd_i8_avx512vnni", "dpbusd_i8_avx512vnni", "dpwssd_i16_avx512vnni", "fma_f32_avx512"},
        {"amx", "dpbsud_i8_amx", "dpbsud_i8_amx", "dpbsud_i16_amx", "fma_f32_avx512"}};
    const char *type = strrchr(c->family, '_');
    if (!type || !c->ops_unit || strcmp(c->ops_unit, "multiply-adds")) return false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].isa, c->isa)) continue;
        const char *eight = strstr(c->family, "_w4") ? table[i].four : table[i].eight;
        /* attention in integers takes queries and weights in 16 bits */
        const bool vnni = !strcmp(c->isa, "avx512vnni") || !strcmp(c->isa, "amx");
        const bool keys = !strcmp(type, "_i8") ? vnni || !strcmp(c->isa, "avx2") : !strcmp(type, "_i16") && vnni;
        *binds = !strcmp(type, "_a8") ? eight : !strcmp(type, "_a16") || keys ? table[i].sixteen : table[i].real;
        *fastest = !strcmp(type, "_i8") ? table[i].eight : !strcmp(type, "_i16") ? table[i].sixteen : *binds;
        return *binds && *fastest;
    }
    return false;
}

/* The function of one value that a vector variant works out again and again, and how often for each of the family's
 * ops; NULL: none. */
static const char *function_of(const struct sm_limited_call *c, double *per_op, char *name, size_t bytes)
{
    const char *function = NULL;
    *per_op = 1;
    if (!strcmp(c->isa, "any")) return NULL;
    /* a gated activation is an exp and a division, as tanh is */
    if (!strncmp(c->family, "softcap", 7) || !strncmp(c->family, "gated", 5)) function = "tanh_f32";
    if (!strncmp(c->family, "quantise_a8", 11)) function = "narrow8_f32";
    if (!strcmp(c->family, "quantise_a16")) function = "narrow16_f32";
    if (!strcmp(c->family, "requantise")) function = "narrow16_i16";
    if (!strcmp(c->group, "attention")) { /* one for each score, which costs 2 * head_dim multiply-adds */
        function = c->capped ? "tanh_f32" : "exp_f32";
        *per_op = c->head_dim > 0 ? 0.5 / c->head_dim : 0;
    }
    if (!function || !(*per_op > 0)) return NULL;
    snprintf(name, bytes, "%s_%s", function, strcmp(c->isa, "avx2") ? "avx512" : c->isa);
    return name;
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
    if (value > 0 && record) sm_record_add_ceiling(record, c->name, value, c->unit, c->threads);
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
    if (record) sm_record_add_ceiling(record, name, c->value / per_op, text, c->threads);
    return c->value / per_op;
}

/* The share of a memory level that moving `bytes` a second through it takes; *name is the level's ceiling. *most: of
 * the fastest way of moving them there. */
static double memory_share(const struct sm_ceilings *ceilings, const struct sm_limited_call *c, double bytes,
                           double set, char *name, size_t name_bytes, double *most, struct sm_record *record)
{
    static const char *const kinds[] = {"read", "write", "copy", "update" /* the last: only in place */};
    const char *level = sm_ceilings_level(set, c->threads);
    const double rate = bytes / (c->ns * 1e-9);
    double fastest = NAN;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds - (c->in_place ? 0 : 1); i++) {
        snprintf(name, name_bytes, "%s_%s", level, kinds[i]);
        fastest = fmax(fastest, at_clock(ceilings, name, c->core_hz));
    }
    *most = rate / fastest;
    snprintf(name, name_bytes, "%s_%s", level, kind_of(c));
    return rate / use(ceilings, name, c->core_hz, record);
}

struct sm_limit sm_limit_of(const struct sm_ceilings *ceilings, const struct sm_limited_call *c,
                            struct sm_record *record)
{
    struct sm_limit limit = {.share = NAN};
    double most, far_most = 0, arithmetic_share = NAN, arithmetic_most = NAN;
    char memory[32], far[32], function[32];
    use(ceilings, "dram_read", c->core_hz, record);
    double moved = memory_share(ceilings, c, c->bytes, c->working_set, memory, sizeof memory, &most, record);
    if (c->far_bytes > 0) { /* both come at once, so that neither can take longer than the call */
        const double share = memory_share(ceilings, c, c->far_bytes, c->far_set, far, sizeof far, &far_most, record);
        if (share > moved || isnan(moved)) {
            moved = share;
            memcpy(memory, far, sizeof memory);
        }
    }
    const char *scheme = "", *fastest = "";
    const double per_cycle = c->ops / (c->ns * 1e-9 * c->core_hz * c->threads);
    if (schemes_of(c, &scheme, &fastest)) {
        arithmetic_share = per_cycle / use(ceilings, scheme, c->core_hz, record);
        arithmetic_most = per_cycle / at_clock(ceilings, fastest, c->core_hz);
        snprintf(limit.scheme, sizeof limit.scheme, "%s", scheme);
    }
    double per_op;
    if (function_of(c, &per_op, function, sizeof function)) {
        const double share = per_cycle / use_function(ceilings, function, per_op, c->ops_unit, record);
        if (share > arithmetic_share || isnan(arithmetic_share)) scheme = function;
        arithmetic_share = fmax(arithmetic_share, share);
        arithmetic_most = fmax(arithmetic_most, share);
    }
    const bool by_arithmetic = arithmetic_share > moved || isnan(moved);
    limit.share = by_arithmetic ? arithmetic_share : moved;
    if (isfinite(limit.share)) snprintf(limit.name, sizeof limit.name, "%s", by_arithmetic ? scheme : memory);
    /* what is impossible is faster than any way of moving the bytes, not than the one that was named */
    limit.fastest = c->leaves_out ? NAN : fmax(fmax(arithmetic_most, most), far_most);
    limit.impossible = limit.fastest > SM_LIMIT_IMPOSSIBLE;
    return limit;
}

int sm_limit_shown(const char *name)
{
    const bool memory =
        strstr(name, "_read") || strstr(name, "_write") || strstr(name, "_copy") || strstr(name, "_update");
    return memory ? 20 : (int)strcspn(name, "_");
}
