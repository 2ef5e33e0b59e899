/* clock.h - time: the wall clock, the time-stamp counter, and the core's own clock by a ruler.
 *
 * Three different things, never mixed up: nanoseconds of the wall clock; tsc_ticks, which tick at a fixed
 * rate whatever the core does; core_cycles_est, nanoseconds times the core clock that a chain of dependent
 * multiplies measures (spec: N multiplies take 3 N cycles on every x86-64 and on most Arm cores). */
#ifndef SM_CLOCK_H
#define SM_CLOCK_H

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Wall time in ns since some moment (vDSO, no system call): about 25 ns a call. */
static inline uint64_t sm_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CPU time of the calling thread in ns: a system call, about 300 to 600 ns. */
static inline uint64_t sm_clock_thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ticks of the time-stamp counter; 0 always where there is none (sm_tsc_hz says so). */
static inline uint64_t sm_tsc_ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;
#endif
}

/* Ticks per second, measured once against the wall clock (10 ms); NAN: no such counter. */
double sm_tsc_hz(void);

/* Core cycles per second right now: the fastest of a few rulers of about 0.1 ms (0.5 ms in all).
 * NAN where the multiply's latency is not known. */
double sm_core_hz(void);
/* The same at a glance, around a sample: about 0.1 ms in all. */
double sm_core_hz_glance(void);

struct sm_timer {
    double resolution_ns; /* the smallest step seen */
    double cost_ns;       /* of one reading */
};

/* Of sm_clock_ns, measured once (about 1 ms). */
struct sm_timer sm_clock_timer(void);

#endif
