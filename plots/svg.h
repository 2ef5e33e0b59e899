/* svg.h - a picture of gnuplot's as part of a page. */
#ifndef SM_PLOT_SVG_H
#define SM_PLOT_SVG_H

#include <stdio.h>

/* Writes the picture with its names made the page's own (prefix in front of each), and with title and description for
 * those who do not see it. Only shapes, text and the attributes that draw them pass: no script, no style, no address
 * outside. -1, and perhaps half a picture written, where the text is no such picture. */
int sm_svg_inline(FILE *to, const char *svg, const char *prefix, const char *title, const char *description);

#endif
