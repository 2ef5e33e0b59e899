/* instances.h - the operands a case runs on: one set when hot, a rotation past the caches when cold. */
#ifndef SM_INSTANCES_H
#define SM_INSTANCES_H

#include "sweep.h"

#define SM_INSTANCES_MOST 2048 /* each takes several mappings, of which Linux allows about 65000 */

struct sm_instances {
    const struct sm_bench_case *c;
    void **work;
    const void **args;
    size_t count;
    double bytes;          /* of all of them */
    const char *cold_flag; /* which cache the rotation passes: "cold_past_l3", ...; NULL when hot */
};

/* What they would hold. */
double sm_instances_bytes(const struct sm_bench_case *c, double l2_bytes, double l3_bytes, double memory_bytes);

/* Creates them, args not yet prepared. 0, or -1 with a sentence: no memory, or cold and past no cache. */
int sm_instances_create(struct sm_instances *set, const struct sm_bench_case *c, double l2_bytes, double l3_bytes,
                        double memory_bytes, char *why, size_t why_bytes);
void sm_instances_destroy(struct sm_instances *set);

/* Fresh arguments and poisoned outputs for each. -1: no memory. */
int sm_instances_prepare(struct sm_instances *set);

/* The largest error over the instances, in tolerances (of a sample of them when there are many); *damage is NULL or
 * what one of them found touched. */
double sm_instances_judge(const struct sm_instances *set, const char **damage);

/* One call on each of the first `count` instances by a team of the case's threads. -1: OpenMP gave fewer threads. */
int sm_instances_run(const struct sm_instances *set, size_t count);

#endif
