/* preparing.h - what goes on before a command's first case: weights are made, files summed, matrices packed.
 *
 *     struct sm_preparing p;
 *     sm_preparing_begin(&p, progress, "packing weights");
 *     ... sm_preparing_show(&p, share) now and then, as a callback of who works ...
 *     sm_preparing_end(&p);
 *
 * Nothing is said in the first two seconds, before which nobody wonders. */
#ifndef SM_PREPARING_H
#define SM_PREPARING_H

#include <stdint.h>

#include "progress.h"

struct sm_preparing {
    struct sm_progress progress;
    const char *what;
    uint64_t began;
};

void sm_preparing_begin(struct sm_preparing *p, FILE *progress, const char *what); /* progress NULL: silent */
void sm_preparing_show(void *preparing, double share);
void sm_preparing_end(struct sm_preparing *p);

#endif
