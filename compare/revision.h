/* revision.h - a revision's kernels, built once and kept. Private to arm. */
#ifndef SM_REVISION_H
#define SM_REVISION_H

#include <stdbool.h>

#include "arm.h"

/* Fills identity, object, objects and built of an arm whose spec names a revision or is WORKTREE. Its build is not
 * `wanted`: what the cache has not is SM_ARM_ABSENT. */
enum sm_arm_result sm_revision_get(struct sm_arm *arm, bool wanted, FILE *out, char *why, size_t why_bytes);

/* The program of such an arm: built with everything that the revision holds but its tests. */
enum sm_arm_result sm_revision_program(const struct sm_arm *arm, FILE *out, char *path, size_t bytes, char *why,
                                       size_t why_bytes);

#endif
