#include "ceiling_team.h"

#include <math.h>
#include <omp.h>
#include <sched.h>

#include "clock.h"

/* A worker's best repetitions. */
struct worker {
    double ns, cycles;
    double apart; /* how far the clocks before and after that one of `cycles` differ */
};

static void do_job(const struct sm_ceiling_job *job, char *memory, int repetition)
{
    const size_t at = job->span ? (job->offset + (size_t)repetition * job->bytes) % job->span : job->offset;
    if (job->scheme)
        job->scheme->run(job->passes);
    else
        sm_memory_run(job->kind, memory + at, job->bytes, job->passes);
}

/* The fewest cycles where the clock stood still, within a hundredth; failing that, where it moved least. */
static void count_cycles(struct worker *best, double ns, double hz_before, double hz_after)
{
    const double still = 0.01, apart = fabs(hz_after - hz_before) / hz_before;
    const double cycles = ns * 1e-9 * (hz_before + hz_after) / 2;
    if (apart < still ? best->apart >= still || cycles < best->cycles : apart < best->apart) {
        best->cycles = cycles;
        best->apart = apart;
    }
}

struct sm_ceiling_seen sm_ceiling_run(struct sm_ceiling_team *team, const struct sm_ceiling_job *job)
{
    double best = INFINITY, slowest = 0, own_rates = 0, own_per_cycle = 0;
#pragma omp parallel num_threads(team->threads)
    {
        const int t = omp_get_thread_num();
        struct worker own = {INFINITY, INFINITY, INFINITY};
        char why[128];
        cpu_set_t before;
        const int pinned =
            team->pin && !sched_getaffinity(0, sizeof before, &before) && !sm_pin_self(team->pin, t, why, sizeof why);
        double hz = job->own ? sm_core_hz_glance() : NAN;
        for (int r = 0; r <= job->repetitions; r++) {
#pragma omp single
            slowest = 0;
            const uint64_t start = sm_clock_ns();
            do_job(job, team->memory + (size_t)t * team->share, r);
            const double ns = (double)(sm_clock_ns() - start);
            if (job->own) {
                const double hz_before = hz;
                hz = sm_core_hz_glance();
                if (r > 0) count_cycles(&own, ns, hz_before, hz);
            }
            if (r > 0) own.ns = fmin(own.ns, ns);
#pragma omp critical(sm_ceilings)
            slowest = fmax(slowest, ns);
#pragma omp barrier
#pragma omp single
            if (r > 0) best = fmin(best, slowest);
        }
#pragma omp critical(sm_ceilings)
        {
            own_rates += 1 / own.ns;
            own_per_cycle += 1 / own.cycles;
        }
        if (pinned) sched_setaffinity(0, sizeof before, &before);
    }
    return (struct sm_ceiling_seen){job->own ? team->threads / own_rates : best, team->threads / own_per_cycle};
}

uint64_t sm_ceiling_passes(const struct sm_ceiling_team *team, struct sm_ceiling_job job, double want_ns)
{
    job.passes = 1;
    do_job(&job, team->memory, 0); /* a thread's first use of tiles alone takes as long as thousands of products */
    for (job.passes = 1; job.passes < 1u << 30; job.passes *= 4) {
        const uint64_t start = sm_clock_ns();
        do_job(&job, team->memory, 0);
        const double ns = (double)(sm_clock_ns() - start);
        if (ns >= want_ns / 10) return (uint64_t)fmax(1, (double)job.passes * want_ns / ns);
    }
    return job.passes;
}
