#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "mask_build/mask_build.h"
#include "random.h"
#include "workload.h"

#define ROW_PADDING 3 /* floats after each row that no kernel may touch */

struct work {
    struct sm_guarded mask;
    struct sm_mask_build args;
};

static size_t past_of(const struct sm_shape *s)
{
    return (size_t)(s->dim[SM_MASK_BUILD_MAX_SEQ] - s->dim[SM_MASK_BUILD_ROWS]);
}

static const char *refuse(const struct sm_shape *s)
{
    if (s->dim[SM_MASK_BUILD_ROWS] > s->dim[SM_MASK_BUILD_MAX_SEQ]) return "rows is larger than max_seq";
    if (s->dim[SM_MASK_BUILD_VALID] > (int64_t)past_of(s)) return "valid is larger than the past, max_seq - rows";
    return NULL;
}

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_guarded_destroy(&k->mask);
    free(k);
}

/* RANDOM has all rows real, as a benchmark should; the others pad, on the right or (in prefill) on the left. */
static void *create(const struct sm_shape *s, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    struct sm_random r = {seed};
    const size_t rows = (size_t)s->dim[SM_MASK_BUILD_ROWS], past = past_of(s);
    const int64_t valid = s->dim[SM_MASK_BUILD_VALID];
    struct sm_mask_build *a = &k->args;
    *a = (struct sm_mask_build){.mask_stride = past + rows + ROW_PADDING,
                                .rows = rows,
                                .past = past,
                                .past_valid = valid < 0 ? past : (size_t)valid,
                                .valid = rows,
                                .window = (size_t)s->dim[SM_MASK_BUILD_WINDOW],
                                .fill = -120};
    if (regime != SM_REGIME_RANDOM) a->valid = 1 + sm_random_below(&r, (uint32_t)rows);
    if (regime == SM_REGIME_EXTREME) {
        a->fill = -3.4028235e38f;
        if (past == 0) a->begin = rows - a->valid;
    }
    if (sm_guarded_create(&k->mask, rows * a->mask_stride * sizeof(float), 4)) {
        destroy(k);
        return NULL;
    }
    a->mask = k->mask.data;
    return k;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    sm_guarded_poison(&k->mask);
    return &k->args;
}

/* Positions as the contract counts them, so that this is a second opinion and not the kernel's own loop: a past
 * slot j is the token at position j, row i of the call the one at past_valid + i - begin. */
static int allowed(const struct sm_mask_build *a, size_t i, size_t column)
{
    const int64_t begin = (int64_t)a->begin, real_end = (int64_t)(a->begin + a->valid), row = (int64_t)i;
    const int64_t position = (int64_t)a->past_valid + row - begin;
    if (row < begin || row >= real_end) return 0;
    int64_t key;
    if (column < a->past) {
        if (column >= a->past_valid) return 0;
        key = (int64_t)column;
    } else {
        const int64_t j = (int64_t)(column - a->past);
        if (j < begin || j >= real_end) return 0;
        key = (int64_t)a->past_valid + j - begin;
    }
    return key <= position && (a->window == 0 || position - key < (int64_t)a->window);
}

static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    const struct work *k = work;
    const struct sm_mask_build *a = &k->args;
    for (size_t i = 0; i < a->rows; i++)
        for (size_t column = 0; column < a->past + a->rows; column++) {
            const float want = allowed(a, i, column) ? 0 : a->fill, got = a->mask[i * a->mask_stride + column];
            if (memcmp(&want, &got, sizeof want)) return INFINITY;
        }
    return 0;
}

static const char *damage(void *work)
{
    static const uint8_t poison[ROW_PADDING * sizeof(float)] = {255, 255, 255, 255, 255, 255,
                                                                255, 255, 255, 255, 255, 255};
    struct work *k = work;
    const struct sm_mask_build *a = &k->args;
    if (sm_guarded_intact(&k->mask)) return "wrote outside the mask";
    for (size_t i = 0; i < a->rows; i++)
        if (memcmp(a->mask + i * a->mask_stride + a->past + a->rows, poison, sizeof poison))
            return "wrote between the rows of the mask";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_MASK_BUILD_ROWS] * (double)s->dim[SM_MASK_BUILD_MAX_SEQ];
}

static double bytes(const struct sm_shape *s)
{
    return ops(s) * sizeof(float);
}

static size_t footprint(const struct sm_shape *s)
{
    return (size_t)bytes(s);
}

const struct sm_workload sm_workload_mask_build = {
    .family = "mask_build",
    .refuse = refuse,
    .create = create,
    .prepare = prepare,
    .error = error,
    .damage = damage,
    .ops = ops,
    .bytes = bytes,
    .ops_unit = "elements",
    .footprint = footprint,
    .destroy = destroy,
};
