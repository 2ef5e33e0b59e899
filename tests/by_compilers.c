/* bench --compilers, with builds that are played: this program's own kernels under the names of two compilers, one of
 * them with a family whose answers are wrong and without another. Nothing is compiled, and no time is looked at. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench.h"
#include "captured.h"

static char folder[] = "by_compilers.XXXXXX";
static char said[65536];

static int play_name(const char *compiler, char *name, size_t bytes, bool *is_built, char *why, size_t why_bytes)
{
    *is_built = !strcmp(compiler, "one");
    snprintf(name, bytes, "%s", strcmp(compiler, "other") ? "gcc 1.2.3" : "clang 4.5.6");
    if (strcmp(compiler, "none")) return 0;
    snprintf(why, why_bytes, "'none' is no C compiler that runs here");
    return -1;
}

static void nothing(const void *args, struct sm_part part)
{
    (void)args;
    (void)part;
}

/* Of the other compiler: no mask_build at all, and a rope that leaves its output as it was. */
static const struct sm_kernels *play_kernels(const char *compiler, FILE *progress, char *why, size_t why_bytes)
{
    static struct sm_kernels table;
    static struct sm_variant variants[16];
    static struct sm_family copies[64];
    static const struct sm_family *families[64];
    static const struct sm_workload *workloads[64];
    const struct sm_kernels *own = slotmark_kernels(SM_ABI_VERSION);
    if (progress) fprintf(progress, "building the kernels by %s\n", compiler);
    if (!strcmp(compiler, "broken")) {
        snprintf(why, why_bytes, "building the kernels by 'broken' failed");
        return NULL;
    }
    if (strcmp(compiler, "other")) return own;
    table = *own;
    table.family_count = 0;
    for (size_t i = 0; i < own->family_count; i++) {
        if (!strcmp(own->families[i]->name, "mask_build")) continue;
        struct sm_family *family = &copies[table.family_count];
        *family = *own->families[i];
        families[table.family_count] = family;
        workloads[table.family_count++] = own->workloads[i];
        if (strcmp(family->name, "rope")) continue;
        for (size_t v = 0; v < family->variant_count; v++) {
            variants[v] = family->variants[v];
            if (v) variants[v].fn = nothing; /* the reference stays right */
        }
        family->variants = variants;
    }
    table.families = families;
    table.workloads = workloads;
    return &table;
}

static int run(const char *const *more, const char *out)
{
    const char *texts[16] = {"bench", "--variant=ref,avx2", "--reps=4", "--min-time=1ms"};
    char path[128];
    size_t n = 4;
    for (size_t i = 0; more[i]; i++) texts[n++] = more[i];
    if (out) {
        texts[n++] = "--out";
        texts[n++] = out;
    }
    snprintf(path, sizeof path, "%s/said", folder);
    int status = 0; /* Google Benchmark's own state takes one session a process */
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) _exit(captured(bench_main, texts, path));
    assert_int_equal(waitpid(child, &status, 0), child);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    said[fread(said, 1, sizeof said - 1, f)] = 0;
    fclose(f);
    return code;
}

static json_t *records_of(const char *out)
{
    char path[128];
    json_error_t error;
    json_t *all = json_array(), *one;
    snprintf(path, sizeof path, "%s/bench.jsonl", out);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while ((one = json_loadf(f, JSON_DISABLE_EOF_CHECK, &error))) json_array_append_new(all, one);
    fclose(f);
    return all;
}

static const char *compiler_of(const json_t *r)
{
    return json_string_value(json_object_get(json_object_get(json_object_get(r, "build"), "kernels"), "compiler"));
}

static void both_stand_beside_each_other(void **unused)
{
    (void)unused;
    char out[64], csv[64];
    snprintf(out, sizeof out, "%s/both", folder);
    snprintf(csv, sizeof csv, "%s/csv", folder);
    const char *const more[] = {"--family", "gated_silu", "--rows", "2", "--compilers", "one,other", NULL};
    if (run(more, out)) fail_msg("%s", said);
    assert_non_null(strstr(said, "building the kernels by one\nbuilding the kernels by other\n"));
    assert_non_null(strstr(said, "|    gcc 1.2.3 | op/cy |  clang 4.5.6 | op/cy | ratio | +-%  |"));
    json_t *records = records_of(out), *r;
    size_t i, gcc = 0;
    assert_true(json_array_size(records) >= 2 && json_array_size(records) % 2 == 0);
    json_array_foreach(records, i, r)
    {
        const char *id = json_string_value(json_object_get(r, "case")), *who = compiler_of(r);
        assert_non_null(who);
        assert_string_equal(json_string_value(json_object_get(r, "status")), "ok");
        assert_int_equal(json_integer_value(json_object_get(json_object_get(r, "order"), "in_turns_with")),
                         json_array_size(records) - 1);
        gcc += !strcmp(who, "gcc 1.2.3");
        assert_non_null(strstr(id, strcmp(who, "gcc 1.2.3") ? "/hot/clang-4.5.6" : "/hot/gcc-1.2.3"));
    }
    assert_int_equal(gcc, json_array_size(records) / 2);
    json_decref(records);

    const char *const as_csv[] = {"--family", "gated_silu", "--compilers", "one,other", "-o", "csv", "--quiet", NULL};
    if (run(as_csv, csv)) fail_msg("%s", said);
    assert_non_null(strstr(said, ",counters,compiler,time_to_first_compiler\n"));
    assert_non_null(strstr(said, ",gcc 1.2.3,\n"));
    const char *ratio = strstr(said, ",clang 4.5.6,");
    assert_non_null(ratio);
    assert_true(strtod(ratio + strlen(",clang 4.5.6,"), NULL) > 0);
}

static void what_a_build_lacks_or_does_wrong_is_said(void **unused)
{
    (void)unused;
    char out[64];
    size_t i, wrong = 0, lacking = 0;
    json_t *r;
    snprintf(out, sizeof out, "%s/wrong", folder);
    const char *const more[] = {"--family", "rope,mask_build", "--compilers", "one,other", NULL};
    assert_int_equal(run(more, out), 1);
    json_t *records = records_of(out);
    json_array_foreach(records, i, r)
    {
        const char *status = json_string_value(json_object_get(r, "status"));
        if (!strcmp(status, "ok")) continue;
        assert_string_equal(compiler_of(r), "clang 4.5.6");
        wrong += !strcmp(status, "error");
        lacking += !strcmp(status, "skipped") && strstr(json_string_value(json_object_get(r, "why")), "no such family");
    }
    json_decref(records);
    assert_true(wrong >= 1 && lacking >= 1);
    assert_non_null(strstr(said, "|        error |"));
    assert_non_null(strstr(said, "|      skipped |"));
}

static void bad_compilers_are_a_sentence(void **unused)
{
    (void)unused;
    static const struct {
        const char *compilers, *says;
    } bad[] = {{"one,none", "slotmark bench: 'none' is no C compiler that runs here\n"},
               {"broken", "slotmark bench: building the kernels by 'broken' failed\n"},
               {"one,two", "slotmark bench: --compilers: 'one' and 'two' are the same compiler, gcc 1.2.3\n"},
               {"1,2,3,4,5,6,7,8,9", "slotmark bench: --compilers takes at most 8\n"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const more[] = {"--family", "rope", "--quiet", "--compilers", bad[i].compilers, NULL};
        assert_int_equal(run(more, NULL), 2);
        assert_string_equal(said, bad[i].says);
    }
    const char *const count[] = {"--family", "rope", "--count", "--compilers", "one", NULL};
    assert_int_equal(run(count, NULL), 2);
    assert_non_null(strstr(said, "it goes without --compilers"));
    assert_int_not_equal(access("results", F_OK), 0);
}

static void a_dry_run_builds_nothing(void **unused)
{
    (void)unused;
    const char *const more[] = {"--family", "rope", "--dry-run", "--compilers", "one,other", NULL};
    assert_int_equal(run(more, NULL), 0);
    assert_null(strstr(said, "building the kernels"));
    assert_non_null(strstr(said, "# the kernels by gcc 1.2.3: built already\n"));
    assert_non_null(strstr(said, "# the kernels by clang 4.5.6: would be built first\n"));
    assert_non_null(strstr(said, "/hot/gcc-1.2.3\n"));
}

static int remove_folder(void **unused)
{
    (void)unused;
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    static const struct sm_bench_builder builder = {play_name, play_kernels, "-O3"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_stand_beside_each_other), cmocka_unit_test(what_a_build_lacks_or_does_wrong_is_said),
        cmocka_unit_test(bad_compilers_are_a_sentence), cmocka_unit_test(a_dry_run_builds_nothing)};
    if (!mkdtemp(folder)) return 1;
    sm_bench_build_by(&builder);
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
