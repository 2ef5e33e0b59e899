/* What shapes cost: curves through known surfaces, tables out of record files, questions, and files that lie. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cost_table.h"
#include "record.h"

static char why[512], path[64];

/* A known machine: a sweep of the weights is paid for 8 rows at once, attention for each column of each row. */
static double surface(enum sm_phase phase, double rows, double columns, double valid, bool skip)
{
    const double linear = 1e6 * fmax(8, rows), seen = skip ? valid : columns;
    return linear + 200 * columns + rows * 150 * seen + (phase == SM_PHASE_PREFILL ? 5e5 : 0);
}

/* Of a call: skipping, each token sees those before it and itself, and padded rows see nothing. */
static double call_ns(enum sm_phase phase, size_t rows, size_t max_seq, size_t past, size_t tokens, bool skip)
{
    const double columns = (double)(phase == SM_PHASE_PREFILL ? rows : max_seq);
    const double pairs = (double)tokens * ((double)past + ((double)tokens + 1) / 2);
    return surface(phase, (double)rows, columns, pairs / (double)rows, skip);
}

static double next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / (double)(1u << 24);
}

/* As if all rows were real and saw all that is valid. */
static struct sm_cost_sizes sizes(double rows, double columns, double valid)
{
    return (struct sm_cost_sizes){rows, columns, valid, rows, valid};
}

static double fit_at(const struct sm_cost_fit *fit, double rows, double columns, double valid)
{
    const struct sm_cost_sizes at = sizes(rows, columns, valid);
    return sm_cost_fit_at(fit, &at);
}

static void test_known_surface(void **state)
{
    (void)state;
    static const double rows[] = {1, 2, 4, 8, 16, 32, 64}, columns[] = {256, 1024};
    for (int skip = 0; skip < 2; skip++) {
        struct sm_cost_point points[64];
        struct sm_cost_fit fit;
        size_t n = 0;
        for (size_t r = 0; r < 7; r++)
            for (size_t c = 0; c < 2; c++)
                for (int v = 1; v <= 2; v++) {
                    struct sm_cost_point p = {sizes(rows[r], columns[c], columns[c] * v / 2), 0};
                    p.cost = surface(SM_PHASE_APPEND, p.at.rows, p.at.columns, p.at.valid, skip);
                    points[n++] = p;
                }
        assert_int_equal(sm_cost_fit_points(&fit, points, n, skip), 0);
        for (double r = 1; r <= 64; r++) /* where the surface is straight between knots, so is the curve */
            for (double c = 128; c <= 4096; c *= 2) {
                const double want = surface(SM_PHASE_APPEND, r, c, c / 4, skip), got = fit_at(&fit, r, c, c / 4);
                if (!(fabs(got / want - 1) < 0.01)) fail_msg("rows %g columns %g: %g, not %g", r, c, got, want);
            }
    }
}

/* Padding costs what rows do, or next to nothing: the points tell which; without any, it is taken for the dearer. */
static void test_padding(void **state)
{
    (void)state;
    static const double rows[] = {4, 16, 64}, seen[] = {100, 900};
    for (int by_tokens = 0; by_tokens < 2; by_tokens++)
        for (int padded = 0; padded < 2; padded++) {
            struct sm_cost_point points[16];
            struct sm_cost_fit fit;
            size_t n = 0;
            for (size_t r = 0; r < 3; r++)
                for (size_t v = 0; v < 2; v++)
                    for (int half = 0; half <= padded; half++) {
                        struct sm_cost_sizes at = {rows[r], 1024, seen[v], rows[r] / (1 + half), seen[v]};
                        points[n++] = (struct sm_cost_point){at, 1e6 * at.rows +
                                                                     400 * at.seen * (by_tokens ? at.tokens : at.rows)};
                    }
            assert_int_equal(sm_cost_fit_points(&fit, points, n, true), 0);
            const struct sm_cost_sizes at = {40, 1024, 500, 10, 500};
            const double want = 1e6 * 40 + 400 * 500 * (by_tokens && padded ? 10 : 40), got = sm_cost_fit_at(&fit, &at);
            if (fabs(got / want - 1) > 0.01) fail_msg("%d %d: %g, not %g", by_tokens, padded, got, want);
        }
}

/* Points of one max_seq and one depth tell no slope, whatever rounding makes of terms that are the same to them. */
static void test_no_slope(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int turn = 0; turn < 100; turn++) {
        struct sm_cost_point points[9];
        struct sm_cost_fit fit;
        for (size_t i = 0; i < 9; i++)
            points[i] =
                (struct sm_cost_point){sizes(turn % 2 ? 1 : 1 + (double)(i % 3), 48, 30), 1e5 * (1 + next(&seed))};
        assert_int_equal(sm_cost_fit_points(&fit, points, 9, true), 0);
        for (size_t i = 0; i < 9; i++) {
            const double here = fit_at(&fit, points[i].at.rows, 48, 30);
            const double there = fit_at(&fit, points[i].at.rows, 4096, 1000);
            if (!(fabs(there / here - 1) < 1e-6)) fail_msg("turn %d: %g here, %g there", turn, here, there);
        }
    }
}

/* A point in ten that a neighbour held up does not bend the curve for the others. */
static void test_disturbed_points(void **state)
{
    (void)state;
    static const double rows[] = {1, 2, 4, 8, 16, 32, 64}, columns[] = {256, 1024};
    struct sm_cost_point points[64];
    struct sm_cost_fit fit;
    size_t n = 0;
    for (size_t r = 0; r < 7; r++)
        for (size_t c = 0; c < 2; c++)
            for (int v = 1; v <= 2; v++) {
                struct sm_cost_point p = {sizes(rows[r], columns[c], columns[c] * v / 2), 0};
                p.cost = surface(SM_PHASE_APPEND, p.at.rows, p.at.columns, p.at.valid, true) * (n % 10 == 5 ? 2.5 : 1);
                points[n++] = p;
            }
    assert_int_equal(sm_cost_fit_points(&fit, points, n, true), 0);
    for (double r = 1; r <= 64; r++)
        for (double c = 256; c <= 1024; c *= 2) {
            const double want = surface(SM_PHASE_APPEND, r, c, c / 2, true), got = fit_at(&fit, r, c, c / 2);
            if (!(fabs(got / want - 1) < 0.05)) fail_msg("rows %g columns %g: %g, not %g", r, c, got, want);
        }
}

/* Whatever the points say, costs are not negative and do not fall. */
static void test_monotone(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int turn = 0; turn < 300; turn++) {
        struct sm_cost_point points[40];
        struct sm_cost_fit fit;
        const size_t n = 1 + (size_t)(next(&seed) * 39);
        for (size_t i = 0; i < n; i++)
            points[i] =
                (struct sm_cost_point){{1 + floor(next(&seed) * 40), 2 + floor(next(&seed) * 4000),
                                        floor(next(&seed) * 2000), floor(next(&seed) * 40), floor(next(&seed) * 2000)},
                                       exp(20 * next(&seed))};
        assert_int_equal(sm_cost_fit_points(&fit, points, n, turn & 1), 0);
        double before = 0;
        for (double r = 1; r <= 41; r += 0.5) {
            const double t = fit_at(&fit, r, 1000, 500), wide = fit_at(&fit, r, 2000, 500),
                         full = fit_at(&fit, r, 1000, 900);
            assert_true(isfinite(t) && t >= 0 && t >= before * (1 - 1e-12) && wide >= t && full >= t);
            before = t;
        }
        double total = 0;
        for (size_t i = 0; i < n; i++) total += sm_cost_fit_at(&fit, &points[i].at);
        assert_true(total > 0);
    }
    const struct sm_cost_point bad[] = {{{1, 2, 1, 1, 1}, NAN},
                                        {{1, 2, 1, 1, 1}, 0},
                                        {{1, 2, 1, 1, 1}, -1},
                                        {{0, 2, 1, 1, 1}, 1},
                                        {{1, INFINITY, 1, 1, 1}, 1}};
    struct sm_cost_fit fit;
    for (size_t i = 0; i < 5; i++) assert_int_equal(sm_cost_fit_points(&fit, &bad[i], 1, true), -1);
    assert_int_equal(sm_cost_fit_points(&fit, bad, 0, true), -1);
}

struct written {
    enum sm_phase phase;
    size_t rows, max_seq, past, tokens;
    const char *attention, *role;
};

static struct sm_record *record_of(const struct written *w, double ns)
{
    const double samples[] = {ns, ns * 1.3, ns * 0.8, ns, ns * 1.1};
    struct sm_record *r = sm_record_create("cost", "known/point");
    sm_record_put_string(r, "model", "name", "known");
    sm_record_set_string(r, "recipe", "native");
    sm_record_set_string(r, "phase", sm_phase_name(w->phase));
    sm_record_set_string(r, "kv_type", "f16");
    sm_record_set_integer(r, "threads", 2);
    sm_record_set_integer(r, "bucket", (int64_t)w->rows);
    sm_record_set_integer(r, "max_seq", (int64_t)w->max_seq);
    sm_record_set_integer(r, "n_depth", (int64_t)w->past);
    sm_record_set_integer(r, "n_prompt", (int64_t)w->tokens);
    sm_record_set_numbers(r, "samples", samples, 5);
    sm_record_put_integer(r, "memory", "arena_bytes", (int64_t)(5000 + 100 * w->rows + 8 * w->rows * w->max_seq));
    sm_record_put_integer(r, "memory", "cache_bytes", (int64_t)(23040 * (w->max_seq - 1)));
    sm_record_put_string(r, "cost", "attention", w->attention);
    sm_record_put_string(r, "cost", "role", w->role);
    return r;
}

static void write_record(const struct written *w, double factor)
{
    const bool skip = !strcmp(w->attention, "skip");
    const double ns = call_ns(w->phase, w->rows, w->max_seq, w->past, w->tokens, skip);
    struct sm_record *r = record_of(w, factor * ns);
    if (sm_record_append(r, path, why, sizeof why)) fail_msg("%s", why);
    sm_record_destroy(r);
}

/* A grid in two rounds, of which the second is slower by nothing; held-out points 4 % beside the surface. */
static void write_known(void)
{
    static const size_t rows[] = {1, 8, 16, 32, 64}, max_seqs[] = {256, 1024};
    unlink(path);
    for (int skip = 0; skip < 2; skip++) {
        const char *attention = skip ? "skip" : "literal";
        for (size_t k = 0; k < 2; k++)
            for (size_t v = 1; v <= 3; v += 2) {
                const size_t past = v * max_seqs[k] / 4 - 1;
                for (int round = 0; round < 2; round++) {
                    write_record(&(struct written){SM_PHASE_DECODE, 1, max_seqs[k], past, 1, attention, "fit"}, 1);
                    for (size_t r = 1; r < 5; r++)
                        write_record(&(struct written){SM_PHASE_APPEND, rows[r], max_seqs[k], past - rows[r] / 2,
                                                       rows[r], attention, "fit"},
                                     1);
                }
            }
        for (size_t r = 1; r < 5; r++)
            write_record(&(struct written){SM_PHASE_APPEND, rows[r], 1024, 500, rows[r] / 4, attention, "fit"}, 1);
        for (size_t s = 64; s <= 1024; s *= 2)
            write_record(&(struct written){SM_PHASE_PREFILL, s, 1024, 0, s - 1, attention, "fit"}, 1);
        for (size_t i = 0; i < 3; i++)
            write_record(&(struct written){SM_PHASE_APPEND, 16, 512, 100 + i, 16, attention, "held-out"}, 1 / 1.04);
        write_record(&(struct written){SM_PHASE_APPEND, 16, 512, 100, 16, attention, "steps"}, 9);
    }
}

static void test_table(void **state)
{
    (void)state;
    struct sm_cost_table *t;
    struct sm_cost c;
    write_known();
    if (sm_cost_table_load(&t, path, why, sizeof why)) fail_msg("%s", why);
    assert_int_equal(sm_cost_table_count(t), 2);
    assert_null(sm_cost_table_find(t, SM_COST_SKIP, SM_KV_I8, 2));
    assert_null(sm_cost_table_find(t, SM_COST_SKIP, SM_KV_F16, 1));
    for (int skip = 0; skip < 2; skip++) {
        const struct sm_cost_series *s = sm_cost_table_find(t, skip ? SM_COST_SKIP : SM_COST_LITERAL, SM_KV_F16, 2);
        assert_non_null(s);
        assert_string_equal(s->model, "known");
        const struct sm_cost_phase *append = &s->phase[SM_PHASE_APPEND];
        assert_int_equal(append->points, 20);
        assert_int_equal(append->held_out, 3);
        assert_true(fabs(append->median_error - 0.04) < 0.005 && append->worst_error < 0.05);
        assert_true(append->band >= append->worst_error);
        for (size_t rows = 8; rows <= 64; rows += 4) { /* nothing there was measured */
            const struct sm_cost_call call = {SM_PHASE_APPEND, rows, 700, 200, rows};
            if (sm_cost_ask(s, &call, &c, why, sizeof why)) fail_msg("%s", why);
            const double want = call_ns(SM_PHASE_APPEND, rows, 700, 200, rows, skip);
            if (fabs(c.ns / want - 1) > 0.01) fail_msg("%zu rows: %g, not %g", rows, c.ns, want);
            assert_true(!c.measured && !c.extrapolated && c.low <= c.ns && c.ns <= c.high);
            const struct sm_cost_call padded = {SM_PHASE_APPEND, rows, 700, 200, rows / 2};
            if (sm_cost_ask(s, &padded, &c, why, sizeof why)) fail_msg("%s", why);
            const double less = call_ns(SM_PHASE_APPEND, rows, 700, 200, rows / 2, skip);
            if (fabs(c.ns / less - 1) > 0.01) fail_msg("%zu rows, half padded: %g, not %g", rows, c.ns, less);
            assert_true(skip ? less < want : !(less < want));
        }
        const struct sm_cost_call known = {SM_PHASE_DECODE, 1, 256, 63, 1}, far = {SM_PHASE_DECODE, 1, 4096, 63, 1};
        assert_int_equal(sm_cost_ask(s, &known, &c, why, sizeof why), 0);
        assert_true(c.measured && fabs(c.ns / surface(SM_PHASE_DECODE, 1, 256, 64, skip) - 1) < 1e-9);
        assert_true(fabs(c.low / c.ns - 1) < 1e-9 && fabs(c.high / c.ns - 1.1) < 1e-9); /* quartiles */
        assert_int_equal(sm_cost_ask(s, &far, &c, why, sizeof why), 0);
        assert_true(c.extrapolated && fabs(c.ns / surface(SM_PHASE_DECODE, 1, 4096, 64, skip) - 1) < 0.01);
        assert_true(fabs(sm_cost_slot_ns(s) - (skip ? 200 : 350)) < 2);
        assert_true(fabs(sm_cost_valid_ns(s) - (skip ? 150 : 0)) < 2);
        assert_true(fabs(sm_cost_token_ns(s, 400) - (skip ? 150 * 400.5 : 0)) < 600);
        size_t free_rows;
        const double knee = sm_cost_knee(s, 256, &free_rows), line = skip ? 1e6 + 150 * 128 : 1e6 + 150 * 256;
        const double flat = surface(SM_PHASE_DECODE, 1, 256, 128, skip);
        if (fabs(knee / (flat / line) - 1) > 0.01) fail_msg("knee %g", knee);
        assert_int_equal(free_rows, 8);
    }
    sm_cost_table_destroy(t);
}

static void test_memory(void **state)
{
    (void)state;
    struct sm_cost_table *t;
    double bytes;
    bool exact;
    write_known();
    assert_int_equal(sm_cost_table_load(&t, path, why, sizeof why), 0);
    const struct sm_cost_series *s = sm_cost_table_at(t, 0);
    assert_int_equal(sm_cost_cache(s, 1024, &bytes, &exact, why, sizeof why), 0);
    assert_true(exact && bytes == 23040.0 * 1023);
    assert_int_equal(sm_cost_cache(s, 131072, &bytes, &exact, why, sizeof why), 0);
    assert_true(!exact && fabs(bytes / (23040.0 * 131071) - 1) < 1e-6);
    assert_int_equal(sm_cost_arena(s, SM_PHASE_APPEND, 32, 1024, &bytes, &exact, why, sizeof why), 0);
    assert_true(exact && bytes == 5000 + 100 * 32 + 8 * 32 * 1024);
    assert_int_equal(sm_cost_arena(s, SM_PHASE_APPEND, 24, 600, &bytes, &exact, why, sizeof why), 0);
    assert_true(!exact && fabs(bytes / (5000 + 100 * 24 + 8 * 24 * 600) - 1) < 0.01);
    assert_int_equal(sm_cost_arena(s, SM_PHASE_APPEND, 65, 600, &bytes, &exact, why, sizeof why), -1);
    assert_int_equal(sm_cost_cache(s, 1, &bytes, &exact, why, sizeof why), -1);
    sm_cost_table_destroy(t);
}

/* Calls that cannot be, and rows that nobody measured, get a sentence. */
static void test_refusals(void **state)
{
    (void)state;
    struct sm_cost_table *t;
    struct sm_cost c;
    static const struct sm_cost_call calls[] = {
        {SM_PHASE_APPEND, 128, 1024, 10, 100}, {SM_PHASE_APPEND, 4, 1024, 10, 4}, {SM_PHASE_APPEND, 16, 256, 241, 5},
        {SM_PHASE_APPEND, 16, 256, 10, 17},    {SM_PHASE_APPEND, 16, 256, 10, 0}, {SM_PHASE_APPEND, 16, 256, 240, 16},
        {SM_PHASE_APPEND, 16, 8, 0, 1},        {SM_PHASE_APPEND, 0, 256, 0, 1},   {SM_PHASE_DECODE, 2, 256, 10, 2},
        {SM_PHASE_DECODE, 1, 256, 255, 1},     {SM_PHASE_DECODE, 1, 1, 0, 1},     {SM_PHASE_PREFILL, 64, 1024, 1, 10},
        {SM_PHASE_PREFILL, 32, 1024, 0, 10},   {SM_PHASES, 1, 256, 1, 1},
    };
    write_known();
    assert_int_equal(sm_cost_table_load(&t, path, why, sizeof why), 0);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        *why = 0;
        if (!sm_cost_ask(sm_cost_table_at(t, 0), &calls[i], &c, why, sizeof why) || !*why)
            fail_msg("call %zu was not refused", i);
    }
    sm_cost_table_destroy(t);
}

/* Points of another machine do not mix with the last one's. */
static void test_other_machine(void **state)
{
    (void)state;
    struct sm_cost_table *t;
    write_known();
    const struct written w = {SM_PHASE_DECODE, 1, 256, 63, 1, "literal", "fit"};
    struct sm_record *r = record_of(&w, 5);
    sm_record_put_string(r, "machine", "cpu", "another");
    assert_int_equal(sm_record_append(r, path, why, sizeof why), 0);
    assert_int_equal(sm_cost_table_load(&t, path, why, sizeof why), 0);
    assert_true(sm_cost_table_count(t) == 1 && sm_cost_table_at(t, 0)->count == 1 && sm_cost_table_left_out(t) > 50);
    sm_cost_table_destroy(t);
    sm_record_destroy(r);
}

static int load_text(const char *text, size_t bytes)
{
    struct sm_cost_table *t = NULL;
    struct sm_cost c;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    fclose(f);
    *why = 0;
    const int result = sm_cost_table_load(&t, path, why, sizeof why);
    if (result && !*why) fail_msg("no sentence");
    for (size_t i = 0; !result && i < sm_cost_table_count(t); i++)
        for (int p = 0; p < SM_PHASES; p++) {
            const struct sm_cost_call call = {(enum sm_phase)p, p == SM_PHASE_DECODE ? 1 : 64, 512, 0, 1};
            if (!sm_cost_ask(sm_cost_table_at(t, i), &call, &c, why, sizeof why))
                assert_true(isfinite(c.ns) && c.ns >= 0);
        }
    if (!result) sm_cost_table_destroy(t);
    return result;
}

static void test_hostile(void **state)
{
    (void)state;
    static const char *const swaps[][2] = {
        {"\"bucket\":16", "\"bucket\":0"},
        {"\"bucket\":16", "\"bucket\":-1"},
        {"\"bucket\":16", "\"bucket\":200000"},
        {"\"bucket\":16", "\"bucket\":null"},
        {"\"n_depth\":", "\"n_depth\":9"},
        {"\"n_prompt\":16", "\"n_prompt\":17"},
        {"\"n_prompt\":16", "\"n_prompt\":0"},
        {"\"max_seq\":256", "\"max_seq\":1"},
        {"\"max_seq\":256", "\"max_seq\":1e300"},
        {"\"threads\":2", "\"threads\":0"},
        {"\"samples\":[", "\"samples\":[0,"},
        {"\"samples\":[", "\"samples\":[-1,"},
        {"\"samples\":[", "\"samples\":[null,"},
        {"\"samples\":[", "\"samples\":[1e300,"},
        {"\"samples\":[", "\"samples\":[],\"x\":["},
        {"\"arena_bytes\":", "\"arena_bytes\":-"},
        {"\"cache_bytes\":", "\"cache\":"},
        {"\"literal\"", "\"other\""},
        {"\"role\":\"fit\"", "\"role\":\"x\""},
        {"\"phase\":\"append\"", "\"phase\":\"x\""},
        {"\"kv_type\":\"f16\"", "\"kv_type\":\"x\""},
        {"\"kind\":\"cost\"", "\"kind\":\"x\""},
    };
    write_known();
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 20), *changed = malloc(1 << 20);
    assert_true(f && text && changed);
    const size_t bytes = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    assert_int_equal(load_text(text, bytes), 0);
    for (size_t i = 0; i < sizeof swaps / sizeof *swaps; i++) {
        const char *at = strstr(text, swaps[i][0]);
        assert_non_null(at);
        snprintf(changed, 1 << 20, "%.*s%s%s", (int)(at - text), text, swaps[i][1], at + strlen(swaps[i][0]));
        if (!load_text(changed, strlen(changed))) fail_msg("taken: %s", swaps[i][1]);
    }
    uint64_t seed = 3;
    size_t refused = 0;
    const size_t some = bytes / 12; /* a few lines: a thousand files of it take a moment */
    for (int i = 0; i < 1000; i++) {
        memcpy(changed, text, some);
        for (int k = 0; k < 1 + i % 3; k++)
            changed[(size_t)(next(&seed) * (double)some)] = "\"0-9e{}[],:.\n\\\xff"[(size_t)(next(&seed) * 15)];
        refused += load_text(changed, some) != 0;
    }
    assert_true(refused > 100);
    assert_int_equal(load_text("", 0), -1);
    unlink(path);
    struct sm_cost_table *t;
    assert_int_equal(sm_cost_table_load(&t, path, why, sizeof why), -1);
    free(text);
    free(changed);
}

static int finish(void **state)
{
    (void)state;
    unlink(path); /* it may be gone already */
    return 0;
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/slotmark-costs-%ld.jsonl", (long)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_surface), cmocka_unit_test(test_disturbed_points),
        cmocka_unit_test(test_no_slope),      cmocka_unit_test(test_padding),
        cmocka_unit_test(test_monotone),      cmocka_unit_test(test_table),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_other_machine), cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
