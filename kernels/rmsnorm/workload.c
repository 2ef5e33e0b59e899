#include <stdlib.h>

#include "random.h"
#include "rmsnorm/rmsnorm.h"
#include "rows_workload.h"
#include "workload.h"

struct work {
    enum sm_regime regime;
    uint64_t seed;
    struct sm_rows_pair pair;
    struct sm_rows w, residual; /* the residual has no rows when there is none */
    int onto_residual;          /* y is the residual */
    struct sm_rmsnorm args;
};

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_rows_pair_destroy(&k->pair);
    sm_rows_destroy(&k->w);
    sm_rows_destroy(&k->residual);
    free(k);
}

/* Exact: one power of two a row, with either sign, so that its mean square is a power of four. */
static void fill(struct work *k, struct sm_random *random)
{
    for (size_t r = 0; r < k->pair.x.rows; r++) {
        const float unit = ldexpf(1, (int)sm_random_below(random, 9) - 4);
        for (size_t c = 0; c < k->pair.x.cols; c++) {
            float *x = sm_rows_at(&k->pair.x, r) + c;
            switch (k->regime) {
            case SM_REGIME_EXACT: *x = sm_random_below(random, 2) ? unit : -unit; break;
            case SM_REGIME_EXTREME: *x = sm_random_extreme(random, 0x1p50f); break;
            default: *x = unit * sm_random_normal(random);
            }
        }
    }
    for (size_t c = 0; c < k->w.cols; c++)
        sm_rows_at(&k->w, 0)[c] =
            k->regime == SM_REGIME_EXACT ? (float)((int)sm_random_below(random, 15) - 7) : 1 + sm_random_unit(random);
}

static void fill_residual(struct work *k, struct sm_random *random)
{
    for (size_t r = 0; r < k->residual.rows; r++)
        for (size_t c = 0; c < k->residual.cols; c++) {
            float *x = sm_rows_at(&k->residual, r) + c;
            switch (k->regime) {
            case SM_REGIME_EXACT: *x = (float)((int)sm_random_below(random, 33) - 16); break;
            case SM_REGIME_EXTREME: *x = sm_random_extreme(random, 0x1p50f); break;
            default: *x = sm_random_normal(random);
            }
        }
    k->args.scale =
        k->regime == SM_REGIME_EXACT ? ldexpf(-1, (int)sm_random_below(random, 5) - 2) : 1 + sm_random_unit(random);
}

static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    const size_t rows = (size_t)shape->dim[SM_RMSNORM_ROWS], cols = (size_t)shape->dim[SM_RMSNORM_COLS];
    k->regime = regime;
    k->seed = seed;
    const size_t residuals = shape->dim[SM_RMSNORM_RESIDUAL] ? rows : 0;
    if (sm_rows_pair_create(&k->pair, rows, cols, regime, seed) || sm_rows_create(&k->w, 1, cols, regime, 0) ||
        (residuals && sm_rows_create(&k->residual, residuals, cols, regime, seed / 2))) {
        destroy(k);
        return NULL;
    }
    struct sm_random random = {seed};
    k->args = (struct sm_rmsnorm){.rows = rows, .cols = cols, .eps = regime == SM_REGIME_EXACT ? 0 : 1e-5f};
    fill(k, &random);
    fill_residual(k, &random);
    sm_rows_seal(&k->pair.x);
    sm_rows_seal(&k->w);
    if (residuals) sm_rows_seal(&k->residual);
    k->onto_residual = residuals && !k->pair.in_place && regime != SM_REGIME_RANDOM && seed / 2 % 2;
    k->args.w = regime != SM_REGIME_RANDOM && seed / 2 % 4 == 0 ? NULL : sm_rows_at(&k->w, 0);
    return k;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    const struct sm_rows *x = sm_rows_pair_prepare(&k->pair);
    k->args.y = sm_rows_at(&k->pair.y, 0);
    k->args.y_stride = k->pair.y.stride;
    k->args.x = sm_rows_at(x, 0);
    k->args.x_stride = x->stride;
    k->args.residual = k->residual.rows ? sm_rows_at(&k->residual, 0) : NULL;
    k->args.residual_stride = k->residual.stride;
    if (k->onto_residual) {
        sm_rows_copy(&k->pair.y, &k->residual);
        k->args.residual = k->args.y;
        k->args.residual_stride = k->args.y_stride;
    }
    return &k->args;
}

/* Of one element: its norm with weight w, and the residual it is added to, or NULL. */
static double judge(const struct work *k, float got, double norm, double w, size_t cols, const float *residual)
{
    double exact = norm, tolerance = (((double)cols + 2) / 2 + 4) * 0x1p-24 * fabs(norm) + 0x1p-149 * fmax(1, fabs(w));
    if (residual) {
        exact = (norm + (double)*residual) * (double)k->args.scale;
        tolerance = tolerance * fabs((double)k->args.scale) + 3 * 0x1p-24 * fabs(exact) + 0x1p-149;
    }
    return sm_judge(got, exact, tolerance, k->regime);
}

static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    const size_t cols = k->args.cols;
    double worst = 0;
    for (size_t r = 0; r < k->args.rows; r++) {
        const float *x = sm_rows_at(&k->pair.x, r), *y = sm_rows_at(&k->pair.y, r);
        double sum = 0;
        for (size_t c = 0; c < cols; c++) sum += (double)x[c] * (double)x[c];
        const double scale = 1 / sqrt(sum / (double)cols + (double)k->args.eps);
        const size_t step = sm_rows_judged_step(&k->pair.y, r);
        for (size_t c = (size_t)(k->seed + r) % step; c < cols; c += step) {
            const double w = k->args.w ? (double)k->args.w[c] : 1;
            const float *residual = k->residual.rows ? sm_rows_at(&k->residual, r) + c : NULL;
            const double e = judge(k, y[c], (double)x[c] * scale * w, w, cols, residual);
            if (e > worst) worst = e;
        }
    }
    return worst;
}

static const char *damage(void *work)
{
    struct work *k = work;
    if (sm_rows_intact(&k->pair.y)) return "wrote outside the output";
    if (sm_rows_changed(&k->pair.x)) return "changed its input";
    if (sm_rows_changed(&k->w)) return "changed its weights";
    if (k->residual.rows && sm_rows_changed(&k->residual)) return "changed its residual";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_RMSNORM_ROWS] * (double)s->dim[SM_RMSNORM_COLS];
}

static double bytes(const struct sm_shape *s)
{
    return (s->dim[SM_RMSNORM_RESIDUAL] ? 12 : 8) * ops(s) + 4 * (double)s->dim[SM_RMSNORM_COLS];
}

SM_ROWS_WORKLOAD(sm_workload_rmsnorm, "rmsnorm", sm_refuse_nothing, bytes);
