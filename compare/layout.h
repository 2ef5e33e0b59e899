/* layout.h - the same code placed anew: a build's archives linked again with their sections shuffled.
 *
 * Where a loop lands can change its time by many percent (Mytkowicz et al. 2009), and a fixed placement turns that into
 * a change that every launch agrees on. A fresh placement for every launch turns it back into spread. */
#ifndef SM_LAYOUT_H
#define SM_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "arm.h"

/* Whether that can be done: the arm has its archives, and there is a linker that shuffles (lld). NULL, or why not. */
const char *sm_layout_refusal(const struct sm_arm *arm);

/* Links the arm's kernels to the file `to` with the sections in an order drawn from the seed. 0 or -1. */
int sm_layout_link(const struct sm_arm *arm, uint64_t seed, const char *to);

#endif
