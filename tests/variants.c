/* Every variant of every family against its reference, through the family's workload alone.
 *
 *     test_variants [family [variant]]      SM_SEED sets the seed; SM_SHAPES how many shapes (150); SM_LONG=1: 3000;
 *                                          SM_LOOSE=1: operands do not end at an inaccessible page
 *
 * A crash, a wild write or a wrong answer names family, variant, regime and shape. The last line counts what
 * ran natively, through an emulating header, and not at all. Exit status 77: this CPU lacks SLOTMARK_CPU's level. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu.h"
#include "guard.h"
#include "random.h"
#include "registry.h"
#include "workload.h"

#define LONG 8288 /* inputs: more than any piece that a kernel cuts them into; 259 groups of 32 */

static char doing[512]; /* what a fault interrupted */
static int failures, checks;

static void on_fault(int sig)
{
    static const char text[] = "\nFAULT in ";
    if (write(2, text, sizeof text - 1) < 0 || write(2, doing, strlen(doing)) < 0 || write(2, "\n", 1) < 0) _exit(3);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void describe(const struct sm_family *f, const struct sm_variant *v, int regime, const struct sm_shape *shape,
                     size_t threads)
{
    static const char *const regimes[] = {"random", "exact", "extreme"};
    int n = snprintf(doing, sizeof doing, "%s/%s %s", f->name, v->name, regimes[regime]);
    for (size_t d = 0; d < f->dim_count && n < (int)sizeof doing; d++)
        n += snprintf(doing + n, sizeof doing - (size_t)n, " %s=%lld", f->dims[d].name, (long long)shape->dim[d]);
    if (n < (int)sizeof doing) snprintf(doing + n, sizeof doing - (size_t)n, " parts=%zu", threads);
}

static void fail(const char *what)
{
    failures++;
    fprintf(stderr, "FAIL %s: %s\n", doing, what);
}

static void check_one(const struct sm_family *f, const struct sm_workload *w, const struct sm_variant *v, int regime,
                      const struct sm_shape *shape, uint64_t seed, size_t parts)
{
    describe(f, v, regime, shape, parts);
    void *work = w->create(shape, (enum sm_regime)regime, seed);
    if (!work) {
        fail("no memory");
        return;
    }
    const void *args = w->prepare(work, v);
    if (!args) {
        fail("cannot prepare");
    } else {
        /* parts in reverse: none may rely on an earlier one */
        for (size_t i = parts; i-- > 0;) v->fn(args, f->split(shape, parts, i));
        const double error = w->error(work, v);
        const char *damage = w->damage(work);
        char text[64];
        checks++;
        if (!(error <= 1)) {
            snprintf(text, sizeof text, "error is %g tolerances", error);
            fail(text);
        }
        if (damage) fail(damage);
    }
    w->destroy(work);
}

/* Small shapes around every size a kernel may cut at, drawn for each axis from values near powers of two. */
static int64_t draw(struct sm_random *r, const struct sm_dim *d, int64_t small_most)
{
    static const int64_t near[] = {-1, 0, 0, 1};
    const int64_t most = d->most < small_most ? d->most : small_most;
    int64_t value = (int64_t)1 << sm_random_below(r, 8);
    value += near[sm_random_below(r, 4)];
    if (sm_random_below(r, 3) == 0) value = d->least + (int64_t)sm_random_below(r, 40);
    if (value < d->least) value = d->least;
    if (value > most) value = most;
    return value;
}

static void check_variant(const struct sm_family *f, const struct sm_workload *w, const struct sm_variant *v,
                          uint64_t seed, int shapes)
{
    struct sm_random r = {seed ^ 0xf00d};
    struct sm_shape usual = {{0}};
    for (size_t d = 0; d < f->dim_count; d++) usual.dim[d] = f->dims[d].standard;
    for (int regime = 0; regime < SM_REGIME_COUNT && !w->refuse(&usual); regime++)
        check_one(f, w, v, regime, &usual, seed, 2);
    for (int n = 0; n < shapes; n++) {
        struct sm_shape shape = {{0}};
        int tries = 0;
        do {
            for (size_t d = 0; d < f->dim_count; d++) {
                shape.dim[d] = draw(&r, &f->dims[d], 256);
                if (sm_random_below(&r, 4) == 0)
                    shape.dim[d] = f->dims[d].standard < 512 ? f->dims[d].standard : f->dims[d].least;
            }
        } while (w->refuse(&shape) && ++tries < 10000);
        if (w->refuse(&shape)) {
            snprintf(doing, sizeof doing, "%s", f->name);
            fail("no legal small shape found in 10000 draws");
            return;
        }
        static const size_t parts[] = {1, 2, 3, 7};
        check_one(f, w, v, n % SM_REGIME_COUNT, &shape, seed + (uint64_t)n, parts[sm_random_below(&r, 4)]);
    }
}

/* Matrices of many inputs, few, and more rows than a kernel takes at once, and several tiles of channels. */
static void check_long(const struct sm_family *f, const struct sm_workload *w, const struct sm_variant *v,
                       uint64_t seed)
{
    static const int64_t rows[] = {1, 2, 7, 33};
    if (sm_dim_index(f, "in") < 0) return;
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        struct sm_shape shape = {{0}};
        shape.dim[sm_dim_index(f, "rows")] = rows[n];
        shape.dim[sm_dim_index(f, "out")] = 70;
        shape.dim[sm_dim_index(f, "in")] = LONG;
        check_one(f, w, v, (int)(n % SM_REGIME_COUNT), &shape, seed + n, 2);
    }
}

int main(int argc, char **argv)
{
    const char *seed_text = getenv("SM_SEED"), *more = getenv("SM_LONG"), *count = getenv("SM_SHAPES");
    const uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : 1;
    const int shapes = more && *more == '1' ? 3000 : count ? atoi(count) : 150;
    int native = 0, emulated = 0, absent = 0, found = 0;
    if (sm_cpu_check()) {
        printf("not run: %s\n", sm_cpu_check());
        return 77;
    }
    if (getenv("SM_LOOSE")) sm_guarded_loosen();
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    signal(SIGILL, on_fault);
    signal(SIGFPE, on_fault);
    for (size_t i = 0; i < sm_family_count(); i++) {
        const struct sm_family *f = sm_family_at(i);
        const struct sm_workload *w = sm_workload_named(f->name);
        if (argc > 1 && strcmp(argv[1], f->name)) continue;
        for (size_t j = 0; j < f->variant_count; j++) {
            const struct sm_variant *v = &f->variants[j];
            if (argc > 2 && strcmp(argv[2], v->name)) continue;
            found++;
#if defined(SM_EMULATED)
            if (!v->needs) continue; /* has nothing to emulate */
#endif
            if (v->needs & ~sm_cpu_features()) {
                absent++;
                printf("not run: %s/%s needs %s\n", f->name, v->name, v->isa);
                continue;
            }
#if defined(SM_EMULATED)
            emulated++;
#else
            native++;
#endif
            const int failed = failures;
            check_variant(f, w, v, seed, shapes);
            check_long(f, w, v, seed);
            printf("%s %s/%s\n", failures == failed ? "ok  " : "FAIL", f->name, v->name);
            fflush(stdout);
        }
    }
    printf("%d checks with seed %llu, %d failures; variants: %d native, %d emulated, %d not run\n", checks,
           (unsigned long long)seed, failures, native, emulated, absent);
    return failures || !found;
}
