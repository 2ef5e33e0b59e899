/* progress.h - one line that says how far a long job is: rewritten on a terminal, plain lines otherwise. */
#ifndef SM_PROGRESS_H
#define SM_PROGRESS_H

#include <stdio.h>

struct sm_progress {
    FILE *out; /* NULL: silent */
    double started_s, printed_s;
    double total_s; /* estimate of the whole job */
    int width;      /* of what stands on the terminal's line */
};

void sm_progress_begin(struct sm_progress *p, FILE *out, double total_s);
/* done_s of the estimate is behind us; text says what is under way. */
void sm_progress_show(struct sm_progress *p, double done_s, const char *text);
/* Takes the line away, so that something else can be printed. */
void sm_progress_clear(struct sm_progress *p);

/* "0:35", "12:05", "1:02:03". */
const char *sm_duration_text(double seconds, char *text, size_t bytes);

#endif
