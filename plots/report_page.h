/* report_page.h - `slotmark report`: result files in, one page out that needs nothing else: no network, no other file.
 *
 * Every record is in the page, as text that is never markup (html.h, report_data.c); what a script may do is
 * fixed by the page's policy to the one script that is ours. Figures and headline numbers are made as plots are,
 * from the newest record of each case of the newest machine. The same records give the same bytes. */
#ifndef SM_PLOT_REPORT_PAGE_H
#define SM_PLOT_REPORT_PAGE_H

#include <stdio.h>

#include "figure.h"
#include "results.h"

#define SM_REPORT_MARK "<!DOCTYPE html>\n<!-- made by slotmark report -->\n"
#define SM_SHARE_MOST 1.05 /* of a ceiling: beyond it work was left out, or the ceiling is too low */
#define SM_REPORT_ROWS 200 /* of a table that is no more than a summary; what is beyond is counted */

struct sm_report_figure {
    const struct sm_figure *figure;
    struct sm_drawing drawing;
    int has_data;
    char *svg;         /* NULL: not drawn */
    char missing[320]; /* why not */
    char foot[256];
};

struct sm_report {
    struct sm_results all;     /* every record, in reading order */
    struct sm_results settled; /* what figures are made from */
    struct sm_report_figure *figures;
    size_t figure_count;
    const char *style, *script; /* texts of report.css and report.js */
};

/* 0: made or refused by a sentence; 1: some picture could not be drawn; 2: bad arguments, or nothing usable. */
int report_main(int argc, char **argv);

/* Builds and draws every figure; of pictures that could not be drawn, how many, or -1: no memory. */
int sm_report_draw(struct sm_report *report, const char *templates);
void sm_report_destroy(struct sm_report *report);

/* The page and its parts. 0, or -1: no memory. */
int sm_report_page(const struct sm_report *report, FILE *to);
int sm_report_about(const struct sm_report *report, FILE *to);
int sm_report_commands(const struct sm_report *report, FILE *to);
int sm_report_models(const struct sm_report *report, FILE *to);
int sm_report_kernels(const struct sm_report *report, FILE *to);
void sm_report_quality(const struct sm_report *report, FILE *to);
int sm_report_figures(const struct sm_report *report, FILE *to);
int sm_report_gaps(const struct sm_report *report, FILE *to);
int sm_report_advice(const struct sm_report *report, FILE *to);
/* All records as JSON, each distinct value once, and what the case table shows of each. */
int sm_report_data(const struct sm_report *report, FILE *to);

/* Rates of one record; NaN where it has none. */
double sm_result_tokens_per_s(const struct sm_result *r, double *padded);
double sm_result_share(const struct sm_result *r); /* of its binding ceiling */

/* Texts that occur, in the order of their first occurrence, each with how often: a JSON object. -1: no memory. */
int sm_tally(json_t *tally, const char *text);

#endif
