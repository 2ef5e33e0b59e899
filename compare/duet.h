/* duet.h - one launch: two builds of a kernel in one fresh process, timed in pairs of short slices in random order.
 *
 * The launch is the sample, never the pair (comparison: 2.2). A launch answers on its standard output with one line
 * of status and, when both answers were right, one line for each pair. */
#ifndef SM_DUET_H
#define SM_DUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "registry.h"

#define SM_DUET_PAIRS_MOST 200

struct sm_duet_job {
    const char *object[2]; /* A and B: two files, even when they are copies */
    const char *plugin[2]; /* added to each of them; "": none */
    const char *family;
    const char *variant[2];
    struct sm_shape shape; /* in the order of B's axes */
    size_t dims;
    uint64_t seed; /* of the operands, and of the order */
    size_t threads;
    double slice_s; /* the least a slice lasts */
    size_t pairs;
    bool apart;     /* A and B in two processes that take turns, not in one */
    double planted; /* B does this share of its work once more, really executed: for calibration */
};

enum sm_duet_status {
    SM_DUET_OK,
    SM_DUET_WRONG,   /* an answer was wrong, or the two differ: why says which */
    SM_DUET_REFUSED, /* the shape has no meaning in one of them, or a feature is missing */
    SM_DUET_BROKEN,  /* it crashed, hung, or could not be started */
};

struct sm_duet_launch {
    enum sm_duet_status status;
    char why[256];
    double d;     /* median over pairs of ln(B / A) */
    double ns[2]; /* median time of a call */
    size_t pairs;
    uint32_t calls; /* of a slice */
    bool migrated;  /* it changed its CPU under way, although pinned: not to be used */
    bool shared;    /* both ran on the very same operands */
};

/* In the parent: starts a process of this program, waits for it at most `limit_s` seconds. */
void sm_duet_run(const struct sm_duet_job *job, double limit_s, struct sm_duet_launch *launch);

/* In the child: what `slotmark compare` does when its first argument is SM_DUET_WORD. The exit code. */
#define SM_DUET_WORD "--one-launch"
int sm_duet_child(int argc, char **argv);

#endif
