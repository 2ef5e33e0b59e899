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

#include "captured.h"
#include "figure.h"
#include "page.h"
#include "plot.h"
#include "plot_fixture.h"

#define OUT "plots.out"
#define EVERYTHING OUT "/kernels.jsonl", OUT "/models.jsonl", OUT "/comparison.json", OUT "/series.json"

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
    const char *const texts[] = {"plot", a, b, c, d, e, f, NULL};
    const int code = captured(plot_main, texts, OUT "/said.txt");
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
    FILE *comparison = fopen(OUT "/comparison.json", "w"), *series = fopen(OUT "/series.json", "w");
    if (!kernels || !models || !comparison || !series) return -1;
    plot_fixture_kernels(kernels);
    plot_fixture_models(models);
    plot_fixture_comparison(comparison);
    plot_fixture_series(series);
    return fclose(kernels) | fclose(models) | fclose(comparison) | fclose(series);
}

static void every_figure_is_drawn_and_drawn_alike(void **unused)
{
    (void)unused;
    static const char *const endings[] = {"svg", "png", "tsv"};
    assert_int_equal(plot("--out", OUT "/all", EVERYTHING), 0);
    assert_int_equal(plot("--out", OUT "/again", EVERYTHING), 0);
    size_t n, m;
    for (size_t i = 0; i < 3 * sm_figure_count; i++) {
        char *first = slurp_in("all", sm_figures[i / 3].name, endings[i % 3], &n);
        char *second = slurp_in("again", sm_figures[i / 3].name, endings[i % 3], &m);
        if (!first || !second || n < 100) fail_msg("%s.%s was not drawn", sm_figures[i / 3].name, endings[i % 3]);
        if (n != m || memcmp(first, second, n) != 0)
            fail_msg("%s.%s is not the same twice", sm_figures[i / 3].name, endings[i % 3]);
        const char *foot =
            strcmp(sm_figures[i / 3].name, "history") ? "Fixture CPU" : "unknown machine"; /* a series' own */
        if (i % 3 == 0 && !strstr(first, foot)) fail_msg("%s.svg has no foot line", sm_figures[i / 3].name);
        free(first);
        free(second);
    }
    char *page = slurp_in("all", "index", "html", &n);
    assert_non_null(page);
    assert_non_null(strstr(page, "Synthetic weights"));
    assert_null(strstr(page, "Not drawn"));
    free(page);
}

/* The records of models, each with a second one of a session of turns beside it, which took no time. */
static void write_sessions(const char *path)
{
    size_t bytes;
    char *text = slurp(OUT "/models.jsonl", &bytes);
    FILE *file = fopen(path, "w");
    assert_non_null(text);
    assert_non_null(file);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *samples = strstr(line, "\"samples\":["), *name = strstr(line, "\"case\":\"");
        if (!samples) continue; /* a table of costs */
        assert_true(samples && name && line[0] == '{');
        fprintf(file, "{\"turn\":{\"turn\":2,\"way\":\"buckets\"},");
        name += strlen("\"case\":\"");
        samples += strlen("\"samples\":[");
        assert_true(name < samples);
        fprintf(file, "%.*ssession-%.*s1,1,1,1,1,1,1,%s\n%s\n", (int)(name - line - 1), line + 1, (int)(samples - name),
                name, samples, line);
    }
    free(text);
    assert_int_equal(fclose(file), 0);
}

static void sessions_of_turns_do_not_change_a_models_figures(void **unused)
{
    (void)unused;
    static const char *const names[] = {"model", "tokens", "steps"};
    write_sessions(OUT "/sessions.jsonl");
    assert_int_equal(plot("--data", "--out", OUT "/few", OUT "/models.jsonl", NULL, NULL), 0);
    char *before[3];
    size_t n[3], m;
    for (size_t i = 0; i < 3; i++) assert_non_null(before[i] = slurp_in("few", names[i], "tsv", &n[i]));
    assert_int_equal(plot("--data", "--out", OUT "/few", OUT "/sessions.jsonl", NULL, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        char *after = slurp_in("few", names[i], "tsv", &m);
        if (!after || n[i] != m || memcmp(before[i], after, m) != 0) fail_msg("%s.tsv changed", names[i]);
        free(after);
        free(before[i]);
    }
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

static void missing_data_names_the_command(void **unused)
{
    (void)unused;
    /* drawn once with everything, then without the models: nothing of the first may stay */
    assert_int_equal(plot("--data", "--out", OUT "/few", OUT "/kernels.jsonl", OUT "/models.jsonl", NULL), 0);
    assert_int_equal(access(OUT "/few/tokens.tsv", F_OK), 0);
    assert_int_equal(plot("--data", "--out", OUT "/few", OUT "/kernels.jsonl", NULL, NULL), 0);
    assert_int_equal(access(OUT "/few/tokens.tsv", F_OK), -1);
    assert_int_equal(access(OUT "/few/mask.tsv", F_OK), 0);
    assert_non_null(strstr(said, "slotmark profile MODEL --gen 128"));
    size_t n;
    char *page = slurp_in("few", "index", "html", &n);
    assert_non_null(page);
    assert_non_null(strstr(page, "Not drawn"));
    assert_non_null(strstr(page, "<code>slotmark profile MODEL --gen 128</code>"));
    assert_null(strstr(page, "Synthetic weights"));
    free(page);
    assert_int_equal(plot("--only", "tokens", "--out", OUT "/few", OUT "/kernels.jsonl", NULL), 2);
    assert_non_null(strstr(said, "no data"));
}

static void files_of_others_are_left_alone(void **unused)
{
    (void)unused;
    assert_int_equal(mkdir(OUT "/theirs", 0777), 0);
    write_file(OUT "/theirs/mask.svg", "theirs");
    assert_int_equal(plot("--data", "--out", OUT "/theirs", OUT "/kernels.jsonl", NULL, NULL), 2);
    assert_non_null(strstr(said, "mask.svg is there already"));
    assert_int_equal(access(OUT "/theirs/index.html", F_OK), -1);
    assert_int_equal(unlink(OUT "/theirs/mask.svg"), 0);
    write_file(OUT "/theirs/index.html", "<!DOCTYPE html>\ntheirs");
    assert_int_equal(plot("--data", "--out", OUT "/theirs", OUT "/kernels.jsonl", NULL, NULL), 2);
    assert_non_null(strstr(said, "not ours"));
    size_t n;
    char *page = slurp_in("theirs", "index", "html", &n);
    assert_string_equal(page, "<!DOCTYPE html>\ntheirs");
    free(page);
}

static void bad_arguments_get_a_sentence(void **unused)
{
    (void)unused;
    assert_int_equal(plot("--only", "nonsense", OUT "/kernels.jsonl", NULL, NULL, NULL), 2);
    assert_non_null(strstr(said, "no figure is named \"nonsense\""));
    assert_int_equal(plot("--format", "pdf", OUT "/kernels.jsonl", NULL, NULL, NULL), 2);
    assert_non_null(strstr(said, "--format takes"));
    assert_int_equal(plot("--templates", OUT, "--out", OUT "/nothing", OUT "/kernels.jsonl", NULL), 2);
    assert_non_null(strstr(said, "no gnuplot templates"));
    assert_int_equal(plot("--list", NULL, NULL, NULL, NULL, NULL), 0);
    for (size_t i = 0; i < sm_figure_count; i++) assert_non_null(strstr(said, sm_figures[i].command));
    assert_int_equal(plot("--help", NULL, NULL, NULL, NULL, NULL), 0);
    assert_non_null(strstr(said, "example:"));
}

static void without_gnuplot_the_tables_are_there(void **unused)
{
    (void)unused;
    char *path = strdup(getenv("PATH"));
    assert_non_null(path);
    setenv("PATH", "/nonexistent", 1);
    const int code = plot("--only", "mask", "--out", OUT "/few", OUT "/kernels.jsonl", NULL);
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(code, 1);
    assert_non_null(strstr(said, "gnuplot-nox"));
    assert_int_equal(access(OUT "/few/mask.tsv", F_OK), 0);
}

static void terminals_get_a_picture_and_no_file(void **unused)
{
    (void)unused;
    static char first[sizeof said];
    assert_int_equal(plot("--terminal", "--only", "mask", OUT "/kernels.jsonl", NULL, NULL), 0);
    assert_non_null(strstr(said, "max_seq 2048"));
    assert_null(strchr(said, '\033'));
    snprintf(first, sizeof first, "%s", said);
    setenv("TERM_PROGRAM", "WezTerm", 1); /* where no terminal is, its name changes nothing */
    assert_int_equal(plot("--terminal", "--only", "mask", OUT "/kernels.jsonl", NULL, NULL), 0);
    unsetenv("TERM_PROGRAM");
    assert_string_equal(said, first);
    assert_int_equal(plot("--terminal=block", "--only", "mask", OUT "/kernels.jsonl", NULL, NULL), 0);
    assert_true(strlen(said) > 1000); /* of characters before gnuplot 6 */
    assert_int_equal(plot("--terminal=sixel", "--only", "mask", OUT "/kernels.jsonl", NULL, NULL), 0);
    assert_true(!strncmp(said, "\033P", 2) || !strcmp(said, first)); /* a gnuplot without libgd draws characters */
    assert_int_equal(plot("--terminal=pdf", "--only", "mask", OUT "/kernels.jsonl", NULL, NULL), 2);
    assert_non_null(strstr(said, "--terminal takes"));
}

/* Text that would do harm if gnuplot, a shell or a browser ever took it for its own language. */
#define VENOM                                                                                                          \
    "\"; system(\"touch pwned\"); # '; !touch pwned\n`touch pwned` @pwned $(touch pwned)\t%s%n {/=99 a} \\\\ "         \
    "<script>x</script> |\r"

/* Every text in a value becomes venom, but what says which figure a record belongs to. */
static void poison(json_t *value)
{
    static const char *const kept[] = {"kind",        "status", "group",    "phase", "started",  "unit",
                                       "cache_state", "schema", "ops_unit", "role",  "attention"};
    const char *key;
    json_t *inner;
    void *next;
    size_t i;
    json_array_foreach(value, i, inner) poison(inner);
    json_object_foreach_safe(value, next, key, inner)
    {
        int keep = 0;
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) keep |= !strcmp(key, kept[k]);
        poison(inner);
        if (!json_is_string(inner) || keep) continue;
        char text[512];
        snprintf(text, sizeof text, "%s%s", json_string_value(inner), VENOM);
        json_object_set_new(value, key, json_string(text));
    }
}

typedef void change_fn(json_t *record, void *context);

/* The fixture's records, each changed; only every `step`th. */
static void write_changed(const char *path, size_t step, change_fn *change, void *context)
{
    static const char *const from[] = {OUT "/kernels.jsonl", OUT "/models.jsonl"};
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    for (size_t f = 0; f < 2; f++) {
        size_t n;
        char *text = slurp(from[f], &n), *rest = text;
        for (size_t number = 0; *rest; number++) {
            const size_t length = strcspn(rest, "\n");
            if (number % step == 0) {
                json_t *record = json_loadb(rest, length, 0, NULL);
                assert_non_null(record);
                change(record, context);
                assert_int_equal(json_dumpf(record, to, JSON_COMPACT), 0);
                fputc('\n', to);
                json_decref(record);
            }
            rest += length + (rest[length] == '\n');
        }
        free(text);
    }
    assert_int_equal(fclose(to), 0);
}

static void poison_record(json_t *record, void *context)
{
    (void)context;
    json_t *ceilings = json_object_get(record, "ceilings");
    json_object_set(ceilings, VENOM, json_object_get(ceilings, "l1_read"));
    json_object_set(ceilings, "at 9 %s%d",
                    json_object_get(ceilings, "l1_read")); /* a tic's name is a format to gnuplot */
    poison(record);
}

static void poison_document(const char *from, const char *to)
{
    json_t *document = json_load_file(from, 0, NULL);
    assert_non_null(document);
    poison(document);
    assert_int_equal(json_dump_file(document, to, 0), 0);
    json_decref(document);
}

static void hostile_text_is_only_text(void **unused)
{
    (void)unused;
    write_changed(OUT "/hostile.jsonl", 1, poison_record, NULL);
    poison_document(OUT "/comparison.json", OUT "/hostile1.json");
    poison_document(OUT "/series.json", OUT "/hostile2.json");
    assert_int_equal(
        plot("--out", OUT "/hostile", OUT "/hostile.jsonl", OUT "/hostile1.json", OUT "/hostile2.json", NULL), 0);
    assert_int_equal(access(OUT "/hostile/pwned", F_OK), -1);
    assert_int_equal(access("pwned", F_OK), -1);
    size_t n;
    for (size_t i = 0; i < sm_figure_count; i++) {
        char *svg = slurp_in("hostile", sm_figures[i].name, "svg", &n);
        if (!svg) fail_msg("%s was not drawn", sm_figures[i].name);
        assert_null(strstr(svg, "<script>"));
        if (!strcmp(sm_figures[i].name, "ceilings")) assert_non_null(strstr(svg, "at 9 %s%d"));
        if (!strcmp(sm_figures[i].name, "ceilings")) assert_null(strstr(svg, "tanh_f32_avx2"));
        free(svg);
        char *table = slurp_in("hostile", sm_figures[i].name, "tsv", &n); /* as many cells in each line */
        assert_non_null(table);
        size_t tabs = 0, expected = 0;
        for (const char *c = table; *c; c++) {
            assert_true(*c != '"' && *c != '\r');
            tabs += *c == '\t';
            if (*c != '\n') continue;
            if (!expected) expected = tabs;
            assert_int_equal(tabs, expected);
            tabs = 0;
        }
        free(table);
    }
    char *page = slurp_in("hostile", "index", "html", &n);
    assert_non_null(page);
    assert_null(strstr(page, "<script>"));
    assert_non_null(strstr(page, "&lt;script&gt;"));
    free(page);
}

struct wrong {
    const char *key, *inner;
    json_t *value;
};

static void put_wrong(json_t *record, void *context)
{
    const struct wrong *w = context;
    json_t *object = w->inner ? json_object_get(record, w->key) : record;
    if (json_is_object(object)) json_object_set(object, w->inner ? w->inner : w->key, w->value);
}

/* Each key in turn with a value of every wrong kind: nothing may crash, whatever can be shown of the rest is. */
static void wrong_types_and_huge_numbers_are_survived(void **unused)
{
    (void)unused;
    static const char *const keys[][2] = {{"shape", NULL},
                                          {"samples", NULL},
                                          {"ops", NULL},
                                          {"bytes", NULL},
                                          {"threads", NULL},
                                          {"ceilings", NULL},
                                          {"witnesses", NULL},
                                          {"steps", NULL},
                                          {"token_ns", NULL},
                                          {"model", NULL},
                                          {"family", NULL},
                                          {"variant", NULL},
                                          {"layout", NULL},
                                          {"machine", NULL},
                                          {"build", NULL},
                                          {"started", NULL},
                                          {"max_seq", NULL},
                                          {"n_prompt", NULL},
                                          {"phase", NULL},
                                          {"case", NULL},
                                          {"schema", NULL},
                                          {"kind", NULL},
                                          {"group", NULL},
                                          {"status", NULL},
                                          {"cache_state", NULL},
                                          {"shape", "rows"},
                                          {"shape", "max_seq"},
                                          {"shape", "head_dim"},
                                          {"shape", "cols"},
                                          {"shape", "valid"},
                                          {"machine", "cores"},
                                          {"build", "commit"},
                                          {"model", "name"},
                                          {"witnesses", "flags"},
                                          {"shape", "in"},
                                          {"ceilings", "dram_read"},
                                          {"witnesses", "core_hz_before"},
                                          {"binding_ceiling", NULL}};
    json_t *values =
        json_loads("[null, true, 0, -1, 1e-300, 1e308, 9223372036854775807, \"\", \"text\", [], {}, [[1e308]], "
                   "[{\"label\": 7, \"ns\": 1e308}], [1e300, -1, \"x\", 5e17]]",
                   0, NULL);
    assert_non_null(values);
    size_t v;
    json_t *value;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) json_array_foreach(values, v, value)
        {
            struct wrong w = {keys[k][0], keys[k][1], value};
            write_changed(OUT "/wrong.jsonl", 19, put_wrong, &w);
            const int code = plot("--data", "--out", OUT "/hostile", OUT "/wrong.jsonl", NULL, NULL);
            if (code != 0 && code != 2) fail_msg("%s, value %zu: code %d: %s", keys[k][0], v, code, said);
        }
    json_decref(values);
}

/* Rates count a shape's operations: what a mask hides of them was not computed by a variant that skips. */
static void masked_columns_leave_a_rate_without_a_roof(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int leaves_out;
    } cases[] = {{"{\"variant\": \"skip_a\", \"shape\": {\"rows\": 1, \"valid\": -1, \"window\": 0}}", 0},
                 {"{\"variant\": \"skip_a\", \"shape\": {\"rows\": 1, \"valid\": 128, \"window\": 0}}", 1},
                 {"{\"variant\": \"skip_a\", \"shape\": {\"rows\": 1, \"valid\": -1, \"window\": 64}}", 1},
                 {"{\"variant\": \"skip_a\", \"shape\": {\"rows\": 8, \"valid\": -1, \"window\": 0}}", 1},
                 {"{\"variant\": \"literal_a\", \"shape\": {\"rows\": 8, \"valid\": 128, \"window\": 64}}", 0},
                 {"{\"variant\": \"avx2\", \"shape\": {\"rows\": 8}}", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sm_result r = {.json = json_loads(cases[i].text, 0, NULL)};
        assert_non_null(r.json);
        assert_int_equal(sm_result_leaves_out(&r), cases[i].leaves_out);
        json_decref(r.json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_figure_is_drawn_and_drawn_alike),
                                       cmocka_unit_test(sessions_of_turns_do_not_change_a_models_figures),
                                       cmocka_unit_test(nothing_usable_is_refused),
                                       cmocka_unit_test(missing_data_names_the_command),
                                       cmocka_unit_test(files_of_others_are_left_alone),
                                       cmocka_unit_test(bad_arguments_get_a_sentence),
                                       cmocka_unit_test(without_gnuplot_the_tables_are_there),
                                       cmocka_unit_test(terminals_get_a_picture_and_no_file),
                                       cmocka_unit_test(hostile_text_is_only_text),
                                       cmocka_unit_test(wrong_types_and_huge_numbers_are_survived),
                                       cmocka_unit_test(masked_columns_leave_a_rate_without_a_roof)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
