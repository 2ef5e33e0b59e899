/* The process of one launch: loads both builds, checks both answers, times slices in pairs. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "duet.h"
#include "kernels_load.h"
#include "machine.h"
#include "random.h"

/* Kernels whose single call is long get fewer pairs, so that a launch takes about this long. */
#define PAIRS_LEAST 9
#define PAIRS_MOST_S 0.3
/* With planted work a slice is a multiple of so many calls: half a percent is one call then. */
#define PLANT_GRAIN 200u

struct side {
    struct sm_loaded loaded;
    const struct sm_family *family;
    const struct sm_workload *workload;
    const struct sm_variant *variant;
    const void *args;
    /* in the process that lets two others take turns: */
    pid_t process;     /* of this side; 0: it runs here */
    int order, result; /* pipes: calls to run, seconds that they took */
};

struct duet {
    struct sm_duet_job job;
    struct side side[2];
    void *work[2]; /* of B's workload; the second only when the two read different layouts */
    struct sm_random random;
    struct sm_pin pin;
    bool pinned;
    char why[256];
};

static void run_once(const struct duet *d, const struct side *s, const void *args)
{
    const size_t threads = d->job.threads;
    if (threads == 1) {
        s->variant->fn(args, s->family->split(&d->job.shape, 1, 0));
        return;
    }
#pragma omp parallel num_threads((int)threads)
    s->variant->fn(args, s->family->split(&d->job.shape, threads, (size_t)omp_get_thread_num()));
}

/* NULL, or why the answer of `s` on operands of `workload` is wrong. */
static const char *judge(struct duet *d, const struct side *s, const struct sm_workload *workload, void *work,
                         const struct sm_variant *prepared, const char *whose)
{
    const void *args = workload->prepare(work, prepared);
    if (!args) return "no memory for its operands";
    run_once(d, s, args);
    const double error = workload->error(work, prepared);
    const char *damage = workload->damage(work);
    if (error <= 1 && !damage) return NULL;
    if (damage)
        snprintf(d->why, sizeof d->why, "%s %s", whose, damage);
    else
        snprintf(d->why, sizeof d->why, "%s is wrong: its error is %g tolerances", whose, error);
    return d->why;
}

/* Each on the operands and by the judge of its own build, so that a build that dropped work fails at itself. */
static const char *judge_alone(struct duet *d, size_t i)
{
    struct side *s = &d->side[i];
    void *work = s->workload->create(&d->job.shape, SM_REGIME_RANDOM, d->job.seed);
    if (!work) return "no memory for its operands";
    const char *wrong = judge(d, s, s->workload, work, s->variant, i ? "B's answer" : "A's answer");
    s->workload->destroy(work);
    return wrong;
}

/* Both on B's operands: the very same ones where A can read them, else the same numbers packed for A. */
static const char *prepare_both(struct duet *d, bool *shared)
{
    struct side *a = &d->side[0], *b = &d->side[1];
    for (size_t i = 0; i < 2; i++) {
        d->work[i] = b->workload->create(&d->job.shape, SM_REGIME_RANDOM, d->job.seed);
        if (!d->work[i]) return "no memory for the operands";
    }
    const char *wrong = judge(d, b, b->workload, d->work[1], b->variant, "B's answer");
    if (wrong) return wrong;
    *shared = !strcmp(a->variant->layout->name, b->variant->layout->name) &&
              !judge(d, a, b->workload, d->work[1], b->variant, "A's answer");
    b->args = b->workload->prepare(d->work[1], b->variant);
    if (*shared) {
        a->args = b->args;
        return NULL;
    }
    wrong = judge(d, a, b->workload, d->work[0], a->variant, "by B's judge, A's answer");
    a->args = b->workload->prepare(d->work[0], a->variant);
    return wrong;
}

/* The process of a side is gone: this one ends as it did, so that its parent says why. */
static void end_as(const struct side *s)
{
    int status = 0;
    while (waitpid(s->process, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(3);
}

static double slice_elsewhere(const struct side *s, uint32_t calls)
{
    double seconds = 0;
    if (write(s->order, &calls, sizeof calls) != sizeof calls ||
        read(s->result, &seconds, sizeof seconds) != sizeof seconds)
        end_as(s);
    return seconds;
}

/* Seconds of `calls` calls, after one that is not timed. */
static double slice(const struct duet *d, const struct side *s, uint32_t calls)
{
    if (s->process) return slice_elsewhere(s, calls);
    const size_t threads = d->job.threads;
    sm_kernel_fn *const fn = s->variant->fn;
    uint64_t begin = 0, end = 0;
    if (threads == 1) {
        const struct sm_part part = s->family->split(&d->job.shape, 1, 0);
        fn(s->args, part);
        begin = sm_clock_ns();
        for (uint32_t i = 0; i < calls; i++) fn(s->args, part);
        end = sm_clock_ns();
        return 1e-9 * (double)(end - begin);
    }
#pragma omp parallel num_threads((int)threads)
    {
        const struct sm_part part = s->family->split(&d->job.shape, threads, (size_t)omp_get_thread_num());
        fn(s->args, part);
#pragma omp barrier
#pragma omp master
        begin = sm_clock_ns();
        for (uint32_t i = 0; i < calls; i++) {
            fn(s->args, part);
#pragma omp barrier
        }
#pragma omp master
        end = sm_clock_ns();
    }
    return 1e-9 * (double)(end - begin);
}

/* Calls that make the slower of the two last as long as a slice should. */
static uint32_t calibrate(const struct duet *d)
{
    uint32_t calls = 1;
    for (;;) {
        const double a = slice(d, &d->side[0], calls), b = slice(d, &d->side[1], calls), slower = a > b ? a : b;
        if (slower >= d->job.slice_s || calls >= 1u << 30) return calls;
        const double more = slower > 0 ? d->job.slice_s / slower * 1.1 : 16;
        calls = (uint32_t)ceil((double)calls * (more > 16 ? 16 : more < 1.5 ? 1.5 : more));
    }
}

static const char *find(struct duet *d, size_t i)
{
    struct side *s = &d->side[i];
    s->family = sm_loaded_family(&s->loaded, d->job.family);
    s->workload = sm_loaded_workload(&s->loaded, d->job.family);
    s->variant = s->family ? sm_loaded_variant(s->family, d->job.variant[i]) : NULL;
    if (!s->variant) return "a build has no such variant";
    if (s->family->dim_count != d->job.dims) return "the axes of the family differ";
    if (s->variant->needs & ~s->loaded.kernels->cpu_features()) return "this CPU cannot run it";
    const char *refused = s->workload->refuse ? s->workload->refuse(&d->job.shape) : NULL;
    if (!refused) return NULL;
    snprintf(d->why, sizeof d->why, "%s", refused);
    return d->why;
}

static int answer(const char *status, const char *why)
{
    printf("%s %s\n", status, why);
    return 0;
}

static void print_pairs(struct duet *d, bool shared)
{
    uint32_t calls = calibrate(d);
    if (d->job.planted > 0) calls = (calls + PLANT_GRAIN - 1) / PLANT_GRAIN * PLANT_GRAIN;
    const uint32_t extra = (uint32_t)(d->job.planted * calls + 0.5);
    const int cpu = sched_getcpu();
    double seconds[SM_DUET_PAIRS_MOST][2];
    size_t pairs = d->job.pairs;
    const double pair = slice(d, &d->side[0], calls) + slice(d, &d->side[1], calls);
    while (pairs > PAIRS_LEAST && pair * (double)pairs > PAIRS_MOST_S) pairs--;
    for (size_t k = 0; k < pairs; k++) {
        const size_t first = sm_random_below(&d->random, 2);
        seconds[k][first] = slice(d, &d->side[first], calls + (first ? extra : 0));
        seconds[k][!first] = slice(d, &d->side[!first], calls + (first ? 0 : extra));
    }
    printf("ok %u %zu %d %d\n", calls, pairs, d->pinned && d->job.threads == 1 && sched_getcpu() != cpu, shared);
    for (size_t k = 0; k < pairs; k++) printf("%.9g %.9g\n", seconds[k][0], seconds[k][1]);
}

static void pin_team(struct duet *d)
{
    char unsaid[128];
    d->pinned = !sm_pin_plan(&d->pin, (int)d->job.threads, unsaid, sizeof unsaid);
    if (!d->pinned) return;
#pragma omp parallel num_threads((int)d->job.threads)
    {
        char ignored[128];
        sm_pin_self(&d->pin, omp_get_thread_num(), ignored, sizeof ignored);
    }
}

static int run_child(struct duet *d)
{
    const size_t first = sm_random_below(&d->random, 2); /* neither is always loaded first */
    for (size_t k = 0; k < 2; k++) {
        const size_t i = k ? !first : first;
        if (sm_kernels_load(&d->side[i].loaded, d->job.object[i], d->job.plugin[i], d->why, sizeof d->why))
            return answer("refused", d->why);
    }
    for (size_t i = 0; i < 2; i++) {
        const char *refused = find(d, i);
        if (refused) return answer("refused", refused);
    }
    for (size_t i = 0; i < 2; i++) d->side[i].loaded.kernels->loosen_guards();
    pin_team(d);
    bool shared = false;
    const char *wrong = judge_alone(d, 0);
    if (!wrong) wrong = judge_alone(d, 1);
    if (!wrong) wrong = prepare_both(d, &shared);
    if (wrong)
        (void)answer("wrong", wrong);
    else
        print_pairs(d, shared);
    for (size_t i = 0; i < 2; i++)
        if (d->work[i]) d->side[1].workload->destroy(d->work[i]);
    return 0;
}

/* One side in a process of its own: loads its build and no other, says whether its answer is right, then runs what it
 * is told to. */
static int serve(struct duet *d, size_t i, int order, int result)
{
    struct side *s = &d->side[i];
    char line[288] = "ok";
    uint32_t calls;
    const bool loaded = !sm_kernels_load(&s->loaded, d->job.object[i], d->job.plugin[i], d->why, sizeof d->why);
    const char *refused = loaded ? find(d, i) : d->why, *wrong = NULL;
    if (!refused) {
        s->loaded.kernels->loosen_guards();
        pin_team(d);
        wrong = judge_alone(d, i);
        d->work[i] = wrong ? NULL : s->workload->create(&d->job.shape, SM_REGIME_RANDOM, d->job.seed);
        s->args = d->work[i] ? s->workload->prepare(d->work[i], s->variant) : NULL;
        if (!wrong && !s->args) wrong = "no memory for its operands";
    }
    if (refused || wrong)
        snprintf(line, sizeof line, "%s %.250s", refused ? "refused" : "wrong", refused ? refused : wrong);
    if (write(result, line, sizeof line) != sizeof line || refused || wrong) return 0;
    while (read(order, &calls, sizeof calls) == sizeof calls) {
        const double seconds = slice(d, s, calls);
        if (write(result, &seconds, sizeof seconds) != sizeof seconds) break;
    }
    s->workload->destroy(d->work[i]);
    return 0;
}

/* Starts the process of a side. 0 or -1. */
static int start(struct duet *d, size_t i)
{
    int order[2], result[2];
    if (pipe2(order, O_CLOEXEC) || pipe2(result, O_CLOEXEC)) return -1;
    const pid_t child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a kernel that hangs is not left behind */
        close(order[1]);
        close(result[0]);
        _exit(serve(d, i, order[0], result[1]));
    }
    close(order[0]);
    close(result[1]);
    d->side[i].process = child;
    d->side[i].order = order[1];
    d->side[i].result = result[0];
    return child < 0 ? -1 : 0;
}

/* Two processes that take turns: for what cannot be loaded twice into one, and where two in one might disturb each
 * other. A side is judged by itself. */
static int run_apart(struct duet *d)
{
    char line[288];
    const size_t first = sm_random_below(&d->random, 2);
    for (size_t k = 0; k < 2; k++) {
        struct side *s = &d->side[k ? !first : first];
        if (start(d, k ? !first : first)) return answer("refused", "no process can be started");
        size_t used = 0;
        for (ssize_t n = 1; used < sizeof line && n > 0; used += n > 0 ? (size_t)n : 0)
            n = read(s->result, line + used, sizeof line - used);
        if (used != sizeof line) end_as(s);
        if (strcmp(line, "ok")) return puts(line) < 0;
    }
    print_pairs(d, false);
    for (size_t i = 0; i < 2; i++) close(d->side[i].order);
    for (size_t i = 0; i < 2; i++) waitpid(d->side[i].process, NULL, 0);
    return 0;
}

/* The arguments: A B PLUGIN_A PLUGIN_B FAMILY VARIANT_A VARIANT_B SEED THREADS SLICE_S PAIRS PLANTED APART DIM...
 * Written by sm_duet_run alone.
 */
int sm_duet_child(int argc, char **argv)
{
    enum { FIXED = 13 };
    struct duet d = {0};
    if (argc < FIXED || argc > FIXED + SM_MAX_DIMS) return 2;
    d.job.object[0] = argv[0];
    d.job.object[1] = argv[1];
    d.job.plugin[0] = argv[2];
    d.job.plugin[1] = argv[3];
    d.job.family = argv[4];
    d.job.variant[0] = argv[5];
    d.job.variant[1] = argv[6];
    d.job.seed = strtoull(argv[7], NULL, 10);
    d.job.threads = (size_t)strtoull(argv[8], NULL, 10);
    d.job.slice_s = strtod(argv[9], NULL);
    d.job.pairs = (size_t)strtoull(argv[10], NULL, 10);
    d.job.planted = strtod(argv[11], NULL);
    d.job.apart = argv[12][0] == '1';
    d.job.dims = (size_t)(argc - FIXED);
    for (size_t i = 0; i < d.job.dims; i++) d.job.shape.dim[i] = strtoll(argv[FIXED + i], NULL, 10);
    if (!d.job.threads || d.job.threads > SM_PIN_MOST || d.job.pairs > SM_DUET_PAIRS_MOST) return 2;
    d.random.state = d.job.seed;
    const int code = d.job.apart ? run_apart(&d) : run_child(&d);
    for (size_t i = 0; i < 2; i++) sm_kernels_unload(&d.side[i].loaded);
    return code;
}
