/* html.h - text into a page: whatever a result file says comes out as text, never as markup. */
#ifndef SM_PLOT_HTML_H
#define SM_PLOT_HTML_H

#include <stddef.h>
#include <stdio.h>

#define SM_HTML_MOST 2000 /* bytes of one text that are shown; a longer one ends in an ellipsis */

/* Markup characters escaped; control characters and what is no UTF-8 become U+FFFD. */
void sm_html_text(FILE *to, const char *text);

/* format is markup of ours; in it
 *   %s  const char *, as sm_html_text        %r  const char *, as it is: markup of ours
 *   %z  size_t                               %n  double to four digits, nothing where it is not finite
 *   %t  double, ns, as people write a time   %u  const char *, as part of an address
 *   %%  a percent sign */
void sm_html(FILE *to, const char *format, ...);

/* A table in a box of its own that scrolls sideways; columns are separated by |, one that starts with # is of numbers.
 * The caller writes the rows. */
void sm_html_table(FILE *to, const char *caption, const char *columns);
void sm_html_table_end(FILE *to);

#endif
