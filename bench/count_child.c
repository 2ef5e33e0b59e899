/* The child under callgrind: FAMILY VARIANT VALUE,... THREADS SEED SWEEP_BYTES, the last 0 for hot. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"
#include "count_region.h"
#include "cpu.h"
#include "instances.h"
#include "rates.h"

#define WARM_CALLS 2
#define SWEEP_STEP 16 /* bytes: no line is shorter */

#ifdef SM_CALLGRIND_POSSIBLE
/* rdi: args; rsi: fn, since a struct of four words goes onto the stack. */
__asm__(".pushsection .text\n"
        ".p2align 6\n"
        ".globl sm_count_warm\n"
        ".hidden sm_count_warm\n"
        ".type sm_count_warm, @function\n"
        "sm_count_warm:\n"
        "    jmp *%rsi\n"
        ".size sm_count_warm, . - sm_count_warm\n"
        ".p2align 4\n"
        ".globl sm_count_region\n"
        ".hidden sm_count_region\n"
        ".type sm_count_region, @function\n"
        "sm_count_region:\n"
        "    jmp *%rsi\n"
        ".size sm_count_region, . - sm_count_region\n"
        ".popsection\n");
#else
void sm_count_warm(const void *args, struct sm_part part, sm_kernel_fn *fn)
{
    fn(args, part);
}
void sm_count_region(const void *args, struct sm_part part, sm_kernel_fn *fn)
{
    fn(args, part);
}
#endif

static int complain(const char *what, const char *word)
{
    fprintf(stderr, "counting a kernel: %s '%s'\n", what, word);
    return 2;
}

static int number(const char *word, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(word, &end, 10);
    return errno || end == word || *end || *word == '-' ? -1 : 0;
}

static int shape_of(const struct sm_family *family, const char *word, struct sm_shape *shape)
{
    for (size_t d = 0; d < family->dim_count; d++) {
        char *end;
        errno = 0;
        shape->dim[d] = strtoll(word, &end, 10);
        if (errno || end == word || *end != (d + 1 < family->dim_count ? ',' : 0)) return -1;
        if (shape->dim[d] < family->dims[d].least || shape->dim[d] > family->dims[d].most) return -1;
        word = end + 1;
    }
    return 0;
}

/* Reads so much that the least recently used of every simulated level is gone. */
static void sweep(const volatile char *area, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += SWEEP_STEP) (void)area[i];
}

static void count_part(const struct sm_bench_case *c, const void *args, size_t thread, const char *area, size_t bytes)
{
    const struct sm_part part = c->family->split(&c->shape, c->threads, thread);
    for (int i = 0; i < WARM_CALLS; i++) sm_count_warm(args, part, c->variant->fn);
    sweep(area, bytes);
    sm_count_region(args, part, c->variant->fn);
}

/* The case that the words say. 0, or an exit code. */
static int read_case(char *const *words, size_t count, struct sm_bench_case *c, uint64_t *sweep_bytes)
{
    uint64_t threads;
    if (count != 6) return complain("it takes six words, not these, from", count ? words[0] : "");
    c->family = sm_family_named(words[0]);
    c->workload = sm_workload_named(words[0]);
    if (!c->family || !c->workload) return complain("there is no family", words[0]);
    c->variant = sm_variant_named(c->family, words[1]);
    if (!c->variant) return complain("the family has no variant", words[1]);
    if (c->variant->needs & ~sm_cpu_features()) {
        complain("the CPU that valgrind shows lacks what it needs:", c->variant->isa);
        return SM_CALLGRIND_EXIT_REFUSED;
    }
    if (shape_of(c->family, words[2], &c->shape) || c->workload->refuse(&c->shape))
        return complain("the family has no such shape:", words[2]);
    if (number(words[3], &threads) || threads < 1 || threads > SM_TEAM_MOST) return complain("no team:", words[3]);
    c->threads = (size_t)threads;
    if (number(words[4], &c->seed)) return complain("no seed:", words[4]);
    if (number(words[5], sweep_bytes) || *sweep_bytes > SIZE_MAX / 2) return complain("no size:", words[5]);
    return 0;
}

int sm_count_child(char *const *words, size_t count)
{
    struct sm_bench_case c = {.family = NULL};
    struct sm_instances set = {0};
    char why[320];
    uint64_t bytes = 0;
    const int bad = read_case(words, count, &c, &bytes);
    if (bad) return bad;
    char *area = calloc(1, bytes ? (size_t)bytes : 1);
    int code = 2;
    if (!area) {
        complain("no memory to sweep the caches with:", words[5]);
    } else if (sm_instances_create(&set, &c, NAN, NAN, NAN, why, sizeof why) || sm_instances_prepare(&set)) {
        complain("no memory for the operands of", words[1]);
    } else {
        /* in one thread: another one, on its way to sleep, would take lines of the simulated caches */
        for (size_t i = 0; i < c.threads; i++) count_part(&c, set.args[0], i, area, (size_t)bytes);
        printf("%s/%s\n", c.family->name, c.variant->name);
        code = 0;
    }
    sm_instances_destroy(&set);
    free(area);
    return code;
}
