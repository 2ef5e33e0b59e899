/* templates.h - the text files that say how things look: gnuplot's .gp, the page's .css and .js. */
#ifndef SM_PLOT_TEMPLATES_H
#define SM_PLOT_TEMPLATES_H

#include <limits.h>
#include <stddef.h>

/* Their folder, absolute: the one asked for, else plots/ beside the program, else the source tree's. */
int sm_templates_find(const char *asked, char found[PATH_MAX], char *why, size_t why_bytes);

/* The whole of folder/name with a zero after it, to be freed; NULL: why says what is wrong. */
char *sm_templates_read(const char *folder, const char *name, char *why, size_t why_bytes);

#endif
