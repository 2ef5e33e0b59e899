#include "stimulus.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "clock.h"
#include "machine.h"

/* A multiply chain, because newer cores fold a chain of additions at rename. */
void sm_stimulus_loop(uint64_t units)
{
    uint64_t x = 1;
#if defined(__x86_64__)
    __asm__ volatile("1: imulq $3, %[x], %[x]\n\t"
                     "decq %[n]\n\t"
                     "jnz 1b"
                     : [x] "+r"(x), [n] "+r"(units)
                     :
                     : "cc");
#elif defined(__aarch64__)
    const uint64_t three = 3;
    __asm__ volatile("1: mul %[x], %[x], %[three]\n\t"
                     "subs %[n], %[n], #1\n\t"
                     "b.ne 1b"
                     : [x] "+r"(x), [n] "+r"(units)
                     : [three] "r"(three)
                     : "cc");
#else
    (void)x, (void)units;
#endif
}

static int run_loop(uint64_t units)
{
#if defined(__x86_64__) || defined(__aarch64__)
    sm_stimulus_loop(units);
    return 0;
#else
    (void)units;
    return -1;
#endif
}

/* One branch a unit that nobody can predict: the top bit of a generator. */
static int run_coin(uint64_t units)
{
    uint64_t x = 0x9e3779b97f4a7c15u;
#if defined(__x86_64__)
    uint64_t heads = 0;
    __asm__ volatile("1: imulq %[a], %[x]\n\t"
                     "addq $1, %[x]\n\t"
                     "btq $63, %[x]\n\t"
                     "jc 2f\n\t"
                     "incq %[heads]\n\t"
                     "2: decq %[n]\n\t"
                     "jnz 1b"
                     : [x] "+r"(x), [heads] "+r"(heads), [n] "+r"(units)
                     : [a] "r"(6364136223846793005u)
                     : "cc");
    return 0;
#elif defined(__aarch64__)
    uint64_t heads = 0;
    __asm__ volatile("1: mul %[x], %[x], %[a]\n\t"
                     "add %[x], %[x], #1\n\t"
                     "tbnz %[x], #63, 2f\n\t"
                     "add %[heads], %[heads], #1\n\t"
                     "2: subs %[n], %[n], #1\n\t"
                     "b.ne 1b"
                     : [x] "+r"(x), [heads] "+r"(heads), [n] "+r"(units)
                     : [a] "r"(6364136223846793005u)
                     : "cc");
    return 0;
#else
    (void)x, (void)units;
    return -1;
#endif
}

enum { PAGE = 4096, LINE = 64, CHASE_BYTES = 64 << 20, CHASE_LINES = CHASE_BYTES / LINE };

static void *pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    madvise(p, bytes, MADV_NOHUGEPAGE); /* a fault a page, a translation a page */
    return p;
}

/* One fresh page a unit. */
static int run_touch(uint64_t units)
{
    volatile char *p = pages(units * PAGE);
    if (!p) return -1;
    for (uint64_t i = 0; i < units; i++) p[i * PAGE] = 1;
    void *memory;
    memcpy(&memory, &p, sizeof memory);
    munmap(memory, units * PAGE);
    return 0;
}

static void **chase_start;

/* A ring through all lines in random order: no prefetcher, one line and (nearly always) one page a step. */
static void make_chase(void)
{
    char *memory = pages(CHASE_BYTES);
    if (!memory) return;
    uint64_t x = 1;
    for (size_t i = 0; i < CHASE_LINES; i++) *(void **)(void *)(memory + i * LINE) = memory + i * LINE;
    for (size_t i = CHASE_LINES - 1; i > 0; i--) { /* Sattolo: one single ring */
        x = x * 6364136223846793005u + 1442695040888963407u;
        const size_t j = (size_t)(x >> 33) % i;
        void **a = (void **)(void *)(memory + i * LINE), **b = (void **)(void *)(memory + j * LINE);
        void *swap = *a;
        *a = *b;
        *b = swap;
    }
    chase_start = (void **)(void *)memory;
}

/* One load a unit that misses every cache of up to 16 MiB, and the translations. */
static int run_chase(uint64_t units)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_chase);
    if (!chase_start) return -1;
    void **p = chase_start;
    for (uint64_t i = 0; i < units; i++) p = *p;
    chase_start = p; /* the next run goes on where this one stopped */
    return 0;
}

/* The same for counters of the last level: says nothing when that holds the ring. */
static int run_far(uint64_t units)
{
    const size_t l3 = sm_machine()->l3_bytes;
    return l3 && l3 <= CHASE_BYTES / 2 ? run_chase(units) : -1;
}

/* One line of memory a unit, read and written back: a working set that the last level does not hold. */
static int run_stream(uint64_t units)
{
    static volatile char *memory;
    static size_t lines;
    const size_t l3 = sm_machine()->l3_bytes, bytes = l3 > CHASE_BYTES / 4 ? 4 * l3 : CHASE_BYTES;
    if (!l3 || bytes > (size_t)1 << 30) return -1;
    if (!memory) {
        memory = pages(bytes);
        lines = bytes / LINE;
    }
    if (!memory) return -1;
    for (uint64_t i = 0; i < units; i++) memory[i % lines * LINE]++;
    return 0;
}

/* One sleep a unit. */
static int run_sleep(uint64_t units)
{
    for (uint64_t i = 0; i < units; i++) nanosleep(&(struct timespec){0, 1000}, NULL);
    return 0;
}

/* One move to another CPU a unit. */
static int run_move(uint64_t units)
{
    cpu_set_t before, one;
    size_t cpus[2], count = 0;
    if (sched_getaffinity(0, sizeof before, &before)) return -1;
    for (size_t c = 0; c < CPU_SETSIZE && count < 2; c++)
        if (CPU_ISSET(c, &before)) cpus[count++] = c;
    if (count < 2) return -1;
    int here = sched_getcpu() == (int)cpus[0];
    for (uint64_t i = 0; i < units; i++, here = !here) {
        CPU_ZERO(&one);
        CPU_SET(cpus[here], &one);
        if (sched_setaffinity(0, sizeof one, &one)) return -1;
    }
    return sched_setaffinity(0, sizeof before, &before);
}

/* A nanosecond of CPU time a unit. */
static int run_spin(uint64_t units)
{
    const uint64_t start = sm_clock_thread_cpu_ns();
    while (sm_clock_thread_cpu_ns() - start < units) {
    }
    return 0;
}

/* A nanosecond of work a unit. */
static int run_burn(uint64_t units)
{
    const uint64_t start = sm_clock_ns();
    while (sm_clock_ns() - start < units) sm_stimulus_loop(1000);
    return 0;
}

static const struct sm_stimulus stimuli[] = {
    {"instructions", run_loop, 100000, 2.97, 3.10}, /* the ends are overheads and interrupts */
    {"cycles", run_loop, 100000, 2.90, 9.0},
    {"branches", run_loop, 100000, 0.97, 1.10},
    {"coin", run_coin, 20000, 0.30, 0.80},
    {"chase", run_chase, 10000, 0.70, 2.5}, /* adjacent lines may be fetched along */
    {"far", run_far, 10000, 0.50, 2.5},
    {"touch", run_touch, 64, 0.99, 1.10},
    {"sleep", run_sleep, 4, 0.99, 3.0}, /* others may take the CPU as well */
    {"move", run_move, 2, 0.80, 2.0},
    {"spin", run_spin, 1000000, 0.70, 1.50},
    {"stream", run_stream, 1 << 20, 0.5, 20}, /* others use the memory meanwhile */
    {"stream-mib", run_stream, 1 << 20, 0.5 * LINE / 0x1p20, 20.0 * LINE / 0x1p20},
    {"burn", run_burn, 5000000, 1e-10, 1e-6}, /* joules: 0.1 W to 1 kW; told once a millisecond */
};

const struct sm_stimulus *sm_stimulus_named(const char *name)
{
    for (size_t i = 0; i < sizeof stimuli / sizeof *stimuli; i++)
        if (!strcmp(stimuli[i].name, name)) return &stimuli[i];
    return NULL;
}
