/* gnuplot.h - pictures from a table: runs gnuplot as a child, never through a shell.
 *
 * The child works inside the figures folder and is given file names that we chose and texts as arguments, which
 * gnuplot keeps as text: nothing that a result file says is ever run. */
#ifndef SM_PLOT_GNUPLOT_H
#define SM_PLOT_GNUPLOT_H

#include <stddef.h>

struct sm_gnuplot_job {
    const char *folder;    /* where data and output lie */
    const char *templates; /* the folder of the .gp files, absolute */
    const char *name;      /* the figure: NAME.gp, NAME.tsv */
    const char *format;    /* "svg", "png"; "page": an SVG whose points know their rows; a terminal: on stdout */
    int columns, lines;    /* of a terminal; 0: as the template has it */
    const char *title, *subtitle, *foot;
};

/* The names of the formats that draw in a terminal: "dumb" (characters), "block" (gnuplot 6; dumb before) and "sixel";
 * NULL at the end. */
extern const char *const sm_gnuplot_terminals[];

/* Draws the pictures, all at once. 0; -1: why says what went wrong with the first that failed, in gnuplot's words where
 * it has any. */
int sm_gnuplot_draw(const struct sm_gnuplot_job *jobs, size_t count, char *why, size_t why_bytes);

#endif
