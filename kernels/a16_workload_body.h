/* a16_workload_body.h - the workload of the families that make int16 rows (quant.h, struct sm_a16). workload.c of a
 * family defines
 *
 *     A16_FAMILY           its name, as a string
 *     A16_WORKLOAD         the symbol of its workload
 *     A16_ARGS             the type of its arguments
 *     A16_ELEMENT          what an x is
 *     set_scales(args, regime, r), value(args, regime, r)    scales; then an x under them
 *     factor_of(args)      what an x is multiplied by
 *
 * and then includes this, once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "rows_workload.h"

struct work {
    struct sm_guarded x, q, sum;
    uint64_t x_hash;
    A16_ARGS args;
};

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_guarded_destroy(&k->x);
    sm_guarded_destroy(&k->q);
    sm_guarded_destroy(&k->sum);
    free(k);
}

/* Outside the random regime some calls ask for no sums. */
static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    /* random operands lie densely and aligned, as in a model */
    const size_t rows = (size_t)shape->dim[0], cols = (size_t)shape->dim[1], dense = regime == SM_REGIME_RANDOM;
    const size_t stride = cols + (!dense && seed & 1 ? 3 : 0);
    const int sums = regime == SM_REGIME_RANDOM || seed % 3;
    struct sm_random r = {seed};
    k->args.rows = rows;
    k->args.cols = cols;
    k->args.x_stride = stride;
    set_scales(&k->args, regime, &r);
    if (sm_guarded_create(&k->x, rows * stride * sizeof(A16_ELEMENT), dense ? 64 : sizeof(A16_ELEMENT)) ||
        sm_guarded_create(&k->q, rows * cols * sizeof(int16_t), dense ? 64 : sizeof(int16_t)) ||
        sm_guarded_create(&k->sum, rows * sizeof(int64_t), sizeof(int64_t))) {
        destroy(k);
        return NULL;
    }
    A16_ELEMENT *x = k->x.data;
    for (size_t i = 0; i < rows * stride; i++) x[i] = value(&k->args, regime, &r);
    k->x_hash = sm_guarded_hash(&k->x);
    k->args.x = x;
    k->args.out.q = k->q.data;
    k->args.out.sum = sums ? k->sum.data : NULL;
    return k;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    sm_guarded_poison(&k->sum);
    memset(k->q.data, 0x80, k->q.bytes); /* -32640: 0xff would be -1, which answers hold often */
    return &k->args;
}

/* The header's formula, said once more. */
static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    const struct work *k = work;
    const A16_ARGS *a = &k->args;
    for (size_t r = 0; r < a->rows; r++) {
        double sum = 0;
        for (size_t c = 0; c < a->cols; c++) {
            const float x = (float)a->x[r * a->x_stride + c];
            const float right = nearbyintf(fmaxf(fminf(x * factor_of(a), 32767.0f), -32768.0f));
            if ((float)a->out.q[r * a->cols + c] != right) return INFINITY;
            sum += (double)right;
        }
        if (a->out.sum && (double)a->out.sum[r] != sum) return INFINITY;
    }
    return 0;
}

static const char *damage(void *work)
{
    struct work *k = work;
    if (sm_guarded_intact(&k->q) || sm_guarded_intact(&k->sum)) return "wrote outside the output";
    for (size_t i = 0; !k->args.out.sum && i < k->sum.bytes; i++)
        if (((const uint8_t *)k->sum.data)[i] != 0xff) return "wrote sums that were not asked for";
    if (sm_guarded_intact(&k->x) || sm_guarded_hash(&k->x) != k->x_hash) return "changed its input";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[0] * (double)s->dim[1];
}

static double bytes(const struct sm_shape *s)
{
    return ops(s) * (sizeof(A16_ELEMENT) + sizeof(int16_t)) + (double)s->dim[0] * sizeof(int64_t);
}

SM_ROWS_WORKLOAD(A16_WORKLOAD, A16_FAMILY, sm_refuse_nothing, bytes);
