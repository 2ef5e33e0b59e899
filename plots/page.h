/* page.h - index.html: every figure with a caption, or the command that would make its data. */
#ifndef SM_PLOT_PAGE_H
#define SM_PLOT_PAGE_H

#include <stdio.h>

#include "figure.h"

/* How it starts: a folder whose index.html starts so is one of ours, and may be drawn into again. */
#define SM_PAGE_MARK "<!DOCTYPE html>\n<!-- made by slotmark plot; drawn anew each time -->\n"

struct sm_page_figure {
    const struct sm_figure *figure;
    int drawn, table;  /* whether there is a picture, a table */
    char missing[320]; /* why not, when not drawn */
    char subtitle[256], finding[400], foot[256];
};

struct sm_page {
    const struct sm_page_figure *figures;
    size_t count;
    int svg, png;        /* formats drawn */
    int synthetic;       /* some model had made-up weights */
    const char *notices; /* sentences, one a line: what was left out */
};

/* 0, or -1 with errno set. */
int sm_page_write(const struct sm_page *page, FILE *to);

#endif
