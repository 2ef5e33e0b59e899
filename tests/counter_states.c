/* Each state of a counter from the PMU to everything that shows it: doctor, bench, profile, the report. The PMU is
 * played by a preloaded library (play_pmu.h), through PAPI and through bare system calls; what it cannot be trusted
 * with must not be shown as a number anywhere. */
#include <jansson.h>
#include <math.h>
#include <regex.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PLAYED SM_SOURCE_DIR "/tests/played/played.group"
#define MODEL SM_SOURCE_DIR "/tests/golden/llama-tiny/llama-tiny-q4_0.gguf"
#define EXPS " --variant gated_silu=ref" /* libm's: what is counted is their number, and no time */

static char folder[] = "states-XXXXXX";
static char output[1 << 20];

/* Runs the program with a PMU played as `play`: what it printed, errors too, is in output. Returns the exit code. */
static int slotmark(const char *play, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int slotmark(const char *play, const char *format, ...)
{
    char arguments[1024], line[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    snprintf(line, sizeof line, "SLOTMARK_PLAY=%s LD_PRELOAD='%s' '%s' %s 2>&1", play, SM_PLAY, SM_PROGRAM, arguments);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    output[fread(output, 1, sizeof output - 1, f)] = 0;
    const int status = pclose(f);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect(const char *what, int code)
{
    if (code) fail_msg("%s: exit code %d:\n%s", what, code, output);
}

/* Whether output has, on one line, this name and then this word. */
static bool says(const char *name, const char *word)
{
    char expression[256];
    regex_t r;
    snprintf(expression, sizeof expression, "(^|[^a-z_])%s[^a-z_\n][^\n]*%s", name, word);
    assert_int_equal(regcomp(&r, expression, REG_EXTENDED | REG_NEWLINE | REG_NOSUB), 0);
    const bool found = !regexec(&r, output, 0, NULL, 0);
    regfree(&r);
    return found;
}

/* No output shows a number right after the name, or as the value, of something that was not counted. */
static void no_number_for(const char *what, const char *name)
{
    char expression[512];
    regex_t r;
    regmatch_t at;
    snprintf(expression, sizeof expression, "(^|[^a-z_])%s([ ,a-z/]*[ |]| *=[a-z]*:?| *:) *-?[0-9][^\n]*", name);
    assert_int_equal(regcomp(&r, expression, REG_EXTENDED | REG_NEWLINE), 0);
    if (!regexec(&r, output, 1, &at, 0))
        fail_msg("%s shows a number: %.*s", what, (int)(at.rm_eo - at.rm_so), output + at.rm_so);
    snprintf(expression, sizeof expression, "\"name\": *\"%s\", *\"value\": *-?[0-9][^\n]{0,60}", name);
    regfree(&r);
    assert_int_equal(regcomp(&r, expression, REG_EXTENDED | REG_NEWLINE), 0);
    if (!regexec(&r, output, 1, &at, 0))
        fail_msg("%s shows a number: %.*s", what, (int)(at.rm_eo - at.rm_so), output + at.rm_so);
    regfree(&r);
}

struct stage {
    const char *play, *state, *provider; /* of instructions and cycles; provider "": any */
};

static const char *const never[] = {"unjudged", "nameless", "misses_of_both", NULL};

static void check_output(const char *what, const struct stage *s)
{
    const bool counts = !strcmp(s->state, "usable") || !strcmp(s->state, "multiplexed");
    if (!says("instructions", s->state)) fail_msg("%s does not say %s:\n%s", what, s->state, output);
    if (!says("nameless", "unmapped")) fail_msg("%s does not say unmapped:\n%s", what, output);
    if (counts && !says("unjudged", "unverified")) fail_msg("%s does not say unverified:\n%s", what, output);
    for (const char *const *name = never; *name; name++) no_number_for(what, *name);
    if (counts) return;
    for (const char *const *name = (const char *const[]){"instructions", "cycles", "l1d_misses", "ipc", NULL}; *name;
         name++)
        no_number_for(what, *name);
}

/* The records of a file: null exactly where the state says so, provider and share as they should be. */
static void check_records(const char *file, const struct stage *s, size_t least)
{
    char path[256], line[1 << 16];
    size_t records = 0, i;
    json_t *c;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *record = json_loads(line, 0, NULL);
        if (!record) fail_msg("%s: a line is no JSON: %.100s", path, line);
        json_t *counters = json_object_get(record, "counters");
        double instructions = NAN, cycles = NAN;
        json_array_foreach(counters, i, c)
        {
            const char *name = json_string_value(json_object_get(c, "name"));
            const char *state = json_string_value(json_object_get(c, "state"));
            const bool counts = !strcmp(state, "usable") || !strcmp(state, "multiplexed");
            const json_t *value = json_object_get(c, "value");
            if (counts ? !json_is_number(value) : !json_is_null(value)) fail_msg("%s: %s %s", path, name, line);
            if (!counts && !json_is_string(json_object_get(c, "why"))) fail_msg("%s: no reason for %s", path, name);
            if (!strcmp(name, "cycles")) cycles = json_number_value(value);
            if (strcmp(name, "instructions")) continue;
            instructions = json_number_value(value);
            if (strcmp(state, s->state)) fail_msg("%s: instructions are %s, not %s", path, state, s->state);
            if (counts && !strstr(json_string_value(json_object_get(c, "provider")), s->provider))
                fail_msg("%s: provided by %s", path, json_string_value(json_object_get(c, "provider")));
            if (!strcmp(state, "multiplexed"))
                assert_true(fabs(json_number_value(json_object_get(c, "share")) - 0.5) < 0.01);
        }
        assert_true(json_array_size(counters) >= 7); /* those of a kernel have no tokens */
        const bool counted = !strcmp(s->state, "usable") || !strcmp(s->state, "multiplexed");
        if (counted && !(instructions > 0 && fabs(instructions / cycles - 1) < 0.2))
            fail_msg("%s: %g instructions, %g cycles", path, instructions, cycles);
        json_decref(record);
        records++;
    }
    fclose(f);
    if (records < least) fail_msg("%s: %zu records", path, records);
}

static void each_state_is_seen_as_such(void **unused)
{
    (void)unused;
    static const struct stage stages[] = {
        {"usable", "usable", "papi PAPI_TOT_INS"},
        {"usable-bare", "usable", "perf_event_open"},
        {"one-slot", "usable", "perf_event_open"},
        {"multiplexed", "multiplexed", "perf_event_open"},
        {"busy", "busy", ""},
        {"denied", "denied", ""},
        {"filtered", "filtered", ""},
        {"absent", "absent", ""},
        {"zero", "zero", ""},
        {"implausible", "implausible", ""},
    };
    cpu_set_t cpus;
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    const int team = CPU_COUNT(&cpus) > 1 ? 2 : 1; /* bench times no team that has not a CPU for each */
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const struct stage *s = &stages[i];
        char bench[64], profile[64], what[128];
        snprintf(bench, sizeof bench, "%s-bench", s->play);
        snprintf(profile, sizeof profile, "%s-profile", s->play);
        snprintf(what, sizeof what, "doctor, %s", s->play);
        expect(what, slotmark(s->play, "doctor --counters " PLAYED " -o md"));
        check_output(what, s);

        snprintf(what, sizeof what, "bench, %s", s->play);
        expect(what, slotmark(s->play,
                              "bench --family gated_silu --variant ref --rows 1 --threads %d --reps 1 --min-time 1ms "
                              "--counters " PLAYED " --out %s/%s",
                              team, folder, bench));
        check_output(what, s);
        strcat(bench, "/bench.jsonl");
        check_records(bench, s, 1);
        expect(what, slotmark(s->play,
                              "bench --family gated_silu --variant ref --rows 1 --threads %d --reps 1 --min-time "
                              "1ms --counters none -o csv --resume %s/%s",
                              team, folder, bench));
        check_output(what, s);

        snprintf(what, sizeof what, "profile, %s", s->play);
        expect(what, slotmark(s->play,
                              "profile " MODEL EXPS " --max-seq 24 --gen 0 --reps 1 --threads 2 --counters " PLAYED
                              " --out %s/%s",
                              folder, profile));
        check_output(what, s);
        strcat(profile, "/profile.jsonl");
        check_records(profile, s, 1);
        expect(what, slotmark(s->play,
                              "profile " MODEL EXPS " --max-seq 24 --gen 0 --reps 1 --threads 2 --counters none -o json"
                              " --resume %s/%s",
                              folder, profile));
        check_output(what, s);
    }
}

/* Instructions of the turn by that way, in the session's records. */
static double counted(const char *turn)
{
    char path[256], line[1 << 16];
    double value = NAN;
    size_t i;
    json_t *c;
    snprintf(path, sizeof path, "%s/session/profile.jsonl", folder);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *record = json_loads(line, 0, NULL);
        const char *id = json_string_value(json_object_get(record, "case"));
        const size_t length = id ? strlen(id) : 0;
        if (length > strlen(turn) && !strcmp(id + length - strlen(turn), turn))
            json_array_foreach(json_object_get(record, "counters"), i,
                               c) if (!strcmp(json_string_value(json_object_get(c, "name")), "instructions")) value =
                json_number_value(json_object_get(c, "value"));
        json_decref(record);
    }
    fclose(f);
    if (!(value > 0)) fail_msg("%s was not counted", turn);
    return value;
}

/* Each turn by each way has counts of its own: those of the rows that its calls work out, padding too. */
static void sessions_are_counted(void **unused)
{
    (void)unused;
    static const struct stage s = {"usable", "usable", "papi PAPI_TOT_INS"};
    static const struct {
        const char *turn;
        double rows;
    } ways[] = {{"/turn=1/exact", 6},    {"/turn=1/buckets", 48},     {"/turn=1/decode", 1},     {"/turn=2/exact", 12},
                {"/turn=2/buckets", 12}, {"/turn=2/decode-loop", 12}, {"/turn=2/re-prefill", 48}};
    expect("a session",
           slotmark("usable",
                    "profile " MODEL EXPS " --max-seq 48 --turns 6+2,12+1 --buckets 4 --reps 1 --threads 2 "
                    "--counters " PLAYED " --out %s/session",
                    folder));
    check_output("a session", &s);
    check_records("session/profile.jsonl", &s, 7);
    const double row = counted("/turn=2/decode");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const double rows = counted(ways[i].turn) / row;
        if (!(fabs(rows / ways[i].rows - 1) < 0.2)) fail_msg("%s: %g rows, not %g", ways[i].turn, rows, ways[i].rows);
    }
}

/* One page of all of it, and the figures' data. */
static void the_report_tells_them_apart(void **unused)
{
    (void)unused;
    char path[64];
    expect("report", slotmark("absent", "report -o %s/report.html %s/*/*.jsonl", folder, folder));
    snprintf(path, sizeof path, "%s/report.html", folder);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *page = malloc(8 << 20);
    assert_non_null(page);
    page[fread(page, 1, (8 << 20) - 1, f)] = 0;
    fclose(f);
    for (const char *const *state = (const char *const[]){"busy", "denied", "filtered", "absent", "zero", "implausible",
                                                          "unverified", "unmapped", NULL};
         *state; state++) {
        char row[64];
        snprintf(row, sizeof row, "<td>%s</td>", *state);
        if (!strstr(page, row)) fail_msg("the report does not say %s", *state);
    }
    assert_non_null(strstr(page, "multiplexed"));
    for (const char *const *name = never; *name; name++) {
        char number[96];
        snprintf(number, sizeof number, "\"name\":\"%s\",\"value\":", *name);
        for (const char *at = strstr(page, number); at; at = strstr(at + 1, number))
            assert_memory_equal(at + strlen(number), "null", 4);
    }
    free(page);
    expect("plot", slotmark("absent", "plot --out %s/figures %s/*/*.jsonl", folder, folder));
    char grep[256]; /* no figure draws counters: their data must not know them */
    snprintf(grep, sizeof grep, "grep -rlE 'instructions|unjudged|nameless|l1d_misses' %s/figures --include=*.tsv",
             folder);
    assert_int_not_equal(system(grep), 0);
}

static int make_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused)
{
    (void)unused;
    char line[64];
    snprintf(line, sizeof line, "rm -r %s", folder);
    return system(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_is_seen_as_such),
        cmocka_unit_test(sessions_are_counted),
        cmocka_unit_test(the_report_tells_them_apart),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
