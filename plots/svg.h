/* svg.h - a picture of gnuplot's as part of a page. */
#ifndef SM_PLOT_SVG_H
#define SM_PLOT_SVG_H

#include <stddef.h>
#include <stdio.h>

/* Writes the start of a link to what a row of the picture's table is about: "<a ...>", and a title. 1: there is none.
 */
typedef int sm_svg_link(void *state, FILE *to, size_t row);

struct sm_svg_page {
    const char *prefix;              /* in front of each of the picture's names, which makes them the page's own */
    const char *title, *description; /* for those who do not see it */
    sm_svg_link *link;               /* NULL: none */
    void *state;
};

/* Writes the picture. Only shapes, text and the attributes that draw them pass: no script, no style, no address; the
 * spots that a template put over its points (style.gp) become links. -1, and perhaps half a picture written, where the
 * text is no such picture. */
int sm_svg_inline(FILE *to, const char *svg, const struct sm_svg_page *page);

#endif
