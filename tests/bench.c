/* The core of `slotmark bench`: sweeps and their cases, and variants that are wrong in several ways. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "instances.h"
#include "matmul_f32/matmul_f32.h"
#include "timed.h"

static struct sm_sweep_choice any_cpu(void)
{
    return (struct sm_sweep_choice){.seed = 1, .features = UINT32_MAX};
}

static struct sm_bench_cases parse(const char *text, const struct sm_sweep_choice *choice)
{
    char why[512] = "";
    struct sm_bench_cases cases = {0};
    if (sm_sweep_parse(text, "test", choice, &cases, why, sizeof why)) fail_msg("%s", why);
    return cases;
}

static const struct sm_bench_case *with_id(const struct sm_bench_cases *cases, const char *id)
{
    for (size_t i = 0; i < cases->count; i++)
        if (!strcmp(cases->at[i]->id, id)) return cases->at[i];
    return NULL;
}

static size_t count_of(const struct sm_bench_cases *cases, const char *family)
{
    size_t count = 0;
    for (size_t i = 0; i < cases->count; i++) count += !strcmp(cases->at[i]->family->name, family);
    return count;
}

static void lines_become_cases(void **unused)
{
    (void)unused;
    struct sm_sweep_choice choice = any_cpu();
    struct sm_bench_cases cases = parse("# a comment\n"
                                        "matmul_f32 rows=1,4 out=64 in=32..128*2 variant=ref threads=1,2\n"
                                        "matmul_f32 rows=1 out=64 in=32 variant=ref   # there already\n"
                                        "softcap_f32 rows=@cols cols=8,16 variant=ref\n",
                                        &choice);
    assert_int_equal(count_of(&cases, "matmul_f32"), 2 * 3 * 2);
    assert_non_null(with_id(&cases, "matmul_f32/ref/rows=4,out=64,in=128/t2/hot"));
    assert_int_equal(count_of(&cases, "softcap_f32"), 2);
    assert_non_null(with_id(&cases, "softcap_f32/ref/rows=16,cols=16/t1/hot"));
    /* families without a line are there all the same */
    for (size_t i = 0; i < sm_family_count(); i++) assert_true(count_of(&cases, sm_family_at(i)->name) > 0);
    sm_bench_cases_free(&cases);
}

static void variants_are_chosen(void **unused)
{
    (void)unused;
    struct sm_sweep_choice choice = any_cpu();
    const struct sm_family *f = sm_family_named("matmul_w4g32_a8");
    struct sm_bench_cases cases = parse("matmul_w4g32_a8 variant=all\nmatmul_f32 variant=ref", &choice);
    assert_int_equal(count_of(&cases, f->name), f->variant_count);
    sm_bench_cases_free(&cases);
    cases = parse("matmul_w4g32_a8 variant=best", &choice); /* one for each format */
    assert_int_equal(count_of(&cases, f->name), 2);
    for (size_t i = 0; i < cases.count; i++)
        if (cases.at[i]->family == f)
            assert_ptr_equal(cases.at[i]->variant,
                             sm_variant_best(f, UINT32_MAX, cases.at[i]->variant->layout->format));
    sm_bench_cases_free(&cases);
    choice.features = 0; /* a CPU without any of it: named variants are refused in words, not left out */
    cases = parse("matmul_w4g32_a8 variant=all", &choice);
    assert_int_equal(count_of(&cases, f->name), f->variant_count);
    for (size_t i = 0; i < cases.count; i++)
        if (cases.at[i]->variant->needs) assert_non_null(strstr(cases.at[i]->refused, "lacks the instruction set"));
    sm_bench_cases_free(&cases);
}

static void meaningless_combinations_are_kept_as_refused(void **unused)
{
    (void)unused;
    struct sm_sweep_choice choice = any_cpu();
    choice.hardware_threads = 1;
    struct sm_bench_cases cases =
        parse("attention_f32 rows=8,64 max_seq=32 head_dim=64 heads=4 kv_heads=2 threads=1,2 variant=ref", &choice);
    const struct sm_bench_case *c = with_id(
        &cases,
        "attention_f32/ref/rows=64,max_seq=32,head_dim=64,heads=4,kv_heads=2,valid=-1,window=0,softcap=0/t1/hot");
    assert_non_null(c);
    assert_non_null(strstr(c->refused, "max_seq"));
    c = with_id(
        &cases,
        "attention_f32/ref/rows=8,max_seq=32,head_dim=64,heads=4,kv_heads=2,valid=-1,window=0,softcap=0/t2/hot");
    assert_non_null(c);
    assert_non_null(strstr(c->refused, "hardware threads"));
    sm_bench_cases_free(&cases);
}

static void the_command_line_replaces_axes(void **unused)
{
    (void)unused;
    char why[512];
    struct sm_sweep_choice choice = any_cpu();
    const struct sm_list lengths = SM_LIST(128, 256), rows = SM_LIST(1, 8), more = SM_LIST(16);
    assert_int_equal(sm_sweep_override(&choice, "max_seq", &lengths, why, sizeof why), 0);
    assert_int_equal(sm_sweep_override(&choice, "rows", &rows, why, sizeof why), 0);
    assert_int_equal(sm_sweep_override(&choice, "rows", &more, why, sizeof why), 0);
    assert_int_equal(sm_parse_strings("f16", &choice.kv, NULL, why, sizeof why), 0);
    struct sm_bench_cases cases =
        parse("attention_* rows=@max_seq max_seq=64,512 variant=ref\nmatmul_f32 rows=1", &choice);
    assert_int_equal(count_of(&cases, "attention_f16"), 2 * 3);
    assert_int_equal(count_of(&cases, "attention_f32"), 0);
    assert_int_equal(count_of(&cases, "matmul_f32"), 0); /* it has no KV type */
    assert_true(count_of(&cases, "cache_write_f16") > 0);
    sm_bench_cases_free(&cases);
}

static void model_shapes_become_cases(void **unused)
{
    (void)unused;
    struct sm_sweep_choice choice = any_cpu();
    struct sm_bench_cases cases = parse("matmul_f32 shape=smollm2-135m rows=4 variant=ref\n"
                                        "attention_f16 shape=gemma-2-2b variant=ref\n"
                                        "softcap_f32 shape=smollm2-135m variant=ref",
                                        &choice);
    assert_non_null(with_id(&cases, "matmul_f32/ref/rows=4,out=576,in=576/t1/hot"));
    assert_non_null(with_id(&cases, "matmul_f32/ref/rows=4,out=576,in=1536/t1/hot"));
    assert_non_null(with_id(&cases, "matmul_f32/ref/rows=4,out=49152,in=576/t1/hot"));
    assert_int_equal(count_of(&cases, "attention_f16"), 2); /* sliding and full layers */
    assert_non_null(with_id(&cases, "softcap_f32/ref/rows=1,cols=49152/t1/hot"));
    sm_bench_cases_free(&cases);
}

static void bad_sweeps_get_a_sentence(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"no_such_family rows=1", "no family"},
        {"matmul_f32 max_seq=1", "no axis 'max_seq'"},
        {"matmul_f32 rows", "not of the form"},
        {"matmul_f32 rows=0", "outside"},
        {"matmul_f32 rows=x", "x"},
        {"matmul_f32 rows=@nothing", "no other axis"},
        {"matmul_f32 rows=@rows", "no other axis"},
        {"matmul_f32 shape=no-such-model", "no-such-model"},
        {"matmul_f32 rows=99999999", "outside"},
        {"matmul_f32 threads=0", "a team has 1 to"},
        {"matmul_f32 threads=9999", "a team has 1 to"},
        {"matmul_f32 =1", "not of the form"},
        {"matmul_f32\nmatmul_f32 rows=", "test:2: "},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char why[512] = "";
        struct sm_bench_cases cases = {0};
        const struct sm_sweep_choice choice = any_cpu();
        assert_int_equal(sm_sweep_parse(bad[i].text, "test", &choice, &cases, why, sizeof why), -1);
        if (!strstr(why, bad[i].says)) fail_msg("'%s' was answered with '%s'", bad[i].text, why);
        assert_non_null(strstr(why, "test:"));
        sm_bench_cases_free(&cases);
    }
}

/* Both committed sweeps parse, and the quick one covers what it promises. */
static void committed_sweeps_cover_the_groups(void **unused)
{
    (void)unused;
    static const char *const files[] = {"quick", "full"};
    for (size_t i = 0; i < 2; i++) {
        char path[512], why[512] = "";
        const struct sm_sweep_choice choice = any_cpu();
        struct sm_bench_cases cases = {0};
        int64_t seen[4][64];
        size_t counts[4] = {0};
        snprintf(path, sizeof path, "%s/bench/sweeps/%s.sweep", SM_SOURCE_DIR, files[i]);
        if (sm_sweep_load(path, &choice, &cases, why, sizeof why)) fail_msg("%s", why);
        static const char *const axes[] = {"max_seq", "rows", "head_dim"};
        static const char *const groups[] = {"attention", "cache_write"};
        for (size_t g = 0; g < 2; g++) {
            for (size_t a = 0; a < 3; a++) {
                counts[a] = 0;
                for (size_t c = 0; c < cases.count; c++) {
                    if (strcmp(cases.at[c]->family->group, groups[g])) continue;
                    const int64_t value = cases.at[c]->shape.dim[sm_dim_index(cases.at[c]->family, axes[a])];
                    size_t k = 0;
                    while (k < counts[a] && seen[a][k] != value) k++;
                    if (k == counts[a] && k < 64) seen[a][counts[a]++] = value;
                }
            }
            assert_true(counts[0] >= 4 && counts[1] >= 5 && counts[2] >= 4);
        }
        for (size_t f = 0; f < sm_family_count(); f++) assert_true(count_of(&cases, sm_family_at(f)->name) > 0);
        sm_bench_cases_free(&cases);
    }
}

/* A family of the test's own: matmul_f32 with broken variants beside the right one. */
static void right(const void *args, struct sm_part part)
{
    sm_matmul_f32_ref(args, part);
}

static void does_nothing(const void *args, struct sm_part part)
{
    (void)args, (void)part;
}

static void loses_the_last_column(const void *args, struct sm_part part)
{
    if (part.col_end > part.col_begin) part.col_end--;
    sm_matmul_f32_ref(args, part);
}

static void slightly_off(const void *args, struct sm_part part)
{
    const struct sm_matmul_f32 *a = args;
    sm_matmul_f32_ref(args, part);
    if (part.col_begin == 0) a->y[0] *= 1.01f;
}

/* Right when it is checked first, wrong once it has run a while: only the check after timing can see it. */
static void tires(const void *args, struct sm_part part)
{
    static size_t calls;
    const struct sm_matmul_f32 *a = args;
    sm_matmul_f32_ref(args, part);
    if (++calls > 2) a->y[0] += 1;
}

/* Its answer is right for what it made of its input, so only the look at the operands can see it. */
static void changes_its_input(const void *args, struct sm_part part)
{
    const struct sm_matmul_f32 *a = args;
    float *x;
    memcpy(&x, &a->x, sizeof x);
    x[0] += 1;
    sm_matmul_f32_ref(args, part);
}

struct broken {
    sm_kernel_fn *fn;
    const char *says; /* NULL: it is right */
};

static const struct sm_workload *workload; /* NULL: the family's own */

static struct sm_record *time_one(struct sm_timed_session *session, sm_kernel_fn *fn, size_t threads, bool cold)
{
    static struct sm_variant variant;
    static struct sm_family family;
    static struct sm_bench_case c;
    char why[512] = "";
    variant = sm_family_matmul_f32.variants[0];
    variant.name = "planted";
    variant.fn = fn;
    family = sm_family_matmul_f32;
    family.variants = &variant;
    family.variant_count = 1;
    c = (struct sm_bench_case){.family = &family,
                               .workload = workload ? workload : sm_workload_named("matmul_f32"),
                               .variant = &variant,
                               .shape = {{3, 96, 64}},
                               .threads = threads,
                               .cold = cold,
                               .seed = 7,
                               .id = "matmul_f32/planted/rows=3,out=96,in=64/t1/hot"};
    struct sm_record *r = sm_timed_record(session, &c, why, sizeof why);
    if (!r) fail_msg("%s", why);
    return r;
}

static void wrong_variants_get_no_time(void **state)
{
    struct sm_timed_session *session = *state;
    static const struct broken table[] = {
        {right, NULL},
        {does_nothing, "wrong before timing: the error"},
        {loses_the_last_column, "wrong before timing: the error"},
        {slightly_off, "wrong before timing: the error"},
        {tires, "wrong after timing: the error"},
        {changes_its_input, "wrong before timing: it changed its activations"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct sm_record *r = time_one(session, table[i].fn, 1, false);
        json_t *json = sm_record_json(r);
        const char *status = json_string_value(json_object_get(json, "status"));
        const char *why = json_string_value(json_object_get(json, "why"));
        if (table[i].says) {
            assert_string_equal(status, "error");
            if (!why || !strstr(why, table[i].says)) fail_msg("planted fault %zu: '%s'", i, why ? why : "");
            assert_true(json_is_null(json_object_get(json, "samples")));
        } else {
            assert_string_equal(status, "ok");
            assert_int_equal(json_array_size(json_object_get(json, "samples")), session->options.repetitions);
            assert_int_equal(json_array_size(json_object_get(json_object_get(json, "witnesses"), "cpu_ns")),
                             session->options.repetitions);
        }
        sm_record_destroy(r);
    }
}

static double no_number(void *work, const struct sm_variant *variant)
{
    (void)work, (void)variant;
    return NAN;
}

static void an_error_that_is_no_number_is_wrong(void **state)
{
    struct sm_workload confused = *sm_workload_named("matmul_f32");
    confused.error = no_number;
    workload = &confused;
    struct sm_record *r = time_one(*state, right, 1, false);
    workload = NULL;
    assert_string_equal(json_string_value(json_object_get(sm_record_json(r), "status")), "error");
    sm_record_destroy(r);
}

static void a_team_shares_a_call(void **state)
{
    struct sm_timed_session *session = *state;
    struct sm_record *r = time_one(session, right, 2, false);
    assert_string_equal(json_string_value(json_object_get(sm_record_json(r), "status")), "ok");
    sm_record_destroy(r);
    r = time_one(session, loses_the_last_column, 2, false);
    assert_string_equal(json_string_value(json_object_get(sm_record_json(r), "status")), "error");
    sm_record_destroy(r);
}

static bool flagged(const struct sm_record *record, const char *name)
{
    struct sm_record *r;
    memcpy(&r, &record, sizeof r);
    json_t *flags = json_object_get(json_object_get(sm_record_json(r), "witnesses"), "flags"), *flag;
    size_t i;
    json_array_foreach(flags, i, flag) if (!strcmp(json_string_value(flag), name)) return true;
    return false;
}

/* Cache sizes are the test's, so that what is cold does not depend on the machine. */
static void cold_passes_the_cache_or_says_so(void **state)
{
    struct sm_timed_session session = **(struct sm_timed_session **)state;
    const double one = 4 * (3 * 64 + 96 * 64 + 3 * 96);
    session.l2_bytes = 4 * one;
    session.l3_bytes = 40 * one;
    session.memory_bytes = 1e9;
    struct sm_record *r = time_one(&session, right, 1, true);
    assert_true(flagged(r, "cold_past_l3"));
    sm_record_destroy(r);
    session.memory_bytes = 8 * 20 * one; /* an eighth of it holds 20 sets */
    r = time_one(&session, right, 1, true);
    assert_true(flagged(r, "cold_past_l2_only"));
    sm_record_destroy(r);
    session.l2_bytes = 6 * one; /* passed by 20 sets, but two such caches are not */
    for (size_t threads = 1; threads <= 2; threads++) {
        r = time_one(&session, right, threads, true);
        assert_int_equal(flagged(r, "cold_past_l2_only"), threads == 1);
        sm_record_destroy(r);
    }
    session.l2_bytes = session.l3_bytes = 1e12;
    r = time_one(&session, right, 1, true);
    assert_string_equal(json_string_value(json_object_get(sm_record_json(r), "status")), "skipped");
    assert_non_null(strstr(json_string_value(json_object_get(sm_record_json(r), "why")), "cold is not possible"));
    sm_record_destroy(r);
    session.l2_bytes = session.l3_bytes = NAN;
    r = time_one(&session, right, 1, true);
    assert_string_equal(json_string_value(json_object_get(sm_record_json(r), "status")), "skipped");
    sm_record_destroy(r);
    r = time_one(&session, tires, 1, false); /* hot has no such flag */
    assert_false(flagged(r, "cold_past_l3"));
    sm_record_destroy(r);
}

static double boast(const struct sm_shape *shape)
{
    (void)shape;
    return 1e15;
}

/* A workload that claims more work than was done is the same as a time that cannot be: no result. */
static void impossible_rates_are_errors(void **state)
{
    struct sm_timed_session session = **(struct sm_timed_session **)state;
    session.rates = sm_rates_create();
    assert_non_null(session.rates);
    struct sm_record *r = time_one(&session, right, 1, false);
    assert_string_equal(json_string_value(json_object_get(sm_record_json(r), "status")), "ok");
    const char *limit = json_string_value(json_object_get(sm_record_json(r), "binding_ceiling"));
    assert_non_null(limit);
    assert_non_null(json_object_get(json_object_get(sm_record_json(r), "ceilings"), limit));
    sm_record_destroy(r);

    struct sm_workload boasting = *sm_workload_named("matmul_f32");
    workload = &boasting;
    for (int bytes = 0; bytes < 2; bytes++) {
        boasting.ops = sm_workload_named("matmul_f32")->ops;
        if (bytes)
            boasting.bytes = boast;
        else
            boasting.ops = boast;
        r = time_one(&session, right, 1, false);
        assert_string_equal(json_string_value(json_object_get(sm_record_json(r), "status")), "error");
        assert_non_null(strstr(json_string_value(json_object_get(sm_record_json(r), "why")), "impossible"));
        assert_true(json_is_null(json_object_get(sm_record_json(r), "samples")));
        sm_record_destroy(r);
    }
    session.l2_bytes = 1 << 20; /* whatever this machine has: cold is what comes from memory */
    session.l3_bytes = 1 << 25;
    r = time_one(&session, right, 1, true);
    const char *why = json_string_value(json_object_get(sm_record_json(r), "why"));
    assert_string_equal(json_string_value(json_object_get(sm_record_json(r), "status")), "error");
    if (!why || !strstr(why, "% of dram_")) fail_msg("cold, faster than memory: '%s'", why ? why : "");
    sm_record_destroy(r);
    workload = NULL;
    sm_rates_destroy(session.rates);
}

static int open_session(void **state)
{
    static struct sm_timed_session session;
    char why[256];
    sm_timed_session_init(&session);
    session.options = (struct sm_timed_options){.min_time = 0.0005, .warm_up = 0.0005, .repetitions = 3};
    session.gbench = sm_gbench_open(&(struct sm_gbench_options){0}, why, sizeof why);
    *state = &session;
    return session.gbench ? 0 : -1;
}

static int close_session(void **state)
{
    char why[256];
    return sm_gbench_close(((struct sm_timed_session *)*state)->gbench, why, sizeof why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_cases),
        cmocka_unit_test(variants_are_chosen),
        cmocka_unit_test(meaningless_combinations_are_kept_as_refused),
        cmocka_unit_test(the_command_line_replaces_axes),
        cmocka_unit_test(model_shapes_become_cases),
        cmocka_unit_test(bad_sweeps_get_a_sentence),
        cmocka_unit_test(committed_sweeps_cover_the_groups),
        cmocka_unit_test(wrong_variants_get_no_time),
        cmocka_unit_test(an_error_that_is_no_number_is_wrong),
        cmocka_unit_test(a_team_shares_a_call),
        cmocka_unit_test(cold_passes_the_cache_or_says_so),
        cmocka_unit_test(impossible_rates_are_errors),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
