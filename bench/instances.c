#include "instances.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"
#include "ceilings.h"
#include "crash.h"

#define PAST 2.1      /* a rotation passes a cache when it is that much larger (rates.c draws its levels at 2) */
#define SHARE 0.125   /* of the memory at most: weights are there twice, rows and packed; ceilings take a third */
#define JUDGED_MOST 8 /* instances of a cold rotation whose answers are checked */

/* Enough sets that what the calls touch passes the cache as far as the ceilings' own sets do, if memory and
 * mappings allow. A set may be larger than what a call touches of it: one row goes into a whole cache. */
static size_t wanted(const struct sm_bench_case *c, double cache, double memory, double footprint)
{
    const double most = isnan(memory) ? 0x1p30 : memory * SHARE;
    double count = ceil(sm_ceilings_past(cache) / c->workload->bytes(&c->shape));
    if (count * footprint > most) count = floor(most / footprint);
    if (count > SM_INSTANCES_MOST) count = SM_INSTANCES_MOST;
    return count < 2 ? 2 : (size_t)count;
}

double sm_instances_bytes(const struct sm_bench_case *c, double l2, double l3, double memory)
{
    const double footprint = (double)c->workload->footprint(&c->shape);
    if (!c->cold || (isnan(l2) && isnan(l3))) return footprint;
    return footprint * (double)wanted(c, isnan(l3) ? l2 * (double)c->threads : l3, memory, footprint);
}

static const char *level_passed(double bytes, double l2, double l3)
{
    if (l3 > 0 && bytes >= PAST * l3) return "cold_past_l3";
    if (l2 > 0 && bytes >= PAST * l2) return "cold_past_l2_only";
    return NULL;
}

static int plan(struct sm_instances *set, double l2, double l3, double memory, char *why, size_t why_bytes)
{
    const struct sm_bench_case *c = set->c;
    const double footprint = (double)c->workload->footprint(&c->shape), touched = c->workload->bytes(&c->shape);
    set->count = 1;
    l2 *= (double)c->threads; /* each of the team has one of its own, and holds its part there */
    if (c->cold) {
        if (isnan(l2) && isnan(l3)) {
            snprintf(why, why_bytes, "cold is not possible: this machine does not tell the size of its caches");
            return -1;
        }
        set->count = wanted(c, isnan(l3) ? l2 : l3, memory, footprint);
        set->cold_flag = level_passed((double)set->count * touched, l2, l3);
        if (!set->cold_flag) {
            snprintf(why, why_bytes,
                     "cold is not possible: %zu sets of operands, of which a call touches %.0f bytes, do not pass the "
                     "second-level cache",
                     set->count, touched);
            return -1;
        }
    }
    set->bytes = (double)set->count * footprint;
    if (set->bytes <= memory / 2 || isnan(memory)) return 0;
    snprintf(why, why_bytes, "its operands need %.1f GiB, more than half of this machine's memory",
             set->bytes / 0x1p30);
    return -1;
}

int sm_instances_create(struct sm_instances *set, const struct sm_bench_case *c, double l2_bytes, double l3_bytes,
                        double memory_bytes, char *why, size_t why_bytes)
{
    *set = (struct sm_instances){.c = c};
    if (plan(set, l2_bytes, l3_bytes, memory_bytes, why, why_bytes)) return -1;
    set->work = calloc(set->count, sizeof *set->work);
    set->args = calloc(set->count, sizeof *set->args);
    for (size_t i = 0; set->work && set->args && i < set->count; i++) {
        if (sm_cases_interrupted()) {
            snprintf(why, why_bytes, "interrupted");
            sm_instances_destroy(set);
            return -1;
        }
        set->work[i] = c->workload->create(&c->shape, SM_REGIME_RANDOM, c->seed + i);
        if (!set->work[i]) break;
        if (i + 1 == set->count) return 0;
    }
    snprintf(why, why_bytes, "no memory for its operands");
    sm_instances_destroy(set);
    return -1;
}

void sm_instances_destroy(struct sm_instances *set)
{
    for (size_t i = 0; set->work && i < set->count; i++)
        if (set->work[i]) set->c->workload->destroy(set->work[i]);
    free(set->work);
    free(set->args);
    *set = (struct sm_instances){0};
}

int sm_instances_prepare(struct sm_instances *set)
{
    for (size_t i = 0; i < set->count; i++) {
        set->args[i] = set->c->workload->prepare(set->work[i], set->c->variant);
        if (!set->args[i]) return -1;
    }
    return 0;
}

double sm_instances_judge(const struct sm_instances *set, const char **damage)
{
    const struct sm_workload *w = set->c->workload;
    const size_t step = set->count > JUDGED_MOST ? set->count / JUDGED_MOST : 1;
    double worst = 0;
    *damage = NULL;
    for (size_t i = 0; i < set->count; i++) {
        if (!*damage) *damage = w->damage(set->work[i]);
        if (i % step) continue;
        const double error = w->error(set->work[i], set->c->variant);
        if (!(error <= worst)) worst = error; /* a NaN stays */
    }
    return worst;
}

int sm_instances_run(const struct sm_instances *set, size_t count)
{
    const struct sm_bench_case *c = set->c;
    int short_of_threads = 0;
#pragma omp parallel num_threads((int)c->threads)
    {
        if ((size_t)omp_get_num_threads() != c->threads) {
#pragma omp atomic write
            short_of_threads = 1;
        } else {
            sm_crash_stand();
            const struct sm_part part = c->family->split(&c->shape, c->threads, (size_t)omp_get_thread_num());
            for (size_t i = 0; i < count; i++) c->variant->fn(set->args[i], part);
        }
    }
    return short_of_threads ? -1 : 0;
}
