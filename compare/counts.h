/* counts.h - how many instructions a call executes in each build: why a time changed, never the verdict itself.
 *
 * Each side runs once in a process of this program under valgrind's callgrind, which collects inside the function of
 * the variant only, so that the count is exact and repeats. */
#ifndef SM_COUNTS_H
#define SM_COUNTS_H

#include <stdio.h>

#include "copies.h"
#include "pairing.h"

/* Counts both sides of each comparison that found a change; what cannot be counted gets NAN and a reason. Progress goes
 * to `words` (NULL: nowhere). */
void sm_count_changed(struct sm_pairing *pairing, const struct sm_copies *copies, size_t threads, FILE *words);

/* In the child: what `slotmark compare` does when its first argument is SM_COUNTS_WORD. The exit code. */
#define SM_COUNTS_WORD "--one-count"
int sm_counts_child(int argc, char **argv);

#endif
