#include "plot_fixture.h"
#include "plot_fixture_costs.h"
#include "plot_fixture_plan.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

/* In 0..1, the same numbers each time. */
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 40) / (double)(1 << 24);
}

static json_t *noisy(double ns, int n)
{
    json_t *samples = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(samples, json_real(ns * (1 + 0.06 * uniform() * uniform())));
    return samples;
}

static json_t *ceiling(double value, const char *unit)
{
    return json_pack("{s:f, s:s, s:i}", "value", value, "unit", unit, "threads", 1);
}

static json_t *all_ceilings(void)
{
    json_t *all = json_object();
    json_object_set_new(all, "l1_read", ceiling(310e9, "B/s"));
    json_object_set_new(all, "l2_read", ceiling(120e9, "B/s"));
    json_object_set_new(all, "l3_read", ceiling(31e9, "B/s"));
    json_object_set_new(all, "dram_read", ceiling(12.5e9, "B/s"));
    json_object_set_new(all, "dram_write", ceiling(8.1e9, "B/s"));
    json_object_set_new(all, "fma_f32_avx2", ceiling(15.9, "multiply-adds/cycle"));
    json_object_set_new(all, "tanh_f32_avx2", ceiling(698, "multiply-adds/cycle")); /* of an attention's shape */
    json_object_set_new(all, "fma_f32_avx512", ceiling(31.6, "multiply-adds/cycle"));
    json_object_set_new(all, "dot_i8_avx2", ceiling(31.8, "multiply-adds/cycle"));
    json_object_set_new(all, "dot_i8_avx512vnni", ceiling(126.0, "multiply-adds/cycle"));
    return all;
}

static void emit(FILE *to, const char *kind, const char *case_id, json_t *more)
{
    json_t *record = json_pack("{s:i, s:s, s:s, s:s, s:n, s:s, s:{s:s, s:i}, s:{s:s, s:b}, s:{s:f}, s:o}", "schema", 1,
                               "kind", kind, "case", case_id, "status", "ok", "why", "started", "2026-01-31T12:00:00Z",
                               "machine", "cpu", "Fixture CPU", "cores", 2, "build", "commit", "fixture", "dirty", 0,
                               "witnesses", "core_hz_before", 2.5e9, "ceilings", all_ceilings());
    json_object_update(record, more);
    json_decref(more);
    char *line = json_dumps(record, JSON_COMPACT);
    fprintf(to, "%s\n", line);
    free(line);
    json_decref(record);
}

struct kernel {
    const char *family, *group, *variant, *layout, *binding;
    double ns, ops, bytes;
};

static void kernel_record(FILE *to, const struct kernel *k, json_t *shape)
{
    char *shape_text = json_dumps(shape, JSON_COMPACT), case_id[512];
    snprintf(case_id, sizeof case_id, "%s/%s/%s/t1/hot", k->family, k->variant, shape_text);
    free(shape_text);
    emit(to, "bench", case_id,
         json_pack("{s:s, s:s, s:s, s:s, s:o, s:O, s:i, s:s, s:o, s:f, s:s, s:f, s:s}", "family", k->family, "group",
                   k->group, "variant", k->variant, "layout", k->layout, "shape", shape, "bucket",
                   json_object_get(shape, "rows"), "threads", 1, "cache_state", "hot", "samples", noisy(k->ns, 9),
                   "ops", k->ops, "ops_unit", !strcmp(k->group, "softcap") ? "elements" : "multiply-adds", "bytes",
                   k->bytes, "binding_ceiling", k->binding));
}

static void attention_record(FILE *to, int kv, int skip, int rows, int max_seq, int head_dim, int valid)
{
    static const char *const families[] = {"attention_f32", "attention_f16", "attention_i8"};
    static const double ns_per_element[] = {0.26, 0.15, 0.11};
    const int seen = skip ? valid + rows : max_seq;
    const double work = 32.0 * rows * seen * head_dim;
    const double amortised = 0.45 + 0.55 / rows; /* keys and values are read once for all rows */
    const struct kernel k = {families[kv], "attention", skip ? "avx2_skip" : "avx2_literal",
                             "slot_major", "l2_read",   2e3 + (skip ? 4e3 : 0) + ns_per_element[kv] * work * amortised,
                             2 * work,     work / 2};
    kernel_record(to, &k,
                  json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "rows", rows, "max_seq", max_seq, "head_dim",
                            head_dim, "heads", 32, "kv_heads", 8, "valid", valid, "window", 0, "softcap", 0));
}

static void attention_records(FILE *to)
{
    static const int head_dims[] = {64, 128, 256, 512};
    for (int kv = 0; kv < 3; kv++) {
        for (int h = 0; h < 4; h++)
            for (int max_seq = 128; max_seq <= 8192; max_seq *= 2)
                attention_record(to, kv, 0, 1, max_seq, head_dims[h], max_seq - 1);
        for (int rows = 2; rows <= 512; rows *= 2) attention_record(to, kv, 0, rows, 2048, 64, 2048 - rows);
        for (int valid = 64; valid < 2048; valid = valid < 1024 ? 2 * valid : valid + 256) {
            attention_record(to, kv, 0, 1, 2048, 128, valid);
            attention_record(to, kv, 1, 1, 2048, 128, valid);
        }
    }
}

static void matmul_records(FILE *to)
{
    static const struct {
        const char *family, *variant, *binding;
        double per_cycle, weight_bytes;
    } lines[] = {{"matmul_w4g32_a8", "ref", "dot_i8_avx2", 0.9, 0.5625},
                 {"matmul_w4g32_a8", "avx2", "dot_i8_avx2", 19, 0.5625},
                 {"matmul_w4g32_a8", "avx512vnni", "dot_i8_avx512vnni", 68, 0.5625},
                 {"matmul_w8g32_a8", "ref", "dot_i8_avx2", 1.1, 1.0625},
                 {"matmul_w8g32_a8", "avx2", "dot_i8_avx2", 22, 1.0625},
                 {"matmul_w8g32_a8", "avx512vnni", "dot_i8_avx512vnni", 74, 1.0625},
                 {"matmul_f32", "ref", "fma_f32_avx2", 1.4, 4},
                 {"matmul_f32", "avx2", "fma_f32_avx2", 12.5, 4},
                 {"matmul_f32", "avx512", "fma_f32_avx512", 23, 4}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (int rows = 1; rows <= 512; rows *= 2) {
            const double in = 2048, out = 2048, ops = rows * in * out;
            const double bytes = lines[i].weight_bytes * in * out + 4 * rows * (in + out);
            const double compute = ops / lines[i].per_cycle / 2.5, memory = bytes / 11.5;
            const struct kernel k = {lines[i].family,
                                     "matmul",
                                     lines[i].variant,
                                     "rows",
                                     memory > compute ? "dram_read" : lines[i].binding,
                                     hypot(compute, memory),
                                     ops,
                                     bytes};
            kernel_record(to, &k, json_pack("{s:i, s:i, s:i}", "rows", rows, "out", 2048, "in", 2048));
        }
}

static void small_records(FILE *to)
{
    static const int vocabularies[] = {32000, 49152, 128256, 151936, 262144};
    static const char *const types[] = {"cache_write_f32", "cache_write_f16", "cache_write_i8"};
    static const char *const softcaps[] = {"softcap_f32", "softcap_argmax"};
    for (int v = 0; v < 4; v++)
        for (int c = 0; c < 5; c++)
            for (int rows = 1; rows <= 64; rows *= 64) {
                const int cols = rows == 1 ? vocabularies[c] : 256 << c;
                const double ops = (double)rows * cols, per_ns = v % 2 ? 1.9 - 0.1 * c : 0.14;
                const struct kernel k = {softcaps[v / 2],
                                         "softcap",
                                         v % 2 ? "avx2" : "ref",
                                         "plain",
                                         "l2_read",
                                         200 + ops / (per_ns - 0.02 * v),
                                         ops,
                                         8 * ops};
                kernel_record(to, &k, json_pack("{s:i, s:i}", "rows", rows, "cols", cols));
            }
    for (int t = 0; t < 3; t++)
        for (int transposed = 0; transposed < 2; transposed++)
            for (int rows = 1; rows <= 256; rows *= 2) {
                const double elements = 8.0 * 64 * rows, line = transposed ? 1.4 / fmin(rows, 16) + 0.2 : 0.09;
                const struct kernel k = {types[t],
                                         "cache_write",
                                         transposed ? "avx2_transposed" : "avx2",
                                         transposed ? "transposed" : "slot_major",
                                         "l2_read",
                                         30 + elements * (line + 0.02 * t),
                                         elements,
                                         elements * (4 >> t)};
                kernel_record(to, &k,
                              json_pack("{s:i, s:i, s:i, s:i, s:i}", "rows", rows, "max_seq", 2048, "head_dim", 64,
                                        "kv_heads", 8, "valid", 0));
            }
}

void plot_fixture_kernels(FILE *to)
{
    state = 1;
    attention_records(to);
    matmul_records(to);
    small_records(to);
}

static json_t *steps_of(double ns, double attention_share)
{
    static const struct {
        const char *label;
        double share;
    } rest[] = {{"ffn_down", 0.19},    {"ffn_gate_up", 0.36}, {"qkv", 0.11},  {"attn_out", 0.07},
                {"lm_head", 0.15},     {"norm", 0.02},        {"rope", 0.01}, {"quantise", 0.03},
                {"cache_write", 0.01}, {"unexplained", 0.05}};
    json_t *steps = json_array();
    json_array_append_new(steps,
                          json_pack("{s:s, s:f, s:i}", "label", "attention", "ns", ns * attention_share, "calls", 30));
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        json_array_append_new(steps, json_pack("{s:s, s:f, s:i}", "label", rest[i].label, "ns",
                                               ns * (1 - attention_share) * rest[i].share, "calls", 30));
    return steps;
}

static void model_record(FILE *to, const char *phase, int max_seq, int threads, double ns, double attention_share,
                         json_t *token_ns)
{
    char case_id[160];
    snprintf(case_id, sizeof case_id, "fixture-135m/%s/max_seq=%d/t%d", phase, max_seq, threads);
    emit(to, "profile", case_id,
         json_pack("{s:{s:s, s:b}, s:s, s:s, s:i, s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:o}", "model", "name",
                   "fixture-135m", "synthetic", 1, "recipe", "native", "phase", phase, "max_seq", max_seq, "kv_type",
                   "f16", "n_prompt", 200, "n_gen", 64, "n_depth", 200, "threads", threads, "samples", noisy(ns, 5),
                   "steps", steps_of(ns, attention_share), "token_ns", token_ns));
}

/* A model whose layers are of several kinds, on a machine with counters: one of them has no value. */
static void kinds_record(FILE *to, const char *phase, double ns)
{
    static const char *const kinds[] = {"full donor", "full consumer", "sliding", "sliding consumer"};
    static const char *const labels[] = {"qkv", "attention", "gate, up"};
    json_t *steps = json_array();
    char case_id[64];
    for (size_t l = 0; l < 3; l++) {
        json_t *parts = json_array();
        for (int k = 0; k < 4; k++)
            json_array_append_new(parts,
                                  json_pack("{s:s, s:f, s:i}", "part", kinds[k], "ns", ns * 0.07, "calls", k + 1));
        json_array_append_new(
            steps, json_pack("{s:s, s:f, s:i, s:o}", "label", labels[l], "ns", ns * 0.28, "calls", 10, "parts", parts));
    }
    json_array_append_new(steps, json_pack("{s:s, s:f, s:i}", "label", "head", "ns", ns * 0.16, "calls", 1));
    snprintf(case_id, sizeof case_id, "fixture-kinds/%s", phase);
    emit(to, "profile", case_id,
         json_pack("{s:{s:s}, s:s, s:s, s:i, s:s, s:i, s:i, s:o, s:o, s:[{s:s, s:f, s:s}, {s:s, s:n, s:s}]}", "model",
                   "name", "fixture-kinds", "recipe", "native", "phase", phase, "max_seq", 512, "kv_type", "f16",
                   "n_prompt", 128, "threads", 1, "samples", noisy(ns, 3), "steps", steps, "counters", "name",
                   "instructions", "value", 4 * ns, "state", "usable", "name", "cycles", "value", "state", "absent"));
}

static void quality_records(FILE *to)
{
    static const struct {
        const char *recipe, *kv;
        double peir, rise, ns;
    } lines[] = {
        {"float", "f16", 3e-4, 0.01, 6e7}, {"native", "f16", 2.1e-2, 0.3, 2e7}, {"w8c-a8", "i8", 0.12, 5.5, 1.8e7}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char case_id[64];
        snprintf(case_id, sizeof case_id, "fixture-135m/%s/kv=%s", lines[i].recipe, lines[i].kv);
        emit(to, "verify", case_id,
             json_pack("{s:{s:s, s:b}, s:s, s:s, s:s, s:i, s:o, s:{s:s, s:f, s:{s:f}}}", "model", "name",
                       "fixture-135m", "synthetic", 1, "recipe", lines[i].recipe, "kv_type", lines[i].kv, "scale_in",
                       "scores", "threads", 2, "samples", noisy(lines[i].ns, 5), "quality", "against", "float", "peir",
                       lines[i].peir, "perplexity", "rise_percent", lines[i].rise));
    }
}

static void plan_records(FILE *to)
{
    char case_id[64];
    double ns;
    emit(to, "plan", "fixture-135m/plan",
         json_pack("{s:{s:s}, s:s, s:i, s:s, s:i, s:o}", "model", "name", "fixture-135m", "recipe", "native", "max_seq",
                   2048, "kv_type", "f16", "threads", 2, "plan", plot_fixture_plan("ttft")));
    for (int i = 0; i < 4 * PLOT_FIXTURE_SETS; i++) {
        snprintf(case_id, sizeof case_id, "fixture-135m/session=%d/set=%d", i / PLOT_FIXTURE_SETS,
                 i % PLOT_FIXTURE_SETS);
        emit(to, "plan", case_id,
             json_pack("{s:{s:s}, s:s, s:i, s:s, s:i, s:o, s:o}", "model", "name", "fixture-135m", "recipe", "native",
                       "max_seq", 2048, "kv_type", "f16", "threads", 2, "samples", noisy(7e7, 3), "plan",
                       plot_fixture_replay(i % PLOT_FIXTURE_SETS, i / PLOT_FIXTURE_SETS)));
    }
    for (int i = 0; i < 12; i++) {
        json_t *turn = plot_fixture_turn(i / 4, i % 4, &ns);
        snprintf(case_id, sizeof case_id, "fixture-135m/turns=3/turn=%d/%d", i / 4 + 1, i % 4);
        emit(to, "profile", case_id,
             json_pack("{s:{s:s}, s:s, s:s, s:i, s:s, s:i, s:i, s:o, s:o}", "model", "name", "fixture-135m", "recipe",
                       "native", "phase", "append", "max_seq", 512, "kv_type", "f16", "threads", 2, "n_prompt", 30,
                       "samples", noisy(ns, 5), "turn", turn));
    }
}

void plot_fixture_models(FILE *to)
{
    state = 2;
    for (int threads = 1; threads <= 2; threads++)
        for (int max_seq = 256; max_seq <= 4096; max_seq *= 2) {
            const double speed = threads == 1 ? 1 : 1.8;
            const double attention = 3e3 * max_seq, token = (1.1e7 + attention) / speed;
            const double row = (2.2e6 + 0.4 * attention) / speed;
            json_t *tokens = json_array();
            for (int i = 0; i < 128; i++)
                json_array_append_new(tokens, json_real(token * (1 + 0.05 * uniform() + (i % 41 == 17 ? 0.4 : 0))));
            model_record(to, "prefill", max_seq, threads, row * max_seq, 0.4 * attention / (2.2e6 + 0.4 * attention),
                         json_null());
            model_record(to, "decode", max_seq, threads, token, attention / (1.1e7 + attention), tokens);
        }
    kinds_record(to, "prefill", 4e8);
    kinds_record(to, "decode", 3e7);
    quality_records(to);
    for (int skip = 0; skip < 2; skip++)
        emit(to, "cost", skip ? "fixture-135m/skip/table" : "fixture-135m/literal/table", plot_fixture_cost(skip));
    plan_records(to);
}

static json_t *changed(const char *id, const char *verdict, double change, double low, json_t *high)
{
    return json_pack("{s:s, s:s, s:b, s:s, s:f, s:f, s:f, s:f, s:o, s:[f, f]}", "id", id, "family", "rope", "control",
                     0, "verdict", verdict, "a_ns", 900.0, "b_ns", 900 * (1 + change / 100), "change_percent", change,
                     "low_percent", low, "high_percent", high, "b_launch_ns", 905.0, 906.0);
}

void plot_fixture_comparison(FILE *to)
{
    json_t *document = json_pack(
        "{s:s, s:i, s:{s:s, s:i}, s:{s:s, s:s}, s:{s:s, s:s}, s:{s:f, s:i}, s:[o, o, o, {s:s, s:s, s:n}]}", "schema",
        "slotmark-compare", "version", 1, "machine", "cpu", "Fixture CPU", "cores", 2, "a", "spec", "HEAD~1",
        "identity", "aaaaaaa", "b", "spec", ".", "identity", "bbbbbbb", "options", "tolerance", 0.01, "threads", 1,
        "comparisons", changed("rope/avx2/rows=1,head_dim=64", "slower", 4.2, 3.9, json_real(4.6)),
        changed("rope/avx2/rows=8,head_dim=64", "faster", -12.5, -13, json_real(-12)),
        changed("rope/avx512/rows=8,head_dim=64", "inconclusive", 0.3, -100, json_null()), "id", "rope/ref/rows=1",
        "verdict", "identical", "change_percent");
    json_dumpf(document, to, JSON_INDENT(1));
    json_decref(document);
}

void plot_fixture_series(FILE *to)
{
    state = 4;
    json_t *points = json_array();
    for (int i = 0; i < 30; i++) {
        const double change = (i < 18 ? 0 : 2.1) + 0.3 * uniform();
        char build[16];
        snprintf(build, sizeof build, "%07x", 0x1a2b3c4 + i);
        json_array_append_new(points, json_pack("{s:s, s:s, s:f, s:f, s:f}", "build", build, "started",
                                                "2026-01-31T12:00:00Z", "change_percent", change, "low_percent",
                                                change - 0.2, "high_percent", change + 0.2));
    }
    json_t *document = json_pack(
        "{s:s, s:i, s:s, s:[{s:s, s:i, s:o, s:[{s:i, s:i, s:f}, {s:i, s:i, s:f}], s:[{s:i, s:s, s:f, s:s}]}]}",
        "schema", "slotmark-trend", "version", 1, "anchor", "3d1e07a", "series", "kernel",
        "rmsnorm/avx2/rows=1,cols=2048", "threads", 1, "points", points, "levels", "first", 0, "last", 17,
        "level_percent", 0.1, "first", 18, "last", 29, "level_percent", 2.2, "changes", "first", 18, "after", "1a2b3d6",
        "step_percent", 2.1, "state", "confirmed");
    json_dumpf(document, to, JSON_INDENT(1));
    json_decref(document);
}
