/* slotmark plot: every figure from made-up records, the same bytes each time; results that lack something,
 * and results that mean harm. Draws into plots.out/ below the current folder, for people to look at. */
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

#include "figure.h"
#include "page.h"
#include "plot.h"
#include "plot_fixture.h"

#define OUT "plots.out"

/* The whole of a file, with a zero after it, or NULL. */
static char *slurp(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "r");
    if (!file) return NULL;
    char *text = malloc(1 << 22);
    assert_non_null(text);
    *bytes = fread(text, 1, (1 << 22) - 1, file);
    text[*bytes] = 0;
    fclose(file);
    return text;
}

static char *slurp_in(const char *folder, const char *name, const char *ending, size_t *bytes)
{
    char path[256];
    snprintf(path, sizeof path, OUT "/%s/%s.%s", folder, name, ending);
    return slurp(path, bytes);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static char said[1 << 16]; /* by the last call, on standard output and error */

/* Runs the command with up to six arguments; its output goes to `said`. */
static int plot(const char *a, const char *b, const char *c, const char *d, const char *e, const char *f)
{
    const char *const texts[] = {"plot", a, b, c, d, e, f};
    char *argv[8] = {NULL};
    int argc = 0;
    for (size_t i = 0; i < 7 && texts[i]; i++) assert_non_null(argv[argc++] = strdup(texts[i]));
    fflush(NULL);
    const int keep_out = dup(1), keep_error = dup(2), file = open(OUT "/said.txt", O_CREAT | O_TRUNC | O_RDWR, 0666);
    assert_true(keep_out > 0 && keep_error > 0 && file > 0);
    dup2(file, 1);
    dup2(file, 2);
    const int code = plot_main(argc, argv);
    fflush(NULL);
    dup2(keep_out, 1);
    dup2(keep_error, 2);
    close(keep_out);
    close(keep_error);
    close(file);
    for (int i = 0; i < argc; i++) free(argv[i]);
    size_t bytes;
    char *text = slurp(OUT "/said.txt", &bytes);
    assert_non_null(text);
    snprintf(said, sizeof said, "%s", text);
    free(text);
    return code;
}

static int remove_folder(const char *name)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf " OUT "/%s", name);
    return system(command);
}

static int set_up(void **unused)
{
    (void)unused;
    if (mkdir(OUT, 0777) && errno != EEXIST) return -1;
    static const char *const folders[] = {"all", "again", "few", "hostile", "theirs", "nothing"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (remove_folder(folders[i])) return -1;
    FILE *kernels = fopen(OUT "/kernels.jsonl", "w"), *models = fopen(OUT "/models.jsonl", "w");
    if (!kernels || !models) return -1;
    plot_fixture_kernels(kernels);
    plot_fixture_models(models);
    return fclose(kernels) | fclose(models);
}

static void every_figure_is_drawn_and_drawn_alike(void **unused)
{
    (void)unused;
    static const char *const endings[] = {"svg", "png", "tsv"};
    assert_int_equal(plot("--out", OUT "/all", OUT "/kernels.jsonl", OUT "/models.jsonl", NULL, NULL), 0);
    assert_int_equal(plot("--out", OUT "/again", OUT "/kernels.jsonl", OUT "/models.jsonl", NULL, NULL), 0);
    size_t n, m;
    for (size_t i = 0; i < 3 * sm_figure_count; i++) {
        char *first = slurp_in("all", sm_figures[i / 3].name, endings[i % 3], &n);
        char *second = slurp_in("again", sm_figures[i / 3].name, endings[i % 3], &m);
        if (!first || !second || n < 200) fail_msg("%s.%s was not drawn", sm_figures[i / 3].name, endings[i % 3]);
        if (n != m || memcmp(first, second, n) != 0)
            fail_msg("%s.%s is not the same twice", sm_figures[i / 3].name, endings[i % 3]);
        if (i % 3 == 0 && !strstr(first, "Fixture CPU")) fail_msg("%s.svg has no foot line", sm_figures[i / 3].name);
        free(first);
        free(second);
    }
    char *page = slurp_in("all", "index", "html", &n);
    assert_non_null(page);
    assert_non_null(strstr(page, "Synthetic weights"));
    assert_null(strstr(page, "Not drawn"));
    free(page);
}

static void nothing_usable_is_refused(void **unused)
{
    (void)unused;
    write_file(OUT "/garbage.jsonl", "{\n[1, 2]\n{\"schema\": 2, \"kind\": \"bench\"}\nnonsense \001\n");
    assert_int_equal(plot("--out", OUT "/nothing", OUT "/garbage.jsonl", NULL, NULL, NULL), 2);
    assert_non_null(strstr(said, "no record in"));
    assert_non_null(strstr(said, "garbage.jsonl:1"));
    assert_int_equal(plot("--out", OUT "/nothing", OUT "/missing.jsonl", NULL, NULL, NULL), 2);
    assert_non_null(strstr(said, "No such file"));
    assert_int_equal(plot(NULL, NULL, NULL, NULL, NULL, NULL), 2);
    assert_int_equal(access(OUT "/nothing", F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_figure_is_drawn_and_drawn_alike),
                                       cmocka_unit_test(nothing_usable_is_refused)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
