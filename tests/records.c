/* Records survive the round trip, a torn line costs itself only, garbage costs a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record.h"

static char folder[] = "records-XXXXXX", path[256], why[512];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/deep/er/results.jsonl", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char line[512];
    unlink(path);
    snprintf(line, sizeof line, "%s/deep/er", folder);
    rmdir(line);
    snprintf(line, sizeof line, "%s/deep", folder);
    rmdir(line);
    return rmdir(folder);
}

static int clear(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void append_one(const char *id)
{
    struct sm_record *r = sm_record_create("bench", id);
    sm_record_set_numbers(r, "samples", (const double[]){1.5, 2.5}, 2);
    assert_int_equal(sm_record_append(r, path, why, sizeof why), 0);
    sm_record_destroy(r);
}

static void write_text(const char *text, size_t bytes)
{
    FILE *f = fopen(path, "ab");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    fclose(f);
}

static int keep_last(void *context, const json_t *record)
{
    json_t **last = context;
    json_decref(*last);
    *last = json_deep_copy(record);
    return 0;
}

static void a_record_comes_back_as_it_was(void **state)
{
    (void)state;
    struct sm_record *r = sm_record_create("profile", "llama/decode");
    sm_record_set_string(r, "phase", "decode");
    sm_record_set_integer(r, "max_seq", 1024);
    sm_record_set_number(r, "ops", 0.0 / 0.0);
    sm_record_set_numbers(r, "token_ns", (const double[]){1, 2, 3}, 3);
    sm_record_put_integer(r, "shape", "rows", 1);
    sm_record_add_step(r, "attention", 12.5, 3);
    sm_record_add_step_part(r, "full", 4.5, 1);
    sm_record_add_step_part(r, "sliding", 8, 2);
    sm_record_add_counter(r, "instructions", 0, "1", "papi PAPI_TOT_INS", "absent", "no PMU", "thread 0");
    sm_record_add_counter(r, "page_faults", 7, "1", "getrusage", "usable", NULL, "thread 0");
    sm_record_add_ceiling(r, "dram_read", 1e10, "B/s", 2);
    json_t *written = json_deep_copy(sm_record_json(r));
    assert_int_equal(sm_record_append(r, path, why, sizeof why), 0);
    sm_record_destroy(r);

    struct sm_records_summary summary;
    json_t *read = NULL;
    assert_int_equal(sm_records_read(path, keep_last, &read, &summary, why, sizeof why), 0);
    assert_int_equal(summary.records, 1);
    assert_true(json_equal(read, written));
    assert_true(json_is_null(json_object_get(read, "ops")));
    const json_t *counters = json_object_get(read, "counters");
    assert_true(json_is_null(json_object_get(json_array_get(counters, 0), "value")));
    assert_true(json_number_value(json_object_get(json_array_get(counters, 1), "value")) == 7);
    json_decref(read);
    json_decref(written);
}

static void every_key_is_there(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "schema",     "kind",     "case",        "status",          "why",    "started",       "command",
        "order",      "family",   "group",       "variant",         "layout", "isa",           "shape",
        "threads",    "model",    "cache_state", "recipe",          "phase",  "max_seq",       "bucket",
        "kv_type",    "n_prompt", "n_gen",       "n_depth",         "unit",   "samples",       "padding_side",
        "iterations", "token_ns", "ops",         "ops_unit",        "bytes",  "footprint",     "error",
        "steps",      "memory",   "load_s",      "error_after",     "pack_s", "counters",      "witnesses",
        "ceilings",   "build",    "machine",     "binding_ceiling", "turn",   "quality",       "scale_in",
        "callgrind",  "cost",     "trial",       "ridge",           "plan",   "reconciliation"};
    struct sm_record *r = sm_record_create("bench", "x");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_object_get(sm_record_json(r), keys[i])) fail_msg("no key %s", keys[i]);
    assert_int_equal(json_object_size(sm_record_json(r)), sizeof keys / sizeof *keys);
    sm_record_destroy(r);
}

/* argv[0] may be any name, a link's shorter one too. */
static void the_command_line_is_whole(void **state)
{
    (void)state;
    char name[] = "s", word[] = "bench";
    char *const argv[] = {name, word};
    sm_record_command(2, argv);
    struct sm_record *r = sm_record_create("bench", "x");
    assert_string_equal(json_string_value(json_object_get(sm_record_json(r), "command")), "slotmark bench");
    sm_record_destroy(r);
    sm_record_command(0, argv);
}

static void a_failed_record_shows_no_time(void **state)
{
    (void)state;
    struct sm_record *r = sm_record_create("bench", "x");
    sm_record_set_numbers(r, "samples", (const double[]){1}, 1);
    sm_record_fail(r, "error", "the answer is wrong");
    assert_true(json_is_null(json_object_get(sm_record_json(r), "samples")));
    sm_record_destroy(r);
}

static void a_wrong_key_is_refused_with_a_sentence(void **state)
{
    (void)state;
    struct sm_record *r = sm_record_create("bench", "x");
    sm_record_set_integer(r, "max-seq", 3);
    assert_int_equal(sm_record_append(r, path, why, sizeof why), -1);
    assert_non_null(strstr(why, "max-seq"));
    sm_record_destroy(r);
}

/* Cut at every byte: the whole lines around the cut stay readable, before and after more is appended. */
static void a_torn_line_costs_only_itself(void **state)
{
    (void)state;
    append_one("first");
    FILE *f = fopen(path, "rb");
    static char line[65536];
    const size_t bytes = fread(line, 1, sizeof line, f);
    fclose(f);
    for (size_t cut = 1; cut < bytes - 1; cut++) {
        struct sm_records_summary summary;
        unlink(path);
        write_text(line, bytes);
        write_text(line, cut);
        if (sm_records_read(path, NULL, NULL, &summary, why, sizeof why)) fail_msg("cut at %zu: %s", cut, why);
        assert_int_equal(summary.records, 1);
        assert_int_equal(summary.torn, 1);
        append_one("second");
        if (sm_records_read(path, NULL, NULL, &summary, why, sizeof why)) fail_msg("cut at %zu: %s", cut, why);
        assert_int_equal(summary.records, 2);
        assert_int_equal(summary.torn, 1);
    }
}

static void one_run_of_two_gets_the_file(void **state)
{
    (void)state;
    assert_int_equal(sm_records_claim(path, why, sizeof why), 0);
    assert_int_equal(sm_records_claim(path, why, sizeof why), -1);
    assert_non_null(strstr(why, "is there already"));
    append_one("first");
    assert_int_equal(sm_records_claim(path, why, sizeof why), -1);
}

static void garbage_gets_a_sentence(void **state)
{
    (void)state;
    static const char *const garbage[] = {
        "hello\n",
        "[1,2]\n",
        "{\"schema\":2,\"kind\":\"bench\",\"case\":\"x\",\"status\":\"ok\"}\n",
        "{\"schema\":1,\"kind\":\"bench\",\"case\":null,\"status\":\"ok\"}\n",
        "{\"schema\":1,\"kind\":\"dance\",\"case\":\"x\",\"status\":\"ok\"}\n",
        "{\"schema\":1,\"kind\":\"bench\",\"case\":\"x\",\"status\":\"ok\",\"samples\":3}\n",
        "{\"schema\":1,\"kind\":\"bench\",\"case\":\"x\",\"status\":\"ok\",\"samples\":[\"a\"]}\n",
        "{\"schema\":1,\"schema\":1,\"kind\":\"bench\",\"case\":\"x\",\"status\":\"ok\"}\n",
        "\xff\xfe\x80\n",
    };
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        clear(NULL);
        append_one("first");
        write_text(garbage[i], strlen(garbage[i]));
        *why = 0;
        if (!sm_records_read(path, NULL, NULL, NULL, why, sizeof why)) fail_msg("accepted %s", garbage[i]);
        assert_non_null(strstr(why, "line 2"));
    }
    char deep[20001];
    memset(deep, '[', sizeof deep);
    deep[20000] = '\n';
    clear(NULL);
    write_text(deep, sizeof deep);
    assert_int_equal(sm_records_read(path, NULL, NULL, NULL, why, sizeof why), -1);
    assert_int_equal(sm_records_read(folder, NULL, NULL, NULL, why, sizeof why), -1);
    assert_int_equal(sm_records_read("/nonexistent/x", NULL, NULL, NULL, why, sizeof why), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_record_comes_back_as_it_was, clear),
        cmocka_unit_test(every_key_is_there),
        cmocka_unit_test(the_command_line_is_whole),
        cmocka_unit_test(a_failed_record_shows_no_time),
        cmocka_unit_test(a_wrong_key_is_refused_with_a_sentence),
        cmocka_unit_test_setup(a_torn_line_costs_only_itself, clear),
        cmocka_unit_test_setup(one_run_of_two_gets_the_file, clear),
        cmocka_unit_test_setup(garbage_gets_a_sentence, clear),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
