/* copies.h - the files that launches load: builds copied so that nothing about a path may favour one. */
#ifndef SM_COPIES_H
#define SM_COPIES_H

#include <stdint.h>

#include "arm.h"

/* In a folder of its own, files that differ only in their number. */
struct sm_copies {
    char folder[64];
    char path[5][80]; /* A, B, a copy of A; and A and B with their code placed anew, once it was asked for */
    const char *object[3];
    char plugin[3][80];       /* of each of these; "": it has none */
    const struct sm_arm *arm; /* [2] */
};

/* Copies the objects of two arms, which must outlive the copies. 0, or -1 and a sentence; remove them either way. */
int sm_copies_make(struct sm_copies *copies, const struct sm_arm arm[2], char *why, size_t why_bytes);
void sm_copies_remove(struct sm_copies *copies); /* safe on a zeroed struct */

/* What sm_rounds_options.place asks for; the state is the copies. */
const char *sm_copies_place(void *copies, int arm, uint64_t seed);

#endif
