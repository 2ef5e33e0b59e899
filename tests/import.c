/* Figures of others: each format as its own program writes it, what is refused, what damage does, and that no verdict
 * takes part of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "history_fixture.h"
#include "import.h"
#include "random.h"
#include "record.h"

static const char google[] =
    "{\"context\":{\"date\":\"2026-01-31T12:00:00+02:00\",\"host_name\":\"h\",\"num_cpus\":2,\"library_build_type\":"
    "\"release\"},\"benchmarks\":["
    "{\"name\":\"BM_dot/64\",\"run_name\":\"BM_dot/"
    "64\",\"run_type\":\"iteration\",\"repetition_index\":0,\"iterations\":"
    "10,\"real_time\":2.0,\"cpu_time\":9,\"time_unit\":\"us\"},"
    "{\"name\":\"BM_dot/64\",\"run_name\":\"BM_dot/"
    "64\",\"run_type\":\"iteration\",\"repetition_index\":1,\"iterations\":"
    "10,\"real_time\":4.0,\"cpu_time\":9,\"time_unit\":\"us\"},"
    "{\"name\":\"BM_dot/64\",\"run_name\":\"BM_dot/"
    "64\",\"run_type\":\"iteration\",\"repetition_index\":2,\"iterations\":"
    "10,\"real_time\":3.0,\"cpu_time\":9,\"time_unit\":\"us\"},"
    "{\"name\":\"BM_dot/64_mean\",\"run_name\":\"BM_dot/64\",\"run_type\":\"aggregate\",\"aggregate_name\":\"mean\","
    "\"real_time\":77,\"time_unit\":\"us\"},"
    "{\"name\":\"BM_sum_mean\",\"run_name\":\"BM_sum\",\"run_type\":\"aggregate\",\"aggregate_name\":\"mean\","
    "\"real_time\":50,\"time_unit\":\"ns\"},"
    "{\"name\":\"BM_sum_median\",\"run_name\":\"BM_sum\",\"run_type\":\"aggregate\",\"aggregate_name\":\"median\","
    "\"real_time\":48,\"time_unit\":\"ns\"},"
    "{\"name\":\"BM_sum_stddev\",\"run_name\":\"BM_sum\",\"run_type\":\"aggregate\",\"aggregate_name\":\"stddev\","
    "\"real_time\":1.5,\"time_unit\":\"ns\"},"
    "{\"name\":\"BM_sum_cv\",\"run_name\":\"BM_sum\",\"run_type\":\"aggregate\",\"aggregate_name\":\"cv\",\"real_"
    "time\":"
    "0.03,\"time_unit\":\"ns\"},"
    "{\"name\":\"BM_bad\",\"run_name\":\"BM_bad\",\"run_type\":\"iteration\",\"error_occurred\":true,\"error_message\":"
    "\"no\",\"real_time\":0,\"time_unit\":\"ns\"}]}\n";

#define TEST(commit, prompt, gen, ub)                                                                                  \
    "{\"build_commit\":\"" commit "\",\"build_number\":1,\"cpu_info\":\"c\",\"gpu_info\":\"\",\"backends\":\"CPU\","   \
    "\"model_filename\":\"models/a.gguf\",\"model_type\":\"llama 1B Q4_0\",\"n_batch\":2048,\"n_ubatch\":" #ub         \
    ",\"n_threads\":8,\"type_k\":\"f16\",\"type_v\":\"f16\",\"n_prompt\":" #prompt ",\"n_gen\":" #gen                  \
    ",\"test_time\":\"2025-02-01T12:00:00Z\",\"avg_ns\":1,\"stddev_ns\":1,\"avg_ts\":100.5,\"stddev_ts\":2.5,"         \
    "\"samples_ns\":[1,2,3],\"samples_ts\":[100,101,103]}"

static const char llama_json[] =
    "[\n" TEST("abc1234", 512, 0, 512) ",\n" TEST("abc1234", 0, 128, 512) ",\n" TEST("abc1234", 512, 0, 256) "]\n";
static const char llama_lines[] = TEST("abc1234", 512, 0, 512) "\n" TEST("def5678", 512, 0, 512) "\n";
static const char llama_sql[] =
    "CREATE TABLE IF NOT EXISTS test (\n  build_commit TEXT,\n  cpu_info TEXT,\n  gpu_info TEXT,\n  model_filename "
    "TEXT,"
    "\n  n_threads INTEGER,\n  n_prompt INTEGER,\n  n_gen INTEGER,\n  test_time TEXT,\n  avg_ts REAL,\n  stddev_ts REAL"
    "\n);\n\n"
    "INSERT INTO test (build_commit, cpu_info, gpu_info, model_filename, n_threads, n_prompt, n_gen, test_time, "
    "avg_ts, "
    "stddev_ts) VALUES ('abc1234', 'it''s', '', 'a.gguf', '8', '512', '0', '2025-02-01T12:00:00Z', '100.5', '2.5');\n";

static int read_text(struct sm_import *i, const char *text, size_t bytes, char *why, size_t why_bytes)
{
    fixture_write(text, bytes);
    return sm_import_read(i, fixture_file, why, why_bytes);
}

static struct sm_import read_good(const char *text, const char *format, size_t count)
{
    struct sm_import i;
    char why[400] = "";
    if (read_text(&i, text, strlen(text), why, sizeof why)) fail_msg("%s", why);
    assert_string_equal(i.format, format);
    assert_int_equal(i.count, count);
    assert_int_equal(strlen(i.id), 12);
    return i;
}

static void google_benchmark_is_read(void **state)
{
    (void)state;
    struct sm_import i = read_good(google, "google-benchmark", 2);
    const struct sm_import_figure *dot = &i.figures[0], *sum = &i.figures[1];
    assert_string_equal(dot->name, "BM_dot/64");
    assert_string_equal(dot->unit, "ns");
    assert_true(dot->value == 3000 && dot->samples == 3 && fabs(dot->spread - 1000) < 1e-6); /* not the stated mean */
    assert_true(dot->started == 1769853600);                                                 /* 10:00 UTC */
    assert_true(sum->value == 48 && sum->spread == 1.5 && sum->samples == 1);
    assert_int_equal(i.passed_over, 2); /* cv, and the failed one */
    assert_non_null(strstr(i.machine, "num_cpus"));
    sm_import_free(&i);
}

static void llama_bench_is_read(void **state)
{
    (void)state;
    struct sm_import i = read_good(llama_json, "llama-bench", 3); /* another micro-batch is another test */
    assert_string_equal(i.figures[0].name, "a.gguf/pp512/t8,b2048,ub256,kf16,vf16,CPU");
    assert_string_equal(i.figures[2].name, "a.gguf/tg128/t8,b2048,ub512,kf16,vf16,CPU");
    assert_string_equal(i.figures[0].unit, "t/s");
    assert_string_equal(i.figures[0].build, "abc1234");
    assert_true(i.figures[0].value == 101 && i.figures[0].samples == 3 && i.figures[0].started == 1738411200);
    sm_import_free(&i);
    i = read_good(llama_lines, "llama-bench", 2);
    assert_string_equal(i.figures[1].build, "def5678");
    sm_import_free(&i);
    i = read_good(llama_sql, "llama-bench", 1);
    assert_string_equal(i.figures[0].name, "a.gguf/pp512/t8");
    assert_true(i.figures[0].value == 100.5 && i.figures[0].spread == 2.5);
    sm_import_free(&i);
}

static void records_are_read(void **state)
{
    (void)state;
    char why[400] = "";
    struct sm_import i;
    static const double samples[] = {100, 104, 102};
    struct sm_record *ok = sm_record_create("bench", "f/v/n=1/t1/hot"),
                     *bad = sm_record_create("bench", "f/w/n=1/t1/hot");
    sm_record_set_string(ok, "unit", "ns");
    sm_record_set_numbers(ok, "samples", samples, 3);
    sm_record_fail(bad, "error", "wrong");
    remove(fixture_file);
    assert_int_equal(sm_record_append(ok, fixture_file, why, sizeof why), 0);
    assert_int_equal(sm_record_append(bad, fixture_file, why, sizeof why), 0);
    FILE *f = fopen(fixture_file, "a");
    fputs("{\"schema\":1,\"kind\":\"be", f); /* killed while it wrote */
    fclose(f);
    if (sm_import_read(&i, fixture_file, why, sizeof why)) fail_msg("%s", why);
    assert_string_equal(i.format, "slotmark");
    assert_int_equal(i.count, 1);
    assert_int_equal(i.passed_over, 2);
    assert_true(i.figures[0].value == 102 && i.figures[0].samples == 3);
    assert_string_equal(i.figures[0].name, "f/v/n=1/t1/hot");
    sm_import_free(&i);
    sm_record_destroy(ok);
    sm_record_destroy(bad);
}

static void what_is_no_result_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"", "it is empty"},
        {" \n", "it is empty"},
        {"{\"a\":1}", "is no result of"},
        {"[1]", "is no result of"},
        {"[]", "it holds no figure"},
        {"{\"benchmarks\":7}", "no list"},
        {"{\"benchmarks\":[7]}", "has no name"},
        {"{\"benchmarks\":[{\"name\":\"a\",\"real_time\":-1}]}", "-1 is no time"},
        {"{\"benchmarks\":[{\"name\":\"a\",\"real_time\":0}]}", "0 is no time"},
        {"{\"benchmarks\":[{\"name\":\"a\"}]}", "is no time"},
        {"{\"benchmarks\":[{\"name\":\"a\",\"real_time\":1,\"time_unit\":\"parsecs\"}]}", "is no time"},
        {"{\"benchmarks\":[{\"name\":\"a\",\"real_time\":1e999}]}", "line 1"},
        {"{\"benchmarks\":[{\"name\":\"a\",\"real_time\":1}]", "line 1"},
        {"{\"avg_ts\":1,\"n_prompt\":1e30,\"n_gen\":0,\"model_filename\":\"a\"}", "neither n_prompt"},
        {"{\"avg_ts\":1,\"n_prompt\":1,\"n_gen\":0}", "no model_filename"},
        {"{\"avg_ts\":\"x\",\"n_prompt\":1,\"n_gen\":0,\"model_filename\":\"a\"}", "is no time"},
        {TEST("a", 1, 0, 1) "\nnonsense\n" TEST("a", 1, 0, 1) "\n", "line 2"},
        {TEST("a", 1, 0, 1) "\n{\"benchmarks\":[]}\n", "another format"},
        {"{\"kind\":\"bench\",\"case\":\"a\",\"schema\":99}", "is not a record"},
        {"hello", "as SQL"},
        {"SELECT 1;", "not authorized"},
        {"PRAGMA user_version;", "not authorized"},
        {"ATTACH '/tmp/slotmark-import-attack.sqlite' AS a; CREATE TABLE a.t(x);", "not authorized"},
        {"CREATE TABLE t(avg_ts); INSERT INTO t VALUES (zeroblob(100000000));", "not authorized"},
        {"CREATE TABLE t(a, avg_ts AS (zeroblob(900000000))); INSERT INTO t(a) VALUES (1);", "not authorized"},
        {"CREATE TABLE t(a); WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n FROM i) INSERT INTO t SELECT n FROM "
         "i;",
         "not authorized"},
        {"CREATE TABLE t(a); CREATE TRIGGER u AFTER INSERT ON t BEGIN DELETE FROM t; END;", "not authorized"},
        {"CREATE VIRTUAL TABLE t USING fts5(a);", "not authorized"},
        {"CREATE TABLE t(a); INSERT INTO t VALUES (1);", "is no result of"},
        {"CREATE TABLE t(a);", "holds no figure"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sm_import import;
        char why[400] = "";
        if (!read_text(&import, cases[i].text, strlen(cases[i].text), why, sizeof why))
            fail_msg("«%s» is taken", cases[i].text);
        assert_non_null(strstr(why, "importing /"));
        if (!strstr(why, cases[i].word)) fail_msg("«%s»: %s", cases[i].text, why);
        sm_import_free(&import);
    }
    struct sm_import import;
    char why[400];
    assert_int_equal(read_text(&import, "{}\0{}", 5, why, sizeof why), -1);
    assert_non_null(strstr(why, "no text"));
    sm_import_free(&import);
    assert_int_equal(sm_import_read(&import, "/tmp/there/is/none", why, sizeof why), -1);
    sm_import_free(&import);
    assert_int_equal(sm_import_read(&import, "/tmp", why, sizeof why), -1); /* a folder */
    sm_import_free(&import);
}

/* Files that were changed at random: figures that make sense, or a sentence. */
static void damaged_files_are_refused_or_read(void **state)
{
    (void)state;
    static const char *const texts[] = {google, llama_json, llama_lines, llama_sql};
    struct sm_random random = {7};
    size_t refused = 0;
    for (int round = 0; round < 4000; round++) {
        char mutated[8192], why[400] = "";
        const char *text = texts[round % 4];
        size_t bytes = strlen(text);
        memcpy(mutated, text, bytes);
        if (round % 5 == 0) bytes = sm_random_below(&random, (uint32_t)bytes);
        for (uint32_t k = sm_random_below(&random, 6) + 1; k && bytes; k--) {
            static const char tokens[] = "{}[]\",:0123456789eE.-+tfn'();\n\x80";
            const size_t at = sm_random_below(&random, (uint32_t)bytes);
            mutated[at] = sm_random_below(&random, 2) ? tokens[sm_random_below(&random, sizeof tokens)]
                                                      : (char)sm_random_u64(&random);
        }
        struct sm_import i;
        if (read_text(&i, mutated, bytes, why, sizeof why)) {
            assert_true(strlen(why) > 20);
            refused++;
        } else {
            for (size_t k = 0; k < i.count; k++)
                assert_true(isfinite(i.figures[k].value) && i.figures[k].value > 0 && i.figures[k].name[0]);
        }
        sm_import_free(&i);
    }
    assert_true(refused > 1000 && refused < 3999);
}

static bool count_point(void *state, const struct sm_history_point *point)
{
    (void)point;
    ++*(size_t *)state;
    return true;
}

struct figures {
    size_t n;
    char last_build[96];
    double last;
};

static bool count_figure(void *state, const struct sm_history_figure *f)
{
    struct figures *c = state;
    c->n++;
    c->last = f->value;
    memcpy(c->last_build, f->build, sizeof f->build);
    return true;
}

static void imports_stand_beside_and_not_among_ours(void **state)
{
    (void)state;
    static const char half_wrong[] =
        "{\"benchmarks\":[{\"name\":\"a\",\"real_time\":1},{\"name\":\"b\",\"real_time\":-1}]}";
    char why[400], format[24];
    size_t points = 0, bytes;
    struct figures figures = {0};
    struct sm_history *h = fixture_open(fixture_store), *other = fixture_open(fixture_other);
    assert_int_equal(fixture_session(h, "record", 3, 0, why, sizeof why), 0);
    assert_int_equal(sm_history_points(h, count_point, &points, why, sizeof why), 0);
    fixture_write(llama_lines, strlen(llama_lines));
    assert_int_equal(sm_history_import(h, fixture_file, NULL, format, sizeof format, why, sizeof why), 2);
    assert_string_equal(format, "llama-bench");
    assert_int_equal(sm_history_import(h, fixture_file, NULL, format, sizeof format, why, sizeof why), 0); /* again */
    fixture_write(google, strlen(google));
    assert_int_equal(sm_history_import(h, fixture_file, "v1.2", format, sizeof format, why, sizeof why), 2);
    fixture_write(half_wrong, strlen(half_wrong));
    assert_int_equal(sm_history_import(h, fixture_file, NULL, format, sizeof format, why, sizeof why), -1);
    assert_int_equal(sm_history_figures(h, count_figure, &figures, why, sizeof why), 0);
    assert_int_equal(figures.n, 4); /* of the refused file nothing */
    assert_string_equal(figures.last_build, "def5678");
    const size_t before = points;
    points = 0;
    assert_int_equal(sm_history_points(h, count_point, &points, why, sizeof why), 0);
    assert_int_equal(points, before);
    assert_int_equal(sm_history_check(h, sm_history_session(h), why, sizeof why), 0);
    assert_int_equal(sm_history_merge(other, fixture_store, why, sizeof why), 4); /* a session, and a build each */
    figures.n = 0;
    assert_int_equal(sm_history_figures(other, count_figure, &figures, why, sizeof why), 0);
    assert_int_equal(figures.n, 4);
    char *text = NULL;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(sm_history_list(h, 10, out, why, sizeof why), 0);
    fclose(out);
    assert_non_null(strstr(text, "imported google-benchmark from"));
    assert_non_null(strstr(text, "of v1.2  2 figures"));
    free(text);
    sm_history_close(h);
    sm_history_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(google_benchmark_is_read),
        cmocka_unit_test(llama_bench_is_read),
        cmocka_unit_test(records_are_read),
        cmocka_unit_test(what_is_no_result_is_refused),
        cmocka_unit_test(damaged_files_are_refused_or_read),
        cmocka_unit_test(imports_stand_beside_and_not_among_ours),
    };
    return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
