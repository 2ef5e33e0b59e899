/* pairing.h - what can be compared between two builds: each kernel at each shape, found in both by name. */
#ifndef SM_PAIRING_H
#define SM_PAIRING_H

#include <stdbool.h>
#include <stdint.h>

#include "alias.h"
#include "arguments.h"
#include "arm.h"
#include "kernels_load.h"
#include "looks.h"

/* The words of comparison: 6.2. */
enum sm_verdict {
    SM_VERDICT_OPEN, /* not yet decided; never the last word */
    SM_VERDICT_IDENTICAL,
    SM_VERDICT_SAME,
    SM_VERDICT_FASTER,
    SM_VERDICT_SLOWER,
    SM_VERDICT_FASTER_WITHIN, /* proved, but not to be beyond the tolerance */
    SM_VERDICT_SLOWER_WITHIN,
    SM_VERDICT_LAYOUT, /* a change as built, and none with the code placed anew for every launch */
    SM_VERDICT_INCONCLUSIVE,
    SM_VERDICT_ADDED,
    SM_VERDICT_REMOVED,
    SM_VERDICT_FAILED,
    SM_VERDICT_REFUSED,
    SM_VERDICTS
};
const char *sm_verdict_word(enum sm_verdict verdict);

#define SM_LAUNCHES_MOST 40

struct sm_comparison {
    char id[200]; /* "matmul_f32/avx2/rows:128,out:2048,in:2048" */
    char family[64];
    char variant[2][64]; /* of A and B: the same unless variants are compared */
    struct sm_shape shape;
    size_t dims;
    size_t ordinal; /* in its session */
    bool control;   /* A against a copy of A */
    double planted; /* duet.h; 0 outside calibration */
    enum sm_verdict verdict;
    char reason[256]; /* of refused, failed; else "" */
    double d[SM_LAUNCHES_MOST], ns[2][SM_LAUNCHES_MOST];
    size_t launches, dropped; /* dropped: for a cause that was recorded, never for their time */
    double p[SM_LOOKS];
    size_t looks;
    struct sm_paired estimate; /* of the last look, or of all launches at the end */
    double p_overall;          /* over the looks */
    double tokens;             /* of a model's phase: tokens in its ns; else 0 */
    double detectable;         /* of inconclusive ones */
    double instructions[2];    /* of a call in A and B, where they were asked for (counts.h); NAN then: uncounted */
    char uncounted[64];        /* why; "" */
    /* A change is measured again with the code placed anew for each launch (layout.h), and d and so on are of that.
     * What was seen as built is kept here. */
    bool randomised;
    struct sm_paired as_built;
    double as_built_d[SM_LAUNCHES_MOST];
    size_t as_built_launches;
};

/* Values of an axis for every family that has it. */
struct sm_pairing_axis {
    const char *name;
    const struct sm_list *values;
};

struct sm_pairing_options {
    const char *glob;                   /* of "family/variant"; NULL: all but the references */
    const struct sm_pairing_axis *axes; /* ended by a name that is NULL; lists that are empty leave the standard */
    const struct sm_aliases *aliases;   /* variants that were renamed are pairs, under their new name; or NULL */
};

struct sm_pairing {
    struct sm_comparison *list;
    size_t count;
};

/* Finds them: added and removed ones too, and those of identical code, which need no launch. Arms may name variants:
 * then only families that have both are taken. 0; 1 and a sentence: nothing matched; -1 and a sentence. */
int sm_pairing_make(struct sm_pairing *pairing, const struct sm_arm arm[2], const struct sm_loaded loaded[2],
                    const struct sm_pairing_options *options, char *why, size_t why_bytes);
void sm_pairing_free(struct sm_pairing *pairing);

#endif
