/* report.h - what a comparison found, for people and for machines. */
#ifndef SM_REPORT_H
#define SM_REPORT_H

#include <stdio.h>

#include "rounds.h"

enum sm_fail_on { SM_FAIL_PROVEN, SM_FAIL_NOT_EXCLUDED, SM_FAIL_NEVER };

/* Exit codes: one cause each (comparison: 6.2). */
enum {
    SM_EXIT_FINE = 0,
    SM_EXIT_SLOWER = 1,
    SM_EXIT_USAGE = 2,
    SM_EXIT_FAILED = 3,
    SM_EXIT_NOT_EXCLUDED = 4,
    SM_EXIT_REFUSED = 5,
    SM_EXIT_NOTHING = 6,
    SM_EXIT_NOISY = 7,
    SM_EXIT_INTERRUPTED = 130
};

struct sm_report {
    const char *command;      /* "compare", "gate" */
    const struct sm_arm *arm; /* [2] */
    const struct sm_pairing *pairing;
    const struct sm_rounds_options *options;
    const struct sm_rounds_result *result;
    const char *note; /* for its head; NULL or "": none */
    enum sm_fail_on fail_on;
    bool gate, allow_removed;
    bool everything; /* identical and same ones too, in forms that fold them */
};

/* The first cause that applies in the order 3, 5, 6, 7, 1, 4; 130 when it was interrupted. */
int sm_report_exit(const struct sm_report *report);

void sm_report_text(const struct sm_report *report, FILE *out);
void sm_report_markdown(const struct sm_report *report, FILE *out);
void sm_report_csv(const struct sm_report *report, FILE *out);
void sm_report_junit(const struct sm_report *report, FILE *out);
/* 0, or -1: no memory, or it could not be written. Everything, raw launches too: schema "slotmark-compare". */
int sm_report_json(const struct sm_report *report, FILE *out);

/* Of one comparison: percent of change, and its interval; NAN where there is none. */
struct sm_report_row {
    double ns[2], change, low, high;
};
struct sm_report_row sm_report_row(const struct sm_comparison *c);

/* How many are compared, controls left out; and how many of them have that verdict. */
size_t sm_report_compared(const struct sm_report *report);
size_t sm_report_count(const struct sm_report *report, enum sm_verdict verdict);

/* The indices of what is compared, worst change first, without controls. Free it. NULL: no memory. */
size_t *sm_report_order(const struct sm_report *report, size_t *count);

/* A sentence on how it ended: "FAIL: 1 regression proved beyond 1 %". */
void sm_report_end(const struct sm_report *report, char *text, size_t bytes);

#endif
