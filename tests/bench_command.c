/* `slotmark bench` as a user meets it: exit codes, sentences, files. SM_SLOTMARK is the program. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "bench_command.XXXXXX";

/* Runs the command, keeps what it said (stdout and stderr together), returns its exit code. */
static int run(const char *arguments, char *said, size_t bytes)
{
    char command[1024];
    snprintf(command, sizeof command, "%s bench %s 2>&1", SM_SLOTMARK, arguments);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    const size_t used = fread(said, 1, bytes - 1, f);
    said[used] = 0;
    char rest[4096];
    while (fread(rest, 1, sizeof rest, f) > 0) continue;
    const int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void bad_input_is_one_sentence_and_exit_2(void **unused)
{
    (void)unused;
    static const struct {
        const char *arguments, *says;
    } bad[] = {
        {"--no-such-option", "no option"},
        {"--family nothing", "no family is named 'nothing'"},
        {"--group nothing", "no group"},
        {"--kv f64", "f64"},
        {"--rows 0", "outside"},
        {"--rows ten", "ten"},
        {"--threads 0", "--threads"},
        {"--threads 100000", "--threads"},
        {"--reps 0 --reps -1", "--reps"},
        {"--min-time -1", "min-time"},
        {"--family matmul_f32 --max-seq 256", "max_seq"},
        {"--dim nonsense", "not of the form"},
        {"--dim nonsense=1", "no family has an axis 'nonsense'"},
        {"--shape-of no-such-model", "no-such-model"},
        {"--sweep /no/such/file", "/no/such/file"},
        {"--quick --full", "exclude"},
        {"--variant no_such_variant", "no case matches"},
        {"--family matmul_f32 -- --benchmark_filter=zzz", "no case matches --benchmark_filter=zzz"},
        {"-- --benchmark_filter='(['", "no regular expression"},
        {"-- --benchmark_nonsense", "benchmark_nonsense"},
        {"-- --benchmark_min_time=1x", "benchmark_min_time"},
        {"-- --benchmark_perf_counters=CYCLES", "benchmark_perf_counters"},
        {"--family rope --counters /no/such.group", "cannot read the counter group '/no/such.group'"},
        {"--family rope --counters no_such_group", "no_such_group.group'"},
        {"--family rope --counters /dev/zero", "it is no file"},
        {"--family rope --counters /proc/self", "there are no groups of counters"},
        {"--family rope --compilers gcc-no-such", "'gcc-no-such' is no C compiler that runs here"},
        {"--family rope --compilers /bin/true", "'/bin/true' is no C compiler that runs here"},
        {"--resume /no/such/file", "resuming '/no/such/file'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char said[4096];
        const int code = run(bad[i].arguments, said, sizeof said);
        if (code != 2) fail_msg("'%s' ended with %d: %s", bad[i].arguments, code, said);
        if (!strstr(said, bad[i].says) || strncmp(said, "slotmark bench: ", 16))
            fail_msg("'%s' was answered with: %s", bad[i].arguments, said);
        const char *end = strchr(said, '\n');
        if (!end || end[1]) fail_msg("'%s' was answered with more than a line: %s", bad[i].arguments, said);
    }
    assert_int_not_equal(access("results", F_OK), 0); /* nothing was made */
}

static void dry_run_lists(void **unused)
{
    (void)unused;
    char said[65536];
    assert_int_equal(
        run("--dry-run --family matmul_f32 --variant ref --rows 1,2 --dim 'out=64;in=64'", said, sizeof said), 0);
    assert_non_null(strstr(said, "matmul_f32/ref/rows=1,out=64,in=64/t1/hot\n"));
    assert_non_null(strstr(said, "matmul_f32/ref/rows=2,out=64,in=64/t1/hot\n"));
    assert_non_null(strstr(said, "# 2 cases"));
    assert_int_equal(run("--family matmul_f32 -- --benchmark_list_tests=true", said, sizeof said), 0);
    assert_non_null(strstr(said, "matmul_f32/ref/rows=1"));
    assert_int_not_equal(access("results", F_OK), 0);
}

static json_t *load_lines(const char *path)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    json_t *all = json_array(), *one;
    json_error_t error;
    while ((one = json_loadf(f, JSON_DISABLE_EOF_CHECK, &error))) json_array_append_new(all, one);
    fclose(f);
    return all;
}

/* One small run: both files, a table that says what it should, a skipped combination, no overwriting, resuming. */
static void hot_and_cold_in_one_call(void **unused)
{
    (void)unused;
    char said[8192];
    static const struct {
        const char *options;
        bool hot, cold;
    } calls[] = {{"", true, false}, {"--hot", true, false}, {"--cold", false, true}, {"--hot --cold", true, true}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char line[256];
        snprintf(line, sizeof line, "--dry-run --family matmul_f32 --variant ref --rows 1 --dim 'out=64;in=64' %s",
                 calls[i].options);
        assert_int_equal(run(line, said, sizeof said), 0);
        assert_int_equal(strstr(said, "/t1/hot") != NULL, calls[i].hot);
        assert_int_equal(strstr(said, "/t1/cold") != NULL, calls[i].cold);
    }
}

static void out_may_be_a_file(void **unused)
{
    (void)unused;
    char said[8192], arguments[256], path[256];
    snprintf(arguments, sizeof arguments,
             "--family mask_build --variant ref --rows 2 --reps 1 --min-time 1ms --out %s/at/mine.jsonl", folder);
    if (run(arguments, said, sizeof said)) fail_msg("%s", said);
    snprintf(path, sizeof path, "%s/at/mine.jsonl", folder);
    json_decref(load_lines(path));
    snprintf(path, sizeof path, "%s/at/mine.gbench.json", folder);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(run(arguments, said, sizeof said), 2);
    assert_non_null(strstr(said, "is there already"));
}

static void a_run_leaves_records(void **unused)
{
    (void)unused;
    char said[65536], arguments[512], path[256];
    snprintf(
        arguments, sizeof arguments,
        "--family attention_f32 --variant ref --max-seq 16 --rows 1,32 --heads 2 --kv-heads 1 --head-dim 8 --reps 4 "
        "--min-time 1ms --seed 5 --out %s/run",
        folder);
    int code = run(arguments, said, sizeof said);
    if (code) fail_msg("ended with %d: %s", code, said);
    assert_non_null(strstr(said, "**attention_f32**"));
    assert_non_null(strstr(said, "rows is larger than max_seq"));
    assert_non_null(strstr(said, "1 cases timed, 0 wrong, 1 skipped"));
    snprintf(path, sizeof path, "%s/run/bench.jsonl", folder);
    json_t *records = load_lines(path);
    assert_int_equal(json_array_size(records), 2);
    size_t i, ok = 0;
    json_t *r;
    json_array_foreach(records, i, r)
    {
        assert_string_equal(json_string_value(json_object_get(r, "kind")), "bench");
        assert_string_equal(json_string_value(json_object_get(r, "kv_type")), "f32");
        assert_int_equal(json_integer_value(json_object_get(r, "max_seq")), 16);
        if (strcmp(json_string_value(json_object_get(r, "status")), "ok")) {
            assert_true(json_is_null(json_object_get(r, "samples")));
            continue;
        }
        ok++;
        assert_int_equal(json_array_size(json_object_get(r, "samples")), 4);
        assert_int_equal(json_array_size(json_object_get(r, "iterations")), 4);
        assert_true(json_number_value(json_object_get(r, "error")) <= 1);
        assert_true(json_is_number(json_object_get(r, "error_after")));
    }
    assert_int_equal(ok, 1);
    json_decref(records);

    json_error_t error;
    snprintf(path, sizeof path, "%s/run/bench.gbench.json", folder);
    json_t *google = json_load_file(path, 0, &error);
    assert_non_null(google);
    assert_true(json_array_size(json_object_get(google, "benchmarks")) >= 4);
    assert_string_equal(json_string_value(json_object_get(json_object_get(google, "context"), "sm_seed")), "5");
    json_decref(google);

    assert_int_equal(run(arguments, said, sizeof said), 2);
    assert_non_null(strstr(said, "there already"));
    char resume[600];
    snprintf(
        resume, sizeof resume,
        "--family attention_f32 --variant ref --max-seq 16 --rows 1,2 --heads 2 --kv-heads 1 --head-dim 8 --reps 4 "
        "--min-time 1ms --resume %s/run/bench.jsonl -o csv",
        folder);
    code = run(resume, said, sizeof said);
    if (code) fail_msg("ended with %d: %s", code, said);
    assert_non_null(strstr(said, "1 cases are finished already"));
    snprintf(path, sizeof path, "%s/run/bench.jsonl", folder);
    records = load_lines(path);
    assert_int_equal(json_array_size(records), 3);
    json_decref(records);
    snprintf(resume + strlen(resume), sizeof resume - strlen(resume), " --out %s/elsewhere", folder);
    assert_int_equal(run(resume, said, sizeof said), 2);
    assert_non_null(strstr(said, "cannot stand beside it"));
    snprintf(path, sizeof path, "%s/elsewhere", folder);
    assert_int_equal(access(path, F_OK), -1);
    snprintf(path, sizeof path, "%s/run/bench.gbench.2.json", folder);
    assert_int_equal(access(path, F_OK), 0);
}

/* A file named by the user has Google Benchmark's beside it under the same name, and KV types are all there. */
static void a_named_file_has_its_json_beside_it(void **unused)
{
    (void)unused;
    char said[65536], arguments[512], path[256];
    snprintf(arguments, sizeof arguments,
             "--kv i16 --group attention --variant ref --max-seq 16 --rows 1 --heads 2 --kv-heads 1 --head-dim 8 "
             "--reps 2 --min-time 1ms -o csv --out %s/my.own.jsonl",
             folder);
    const int code = run(arguments, said, sizeof said);
    if (code) fail_msg("ended with %d: %s", code, said);
    assert_non_null(strstr(said, "attention_i16"));
    snprintf(path, sizeof path, "%s/my.own.gbench.json", folder);
    assert_int_equal(access(path, F_OK), 0);
}

/* A variable that the library would heed is named, and changes nothing. */
static void stray_variables_are_named(void **unused)
{
    (void)unused;
    char said[65536], arguments[512];
    setenv("BENCHMARK_FILTER", "nothing", 1);
    setenv("BENCHMARK_REPETITIONS", "9", 1);
    snprintf(arguments, sizeof arguments,
             "--family matmul_f32 --variant ref --rows 1 --dim 'out=32;in=32' --reps 2 --min-time 1ms --out %s/stray "
             "-o jsonl",
             folder);
    const int code = run(arguments, said, sizeof said);
    unsetenv("BENCHMARK_FILTER");
    unsetenv("BENCHMARK_REPETITIONS");
    if (code) fail_msg("ended with %d: %s", code, said);
    assert_non_null(strstr(said, "not heeded: BENCHMARK_"));
    char path[256];
    snprintf(path, sizeof path, "%s/stray/bench.jsonl", folder);
    json_t *records = load_lines(path);
    assert_int_equal(json_array_size(records), 1);
    assert_int_equal(json_array_size(json_object_get(json_array_get(records, 0), "samples")), 2);
    json_decref(records);
}

static int set_up(void **unused)
{
    (void)unused;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input_is_one_sentence_and_exit_2),
        cmocka_unit_test(dry_run_lists),
        cmocka_unit_test(hot_and_cold_in_one_call),
        cmocka_unit_test(out_may_be_a_file),
        cmocka_unit_test(a_named_file_has_its_json_beside_it),
        cmocka_unit_test(a_run_leaves_records),
        cmocka_unit_test(stray_variables_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
