/* The program as a person meets it: help, mistakes, list and doctor. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static char output[1 << 20];

/* Runs `slotmark <arguments>` with the errors among the output; returns the exit code. */
static int slotmark(const char *arguments)
{
    char line[1024];
    snprintf(line, sizeof line, "'%s' %s", SM_PROGRAM, arguments);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    output[fread(output, 1, sizeof output - 1, f)] = 0;
    const int status = pclose(f);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void assert_says(const char *text)
{
    if (!strstr(output, text)) fail_msg("no '%s' in:\n%s", text, output);
}

/* Characters, not bytes: continuation bytes of UTF-8 take no column. */
static void assert_fits(size_t width, size_t most_lines)
{
    size_t lines = 0;
    for (const char *line = output; *line; lines++) {
        const size_t bytes = strcspn(line, "\n");
        size_t columns = 0;
        for (size_t i = 0; i < bytes; i++) columns += (line[i] & 0xc0) != 0x80;
        if (columns > width) fail_msg("%zu columns: %.*s", columns, (int)bytes, line);
        line += bytes + (line[bytes] != 0);
    }
    assert_true(lines <= most_lines);
}

static void help_is_a_screen(void **state)
{
    (void)state;
    assert_int_equal(slotmark(""), 0);
    assert_says("usage: slotmark COMMAND");
    assert_fits(100, 40);
    assert_int_equal(slotmark("--help"), 0);
    assert_says("doctor");
    for (const char *const *name = (const char *const[]){"list", "doctor", "bench", "profile", "plot", NULL}; *name;
         name++) {
        char arguments[64];
        snprintf(arguments, sizeof arguments, "%s --help", *name);
        assert_int_equal(slotmark(arguments), 0);
        assert_says("usage: slotmark");
        assert_says("example:");
        assert_fits(100, 50);
    }
    assert_int_equal(slotmark("--version"), 0);
    assert_says("slotmark 0.1");
}

static void mistakes_get_a_sentence_and_2(void **state)
{
    (void)state;
    assert_int_equal(slotmark("docter 2>&1"), 2);
    assert_says("did you mean 'doctor'?");
    assert_int_equal(slotmark("zzzzzzzzzzz 2>&1"), 2);
    assert_says("see slotmark --help");
    assert_int_equal(slotmark("list -o pink 2>&1"), 2);
    assert_says("text, md, json");
    assert_int_equal(slotmark("doctor extra 2>&1"), 2);
    assert_says("'extra' is not expected");
    setenv("SLOTMARK_CPU", "sparc", 1);
    assert_int_equal(slotmark("list 2>&1"), 2);
    assert_says("SLOTMARK_CPU");
    unsetenv("SLOTMARK_CPU");
}

static void values_that_mean_nothing_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *sentence;
    } bad[] = {{"bench --out '' --dry-run", "--out: its value is empty"},
               {"bench --dim '' --dry-run", "--dim: its value is empty"},
               {"bench --budget 0 --dry-run", "--budget: '0' is not a time"},
               {"bench --min-time 0x10 --dry-run", "--min-time: '0x10' is not a time"},
               {"bench --reps 0 --dry-run", "--reps must be 1 to 1000, not 0"},
               {"bench --resume / --dry-run", "cannot read results from '/'"},
               {"bench --resume /", "resuming '/'"},
               {"profile smollm2-135m --gen -5 --dry-run", "--gen goes from 0"},
               {"profile smollm2-135m --tokens / --dry-run", "cannot read the tokens of '/'"},
               {"plot --nosuch", "slotmark plot: option '--nosuch' is unknown"},
               {"plot --out", "slotmark plot: option '--out' needs a value"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[256];
        snprintf(line, sizeof line, "%s 2>&1", bad[i].arguments);
        assert_int_equal(slotmark(line), 2);
        assert_says(bad[i].sentence);
    }
}

static void lost_output_is_told(void **state)
{
    (void)state;
    assert_int_equal(slotmark("list 2>&1 >/dev/full"), 2);
    assert_says("standard output could not be written");
    assert_int_equal(slotmark("--version 2>&1 >&-"), 2);
    assert_says("standard output could not be written");
}

static void list_shows_families_and_what_dispatch_takes(void **state)
{
    (void)state;
    assert_int_equal(slotmark("list"), 0);
    assert_says("matmul_f32: ");
    assert_says("smollm2-135m");
    assert_fits(100, 10000);
    assert_int_equal(slotmark("list -o md"), 0);
    assert_says("| family");

    setenv("SLOTMARK_CPU", "any", 1);
    assert_int_equal(slotmark("list -o json"), 0);
    unsetenv("SLOTMARK_CPU");
    json_t *page = json_loads(output, 0, NULL);
    assert_non_null(page);
    size_t f, v;
    const json_t *family, *variant;
    json_array_foreach(json_object_get(page, "families"), f, family)
    {
        size_t dispatched = 0;
        json_array_foreach(json_object_get(family, "variants"), v, variant)
        {
            const int any = !strcmp(json_string_value(json_object_get(variant, "isa")), "any");
            assert_int_equal(json_is_true(json_object_get(variant, "runs")), any);
            if (json_is_true(json_object_get(variant, "dispatched"))) dispatched++;
            if (!any) assert_true(json_is_false(json_object_get(variant, "dispatched")));
        }
        assert_true(dispatched >= 1);
    }
    assert_true(f >= 1);
    json_decref(page);
}

static void doctor_leaves_the_progress_out(void **state)
{
    (void)state;
    assert_int_equal(slotmark("doctor 2>&1 >/dev/null"), 0);
    assert_says("clocks"); /* the first word; how many follow is a matter of time */
    assert_int_equal(slotmark("doctor --quiet 2>&1 >/dev/null"), 0);
    assert_string_equal(output, "");
    assert_int_equal(slotmark("list --quiet 2>&1"), 2); /* it shows none */
}

static void doctor_gives_every_counter_one_state(void **state)
{
    (void)state;
    assert_int_equal(slotmark("doctor -o json 2>/dev/null"), 0);
    json_t *page = json_loads(output, 0, NULL);
    assert_non_null(page);
    static const char *const states[] = {"usable", "multiplexed", "unverified", "busy",   "implausible",
                                         "zero",   "denied",      "filtered",   "absent", "unmapped"};
    size_t i;
    const json_t *counter;
    json_array_foreach(json_object_get(page, "counters"), i, counter)
    {
        size_t known = 0;
        for (size_t s = 0; s < sizeof states / sizeof *states; s++)
            known += !strcmp(json_string_value(json_object_get(counter, "state")), states[s]);
        assert_int_equal(known, 1);
    }
    assert_true(i >= 10);
    assert_true(json_array_size(json_object_get(page, "ceilings")) >= 13);
    json_decref(page);
}

/* Beneath the table, once, without the reason in every row; nothing of it where the CPU has them all. */
static void lacking_schemes_are_one_line(const char *scheme, bool lacks)
{
    const char *line = strstr(output, "\nnot here, this CPU lacks the instructions: "), *at = strstr(output, scheme);
    assert_int_equal(line && at > line, lacks);
    if (line) assert_null(strstr(line + strlen("\nnot here, this CPU lacks"), "lacks"));
    assert_ptr_equal(strstr(output, "lacks the instructions"), line ? strstr(line, "lacks the instructions") : NULL);
}

/* Two runs, one thread: every ceiling has two values and their median, or none and the reason. */
static void ceilings_have_values_or_reasons(void **state)
{
    (void)state;
    assert_int_equal(slotmark("ceilings --threads 1 --runs 2 --quiet -o json"), 0);
    json_t *page = json_loads(output, 0, NULL);
    assert_non_null(page);
    size_t i;
    bool lacks = false;
    const json_t *c;
    json_array_foreach(json_object_get(page, "ceilings"), i, c)
    {
        const char *why = json_string_value(json_object_get(c, "why"));
        if (!strcmp(json_string_value(json_object_get(c, "name")), "fma_f32_avx512"))
            lacks = why && strstr(why, "lacks");
        const size_t values = json_array_size(json_object_get(c, "values"));
        assert_true(values == 2 || values == 0);
        assert_int_equal(json_is_real(json_object_get(c, "value")), values == 2);
        assert_int_equal(json_is_string(json_object_get(c, "why")), values == 0);
        if (values) assert_true(json_real_value(json_object_get(c, "value")) > 0);
    }
    assert_true(i >= 13);
    const json_t *disturbed = json_array_get(json_object_get(page, "disturbed"), 0); /* by how many is chance */
    assert_int_equal(json_integer_value(json_object_get(disturbed, "threads")), 1);
    assert_true(json_is_integer(json_object_get(disturbed, "runs")));
    json_decref(page);
    assert_int_equal(slotmark("ceilings --threads 1 --runs 1 --quiet"), 0);
    assert_says("working set");
    assert_says("MAC/cycle");
    assert_int_equal(slotmark("ceilings --threads 1 --runs 1 --quiet -o md"), 0);
    assert_says("| l1_read ");
    lacking_schemes_are_one_line("fma_f32_avx512", lacks);
    assert_int_equal(slotmark("ceilings --runs 0 2>&1"), 2);
    assert_int_equal(slotmark("ceilings --threads 0 2>&1"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_is_a_screen),
        cmocka_unit_test(mistakes_get_a_sentence_and_2),
        cmocka_unit_test(values_that_mean_nothing_are_refused),
        cmocka_unit_test(lost_output_is_told),
        cmocka_unit_test(list_shows_families_and_what_dispatch_takes),
        cmocka_unit_test(doctor_leaves_the_progress_out),
        cmocka_unit_test(doctor_gives_every_counter_one_state),
        cmocka_unit_test(ceilings_have_values_or_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
