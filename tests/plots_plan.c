/* The figures of plans and of turns, number by number, from records made for it; and which way of drawing a terminal
 * gets. Writes into plots_plan.out/ below the current folder. */
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
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "captured.h"
#include "plot.h"
#include "terminal.h"

#define OUT "plots_plan.out"

static void slurp(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("no %s", path);
    text[fread(text, 1, bytes - 1, file)] = 0;
    fclose(file);
}

/* A set with a time of its own in each objective. */
#define SET(name, plans, ms)                                                                                           \
    "{\"name\":\"" name "\",\"plans\":" plans ",\"prefill\":[64],\"append\":[8,24],\"mean_ns\":" ms                    \
    "7e6,\"ttft_ns\":" ms "e6,\"p95_ns\":" ms "3e6}"
#define PLAN(case_id, objective, file)                                                                                 \
    "{\"schema\":1,\"kind\":\"plan\",\"case\":\"" case_id "\",\"status\":\"ok\",\"max_seq\":2048,\"model\":{\"name\":" \
    "\"m\"},\"plan\":{\"role\":\"plan\",\"objective\":\"" objective                                                    \
    "\",\"max_seq\":2048,\"turns\":{\"file\":\"a/" file ".turns\"},\"curve\":[" SET("planned", "2", "40") "," SET(     \
        "planned", "3", "30") "],\"usual\":[" SET("powers of two", "4", "50") "]}}\n"
#define REPLAY(case_id, file, set, first, second)                                                                      \
    "{\"schema\":1,\"kind\":\"plan\",\"case\":\"" case_id "\",\"status\":\"ok\",\"max_seq\":2048,\"model\":{\"name\":" \
    "\"m\"},\"samples\":[1],\"plan\":{\"role\":\"replay\",\"set\":\"" set "\",\"file\":\"a/" file                      \
    ".turns\",\"session\":1,\"turns\":[{\"ttft_ns\":" first "e6},{\"ttft_ns\":" second "e6}]}}\n"
#define TURN(number, way, ns)                                                                                          \
    "{\"schema\":1,\"kind\":\"profile\",\"case\":\"m/turns=2/" number way "\",\"status\":\"ok\",\"max_seq\":512,"      \
    "\"threads\":1,\"kv_type\":\"f16\",\"model\":{\"name\":\"m\"},\"phase\":\"turn\",\"samples\":[" ns "e6," ns        \
    "e6],\"turn\":{\"turn\":" number ",\"of\":2,\"way\":\"" way "\",\"turns\":\"9+2,5+2\"}}\n"

static const char records[] =
    PLAN("m/ttft", "ttft", "chat") PLAN("m/p95", "p95", "docs") PLAN("m/mean", "mean", "tools")
        REPLAY("m/r1", "chat", "planned", "10", "21") REPLAY("m/r2", "chat", "planned", "14", "25")
            REPLAY("m/r3", "chat", "planned", "12", "29") REPLAY("m/r4", "chat", "powers of two", "60", "70")
                REPLAY("m/r5", "docs", "planned", "900", "800") TURN("1", "buckets", "5") TURN("2", "buckets", "6")
                    TURN("1", "re-prefill", "8") TURN("2", "re-prefill", "9");

static void draw(const char *figure)
{
    char path[64], said[4096];
    FILE *file = fopen(OUT "/records.jsonl", "w");
    assert_non_null(file);
    assert_true(fputs(records, file) >= 0);
    assert_int_equal(fclose(file), 0);
    snprintf(path, sizeof path, OUT "/%s", figure);
    const char *const texts[] = {"plot", "--only", figure, "--out", path, OUT "/records.jsonl", NULL};
    if (captured(plot_main, texts, OUT "/said.txt")) {
        slurp(OUT "/said.txt", said, sizeof said);
        fail_msg("%s", said);
    }
}

/* Every row of the figure's table, in any order, and no other. */
static void check_rows(const char *figure, const char *const *rows, size_t count)
{
    char path[64], text[1 << 14];
    size_t lines = 0;
    snprintf(path, sizeof path, OUT "/%s/%s.tsv", figure, figure);
    slurp(path, text, sizeof text);
    for (const char *at = text; (at = strchr(at, '\n')); at++) lines++;
    for (size_t i = 0; i < count; i++)
        if (!strstr(text, rows[i])) fail_msg("%s: no row '%s' in\n%s", figure, rows[i], text);
    if (lines != count + 1) fail_msg("%s: %zu rows, not %zu:\n%s", figure, lines - 1, count, text);
}

static void plans_have_the_time_of_their_objective(void **unused)
{
    (void)unused;
    static const char *const rows[] = {
        "chat: mean TTFT\t0\tbest of all sets\t2\t40\t64\t8,24\t40\tm/ttft\n",
        "chat: mean TTFT\t0\tbest of all sets\t3\t30\t64\t8,24\t30\tm/ttft\n",
        "chat: mean TTFT\t1\tpowers of two\t4\t50\t64\t8,24\t50\tm/ttft\n",
        "\t0\tbest of all sets\t2\t403\t64\t8,24\t403\tm/p95\n",
        "\t0\tbest of all sets\t3\t303\t64\t8,24\t303\tm/p95\n",
        "\t1\tpowers of two\t4\t503\t64\t8,24\t503\tm/p95\n",
        "\t0\tbest of all sets\t2\t407\t64\t8,24\t407\tm/mean\n",
        "\t0\tbest of all sets\t3\t307\t64\t8,24\t307\tm/mean\n",
        "\t1\tpowers of two\t4\t507\t64\t8,24\t507\tm/mean\n",
    };
    draw("plan");
    check_rows("plan", rows, sizeof rows / sizeof *rows);
}

static void turns_are_those_of_their_file_set_and_way(void **unused)
{
    (void)unused;
    static const char *const rows[] = {
        "\tin buckets\t1\t5\t5\t5\t2\tm/turns=2/1buckets\n",
        "\tin buckets\t2\t6\t6\t6\t2\tm/turns=2/2buckets\n",
        "\tall prefilled anew\t1\t8\t8\t8\t2\tm/turns=2/1re-prefill\n",
        "\tall prefilled anew\t2\t9\t9\t9\t2\tm/turns=2/2re-prefill\n",
        "chat, max_seq 2048, replayed\t4\tplanned\t1\t12\t11\t13\t3\tm/r3\n",
        "chat, max_seq 2048, replayed\t4\tplanned\t2\t25\t23\t27\t3\tm/r3\n",
        "chat, max_seq 2048, replayed\t5\tpowers of two\t1\t60\t60\t60\t1\tm/r4\n",
        "chat, max_seq 2048, replayed\t5\tpowers of two\t2\t70\t70\t70\t1\tm/r4\n",
        "docs, max_seq 2048, replayed\t4\tplanned\t1\t900\t900\t900\t1\tm/r5\n",
        "docs, max_seq 2048, replayed\t4\tplanned\t2\t800\t800\t800\t1\tm/r5\n",
    };
    draw("turns");
    check_rows("turns", rows, sizeof rows / sizeof *rows);
}

/* What is chosen where standard output is this, in such a surrounding. */
static const char *choose(int out, const char *term, const char *language, int *columns, int *lines)
{
    const int kept = dup(STDOUT_FILENO);
    assert_true(kept >= 0);
    fflush(stdout);
    unsetenv("TERM_PROGRAM");
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
    setenv("TERM", term, 1);
    setenv("LANG", language, 1);
    assert_true(dup2(out, STDOUT_FILENO) >= 0);
    const char *chosen = sm_terminal_choose(columns, lines);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    close(kept);
    return chosen;
}

static void terminals_get_what_they_can_show(void **unused)
{
    (void)unused;
    int columns, lines;
    const int file = open("/dev/null", O_WRONLY), master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master)) skip();
    const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    const struct winsize size = {.ws_col = 132, .ws_row = 50};
    assert_true(file >= 0 && terminal >= 0);
    assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
    assert_string_equal(choose(file, "foot", "C.UTF-8", &columns, &lines), "dumb");
    assert_true(columns == 0 && lines == 0);
    assert_string_equal(choose(terminal, "foot", "C.UTF-8", &columns, &lines), "sixel");
    assert_true(columns == 132 && lines == 49); /* a line is the prompt's */
    assert_string_equal(choose(terminal, "xterm", "C.UTF-8", &columns, &lines), "block");
    assert_string_equal(choose(terminal, "xterm", "C", &columns, &lines), "dumb");
    assert_true(columns == 132 && lines == 49);
    close(terminal);
    close(master);
    close(file);
}

static int set_up(void **unused)
{
    (void)unused;
    return system("rm -rf " OUT) || (mkdir(OUT, 0777) && errno != EEXIST) ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_have_the_time_of_their_objective),
                                       cmocka_unit_test(turns_are_those_of_their_file_set_and_way),
                                       cmocka_unit_test(terminals_get_what_they_can_show)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
