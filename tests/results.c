/* Result files: many lines at once, taken apart by all CPUs, are the same records in the same order, and what is bad
 * among them is counted and named by its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "results.h"

#define LINES 5000
#define LONG (17 << 20)

static char path[] = "results-XXXXXX", why[256];

static int is_bad(size_t i)
{
    return i == 777 || i % 1000 == 999 || i == LINES - 2;
}

/* Line i, from 0, ends in half a record where it is bad; every seventh line is blank, and one too long. */
static void write_lines(FILE *file)
{
    for (size_t i = 0; i < LINES; i++) {
        fprintf(file, "{\"schema\":1,\"kind\":\"bench\",\"case\":\"%zu\",\"status\":\"ok\",\"samples\":[%zu,7,5]", i,
                i + 1);
        fputs(is_bad(i) ? ",\"half\n" : "}\n", file);
        if (i % 7 == 0) fputs(" \t\r\n", file);
        if (i == 2500) fprintf(file, "%*d\n", LONG, 7);
    }
    fputs("{\"schema\":1,\"kind\":\"bench\",\"case\":\"last, without a line end\"}", file);
}

static void many_lines_keep_their_order(void **unused)
{
    (void)unused;
    struct sm_results results = {0};
    size_t at = 0, bad = 1; /* the long one */
    if (sm_results_read(&results, path, why, sizeof why)) fail_msg("%s", why);
    for (size_t i = 0; i < LINES; i++) {
        char name[32];
        bad += (size_t)is_bad(i);
        if (is_bad(i)) continue;
        snprintf(name, sizeof name, "%zu", i);
        assert_true(at < results.count);
        assert_string_equal(sm_result_text(&results.at[at], "case"), name);
        assert_int_equal(results.at[at].order, at);
        assert_true(results.at[at++].samples == 3);
    }
    assert_int_equal(results.count, at + 1);
    assert_int_equal(results.bad_lines, bad);
    assert_int_equal(results.lines, LINES + 2);
    assert_non_null(strstr(results.first_bad, ":889: ")); /* 777 lines and 111 blank ones before it */
    sm_results_destroy(&results);
}

/* What follows "schema", "kind" and "case" in a record: parts that others share, in unusual ways of writing. */
static const char *const endings[] = {
    "\"machine\":{\"cpu\":\"a, } \\\" ] "
    "b\",\"cores\":2},\"build\":{\"commit\":\"c\"},\"ceilings\":{\"x\":{\"value\":1}}}",
    "\"ceilings\" : { \"x\": {\"value\":1} } , "
    "\"build\":{},\"machine\":null,\"threads\":[{\"machine\":{\"cpu\":\"inner\"}}]}",
    "\"machine\":{\"cpu\":\"first\"},\"machine\":{\"cpu\":\"second\"}}",
    "\"machine\":{\"cpu\":\"first\"},\"mach\\u0069ne\":{\"cpu\":\"second\"}}",
    "\"machine\":{\"cpu\":\"first\"},\"machine\":\"second\"}",
    "\"machine\":\"text\",\"build\":[{\"commit\":\"c\"}],\"ceilings\":7}",
    "\"machine\":{\"cpu\":\"half}",
    "\"machine\":{\"cpu\":\"x\"]}",
    "\"machine\":{\"cpu\":nothing}}",
    "\"machine\":{\"cpu\":\"x\"}}}",
    "\"machine\":{\"cpu\":\"x\"},}",
    "\"machine\":{\"cpu\":\"x\"},\"build\"",
    "\"machine\":{\"cpu\":\"x\"} \"build\":{}}",
    "\"machine\":{},\"build\":{ },\"ceilings\":{}}",
};
#define ENDINGS (sizeof endings / sizeof *endings)

/* However it is written, a line is the record that its text is by itself, with its keys in their order. */
static void shared_parts_change_no_record(void **unused)
{
    (void)unused;
    char texts[ENDINGS][256], name[] = "shared-XXXXXX";
    FILE *file = fdopen(mkstemp(name), "w");
    assert_non_null(file);
    for (size_t i = 0; i < ENDINGS; i++)
        snprintf(texts[i], sizeof texts[i], "{\"schema\":1,\"kind\":\"bench\",\"case\":\"%zu\",%s", i, endings[i]);
    for (size_t i = 0; i < 300; i++) fprintf(file, "%s\n", texts[i % ENDINGS]);
    assert_int_equal(fclose(file), 0);
    struct sm_results results = {0};
    const int failed = sm_results_read(&results, name, why, sizeof why);
    unlink(name);
    if (failed) fail_msg("%s", why);
    size_t at = 0;
    for (size_t i = 0; i < 300; i++) {
        json_t *alone = json_loads(texts[i % ENDINGS], 0, NULL);
        if (!alone) continue;
        assert_true(at < results.count);
        char *expected = json_dumps(alone, JSON_COMPACT), *got = json_dumps(results.at[at++].json, JSON_COMPACT);
        assert_string_equal(got, expected);
        free(expected);
        free(got);
        json_decref(alone);
    }
    assert_int_equal(results.count, at);
    assert_int_equal(results.bad_lines, 300 - at);
    assert_ptr_equal(json_object_get(results.at[0].json, "machine"), json_object_get(results.at[7].json, "machine"));
    sm_results_destroy(&results);
}

static int set_up(void **unused)
{
    (void)unused;
    const int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) return -1;
    write_lines(file);
    return fclose(file);
}

static int tear_down(void **unused)
{
    (void)unused;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_lines_keep_their_order),
                                       cmocka_unit_test(shared_parts_change_no_record)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
