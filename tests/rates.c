/* Which ceilings a case has, and what is made of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ceilings.h"
#include "clock.h"
#include "cpu.h"
#include "limit.h"
#include "rates.h"
#include "ridge.h"

static struct sm_rates *rates; /* anew for each test, since it raises ceilings that are beaten */

static void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted))) fail_msg("%.12g is not %.12g", value, wanted);
}

static struct sm_bench_case case_of(const char *family, const char *variant)
{
    struct sm_bench_case c = {.family = sm_family_named(family), .workload = sm_workload_named(family), .threads = 1};
    assert_non_null(c.family);
    c.variant = sm_variant_named(c.family, variant);
    assert_non_null(c.variant);
    for (size_t d = 0; d < c.family->dim_count; d++) c.shape.dim[d] = c.family->dims[d].standard;
    return c;
}

static void set(struct sm_bench_case *c, const char *axis, int64_t value)
{
    const int d = sm_dim_index(c->family, axis);
    assert_true(d >= 0);
    c->shape.dim[d] = value;
}

/* A case that took so many cycles for each of its ops, of so slow a clock that memory does not bind it, however
 * disturbed its ceilings are. The caller destroys the record. */
static struct sm_record *judged(const struct sm_bench_case *c, double cycles_per_op, struct sm_share *share)
{
    struct sm_record *r = sm_record_create("bench", "x");
    const double hz = 0.5e9, ns = c->workload->ops(&c->shape) * cycles_per_op / hz * 1e9;
    assert_non_null(r);
    *share = sm_rates_judge(rates, c, 1024, ns, hz, r);
    return r;
}

static double ceiling_in(struct sm_record *r, const char *name, const char *unit)
{
    const json_t *c = json_object_get(json_object_get(sm_record_json(r), "ceilings"), name);
    assert_non_null(c);
    assert_string_equal(json_string_value(json_object_get(c, "unit")), unit);
    return json_number_value(json_object_get(c, "value"));
}

static void functions_bind_where_they_are_worked_out(void **state)
{
    (void)state;
    if (!(sm_cpu_features() & SM_CPU_AVX2)) skip();
    const struct sm_ceiling *most = sm_ceiling_named(sm_ceilings(1), "tanh_f32_avx2");
    assert_non_null(most);
    struct sm_bench_case c = case_of("gated_silu", "avx2"); /* an exp and a division, as tanh */
    struct sm_share share;
    struct sm_record *r = judged(&c, 2 / most->value, &share);
    assert_string_equal(json_string_value(json_object_get(sm_record_json(r), "binding_ceiling")), "tanh_f32_avx2");
    assert_near(share.value, 0.5);
    assert_false(share.impossible);
    assert_near(ceiling_in(r, "tanh_f32_avx2", "elements/cycle"), most->value);
    sm_record_destroy(r);
    r = judged(&c, 0.05 / most->value, &share); /* 20 times the ceiling */
    assert_true(share.impossible);
    sm_record_destroy(r);

    c = case_of("softcap_f32", "avx2");
    r = judged(&c, 8, &share);
    ceiling_in(r, "tanh_f32_avx2", "elements/cycle");
    sm_record_destroy(r);
    const char *const rows[][2] = {{"quantise_a8", "narrow8_f32_avx2"},
                                   {"quantise_a8r", "narrow8_f32_avx2"},
                                   {"quantise_a16", "narrow16_f32_avx2"},
                                   {"requantise", "narrow16_i16_avx2"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        c = case_of(rows[i][0], "avx2");
        r = judged(&c, 8, &share);
        ceiling_in(r, rows[i][1], "elements/cycle");
        sm_record_destroy(r);
    }
    c = case_of("softcap_f32", "ref"); /* by libm, whose limit nobody has measured */
    r = judged(&c, 8, &share);
    assert_null(json_object_get(json_object_get(sm_record_json(r), "ceilings"), "tanh_f32_avx2"));
    sm_record_destroy(r);
}

/* A score of attention costs two multiply-adds for each dimension, and one exponential. */
static void attention_pays_for_its_scores(void **state)
{
    (void)state;
    if (!(sm_cpu_features() & SM_CPU_AVX2)) skip();
    const double exps = sm_ceiling_named(sm_ceilings(1), "exp_f32_avx2")->value;
    const double tanhs = sm_ceiling_named(sm_ceilings(1), "tanh_f32_avx2")->value;
    struct sm_bench_case c = case_of("attention_f16", "literal_avx2");
    struct sm_share share;
    set(&c, "head_dim", 128);
    set(&c, "softcap", 0);
    struct sm_record *r = judged(&c, 1, &share);
    assert_near(ceiling_in(r, "exp_f32_avx2", "multiply-adds/cycle"), 256 * exps);
    sm_record_destroy(r);
    set(&c, "softcap", 50);
    r = judged(&c, 1, &share);
    assert_near(ceiling_in(r, "tanh_f32_avx2", "multiply-adds/cycle"), 256 * tanhs);
    sm_record_destroy(r);
}

static void held_to(const struct sm_bench_case *c, const char *scheme)
{
    const double most = sm_ceiling_named(sm_ceilings(1), scheme)->value;
    struct sm_share share;
    struct sm_record *r = judged(c, 2 / most, &share);
    assert_string_equal(json_string_value(json_object_get(sm_record_json(r), "binding_ceiling")), scheme);
    assert_near(share.value, 0.5);
    sm_record_destroy(r);
}

/* Queries in 16 bits, not floats; wide heads have few exponentials, and many rows few bytes. */
static void integer_attention_is_held_to_integers(void **state)
{
    (void)state;
    if (!(sm_cpu_features() & SM_CPU_AVX2)) skip();
    struct sm_bench_case c = case_of("attention_i8", "literal_avx2");
    set(&c, "head_dim", 512);
    set(&c, "rows", 32);
    held_to(&c, "madd_i16_avx2");
    c = case_of("attention_i16", "literal_avx2"); /* which multiplies floats */
    set(&c, "head_dim", 512);
    set(&c, "rows", 32);
    held_to(&c, "fma_f32_avx2");
    if (!(sm_cpu_features() & SM_CPU_AVX512VNNI)) return;
    c = case_of("attention_i8", "literal_avx512vnni");
    held_to(&c, "dpwssd_i16_avx512vnni");
    if (!(sm_cpu_features() & SM_CPU_AMX)) return;
    c = case_of("attention_i8", "literal_amx");
    set(&c, "head_dim", 512);
    set(&c, "rows", 32);
    held_to(&c, "dpbsud_i16_amx");
}

/* Tiles multiply bytes: two planes of them. */
static void int16_rows_are_held_to_two_products(void **state)
{
    (void)state;
    if (!(sm_cpu_features() & SM_CPU_AMX)) skip();
    struct sm_bench_case c = case_of("matmul_w8c_a16", "amx");
    set(&c, "rows", 128);
    held_to(&c, "dpbsud_i16_amx");
}

static struct sm_ceilings two(double bandwidth, double seconds)
{
    return (struct sm_ceilings){.threads = 1,
                                .count = 2,
                                .item = {{.name = "dram_read", .value = bandwidth, .unit = "B/s"},
                                         {.name = "omp_fork", .value = seconds, .unit = "s"}}};
}

static void the_better_ceiling_is_kept(void **state)
{
    (void)state;
    struct sm_ceilings kept = two(10, 3e-6), other = two(12, 4e-6);
    sm_ceilings_best(&kept, &other);
    assert_near(kept.item[0].value, 12);
    assert_near(kept.item[1].value, 3e-6);
    kept.item[0].core_hz = 4; /* faster by its clock, not by what a core does */
    other.item[0].value = 11;
    other.item[0].core_hz = 3;
    sm_ceilings_best(&kept, &other);
    assert_near(kept.item[0].value, 11);
    other = two(12, 4e-6);
    kept = two(NAN, 5e-6);
    sm_ceilings_best(&kept, &other);
    assert_near(kept.item[0].value, 12);
    assert_near(kept.item[1].value, 4e-6);
}

/* What is written where it was read: an update may be twice as fast as a copy, and excuses no call that copies. */
static void a_call_in_place_is_held_to_updates(void **state)
{
    (void)state;
    const struct sm_ceilings c = {.threads = 1,
                                  .count = 4,
                                  .item = {{.name = "l1_read", .value = 100, .unit = "B/s", .core_hz = NAN},
                                           {.name = "l1_write", .value = 50, .unit = "B/s", .core_hz = NAN},
                                           {.name = "l1_copy", .value = 90, .unit = "B/s", .core_hz = NAN},
                                           {.name = "l1_update", .value = 180, .unit = "B/s", .core_hz = NAN}}};
    struct sm_limited_call call = {.family = "rope",
                                   .group = "layer",
                                   .isa = "any",
                                   .ops_unit = "elements",
                                   .ops = 1,
                                   .bytes = 135,
                                   .threads = 1,
                                   .ns = 1e9,
                                   .core_hz = 1e9,
                                   .working_set = 1024};
    struct sm_limit limit = sm_limit_of(&c, &call, NULL);
    assert_string_equal(limit.name, "l1_copy");
    assert_near(limit.share, 1.5);
    assert_true(limit.impossible);
    call.in_place = true;
    limit = sm_limit_of(&c, &call, NULL);
    assert_string_equal(limit.name, "l1_update");
    assert_near(limit.share, 0.75);
    assert_false(limit.impossible);
}

/* Of all, only L3 and DRAM: the figures of a minute ago are replaced, higher or not. */
static void far_memory_is_measured_again(void **state)
{
    (void)state;
    struct sm_ceilings c = *sm_ceilings(1);
    char why[256];
    for (size_t i = 0; i < c.count; i++) c.item[i].value = 1e30;
    if (sm_ceilings_refresh(&c, why, sizeof why)) fail_msg("%s", why);
    for (size_t i = 0; i < c.count; i++) {
        const bool far = !strncmp(c.item[i].name, "l3_", 3) || !strncmp(c.item[i].name, "dram_", 5);
        assert_true(far ? !(c.item[i].value >= 1e30) : c.item[i].value >= 1e30);
    }
}

/* Memory that gave a thousandth of what it gives while its ceiling was measured, and then twice as much to a case. */
static void a_ceiling_that_was_held_down_is_measured_again(void **state)
{
    (void)state;
    const struct sm_ceiling *known = sm_ceiling_named(sm_ceilings(1), "dram_read");
    if (!known) skip(); /* too small a machine */
    struct sm_ceiling *held;
    memcpy(&held, &known, sizeof held);
    const double most = known->value;
    held->value = most / 1000;
    struct sm_bench_case c = case_of("matmul_f32", "ref");
    set(&c, "rows", 1);
    struct sm_record *r = sm_record_create("bench", "x");
    assert_non_null(r);
    const double ns = c.workload->bytes(&c.shape) / (most / 500) * 1e9;
    const struct sm_share share = sm_rates_judge(rates, &c, 1e15, ns, 100e9, r);
    held->value = most;
    assert_true(ceiling_in(r, "dram_read", "B/s") > most / 500);
    assert_true(share.value < 1);
    sm_record_destroy(r);
}

/* 4-bit weights, 20 GB/s and 100 G multiply-adds/s: 0.5625 bytes a weight, so 2.8 rows and a little for the rows' own
 * bytes; at the ridge both ceilings allow the same time. */
static void a_ridge_is_where_two_ceilings_meet(void **state)
{
    (void)state;
    struct sm_bench_case c = case_of("matmul_w4g32_a8", "ref");
    set(&c, "out", 4096);
    set(&c, "in", 4096);
    set(&c, "rows", 1);
    const double rows = sm_ridge_rows(&c, 20e9, 100e9);
    assert_true(rows > 2.8 && rows < 2.9);
    set(&c, "out", 64);
    set(&c, "in", 64); /* where a row's own bytes matter */
    const double small = sm_ridge_rows(&c, 20e9, 100e9), first = c.workload->bytes(&c.shape);
    set(&c, "rows", 2);
    const double each = c.workload->bytes(&c.shape) - first;
    assert_near((first + (small - 1) * each) / 20e9, 64 * 64 * small / 100e9);
    set(&c, "out", 4096);
    set(&c, "in", 4096);
    assert_true(isnan(sm_ridge_rows(&c, 1, 1e30))); /* each row's own bytes take longer than its arithmetic */
    assert_true(isnan(sm_ridge_rows(&c, NAN, 1e9)));
    set(&c, "rows", 100);
    assert_near(sm_ridge_rows(&c, 20e9, 100e9), rows); /* whatever the case's own rows are */
}

static void add_row(json_t *records, int rows, double ns)
{
    struct sm_record *r = sm_record_create("bench", "x");
    sm_record_set_string(r, "family", "matmul_w4g32_a8");
    sm_record_set_string(r, "variant", "ref");
    sm_record_set_string(r, "cache_state", "hot");
    sm_record_set_integer(r, "threads", 1);
    sm_record_put_integer(r, "shape", "rows", rows);
    sm_record_put_integer(r, "shape", "out", 64);
    sm_record_put_integer(r, "shape", "in", 32);
    sm_record_set_numbers(r, "samples", &ns, 1);
    sm_record_set_json(r, "ridge",
                       json_pack("{s:s,s:s,s:f,s:n}", "memory", "l2_read", "scheme", "y", "rows", 2.5, "dram_rows"));
    json_array_append(records, sm_record_json(r));
    sm_record_destroy(r);
}

static void a_knee_is_read_off_the_times(void **state)
{
    (void)state;
    char text[1024] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    json_t *records = json_array();
    add_row(records, 1, 300);
    sm_ridge_print(records, out);
    fflush(out);
    assert_string_equal(text, ""); /* one number of rows has no knee */
    add_row(records, 64, 6400);
    add_row(records, 8, 900);
    sm_ridge_print(records, out);
    json_array_clear(records);
    add_row(records, 1, 300);
    add_row(records, 2, 310);
    sm_ridge_print(records, out);
    fclose(out);
    assert_non_null(
        strstr(text, "matmul_w4g32_a8 ref 64x32 t=1: 2.5 of l2_read, none of DRAM; knee 3.0 (1 to 64 rows)\n"));
    assert_non_null(strstr(text, "knee not before 2 (1 to 2 rows)\n"));
    json_decref(records);
}

static int open_rates(void **state)
{
    (void)state;
    return (rates = sm_rates_create()) ? 0 : -1;
}

static int close_rates(void **state)
{
    (void)state;
    sm_rates_destroy(rates);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(functions_bind_where_they_are_worked_out, open_rates, close_rates),
        cmocka_unit_test_setup_teardown(attention_pays_for_its_scores, open_rates, close_rates),
        cmocka_unit_test_setup_teardown(integer_attention_is_held_to_integers, open_rates, close_rates),
        cmocka_unit_test_setup_teardown(int16_rows_are_held_to_two_products, open_rates, close_rates),
        cmocka_unit_test_setup_teardown(the_better_ceiling_is_kept, open_rates, close_rates),
        cmocka_unit_test(a_call_in_place_is_held_to_updates),
        cmocka_unit_test_setup_teardown(far_memory_is_measured_again, open_rates, close_rates),
        cmocka_unit_test_setup_teardown(a_ceiling_that_was_held_down_is_measured_again, open_rates, close_rates),
        cmocka_unit_test(a_ridge_is_where_two_ceilings_meet),
        cmocka_unit_test(a_knee_is_read_off_the_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
