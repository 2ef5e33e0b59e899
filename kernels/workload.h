/* workload.h - how to exercise a family without knowing what it computes.
 *
 * Tests, microbenchmarks and the comparer use families only through this. A workload owns operands for one
 * shape, made from a seed, and judges answers against the family's reference variant in units of a derived
 * tolerance. Workloads live in a library of their own: the runtime does not carry them.
 *
 *     work = w->create(&shape, regime, seed);
 *     args = w->prepare(work, variant);     packs weights for the variant's layout, poisons the output
 *     variant->fn(args, part);              one or more times, by one or more threads over disjoint parts
 *     w->error(work, variant) <= 1          the answer is right
 *     w->damage(work) == NULL               nothing outside the output was touched
 *     w->destroy(work); */
#ifndef SM_WORKLOAD_H
#define SM_WORKLOAD_H

#include "registry.h"

enum sm_regime {
    SM_REGIME_RANDOM,  /* values as in real use; error is relative to a derived bound */
    SM_REGIME_EXACT,   /* small integers and powers of two, so that no sum rounds: 0 or infinite error */
    SM_REGIME_EXTREME, /* largest legal magnitudes, saturating and denormal values, ties, zeros */
    SM_REGIME_COUNT
};

/* A tenth of a second or two of the references' scalar arithmetic. */
#define SM_JUDGED_OPS 0x1p25

struct sm_workload {
    const char *family;
    /* NULL when the shape has a meaning; else a sentence saying why it has none. */
    const char *(*refuse)(const struct sm_shape *shape);
    /* NULL: no memory. */
    void *(*create)(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed);
    /* The arguments for this variant, valid until the next prepare or destroy; outputs filled with a poison
     * that no right answer holds. NULL: no memory. Packs at most once per layout. */
    const void *(*prepare)(void *work, const struct sm_variant *variant);
    /* Of the runs since prepare: <= 1 is right, infinite or NaN is very wrong. Up to SM_JUDGED_OPS operations it judges
     * everything; above, all of the first and the last row and a seeded sample of the others. */
    double (*error)(void *work, const struct sm_variant *variant);
    /* NULL, or what was touched that must not be: a guard zone, an input, a neighbour of the output. */
    const char *(*damage)(void *work);
    double (*ops)(const struct sm_shape *shape);   /* of one call: multiply-adds, or elements where there are none */
    double (*bytes)(const struct sm_shape *shape); /* the least one call must move, each operand once */
    /* What ops counts: "multiply-adds" or "elements". */
    const char *ops_unit;
    /* Bytes of operands one instance holds for this shape, for rotating past a cache. */
    size_t (*footprint)(const struct sm_shape *shape);
    void (*destroy)(void *work);
};

const struct sm_workload *sm_workload_named(const char *family); /* NULL: none */

#endif
