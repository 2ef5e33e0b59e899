/* limit.h - which of the ceilings binds a call of a kernel, and its share of it.
 *
 * What can bind follows from the kernel's family and group, its instruction set and the bytes it touches: a memory
 * level, an arithmetic scheme, or exp, tanh and the making of small integers, whose ceiling is said in the family's own
 * ops (multiply-adds/cycle of attention). A rate above SM_LIMIT_IMPOSSIBLE times its ceiling is no result but an error;
 * except in attention where the mask hides columns, since a variant may prove that it can leave them out. */
#ifndef SM_LIMIT_H
#define SM_LIMIT_H

#include <stdbool.h>

#include "ceilings.h"
#include "record.h"

#define SM_LIMIT_IMPOSSIBLE 1.05

struct sm_limited_call {
    const char *family, *group, *isa; /* names, as in the registry; isa "any", "avx2", ... */
    const char *ops_unit;             /* "multiply-adds" or "elements" */
    double ops, bytes;                /* of the call */
    double head_dim;                  /* of attention; else anything */
    bool capped;                      /* attention with a softcap */
    bool in_place;                    /* what it reads it writes again: binds families that are judged by copies */
    bool leaves_out;                  /* ops and bytes count columns that a variant may leave out */
    int threads;
    double ns, core_hz; /* what it took; of one core, NAN: not known */
    /* What is touched from one call to the next: sets the memory level of the bytes. */
    double working_set;
    /* Bytes of `bytes` that are touched again only after a larger set, as a model's weights: 0 in a benchmark. */
    double far_bytes, far_set;
};

struct sm_limit {
    double share;    /* of the ceiling that binds; NAN: none is known. It counts hidden columns as done */
    char name[32];   /* that ceiling's; "": none */
    char scheme[32]; /* of the arithmetic, whether it binds or not; "": none is known */
    double fastest;  /* of any way of moving the bytes or doing the arithmetic; NAN: it may leave some out */
    bool impossible; /* fastest is above SM_LIMIT_IMPOSSIBLE */
};

/* record: gets the ceilings that were looked at ("ceilings"); NULL: nothing. */
struct sm_limit sm_limit_of(const struct sm_ceilings *ceilings, const struct sm_limited_call *call,
                            struct sm_record *record);

/* How many characters of a ceiling's name a table shows at most: "dram_read" whole; of "maddubs_i8_avx2" "maddubs",
 * since the rest is the variant's. */
int sm_limit_shown(const char *name);

#endif
