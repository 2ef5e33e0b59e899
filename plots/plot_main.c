#include "plot.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "figure.h"
#include "folder.h"
#include "gnuplot.h"
#include "page.h"
#include "templates.h"
#include "terminal.h"

#define MAX_FIGURES 32

struct options {
    const char *out, *templates, *only[MAX_FIGURES];
    size_t only_count;
    const char *terminal; /* the one to draw in, or NULL: files */
    int columns, lines;   /* of it */
    int data, svg, png;
};

static void usage(FILE *to)
{
    fputs("usage: slotmark plot [options] RESULTS...\n"
          "\n"
          "Draws figures from result files (.jsonl, or folders that hold them), writes the tables they were\n"
          "drawn from beside them, and an index.html that explains each.\n"
          "\n"
          "  --out DIR         where to (default: figures/ beside the first result file)\n"
          "  --only FIGURE     draw this one only; may be given again\n"
          "  --format LIST     svg,png (default: both)\n"
          "  --data            the tables only: tabs between columns, names in the first line\n"
          "  --terminal[=HOW]  draw on standard output, write no file: dumb (characters), block or sixel\n"
          "                    (default: what the terminal can show)\n"
          "  --templates DIR   gnuplot templates of your own: copy and change plots/*.gp\n"
          "  --list            the figures and what each needs\n"
          "  --help            this text\n"
          "\n"
          "example: slotmark plot results/latest && xdg-open results/latest/figures/index.html\n",
          to);
}

static void list(void)
{
    for (size_t i = 0; i < sm_figure_count; i++)
        printf("%-12s %s\n%-12s   %s\n", sm_figures[i].name, sm_figures[i].title, "", sm_figures[i].command);
}

static int fail(const char *sentence)
{
    fprintf(stderr, "slotmark plot: %s\n", sentence);
    return 2;
}

static int known_figure(const char *name)
{
    for (size_t i = 0; i < sm_figure_count; i++)
        if (!strcmp(sm_figures[i].name, name)) return 1;
    return 0;
}

static int parse_formats(struct options *o, const char *formats)
{
    o->svg = o->png = 0;
    while (*formats) {
        const size_t length = strcspn(formats, ",");
        if (length == 3 && !strncmp(formats, "svg", 3))
            o->svg = 1;
        else if (length == 3 && !strncmp(formats, "png", 3))
            o->png = 1;
        else
            return -1;
        formats += length + (formats[length] == ',');
    }
    return o->svg || o->png ? 0 : -1;
}

static int parse_terminal(struct options *o, const char *asked)
{
    const char *chosen = sm_terminal_choose(&o->columns, &o->lines);
    o->terminal = asked ? NULL : chosen;
    for (size_t i = 0; asked && sm_gnuplot_terminals[i]; i++)
        if (!strcmp(asked, sm_gnuplot_terminals[i])) o->terminal = sm_gnuplot_terminals[i];
    return o->terminal ? 0 : -1;
}

/* -1: go on; else the exit code. */
static int parse(struct options *o, int argc, char **argv)
{
    static const struct option longs[] = {{"out", required_argument, NULL, 'o'},
                                          {"only", required_argument, NULL, 'f'},
                                          {"format", required_argument, NULL, 'F'},
                                          {"templates", required_argument, NULL, 't'},
                                          {"data", no_argument, NULL, 'd'},
                                          {"terminal", optional_argument, NULL, 'T'},
                                          {"list", no_argument, NULL, 'l'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    char sentence[256];
    opterr = 0;
    optind = 0; /* glibc: start anew, whoever parsed before */
    for (int c; (c = getopt_long(argc, argv, ":h", longs, NULL)) != -1;) switch (c) {
        case 'o': o->out = optarg; break;
        case 't': o->templates = optarg; break;
        case 'd': o->data = 1; break;
        case 'T':
            if (!parse_terminal(o, optarg)) break;
            snprintf(sentence, sizeof sentence, "--terminal takes dumb, block or sixel, not \"%.100s\"", optarg);
            return fail(sentence);
        case 'l': list(); return 0;
        case 'h': usage(stdout); return 0;
        case 'F':
            if (!parse_formats(o, optarg)) break;
            snprintf(sentence, sizeof sentence, "--format takes svg, png or svg,png, not \"%.100s\"", optarg);
            return fail(sentence);
        case 'f':
            if (known_figure(optarg) && o->only_count < MAX_FIGURES) {
                o->only[o->only_count++] = optarg;
                break;
            }
            snprintf(sentence, sizeof sentence, "no figure is named \"%.100s\": see slotmark plot --list", optarg);
            return fail(sentence);
        default:
            snprintf(sentence, sizeof sentence, "option '%.60s' %s: see slotmark plot --help", argv[optind - 1],
                     c == ':' ? "needs a value" : "is unknown, ambiguous or takes no value");
            return fail(sentence);
        }
    if (optind == argc) return fail("no result file given: see slotmark plot --help");
    return -1;
}

static int wanted(const struct options *o, const char *name)
{
    for (size_t i = 0; i < o->only_count; i++)
        if (!strcmp(o->only[i], name)) return 1;
    return o->only_count == 0;
}

static int draw_pictures(const struct options *o, const char *folder, const char *templates,
                         const struct sm_page_figure *f, char *why, size_t why_bytes)
{
    const char *const formats[] = {"svg", "png", o->terminal};
    const int asked[] = {o->svg && !o->terminal, o->png && !o->terminal, o->terminal != NULL};
    struct sm_gnuplot_job jobs[sizeof formats / sizeof *formats];
    size_t count = 0;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!asked[i]) continue;
        jobs[count++] = (struct sm_gnuplot_job){.folder = folder,
                                                .templates = templates,
                                                .name = f->figure->name,
                                                .format = formats[i],
                                                .columns = o->columns,
                                                .lines = o->lines,
                                                .title = f->figure->title,
                                                .subtitle = f->subtitle,
                                                .foot = f->foot};
    }
    return sm_gnuplot_draw(jobs, count, why, why_bytes);
}

/* One figure: its table, then its pictures. 0 drawn, 1 no data, -1 failed (f->missing says why). */
static int one_figure(const struct options *o, const struct sm_results *results, const char *folder,
                      const char *templates, struct sm_page_figure *f, int *synthetic)
{
    sm_folder_clear(folder, f->figure->name); /* nothing of an earlier run stays and passes for this one */
    struct sm_drawing d = {.table = {.columns = f->figure->columns}};
    int state = f->figure->build(results, &d) ? 1 : 0;
    if (d.table.failed) {
        snprintf(f->missing, sizeof f->missing, "no memory to draw %s.", f->figure->name);
        state = -1;
    } else if (state) {
        snprintf(f->missing, sizeof f->missing, "the results hold no data for it.");
    } else {
        sm_text_tidy(f->subtitle, sizeof f->subtitle, d.subtitle);
        sm_text_tidy(f->finding, sizeof f->finding, d.finding);
        sm_drawing_foot(&d, f->foot, sizeof f->foot);
        *synthetic |= d.synthetic;
        FILE *to = sm_folder_open(folder, f->figure->name, "tsv", "we");
        const int bad = !to || sm_figure_table_write(&d.table, to);
        if ((to && fclose(to)) || bad) {
            snprintf(f->missing, sizeof f->missing, "cannot write %s.tsv: %s", f->figure->name, strerror(errno));
            state = -1;
        } else {
            f->table = 1;
            if (!o->data && draw_pictures(o, folder, templates, f, f->missing, sizeof f->missing))
                state = -1;
            else
                f->drawn = !o->data && !o->terminal;
        }
    }
    sm_drawing_destroy(&d);
    return state;
}

/* What the reader of the page must know about the results as a whole. */
static void notice(const struct sm_results *results, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = 0;
    if (results->bad_lines)
        used += (size_t)snprintf(text, bytes, "%zu of %zu lines are no records and were left out, the first: %s\n",
                                 results->bad_lines, results->lines, results->first_bad);
    if (results->refused && used < bytes)
        used += (size_t)snprintf(text + used, bytes - used,
                                 "%zu cases gave a wrong answer or failed: they have no time and are not shown.\n",
                                 results->refused);
    if (results->other_machines && used < bytes)
        snprintf(text + used, bytes - used, "%zu records of other machines were left out.\n", results->other_machines);
}

static int draw_all(const struct options *o, const struct sm_results *results, const char *folder,
                    const char *templates)
{
    struct sm_page_figure shown[MAX_FIGURES];
    struct sm_page page = {.figures = shown, .svg = o->svg, .png = o->png};
    char notices[1024];
    int exit_code = 0;
    size_t drawn = 0;
    for (size_t i = 0; i < sm_figure_count; i++) {
        if (!wanted(o, sm_figures[i].name)) continue;
        struct sm_page_figure *f = &shown[page.count++];
        *f = (struct sm_page_figure){.figure = &sm_figures[i]};
        const int state = one_figure(o, results, folder, templates, f, &page.synthetic);
        if (state == 0) {
            drawn++;
            if (!o->terminal)
                printf("%-12s %s/%s.%s\n", f->figure->name, folder, f->figure->name,
                       o->data  ? "tsv"
                       : o->svg ? "svg"
                                : "png");
        } else if (state == 1) {
            printf("%-12s no data; to measure it: %s\n", f->figure->name, f->figure->command);
        } else {
            fprintf(stderr, "slotmark plot: %s\n", f->missing);
            exit_code = 1;
        }
    }
    notice(results, notices, sizeof notices);
    fputs(notices, stdout);
    if (!drawn && !exit_code) exit_code = fail("the results hold no data for any figure asked for");
    if (o->terminal) return exit_code;
    page.notices = notices;
    FILE *index = sm_folder_open(folder, "index", "html", "we");
    const int bad = !index || sm_page_write(&page, index);
    if ((index && fclose(index)) || bad) {
        fprintf(stderr, "slotmark plot: cannot write %s/index.html: %s\n", folder, strerror(errno));
        return 1;
    }
    printf("%-12s %s/index.html\n", "all", folder);
    return exit_code;
}

/* Characters on standard output: the tables lie in a folder of their own meanwhile. */
static int draw_on_terminal(const struct options *o, const struct sm_results *results, const char *templates)
{
    char folder[] = "/tmp/slotmark-plot-XXXXXX";
    if (!mkdtemp(folder)) return fail("cannot make a folder in /tmp for the tables");
    const int exit_code = draw_all(o, results, folder, templates);
    for (size_t i = 0; i < sm_figure_count; i++) sm_folder_clear(folder, sm_figures[i].name);
    rmdir(folder);
    return exit_code;
}

int plot_main(int argc, char **argv)
{
    struct options o = {.svg = 1, .png = 1};
    char why[512] = "", templates[PATH_MAX] = "", folder[SM_FOLDER_BYTES];
    const int done = parse(&o, argc, argv);
    if (done >= 0) return done;

    struct sm_results results = {0};
    int exit_code = 2;
    for (int i = optind; i < argc; i++)
        if (sm_results_read(&results, argv[i], why, sizeof why)) goto out;
    if (results.count == 0) {
        snprintf(why, sizeof why, "no record in %s%s%s", argv[optind], results.bad_lines ? ": " : "",
                 results.first_bad);
        goto out;
    }
    sm_results_settle(&results);
    if (sm_templates_find(o.templates, templates, why, sizeof why)) goto out;
    if (o.terminal)
        exit_code = draw_on_terminal(&o, &results, templates);
    else if (sm_folder_choose(o.out, argv[optind], folder))
        snprintf(why, sizeof why, "the path of the figures folder is too long");
    else if (!sm_folder_claim(folder, why, sizeof why))
        exit_code = draw_all(&o, &results, folder, templates);
out:
    if (*why) fail(why);
    sm_results_destroy(&results);
    return exit_code;
}
