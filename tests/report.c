/* slotmark report: a page that is whole, the same each time, reads nothing from elsewhere and holds every record, and
 * into which no record brings markup. Writes into report.out/ below the current folder, for people to look at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "captured.h"
#include "figure.h"
#include "mutate.h"
#include "page_check.h"
#include "plot_fixture.h"
#include "report_page.h"

#define OUT "report.out"

static char *slurp(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "r");
    if (!file) return NULL;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long end = ftell(file);
    assert_true(end >= 0);
    rewind(file);
    char *text = malloc((size_t)end + 1);
    assert_non_null(text);
    *bytes = fread(text, 1, (size_t)end, file);
    text[*bytes] = 0;
    fclose(file);
    return text;
}

static void write_bytes(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void write_file(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

static char said[1 << 14]; /* by the last call, on standard output and error */

static int report(const char *a, const char *b, const char *c, const char *d, const char *e)
{
    const char *const texts[] = {"report", a, b, c, d, e, NULL};
    const int code = captured(report_main, texts, OUT "/said.txt");
    size_t bytes;
    char *text = slurp(OUT "/said.txt", &bytes);
    assert_non_null(text);
    snprintf(said, sizeof said, "%s", text);
    free(text);
    return code;
}

/* What the fixture of the plots lacks: refused, failed and null cases, counters, another machine, verify. */
static const char others[] =
    "{\"schema\":1,\"kind\":\"bench\",\"case\":\"rope/bad/rows=1/t1/hot\",\"status\":\"error\",\"why\":\"the answer is "
    "wrong by 7 tolerances\",\"samples\":null,\"family\":\"rope\",\"variant\":\"bad\",\"started\":\"2026-01-31T12:00:"
    "01Z\",\"machine\":{\"cpu\":\"Fixture "
    "CPU\",\"governor\":\"powersave\",\"huge_pages\":\"never\",\"virtualised\":true}"
    ",\"command\":\"slotmark bench --family rope\",\"build\":{\"type\":\"Debug\",\"dirty\":true}}\n"
    "{\"schema\":1,\"kind\":\"bench\",\"case\":\"rope/wide/rows=1/t1/hot\",\"status\":\"skipped\",\"why\":\"this CPU "
    "lacks avx512\",\"started\":null}\n"
    "{\"schema\":1,\"kind\":\"bench\",\"case\":\"rope/old/rows=1/t1/hot\",\"status\":\"ok\",\"samples\":[10,11,12],"
    "\"started\":\"2020-01-01T00:00:00Z\",\"machine\":{\"cpu\":\"Another CPU\"}}\n"
    "{\"schema\":1,\"kind\":\"profile\",\"case\":\"nothing\",\"status\":\"ok\",\"samples\":[],\"token_ns\":[null],"
    "\"machine\":{\"cpu\":\"Fixture CPU\"},\"counters\":[{\"name\":\"cycles\",\"value\":null,\"state\":\"absent\","
    "\"why\":\"this machine shows no PMU\",\"provider\":\"papi\"},{\"name\":\"misses\",\"value\":null,\"state\":"
    "\"denied\",\"why\":\"not permitted\",\"provider\":\"perf\"}],\"witnesses\":{\"flags\":[\"preempted\",3]}}\n"
    "{\"schema\":1,\"kind\":\"verify\",\"case\":\"m/float/t1\",\"status\":\"ok\",\"recipe\":\"float\",\"kv_type\":"
    "\"f16\",\"machine\":{\"cpu\":\"Fixture "
    "CPU\"},\"model\":{\"name\":\"m\"},\"quality\":{\"against\":\"float\",\"peir\""
    ":0.0125,\"kl\":0.5,\"agree\":16,\"calls\":17,\"verdict\":\"within\"}}\n";

static int set_up(void **unused)
{
    (void)unused;
    if (mkdir(OUT, 0777) && errno != EEXIST) return -1;
    if (system("rm -rf " OUT "/*.html " OUT "/folder")) return -1;
    FILE *all = fopen(OUT "/all.jsonl", "w");
    if (!all) return -1;
    plot_fixture_kernels(all);
    plot_fixture_models(all);
    fputs(others, all);
    return fclose(all);
}

/* A page that was made from the records of a file, one a line, all of them good. */
static void check_page(const char *path, const char *records_path)
{
    size_t bytes, records_bytes, script_bytes;
    char *page = slurp(path, &bytes), *records = slurp(records_path, &records_bytes),
         *script = slurp(SM_SOURCE_DIR "/plots/report.js", &script_bytes);
    char why[400] = "";
    if (!page || !records || !script) fail_msg("%s, %s or report.js is not there", path, records_path);
    if (page_check(page, script, why, sizeof why)) fail_msg("%s: %s", path, why);
    if (page_check_records(page, records, why, sizeof why)) fail_msg("%s: %s", path, why);
    free(page);
    free(records);
    free(script);
}

static size_t pictures(const char *page)
{
    size_t n = 0;
    for (const char *at = page; (at = strstr(at, "<svg role=\"img\"")); at++) n++;
    return n;
}

/* Pictures whose points are no links, but for those that cannot have any: ceilings are of no record, and the line of a
 * generation is of one. */
static size_t without_links(const char *page)
{
    size_t count = 0;
    for (const char *at = page, *end; (at = strstr(at, "<div class=\"picture")); at = end) {
        const char *link = strstr(at, "<a href=\"#record="), *title = strstr(at, "aria-label=\"");
        end = strstr(at, "</div>");
        assert_true(title && end);
        title += strlen("aria-label=\"");
        if ((link && link < end) || !strncmp(title, "What this machine can do", 24) ||
            !strncmp(title, "Every token", 11))
            continue;
        print_error("no links: %.60s\n", title);
        count++;
    }
    return count;
}

static void page_is_whole_and_the_same_twice(void **unused)
{
    (void)unused;
    size_t n, m;
    assert_int_equal(report("-o", OUT "/first.html", OUT "/all.jsonl", NULL, NULL), 0);
    assert_int_equal(report("--out", OUT "/second.html", OUT "/all.jsonl", NULL, NULL), 0);
    check_page(OUT "/first.html", OUT "/all.jsonl");
    char *first = slurp(OUT "/first.html", &n), *second = slurp(OUT "/second.html", &m);
    assert_int_equal(n, m);
    assert_memory_equal(first, second, n);
    assert_int_equal(pictures(first), sm_figure_count - 2); /* the others are of documents */
    assert_int_equal(without_links(first), 0);
    static const char *const there[] = {"Fixture CPU",
                                        "1 failed, 1 skipped",
                                        "the answer is wrong by 7 tolerances",
                                        "this CPU lacks avx512",
                                        "<td>cycles</td><td>absent</td><td>this machine shows no PMU</td>",
                                        "<code>slotmark bench --family rope</code>",
                                        "1 records of other machines",
                                        "synthetic weights",
                                        "perf_event_paranoid",
                                        "governor was not",
                                        "preempted: 1",
                                        "16 of 17",
                                        "1 cases failed",
                                        "1 cases are said to be right and hold no time",
                                        "<td>matmul_w4g32_a8</td><td>avx512vnni</td>",
                                        "10 of 10",
                                        "<td>fixture-135m</td><td>decode</td>"};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        if (!strstr(first, there[i])) fail_msg("the page does not say: %s", there[i]);
    free(first);
    free(second);
}

/* What compare and trend print with -o json is among the records, and drawn. */
static void documents_are_in_the_page(void **unused)
{
    (void)unused;
    FILE *comparison = fopen(OUT "/comparison.json", "w"), *series = fopen(OUT "/series.json", "w");
    assert_true(comparison && series);
    plot_fixture_comparison(comparison);
    plot_fixture_series(series);
    assert_int_equal(fclose(comparison) | fclose(series), 0);
    write_file(OUT "/foreign.json", "{\"benchmarks\": []}");
    assert_int_equal(report("-o", OUT "/documents.html", OUT "/all.jsonl", OUT "/comparison.json", OUT "/series.json"),
                     0);
    size_t n;
    char *page = slurp(OUT "/documents.html", &n);
    assert_int_equal(pictures(page), sm_figure_count);
    assert_non_null(strstr(page, "rope/avx512/rows=8,head_dim=64 HEAD~1..bbbbbbb"));
    assert_non_null(strstr(page, "rmsnorm/avx2/rows=1,cols=2048/t1"));
    assert_null(strstr(page, "<dd>slotmark </dd>")); /* records of documents say nothing of a build */
    free(page);
    assert_int_equal(report("-o", OUT "/foreign.html", OUT "/foreign.json", NULL, NULL), 2); /* asked for by name */
    assert_non_null(strstr(said, "neither a comparison nor a series"));
    write_file(OUT "/foreign.json", "{\"schema\": \"slotmark-compare\", \"comparisons\": [1, {}, {\"id\": 3}]}");
    assert_int_equal(report("-o", OUT "/foreign.html", OUT "/foreign.json", NULL, NULL), 2);
    assert_non_null(strstr(said, "no record in"));
    assert_int_equal(truncate(OUT "/foreign.json", (64 << 20) + 1), 0); /* a hole takes no room */
    assert_int_equal(report("-o", OUT "/foreign.html", OUT "/foreign.json", NULL, NULL), 2);
    assert_non_null(strstr(said, "larger than 64 MiB"));
    assert_int_equal(unlink(OUT "/foreign.json"), 0);
}

#define VENOM                                                                                                          \
    "</script><script>alert(1)</script><!-- <![CDATA[ \" ' > <img src=x onerror=alert(1)> & &lt; \xe2\x80\xa8\xe2\x80" \
    "\xa9\xe2\x80\xae \x01\x1b[31m\t\r\n</td></table></svg></style> javascript:alert(1) %s%n {{7*7}} \xf0\x9f\x92\xa9"

/* Every text becomes venom, and so does a key of every object; what says which figure a record belongs to is kept. */
static void poison(json_t *value, int keep_words)
{
    static const char *const kept[] = {"kind", "status", "group", "phase", "unit", "cache_state", "state"};
    const char *key;
    json_t *inner;
    void *next;
    size_t i;
    json_array_foreach(value, i, inner)
    {
        if (json_is_string(inner))
            json_array_set_new(value, i, json_string(VENOM));
        else
            poison(inner, keep_words);
    }
    json_object_foreach_safe(value, next, key, inner)
    {
        int keep = 0;
        for (size_t k = 0; keep_words && k < sizeof kept / sizeof *kept; k++) keep |= !strcmp(key, kept[k]);
        poison(inner, keep_words);
        if (!json_is_string(inner) || keep) continue;
        char text[1024];
        snprintf(text, sizeof text, "%.300s%s", json_string_value(inner), VENOM);
        json_object_set_new(value, key, json_string(text));
    }
    if (json_is_object(value)) json_object_set_new(value, VENOM, json_string(VENOM));
}

static void write_poisoned(const char *path, int keep_words)
{
    size_t n;
    char *text = slurp(OUT "/all.jsonl", &n);
    FILE *to = fopen(path, "w");
    assert_non_null(text);
    assert_non_null(to);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *record = json_loads(line, 0, NULL);
        assert_non_null(record);
        poison(record, keep_words);
        assert_int_equal(json_dumpf(record, to, JSON_COMPACT), 0);
        fputc('\n', to);
        json_decref(record);
    }
    assert_int_equal(fclose(to), 0);
    free(text);
}

static void hostile_text_is_only_text(void **unused)
{
    (void)unused;
    write_poisoned(OUT "/poison.jsonl", 1);
    assert_int_equal(report("-o", OUT "/poison.html", OUT "/poison.jsonl", NULL, NULL), 0);
    check_page(OUT "/poison.html", OUT "/poison.jsonl");
    size_t n;
    char *page = slurp(OUT "/poison.html", &n);
    assert_non_null(strstr(page, "&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert_null(strstr(page, "\x1b"));
    assert_null(strstr(page, "\xe2\x80\xae"));
    free(page);
    write_poisoned(OUT "/worse.jsonl", 0); /* no kind, status or phase that is known */
    assert_int_equal(report("-o", OUT "/worse.html", OUT "/worse.jsonl", NULL, NULL), 0);
    check_page(OUT "/worse.html", OUT "/worse.jsonl");
}

/* Records of every kind, few enough that a thousand pages are made in seconds; no pictures, which take longer. */
static void thousand_mutations_break_nothing(void **unused)
{
    (void)unused;
    size_t n, script_bytes, pages = 0, refused = 0;
    char *all = slurp(OUT "/all.jsonl", &n), *script = slurp(SM_SOURCE_DIR "/plots/report.js", &script_bytes),
         *start = malloc(1 << 17), *path = strdup(getenv("PATH"));
    size_t few = 0, number = 0;
    for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n"), number++)
        if (number % 60 == 0 || number > 470) {
            const size_t length = strlen(line);
            if (few + length + 1 > 1 << 16) continue;
            memcpy(start + few, line, length);
            few += length;
            start[few++] = '\n';
        }
    char *text = malloc(1 << 17);
    setenv("PATH", "/nonexistent", 1);
    for (int i = 0; i < 1000; i++) {
        size_t bytes = few, page_bytes;
        char why[400] = "";
        memcpy(text, start, few);
        for (size_t times = 1 + mutate_below(12); times; times--) bytes = mutate(text, bytes, 1 << 17);
        text[bytes] = '\n';
        write_bytes(OUT "/mutant.jsonl", text, bytes + 1);
        unlink(OUT "/mutant.html");
        const int code = report("-o", OUT "/mutant.html", OUT "/mutant.jsonl", NULL, NULL);
        char *page = slurp(OUT "/mutant.html", &page_bytes);
        if (code < 0 || code > 2 || (code < 2) != (page != NULL)) fail_msg("mutant %d: code %d: %s", i, code, said);
        if (page && page_check(page, script, why, sizeof why)) fail_msg("mutant %d: %s", i, why);
        pages += page != NULL;
        refused += page == NULL;
        free(page);
    }
    setenv("PATH", path, 1);
    print_message("%zu pages, %zu refused\n", pages, refused);
    assert_true(pages > 900);
    free(path);
    free(all);
    free(script);
    free(start);
    free(text);
}

static void lines_that_are_no_record_are_named(void **unused)
{
    (void)unused;
    static char mega[1 << 20];
    FILE *to = fopen(OUT "/long.jsonl", "w");
    assert_non_null(to);
    memset(mega, '[', sizeof mega);
    for (int i = 0; i < 100; i++) fwrite(mega, 1, sizeof mega, to);
    fputs("\n{\"schema\":1,\"kind\":\"bench\",\"case\":\"a\",\"ops\":NaN}\n{\"schema\":1,\"kind\":\"bench\",\"case\":"
          "\"a\",\"ops\":1e999}\n{\"schema\":1,\"kind\":\"bench\",\"case\":\"a\",\"ops\":-Infinity}\n"
          "{\"schema\":1,\"kind\":\"bench\",\"case\":\"the only one\",\"status\":\"ok\",\"samples\":[1e308,1e-320,0]}\n"
          "{\"schema\":1,\"kind\":\"bench\",\"case\":\"half a li",
          to);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(report("-o", OUT "/long.html", OUT "/long.jsonl", NULL, NULL), 0);
    assert_non_null(strstr(said, "5 of 6 lines are no records"));
    size_t n;
    char *page = slurp(OUT "/long.html", &n);
    assert_non_null(strstr(page, "long.jsonl:1: longer than 16 MiB"));
    assert_non_null(strstr(page, "the only one"));
    free(page);
    assert_int_equal(unlink(OUT "/long.jsonl"), 0);
}

static void nothing_usable_is_refused(void **unused)
{
    (void)unused;
    write_file(OUT "/garbage.jsonl", "{\n[1, 2]\n<script>\n");
    write_file(OUT "/empty.jsonl", "");
    assert_int_equal(mkdir(OUT "/folder", 0777), 0);
    assert_int_equal(report("-o", OUT "/none.html", OUT "/garbage.jsonl", NULL, NULL), 2);
    assert_non_null(strstr(said, "no record in"));
    assert_int_equal(report("-o", OUT "/none.html", OUT "/empty.jsonl", NULL, NULL), 2);
    assert_non_null(strstr(said, "no record in"));
    assert_int_equal(report("-o", OUT "/none.html", OUT "/folder", NULL, NULL), 2);
    assert_non_null(strstr(said, "holds no .jsonl file"));
    assert_int_equal(report("-o", OUT "/none.html", OUT "/missing.jsonl", NULL, NULL), 2);
    assert_non_null(strstr(said, "No such file"));
    assert_int_equal(report(NULL, NULL, NULL, NULL, NULL), 2);
    assert_int_equal(report("--colour", OUT "/all.jsonl", NULL, NULL, NULL), 2);
    assert_non_null(strstr(said, "see slotmark report --help"));
    assert_int_equal(report("--templates", OUT, "-o", OUT "/none.html", OUT "/all.jsonl"), 2);
    assert_non_null(strstr(said, "no gnuplot templates"));
    assert_int_equal(report("-o", OUT "/absent/none.html", OUT "/all.jsonl", NULL, NULL), 2);
    assert_non_null(strstr(said, "cannot write"));
    assert_int_equal(access(OUT "/none.html", F_OK), -1);
    assert_int_equal(report("--help", NULL, NULL, NULL, NULL), 0);
    assert_non_null(strstr(said, "example:"));
}

static void no_file_is_written_over_unasked(void **unused)
{
    (void)unused;
    size_t n;
    write_file(OUT "/few.jsonl", others);
    write_file(OUT "/theirs.html", "theirs");
    assert_int_equal(report("-o", OUT "/theirs.html", OUT "/few.jsonl", NULL, NULL), 2);
    assert_non_null(strstr(said, "is there already"));
    assert_int_equal(report("-o", OUT "/theirs.html", "--force", OUT "/few.jsonl", NULL), 2);
    assert_non_null(strstr(said, "no report"));
    assert_int_equal(report("-o", OUT "/few.jsonl", "--force", OUT "/few.jsonl", NULL), 2);
    char *theirs = slurp(OUT "/theirs.html", &n), *few = slurp(OUT "/few.jsonl", &n);
    assert_string_equal(theirs, "theirs");
    assert_string_equal(few, others);
    free(theirs);
    free(few);
    assert_int_equal(report(OUT "/few.jsonl", NULL, NULL, NULL, NULL), 0); /* report.html beside it */
    assert_int_equal(report(OUT "/few.jsonl", NULL, NULL, NULL, NULL), 2);
    assert_int_equal(report(OUT "/few.jsonl", "--force", NULL, NULL, NULL), 0);
    check_page(OUT "/report.html", OUT "/few.jsonl");
}

/* All of them in the page, whose size keeps to that of the records, since what they share is there once. */
static void ten_thousand_cases_make_one_page(void **unused)
{
    (void)unused;
    FILE *to = fopen(OUT "/many.jsonl", "w");
    assert_non_null(to);
    for (int i = 0; i < 10000; i++)
        fprintf(
            to,
            "{\"schema\":1,\"kind\":\"bench\",\"case\":\"matmul_f32/%s/rows=%d,out=%d,in=2048/t1/hot\",\"status\":"
            "\"%s\",\"why\":%s,\"started\":\"2026-01-31T%02d:%02d:00Z\",\"command\":\"slotmark bench --full\","
            "\"family\":\"matmul_f32\",\"group\":\"matmul\",\"variant\":\"%s\",\"shape\":{\"rows\":%d,\"out\":%d,"
            "\"in\":2048},\"threads\":1,\"cache_state\":\"hot\",\"samples\":[%d,%d,%d],\"ops\":%d,\"machine\":{\"cpu\":"
            "\"Fixture CPU\",\"features\":[\"fma\",\"avx\",\"f16c\",\"avx2\",\"avx512f\"]},\"build\":{\"commit\":"
            "\"fixture\"},\"witnesses\":{\"core_hz_before\":2.5e9,\"core_hz_after\":2.5e9,\"flags\":[]}}\n",
            i % 2 ? "avx2" : "ref", 1 << i / 2 % 10, 64 + i / 20, i % 97 ? "ok" : "error",
            i % 97 ? "null" : "\"wrong\"", i / 60 % 24, i % 60, i % 2 ? "avx2" : "ref", 1 << i / 2 % 10, 64 + i / 20,
            100 + i, 90 + i, 130 + i, 4096 * i);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(report("-o", OUT "/many.html", OUT "/many.jsonl", NULL, NULL), 0);
    check_page(OUT "/many.html", OUT "/many.jsonl");
    size_t n, m;
    char *page = slurp(OUT "/many.html", &n), *records = slurp(OUT "/many.jsonl", &m);
    print_message("10,000 cases: %zu bytes of records, a page of %zu\n", m, n);
    assert_true(n < 2 * m);
    size_t rows = 0; /* that are laid out before anything is asked for */
    for (const char *at = page; (at = strstr(at, "<tr>")); at++) rows++;
    assert_true(rows < 2000);
    free(page);
    free(records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_is_whole_and_the_same_twice),   cmocka_unit_test(documents_are_in_the_page),
        cmocka_unit_test(hostile_text_is_only_text),          cmocka_unit_test(thousand_mutations_break_nothing),
        cmocka_unit_test(lines_that_are_no_record_are_named), cmocka_unit_test(nothing_usable_is_refused),
        cmocka_unit_test(no_file_is_written_over_unasked),    cmocka_unit_test(ten_thousand_cases_make_one_page)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
