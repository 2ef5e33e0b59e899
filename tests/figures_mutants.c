/* Figures from records that mean harm: each mutant of the fixture is drawn by gnuplot, and does nothing but draw or
 * fail with a sentence. figures_mutants [how many] */
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
#include "plot.h"
#include "plot_fixture.h"

#define OUT "mutants.out"
#define SOURCES 4
#define ROOM ((size_t)1 << 22)

static int mutants = 51;

static const struct {
    const char *path;
    void (*write)(FILE *to);
} sources[SOURCES] = {{OUT "/kernels.jsonl", plot_fixture_kernels},
                      {OUT "/models.jsonl", plot_fixture_models},
                      {OUT "/comparison.json", plot_fixture_comparison},
                      {OUT "/series.json", plot_fixture_series}};

static char *slurp(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "r");
    *bytes = 0;
    if (!file) return NULL;
    char *text = malloc(ROOM);
    assert_non_null(text);
    *bytes = fread(text, 1, ROOM - 1, file);
    text[*bytes] = 0;
    fclose(file);
    return text;
}

/* Draws one figure of the mutated files; what it says goes to a file. */
static int draw(const char *figure)
{
    const char *const texts[] = {"plot",          "--only",        figure,          "--format",
                                 "svg",           "--out",         OUT "/figures",  sources[0].path,
                                 sources[1].path, sources[2].path, sources[3].path, NULL};
    return captured(plot_main, texts, OUT "/said.txt");
}

static void mutants_draw_or_fail_with_a_sentence(void **unused)
{
    (void)unused;
    char *start[SOURCES], *text = malloc(ROOM);
    size_t bytes[SOURCES], n, drawn = 0, failed = 0;
    if (mkdir(OUT, 0777)) assert_int_equal(errno, EEXIST);
    for (int s = 0; s < SOURCES; s++) {
        FILE *to = fopen(sources[s].path, "w");
        assert_non_null(to);
        sources[s].write(to);
        assert_int_equal(fclose(to), 0);
        assert_non_null(start[s] = slurp(sources[s].path, &bytes[s]));
    }
    for (int i = 0; i < mutants; i++) {
        for (int s = 0; s < SOURCES; s++) {
            FILE *to = fopen(sources[s].path, "w");
            assert_non_null(to);
            memcpy(text, start[s], n = bytes[s]);
            /* a document bears few changes before it is none; of many records some stay good */
            for (size_t times = s < 2 ? 40 + mutate_below(400) : mutate_below(4); times; times--)
                n = mutate(text, n, ROOM);
            assert_int_equal(fwrite(text, 1, n, to), n);
            assert_int_equal(fclose(to), 0);
        }
        const struct sm_figure *figure = &sm_figures[(size_t)i % sm_figure_count];
        const int code = draw(figure->name);
        char path[128], *said = slurp(OUT "/said.txt", &n);
        snprintf(path, sizeof path, OUT "/figures/%.40s.svg", figure->name);
        char *svg = slurp(path, &n);
        assert_non_null(said);
        if (code < 0 || code > 2) fail_msg("mutant %d, %s: code %d: %s", i, figure->name, code, said);
        if (code && !strstr(said, "slotmark plot: ")) fail_msg("mutant %d, %s: no sentence", i, figure->name);
        if (strstr(said, "crashed")) fail_msg("mutant %d: %s", i, said);
        if (!code && (!svg || strstr(svg, "<script"))) fail_msg("mutant %d, %s: no good picture", i, figure->name);
        if (code == 1) print_message("mutant %d: %s", i, said);
        drawn += code == 0;
        failed += code == 1;
        free(svg);
        free(said);
    }
    print_message("%d mutants: %zu drawn, %zu that gnuplot could not draw\n", mutants, drawn, failed);
    assert_true(drawn * 2 > (size_t)mutants);
    for (int s = 0; s < SOURCES; s++) free(start[s]);
    free(text);
}

int main(int argc, char **argv)
{
    if (argc > 1) mutants = atoi(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(mutants_draw_or_fail_with_a_sentence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
