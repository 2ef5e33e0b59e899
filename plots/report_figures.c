/* The figures of the page: drawn by gnuplot in a folder that is taken away again, each with its table. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "gnuplot.h"
#include "html.h"
#include "report_page.h"
#include "svg.h"
#include "templates.h"

#define TABLE_ROWS 300  /* of one figure that the page holds */
#define LINKS_MOST 1500 /* rows of a figure whose points are links */

/* Writes the table and lets gnuplot draw it. */
static int draw(struct sm_report_figure *f, const char *folder, const char *templates)
{
    char file[80], subtitle[256];
    FILE *to = sm_folder_open(folder, f->figure->name, "tsv", "we");
    const int bad = !to || sm_figure_table_write(&f->drawing.table, to);
    if ((to && fclose(to)) || bad) {
        snprintf(f->missing, sizeof f->missing, "cannot write its table: %s", strerror(errno));
        return -1;
    }
    sm_text_tidy(subtitle, sizeof subtitle, f->drawing.subtitle);
    const struct sm_gnuplot_job job = {.folder = folder,
                                       .templates = templates,
                                       .name = f->figure->name,
                                       .format = f->drawing.table.rows > LINKS_MOST ? "svg" : "page",
                                       .title = f->figure->title,
                                       .subtitle = subtitle,
                                       .foot = f->foot};
    if (sm_gnuplot_draw(&job, 1, f->missing, sizeof f->missing)) return -1;
    snprintf(file, sizeof file, "%.60s.%s", f->figure->name, job.format);
    f->svg = sm_templates_read(folder, file, f->missing, sizeof f->missing);
    return f->svg ? 0 : -1;
}

int sm_report_draw(struct sm_report *report, const char *templates)
{
    char folder[] = "/tmp/slotmark-report-XXXXXX";
    int failed = 0, no_memory = 0;
    report->figures = calloc(sm_figure_count, sizeof *report->figures);
    if (!report->figures) return -1;
    report->figure_count = sm_figure_count;
    const int there = mkdtemp(folder) != NULL;
    const int terminal = isatty(STDERR_FILENO);
    for (size_t i = 0; i < sm_figure_count; i++) {
        struct sm_report_figure *f = &report->figures[i];
        if (terminal) fprintf(stderr, "\r\033[Kfigure %zu of %zu: %s", i + 1, sm_figure_count, sm_figures[i].name);
        f->figure = &sm_figures[i];
        f->drawing.table.columns = sm_figures[i].columns;
        f->has_data = !sm_figures[i].build(&report->settled, &f->drawing);
        no_memory |= f->drawing.table.failed;
        if (!f->has_data || no_memory) continue;
        sm_drawing_foot(&f->drawing, f->foot, sizeof f->foot);
        if (!there) snprintf(f->missing, sizeof f->missing, "cannot make a folder in /tmp: %s", strerror(errno));
        failed += !there || draw(f, folder, templates);
        if (there) sm_folder_clear(folder, sm_figures[i].name);
    }
    if (terminal) fputs("\r\033[K", stderr);
    if (there) rmdir(folder);
    return no_memory ? -1 : failed;
}

void sm_report_destroy(struct sm_report *report)
{
    for (size_t i = 0; i < report->figure_count; i++) {
        sm_drawing_destroy(&report->figures[i].drawing);
        free(report->figures[i].svg);
    }
    free(report->figures);
    sm_results_destroy(&report->all);
    sm_results_destroy(&report->settled);
}

/* Where the records of a figure stand in the page: their cases and numbers. NULL: no memory. */
static json_t *places_of(const struct sm_drawing *d)
{
    json_t *places = json_object();
    for (size_t i = 0; places && i < d->used_count; i++) {
        char name[SM_CELL_BYTES]; /* as the table has it */
        sm_text_tidy(name, sizeof name, sm_result_text(d->used[i], "case"));
        if (json_object_set_new(places, name, json_integer((json_int_t)d->used[i]->order))) {
            json_decref(places);
            return NULL;
        }
    }
    return places;
}

/* The start of a link to a record. 1: the page knows none of that case. */
static int open_link(FILE *to, const json_t *places, const char *name, const char *more)
{
    const json_t *place = json_object_get(places, name);
    if (!place) return 1;
    sm_html(to, "<a href=\"#record=%z\"%r>", (size_t)json_integer_value(place), more);
    return 0;
}

struct points {
    const json_t *places;
    const char **rows; /* of the table */
    size_t count;
};

/* Of a point. Not on the way of the Tab key: the table below has the same links. */
static int link_point(void *state, FILE *to, size_t row)
{
    const struct points *points = state;
    if (row >= points->count) return 1;
    const char *line = points->rows[row], *end = line + strcspn(line, "\n"), *from = end;
    while (from > line && from[-1] != '\t') from--;
    char name[SM_CELL_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)(end - from), from);
    if (open_link(to, points->places, name, " tabindex=\"-1\"")) return 1;
    sm_html(to, "<title>%s</title>", name);
    return 0;
}

static void cell(FILE *to, const char *text, const json_t *places)
{
    char *end;
    strtod(text, &end);
    if (places && json_object_get(places, text)) {
        fputs("<td>", to);
        open_link(to, places, text, "");
        sm_html(to, "%s</a></td>", text);
    } else
        sm_html(to, "<td%r>%s</td>", *text && !*end ? " class=\"n\"" : "", text);
}

/* The rows as the figure's table has them, the case of each as a link to its record. -1: no memory. */
static int table(const struct sm_report_figure *f, const json_t *places, FILE *to)
{
    const struct sm_figure_table *t = &f->drawing.table;
    char columns[400], *rows = t->text ? strdup(t->text) : strdup("");
    size_t n = 0;
    if (!rows) return -1;
    snprintf(columns, sizeof columns, "%s", t->columns);
    for (char *c = columns; *c; c++)
        if (*c == ' ') *c = '|';
    const char *last = strrchr(columns, '|');
    const int with_case = last && !strcmp(last, "|case");
    sm_html_table(to, f->figure->title, columns);
    for (char *line = rows, *next; *line && n < TABLE_ROWS; line = next, n++) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = 0;
        fputs("<tr>", to);
        for (char *at = line, *tab; at; at = tab ? tab + 1 : NULL) {
            tab = strchr(at, '\t');
            if (tab) *tab = 0;
            cell(to, at, with_case && !tab ? places : NULL);
        }
        fputs("</tr>\n", to);
    }
    sm_html_table_end(to);
    if (n < t->rows)
        sm_html(to, "<p>%z more rows: <code>slotmark plot --data --only %s</code> writes them all.</p>\n", t->rows - n,
                f->figure->name);
    free(rows);
    return 0;
}

/* The beginnings of a table's rows. NULL: none, or no memory. */
static const char **rows_of(const struct sm_figure_table *t)
{
    const char **rows = t->rows ? malloc(t->rows * sizeof *rows) : NULL, *at = t->text;
    for (size_t i = 0; rows && i < t->rows; i++) {
        rows[i] = at;
        at += strcspn(at, "\n") + 1;
    }
    return rows;
}

/* The picture. 0; 1: it is none that a page may hold; -1: no memory. */
static int picture(const struct sm_report_figure *f, const json_t *places, const char *prefix, FILE *to)
{
    char *text = NULL, description[1400];
    size_t bytes = 0;
    FILE *buffer = open_memstream(&text, &bytes);
    if (!buffer) return -1;
    snprintf(description, sizeof description, "%s; %s. %s %s", f->drawing.subtitle, f->foot, f->figure->see,
             f->drawing.finding);
    struct points points = {places, rows_of(&f->drawing.table), f->drawing.table.rows};
    const struct sm_svg_page page = {prefix, f->figure->title, description, points.rows ? link_point : NULL, &points};
    const int unfit = sm_svg_inline(buffer, f->svg, &page);
    free(points.rows);
    const int no_memory = fclose(buffer) != 0;
    if (!unfit && !no_memory)
        sm_html(to, "<div class=\"picture scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">%r</div>\n",
                f->figure->title, text);
    free(text);
    return no_memory ? -1 : unfit != 0;
}

static int one_figure(const struct sm_report_figure *f, FILE *to)
{
    char prefix[80];
    int failed = 0;
    json_t *places = places_of(&f->drawing);
    if (!places) return -1;
    snprintf(prefix, sizeof prefix, "figure-%.60s", f->figure->name);
    /* a picture says its title and conditions itself */
    sm_html(to, "<figure id=\"%s\">\n<h3%r>%s</h3>\n", prefix, f->svg ? " class=\"unseen\"" : "", f->figure->title);
    if (f->svg) {
        failed = picture(f, places, prefix, to);
        if (failed > 0) fputs("<p class=\"notice\">No picture: the template drew what a page may not hold.</p>\n", to);
    } else
        sm_html(to, "<p class=\"notice\">No picture: %s</p>\n", f->missing);
    sm_html(to, "<figcaption><p>%s</p>\n", f->figure->see);
    if (*f->drawing.finding) sm_html(to, "<p><strong>%s</strong></p>\n", f->drawing.finding);
    if (!f->svg) sm_html(to, "<p class=\"foot\">%s<br>%s</p>\n", f->drawing.subtitle, f->foot);
    fputs("</figcaption>\n<details><summary>The numbers behind it</summary>\n", to);
    failed = failed < 0 || table(f, places, to) ? -1 : 0;
    fputs("</details>\n</figure>\n", to);
    json_decref(places);
    return failed;
}

int sm_report_figures(const struct sm_report *report, FILE *to)
{
    int failed = 0;
    size_t lacking = 0;
    for (size_t i = 0; i < report->figure_count; i++) {
        if (report->figures[i].has_data)
            failed |= one_figure(&report->figures[i], to);
        else
            lacking++;
    }
    if (!lacking) return failed;
    sm_html(to, "<p>Figures for which the results hold no data, and what would measure it:</p>\n<ul>\n");
    for (size_t i = 0; i < report->figure_count; i++)
        if (!report->figures[i].has_data)
            sm_html(to, "<li>%s: <code>%s</code></li>\n", report->figures[i].figure->title,
                    report->figures[i].figure->command);
    fputs("</ul>\n", to);
    return failed;
}
