/* compilers.h - the kernels of this program's own sources, built by other compilers and kept in the cache of builds
 * (arm.h). The sources are those at the place where this program was built, as they are now. */
#ifndef SM_COMPARE_COMPILERS_H
#define SM_COMPARE_COMPILERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "abi.h"

/* What a compiler, by the name or path that starts it, says it is: "clang 14.0.6". *built: its build is there. 0, or -1
 * and a sentence: there is none, or it is none. */
int sm_compiler_name(const char *compiler, char *name, size_t bytes, bool *built, char *why, size_t why_bytes);

/* Its build, made or brought up to date and then loaded, until the program ends; progress says that it has to build
 * (NULL: silent). NULL and a sentence. */
const struct sm_kernels *sm_compiler_kernels(const char *compiler, FILE *progress, char *why, size_t why_bytes);

/* The flags of all such builds; a variant's own come on top. */
extern const char sm_compiler_flags[];

#endif
