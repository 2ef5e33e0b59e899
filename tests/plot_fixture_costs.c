/* Made-up tables of slotmark costs, by formulas: a model whose weights take 5 ms to read. */
#include "plot_fixture_costs.h"

#include <math.h>

static double call_ns(int rows, int max_seq, int seen)
{
    return fmax(5e6, rows * 4.4e5) + 1e3 * seen + rows * 300.0 * seen + 40.0 * max_seq;
}

static json_t *curve_of(int skip)
{
    json_t *curve = json_array();
    for (int max_seq = 512; max_seq <= 2048; max_seq *= 4)
        for (int rows = 1; rows <= 256; rows *= 2) {
            const int past = max_seq - rows - 1, seen = skip ? past + rows : max_seq;
            const double ns = call_ns(rows, max_seq, seen);
            json_array_append_new(curve, json_pack("{s:i,s:i,s:i,s:f,s:f,s:f,s:f,s:f,s:f}", "max_seq", max_seq, "rows",
                                                   rows, "past", past, "ns", ns, "low_ns", 0.98 * ns, "high_ns",
                                                   1.05 * ns, "curve_ns", 1.01 * ns, "arena_bytes", 4e5 + 1e4 * rows,
                                                   "cache_bytes", 23040.0 * (max_seq - 1)));
        }
    return curve;
}

static json_t *padding_of(void)
{
    static const struct {
        const char *name;
        int least;
    } sets[] = {{"2,4,8,16,32,64,128,256", 2}, {"8,16,32,64,128,256", 8}, {"32,64,128,256", 32}, {"256", 256}};
    static const int tokens[] = {1, 2, 3, 4, 6, 8, 9, 12, 16, 17, 24, 32, 33, 48, 64, 65, 96, 128, 129, 192, 256};
    json_t *list = json_array();
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (size_t t = 0; t < sizeof tokens / sizeof *tokens; t++) {
            int rows = sets[s].least;
            while (rows < tokens[t]) rows *= 2;
            const double ns = call_ns(rows, 2048, 600), exact = call_ns(tokens[t], 2048, 600);
            json_array_append_new(list, json_pack("{s:s,s:i,s:f,s:f,s:f}", "set", sets[s].name, "tokens", tokens[t],
                                                  "ns", ns, "exact_ns", exact, "tax", ns / exact));
        }
    return list;
}

static json_t *mask_of(void)
{
    json_t *list = json_array();
    for (int max_seq = 512; max_seq <= 8192; max_seq *= 4)
        for (int share = 16; share >= 1; share /= 2) {
            const int valid = max_seq / share - (share == 1);
            const double all = call_ns(1, max_seq, max_seq), some = call_ns(1, max_seq, valid) + 1e5;
            json_array_append_new(list, json_pack("{s:i,s:i,s:f,s:f,s:f,s:f}", "max_seq", max_seq, "valid", valid,
                                                  "literal_ns", all, "skip_ns", some, "tax", all / some, "measured_tax",
                                                  all / some));
        }
    return list;
}

static json_t *sizes_of(int skip)
{
    json_t *list = json_array();
    for (int max_seq = 128; max_seq <= 131072; max_seq *= 2) {
        const double ns = call_ns(1, max_seq, skip ? 100 : max_seq);
        const int measured = max_seq >= 512 && max_seq <= 2048;
        json_t *size = json_pack("{s:i,s:i,s:f,s:f,s:f,s:b,s:f,s:f}", "max_seq", max_seq, "past", 100, "curve_ns", ns,
                                 "curve_low", 0.95 * ns, "curve_high", 1.05 * ns, "extrapolated", !measured,
                                 "cache_bytes", 23040.0 * (max_seq - 1), "arena_bytes", 4e5 + 4.0 * max_seq);
        if (measured)
            json_object_update_new(size,
                                   json_pack("{s:f,s:f,s:f}", "ns", 1.02 * ns, "low_ns", ns, "high_ns", 1.06 * ns));
        json_array_append_new(list, size);
    }
    return list;
}

json_t *plot_fixture_cost(int skip)
{
    return json_pack("{s:{s:s}, s:s, s:s, s:i, s:{s:s, s:s, s:o, s:{s:f, s:f, s:s, s:s}, s:[{s:i, s:f}, {s:i, s:f}], "
                     "s:o, s:o, s:o}}",
                     "model", "name", "fixture-135m", "recipe", "native", "kv_type", "f16", "threads", 2, "cost",
                     "role", "table", "attention", skip ? "skip" : "literal", "curve", curve_of(skip), "limits",
                     "sweep_ns", 4e6, "row_ns", 3e5, "sweep", "dram_read", "row", "dot_i8_rate", "knees", "max_seq",
                     512, "rows", 10.2, "max_seq", 2048, "rows", 8.1, "padding", padding_of(), "mask",
                     skip ? mask_of() : json_null(), "sizes", sizes_of(skip));
}
