/* Command lines: every kind of value, and a sentence for everything that is not one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arguments.h"

static char why[512];

static void assert_list(const char *text, size_t count, const int64_t *values)
{
    struct sm_list list;
    if (sm_parse_list(text, &list, why, sizeof why)) fail_msg("%s: %s", text, why);
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++) assert_int_equal(list.value[i], values[i]);
}

static void lists_and_ranges(void **state)
{
    (void)state;
    assert_list("256", 1, (const int64_t[]){256});
    assert_list("256,1024", 2, (const int64_t[]){256, 1024});
    assert_list("128..1024*2", 4, (const int64_t[]){128, 256, 512, 1024});
    assert_list("128..1000*2", 3, (const int64_t[]){128, 256, 512});
    assert_list("1..4", 4, (const int64_t[]){1, 2, 3, 4});
    assert_list("1..8+3", 3, (const int64_t[]){1, 4, 7});
    assert_list("1,4..6,-3", 5, (const int64_t[]){1, 4, 5, 6, -3});
    assert_list("9223372036854775806..9223372036854775807", 2, (const int64_t[]){INT64_MAX - 1, INT64_MAX});
    struct sm_list list = SM_LIST(7, 8);
    for (const char *const *bad =
             (const char *const[]){"", ",", "1,", "a", "1,,2", "1..", "2..1", "1..8*1", "0..8*2", "1..8+0", "1..8*-2",
                                   "1 2", " 1", "1x", "1..2..3", "99999999999999999999", "1..100000", NULL};
         *bad; bad++) {
        *why = 0;
        if (!sm_parse_list(*bad, &list, why, sizeof why)) fail_msg("accepted '%s'", *bad);
        assert_true(*why);
    }
    assert_int_equal(list.count, 2); /* a refused list leaves the old one */
    assert_int_equal(list.value[1], 8);
}

static void durations_and_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } times[] = {{"90", 90}, {"90s", 90}, {"3m", 180}, {"1h30m", 5400}, {"250ms", 0.25}, {"1.5s", 1.5}, {"2min", 120}};
    static const struct {
        const char *text;
        int64_t bytes;
    } sizes[] = {{"4096", 4096}, {"64K", 65536}, {"64KiB", 65536}, {"2M", 2 << 20}, {"1.5GiB", 1610612736}, {"7B", 7}};
    double seconds;
    int64_t bytes;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_int_equal(sm_parse_duration(times[i].text, &seconds, why, sizeof why), 0);
        assert_true(seconds > times[i].seconds * 0.999999 && seconds < times[i].seconds * 1.000001);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(sm_parse_size(sizes[i].text, &bytes, why, sizeof why), 0);
        assert_int_equal(bytes, sizes[i].bytes);
    }
    for (const char *const *bad =
             (const char *const[]){"", "s", "3x", "-3s", "3m4", "1e999s", "inf", "nan", "0", "0s", "0x10", NULL};
         *bad; bad++)
        if (!sm_parse_duration(*bad, &seconds, why, sizeof why)) fail_msg("accepted '%s'", *bad);
    for (const char *const *bad = (const char *const[]){"", "K", "3X", "-3", "1e30", "3KK", "0x10", NULL}; *bad; bad++)
        if (!sm_parse_size(*bad, &bytes, why, sizeof why)) fail_msg("accepted '%s'", *bad);
    double number;
    int64_t integer;
    for (const char *const *bad = (const char *const[]){"", "x", "1x", "nan", "inf", " 1", NULL}; *bad; bad++) {
        if (!sm_parse_number(*bad, &number, why, sizeof why)) fail_msg("accepted '%s'", *bad);
        if (!sm_parse_integer(*bad, &integer, why, sizeof why)) fail_msg("accepted '%s'", *bad);
    }
}

struct targets {
    bool flag;
    const char *text;
    int64_t integer;
    struct sm_list list;
    struct sm_strings words;
    int choice;
};

static const char *const colours[] = {"red", "green", "blue", NULL};

static enum sm_arguments_result parse(struct targets *t, struct sm_arguments_rest *rest, bool passes_on, char **argv)
{
    const struct sm_argument options[] = {
        {"flag", 'f', SM_ARGUMENT_FLAG, &t->flag, NULL, NULL, "a flag"},
        {"text", 't', SM_ARGUMENT_STRING, &t->text, NULL, "TEXT", "a text"},
        {"rows", 0, SM_ARGUMENT_INTEGER, &t->integer, NULL, "N", "a number"},
        {"max-seq", 0, SM_ARGUMENT_LIST, &t->list, NULL, "LIST", "a list"},
        {"max-rows", 0, SM_ARGUMENT_LIST, &t->list, NULL, "LIST", "another"},
        {"kv", 0, SM_ARGUMENT_STRINGS, &t->words, colours, "LIST", "words"},
        {"output", 'o', SM_ARGUMENT_CHOICE, &t->choice, colours, "FORMAT", "a choice"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {"test", "[OPTION]...", "A test.", options, NULL, 0, 2, passes_on};
    int argc = 0;
    while (argv[argc]) argc++;
    *why = 0;
    return sm_arguments_parse(&spec, argc, argv, rest, why, sizeof why);
}

#define ARGV(...) ((char *[]){(char[]){"test"}, __VA_ARGS__, NULL})
#define W(text) ((char[]){text})

static void options_reach_their_targets(void **state)
{
    (void)state;
    struct targets t = {0};
    struct sm_arguments_rest rest;
    assert_int_equal(parse(&t, &rest, false,
                           ARGV(W("one"), W("-f"), W("--text=x"), W("--rows"), W("7"), W("--max-seq"), W("1,2"),
                                W("two"), W("--kv"), W("red,blue"), W("-oblue"))),
                     SM_ARGUMENTS_OK);
    assert_true(t.flag);
    assert_string_equal(t.text, "x");
    assert_int_equal(t.integer, 7);
    assert_int_equal(t.list.count, 2);
    assert_int_equal(t.words.count, 2);
    assert_string_equal(t.words.value[1], "blue");
    assert_int_equal(t.choice, 2);
    assert_int_equal(rest.operand_count, 2);
    assert_string_equal(rest.operands[0], "one");
    assert_string_equal(rest.operands[1], "two");
}

static void a_double_dash_ends_or_passes_on(void **state)
{
    (void)state;
    struct targets t = {0};
    struct sm_arguments_rest rest;
    assert_int_equal(parse(&t, &rest, false, ARGV(W("--"), W("-odd-name"))), SM_ARGUMENTS_OK);
    assert_int_equal(rest.operand_count, 1);
    assert_string_equal(rest.operands[0], "-odd-name");
    assert_int_equal(parse(&t, &rest, true, ARGV(W("one"), W("--"), W("--benchmark_min_time=1"), W("x"))),
                     SM_ARGUMENTS_OK);
    assert_int_equal(rest.operand_count, 1);
    assert_int_equal(rest.passed_count, 2);
    assert_string_equal(rest.passed[0], "--benchmark_min_time=1");
    assert_int_equal(parse(&t, &rest, true, ARGV(W("one"))), SM_ARGUMENTS_OK);
    assert_int_equal(rest.passed_count, 0);
}

static void expect_bad(char **argv, const char *word)
{
    struct targets t = {0};
    struct sm_arguments_rest rest;
    assert_int_equal(parse(&t, &rest, false, argv), SM_ARGUMENTS_BAD);
    if (!strstr(why, word)) fail_msg("no '%s' in: %s", word, why);
    assert_null(strchr(why, '\n'));
}

static void mistakes_get_a_sentence(void **state)
{
    (void)state;
    expect_bad(ARGV(W("--max-sec"), W("3")), "did you mean '--max-seq'");
    expect_bad(ARGV(W("--zzzzzzzzz")), "--zzzzzzzzz");
    expect_bad(ARGV(W("--max"), W("3")), "start of several");
    expect_bad(ARGV(W("--rows")), "needs a value");
    expect_bad(ARGV(W("-t")), "needs a value");
    expect_bad(ARGV(W("--flag=3")), "takes no value");
    expect_bad(ARGV(W("-z")), "-z");
    expect_bad(ARGV(W("--rows"), W("x")), "--rows: 'x' is not a whole number");
    expect_bad(ARGV(W("--kv"), W("red,gren")), "did you mean 'green'");
    expect_bad(ARGV(W("-o"), W("pink")), "red, green, blue");
    expect_bad(ARGV(W("1"), W("2"), W("3")), "'3' is not expected");
    static char huge[100001];
    memset(huge, '9', sizeof huge - 1);
    expect_bad(ARGV(W("--rows"), huge), "whole number");
    expect_bad(ARGV(W("--kv"), huge), "at most");
    expect_bad(ARGV(huge, huge, huge), "not expected");
}

static void help_fits_the_screen(void **state)
{
    (void)state;
    char text[4096] = "";
    struct targets t = {0};
    struct sm_arguments_rest rest;
    assert_int_equal(parse(&t, &rest, false, ARGV(W("--help"))), SM_ARGUMENTS_HELP);
    assert_int_equal(parse(&t, &rest, false, ARGV(W("-h"))), SM_ARGUMENTS_HELP);
    const struct sm_argument options[] = {
        {"a-rather-long-name-for-an-option", 'x', SM_ARGUMENT_STRING, &t.text, NULL, "AND-ITS-VALUE",
         "words that go on and on and on, so that the line has to be broken somewhere before the edge of the screen"},
        SM_ARGUMENTS_END};
    const struct sm_arguments spec = {"test", "", "A test.", options, "slotmark test", 0, 0, false};
    FILE *out = fmemopen(text, sizeof text, "w");
    sm_arguments_help(&spec, out);
    fclose(out);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) assert_true(strcspn(line, "\n") <= 100);
    assert_non_null(strstr(text, "example:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_ranges),
        cmocka_unit_test(durations_and_sizes),
        cmocka_unit_test(options_reach_their_targets),
        cmocka_unit_test(a_double_dash_ends_or_passes_on),
        cmocka_unit_test(mistakes_get_a_sentence),
        cmocka_unit_test(help_fits_the_screen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
