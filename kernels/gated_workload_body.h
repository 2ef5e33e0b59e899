/* gated_workload_body.h - the workload of every gated_* family. workload.c of a family defines
 *
 *     GATED_FAMILY       its name, as a string
 *     GATED_WORKLOAD     the symbol of its workload
 *     gated_u(double x)  the u of its activation x / (1 + exp(-u)) (gated.h)
 *
 * and then includes this, once. */
#include <stdlib.h>

#include "gated.h"
#include "random.h"
#include "rows_workload.h"
#include "workload.h"

enum alias { APART, INTO_GATE, INTO_UP, ALIASES };

struct work {
    enum sm_regime regime;
    uint64_t seed;
    enum alias alias; /* APART in the random regime, whose runs repeat */
    struct sm_rows gate, up, y;
    struct sm_gated args;
};

/* Exact: gates at which the activation is 0 or the gate itself; not those where a variant may answer almost 0. */
static float gate_value(struct sm_random *r, enum sm_regime regime)
{
    static const float exact_gates[] = {0, 128, 512, 1024, 100, 192, 130, 256};
    switch (regime) {
    case SM_REGIME_EXACT: return exact_gates[sm_random_below(r, 8)];
    case SM_REGIME_EXTREME: return sm_random_extreme(r, 0x1p120f);
    default: return 4 * sm_random_normal(r);
    }
}

static float up_value(struct sm_random *r, enum sm_regime regime)
{
    switch (regime) {
    case SM_REGIME_EXACT: return (float)((int)sm_random_below(r, 15) - 7);
    case SM_REGIME_EXTREME: return sm_random_extreme(r, 0x1p5f);
    default: return sm_random_normal(r);
    }
}

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_rows_destroy(&k->gate);
    sm_rows_destroy(&k->up);
    sm_rows_destroy(&k->y);
    free(k);
}

static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    const size_t rows = (size_t)shape->dim[SM_GATED_ROWS], cols = (size_t)shape->dim[SM_GATED_COLS];
    k->regime = regime;
    k->seed = seed;
    k->alias = regime == SM_REGIME_RANDOM ? APART : (enum alias)(seed / 3 % ALIASES);
    if (sm_rows_create(&k->gate, rows, cols, regime, seed) || sm_rows_create(&k->up, rows, cols, regime, seed / 2) ||
        sm_rows_create(&k->y, rows, cols, regime, seed / 4)) {
        destroy(k);
        return NULL;
    }
    struct sm_random random = {seed};
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) {
            sm_rows_at(&k->gate, r)[c] = gate_value(&random, regime);
            sm_rows_at(&k->up, r)[c] = up_value(&random, regime);
        }
    sm_rows_seal(&k->gate);
    sm_rows_seal(&k->up);
    return k;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    sm_rows_poison(&k->y);
    if (k->alias == INTO_GATE) sm_rows_copy(&k->y, &k->gate);
    if (k->alias == INTO_UP) sm_rows_copy(&k->y, &k->up);
    const struct sm_rows *gate = k->alias == INTO_GATE ? &k->y : &k->gate;
    const struct sm_rows *up = k->alias == INTO_UP ? &k->y : &k->up;
    k->args = (struct sm_gated){.y = sm_rows_at(&k->y, 0),
                                .y_stride = k->y.stride,
                                .gate = sm_rows_at(gate, 0),
                                .gate_stride = gate->stride,
                                .up = sm_rows_at(up, 0),
                                .up_stride = up->stride,
                                .rows = k->y.rows,
                                .cols = k->y.cols};
    return &k->args;
}

static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    double worst = 0;
    for (size_t r = 0; r < k->args.rows; r++) {
        const float *gate = sm_rows_at(&k->gate, r), *up = sm_rows_at(&k->up, r), *y = sm_rows_at(&k->y, r);
        const size_t step = sm_rows_judged_step(&k->y, r);
        for (size_t c = (size_t)(k->seed + r) % step; c < k->args.cols; c += step) {
            const double x = (double)gate[c], u = gated_u(x), exact = x / (1 + exp(-u)) * (double)up[c];
            const double tolerance =
                (8 + 8 * fabs(u)) * 0x1p-24 * fabs(exact) + 0x1p-100 * fabs((double)up[c]) + 0x1p-149;
            const double e = sm_judge(y[c], exact, tolerance, k->regime);
            if (e > worst) worst = e;
        }
    }
    return worst;
}

static const char *damage(void *work)
{
    struct work *k = work;
    if (sm_rows_intact(&k->y)) return "wrote outside the output";
    if (sm_rows_changed(&k->gate)) return "changed the gate";
    if (sm_rows_changed(&k->up)) return "changed its other input";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_GATED_ROWS] * (double)s->dim[SM_GATED_COLS];
}

static double bytes(const struct sm_shape *s)
{
    return 12 * ops(s);
}

SM_ROWS_WORKLOAD(GATED_WORKLOAD, GATED_FAMILY, sm_refuse_nothing, bytes);
