#include "clock.h"

#include <math.h>
#include <pthread.h>

static double tsc_hz;
static struct sm_timer timer;

static void measure_tsc(void)
{
#if defined(__x86_64__)
    const uint64_t t0 = sm_clock_ns(), c0 = sm_tsc_ticks();
    uint64_t t1;
    do t1 = sm_clock_ns();
    while (t1 - t0 < 10000000);
    tsc_hz = (double)(sm_tsc_ticks() - c0) / (double)(t1 - t0) * 1e9;
#else
    tsc_hz = NAN;
#endif
}

double sm_tsc_hz(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, measure_tsc);
    return tsc_hz;
}

enum { CHAIN = 64, ROUNDS = 1500, GLANCE_ROUNDS = 500, MULTIPLY_CYCLES = 3 };

/* A chain that neither the compiler nor the renamer can shorten: each multiply waits for the last. */
static void multiply_chain(uint64_t rounds)
{
#if defined(__x86_64__)
    uint64_t x = 3;
    __asm__ volatile("1:\n\t"
                     ".rept 64\n\t"
                     "imulq %[x], %[x]\n\t"
                     ".endr\n\t"
                     "decq %[n]\n\t"
                     "jnz 1b"
                     : [x] "+r"(x), [n] "+r"(rounds)
                     :
                     : "cc");
#elif defined(__aarch64__)
    uint64_t x = 3;
    __asm__ volatile("1:\n\t"
                     ".rept 64\n\t"
                     "mul %[x], %[x], %[x]\n\t"
                     ".endr\n\t"
                     "subs %[n], %[n], #1\n\t"
                     "b.ne 1b"
                     : [x] "+r"(x), [n] "+r"(rounds)
                     :
                     : "cc");
#else
    (void)rounds;
#endif
}

/* The fastest of a few rulers. */
static double core_hz(uint64_t rounds, int rulers)
{
#if defined(__x86_64__) || defined(__aarch64__)
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < rulers; i++) {
        const uint64_t start = sm_clock_ns();
        multiply_chain(rounds);
        const uint64_t ns = sm_clock_ns() - start;
        if (ns < best) best = ns;
    }
    return (double)(CHAIN * rounds * MULTIPLY_CYCLES) / (double)best * 1e9;
#else
    (void)rounds, (void)rulers;
    return NAN;
#endif
}

double sm_core_hz(void)
{
    return core_hz(ROUNDS, 5);
}

double sm_core_hz_glance(void)
{
    return core_hz(GLANCE_ROUNDS, 4);
}

static void measure_timer(void)
{
    enum { BATCHES = 31, CALLS = 200 };
    double cost = INFINITY, step = INFINITY;
    for (int b = 0; b < BATCHES; b++) {
        const uint64_t start = sm_clock_ns();
        uint64_t last = start;
        for (int i = 0; i < CALLS; i++) {
            const uint64_t now = sm_clock_ns();
            if (now > last) step = fmin(step, (double)(now - last));
            last = now;
        }
        cost = fmin(cost, (double)(last - start) / CALLS);
    }
    timer = (struct sm_timer){step, cost};
}

struct sm_timer sm_clock_timer(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, measure_timer);
    return timer;
}
