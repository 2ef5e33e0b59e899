/* rows_workload.h - matrices of floats as guarded operands, and what workloads on them share. For workloads only.
 *
 * Random operands lie densely and 64-byte aligned, as in a model. The other regimes have odd strides, whose gaps
 * hold poison that no kernel may touch, and begin at any multiple of four bytes. */
#ifndef SM_ROWS_WORKLOAD_H
#define SM_ROWS_WORKLOAD_H

#include <math.h>
#include <string.h>

#include "guard.h"
#include "random.h"
#include "workload.h"

struct sm_rows {
    struct sm_guarded memory;
    size_t rows, cols, stride; /* in floats */
    uint64_t hash;             /* of an input, once sealed */
};

static inline float *sm_rows_at(const struct sm_rows *m, size_t r)
{
    return (float *)m->memory.data + r * m->stride;
}

static inline void sm_rows_poison(struct sm_rows *m)
{
    sm_guarded_poison(&m->memory);
}

/* Contents are poison. 0 on success, -1 when there is no memory. */
static inline int sm_rows_create(struct sm_rows *m, size_t rows, size_t cols, enum sm_regime regime, uint64_t seed)
{
    const size_t gap = regime == SM_REGIME_RANDOM ? 0 : (size_t)(seed % 5);
    *m = (struct sm_rows){.rows = rows, .cols = cols, .stride = cols + gap};
    if (sm_guarded_create(&m->memory, rows * m->stride * sizeof(float), regime == SM_REGIME_RANDOM ? 64 : 4)) return -1;
    sm_rows_poison(m);
    return 0;
}

static inline void sm_rows_copy(struct sm_rows *to, const struct sm_rows *from)
{
    for (size_t r = 0; r < from->rows; r++) memcpy(sm_rows_at(to, r), sm_rows_at(from, r), from->cols * sizeof(float));
}

static inline void sm_rows_destroy(struct sm_rows *m)
{
    sm_guarded_destroy(&m->memory);
}

/* 0 when neither the guard bytes nor the gaps between the rows were changed. */
static inline int sm_rows_intact(const struct sm_rows *m)
{
    if (sm_guarded_intact(&m->memory)) return -1;
    for (size_t r = 0; r < m->rows; r++)
        for (size_t c = m->cols; c < m->stride; c++) {
            uint32_t bits;
            memcpy(&bits, sm_rows_at(m, r) + c, sizeof bits);
            if (bits != UINT32_MAX) return -1;
        }
    return 0;
}

/* Remembers what an input holds, once it is filled. */
static inline void sm_rows_seal(struct sm_rows *m)
{
    m->hash = sm_guarded_hash(&m->memory);
}

/* 0 when a sealed input is as it was, and so is what lies around it. */
static inline int sm_rows_changed(const struct sm_rows *m)
{
    return sm_rows_intact(m) || sm_guarded_hash(&m->memory) != m->hash;
}

/* The operands of a kernel that turns x into y of the same size, where y may be x. */
struct sm_rows_pair {
    struct sm_rows x, y;
    int in_place; /* not in the random regime, whose runs repeat */
};

/* p is zeroed. 0 on success, -1 when there is no memory; to be destroyed in both cases. */
static inline int sm_rows_pair_create(struct sm_rows_pair *p, size_t rows, size_t cols, enum sm_regime regime,
                                      uint64_t seed)
{
    p->in_place = regime != SM_REGIME_RANDOM && seed % 2;
    if (sm_rows_create(&p->x, rows, cols, regime, seed)) return -1;
    return sm_rows_create(&p->y, rows, cols, regime, seed / 2);
}

/* The x that the kernel is to read; y holds a copy of x when it is that, else poison. */
static inline const struct sm_rows *sm_rows_pair_prepare(struct sm_rows_pair *p)
{
    sm_rows_poison(&p->y);
    if (!p->in_place) return &p->x;
    sm_rows_copy(&p->y, &p->x);
    return &p->y;
}

static inline void sm_rows_pair_destroy(struct sm_rows_pair *p)
{
    sm_rows_destroy(&p->x);
    sm_rows_destroy(&p->y);
}

/* The step between the judged columns of row r: all of the first and the last row, and everything in a matrix of
 * up to SM_JUDGED_OPS elements; else a sample. */
static inline size_t sm_rows_judged_step(const struct sm_rows *m, size_t r)
{
    return r == 0 || r + 1 == m->rows || (double)m->rows * (double)m->cols <= SM_JUDGED_OPS ? 1 : 61;
}

/* The error of one float in units of its tolerance: 0 when it is the exact value rounded, infinite when it is
 * not finite or the regime allows no error. */
static inline double sm_judge(float got, double exact, double tolerance, enum sm_regime regime)
{
    if (got == (float)exact) return 0;
    const double off = fabs((double)got - exact);
    if (regime == SM_REGIME_EXACT || !(off < INFINITY)) return INFINITY;
    return off / tolerance;
}

/* The first of the largest of x. */
static inline size_t sm_rows_largest(const float *x, size_t cols)
{
    size_t best = 0;
    for (size_t c = 1; c < cols; c++)
        if (x[c] > x[best]) best = c;
    return best;
}

/* Magnitudes that kernels get wrong, each with either sign: zeros, denormals, ties, and `largest`. */
static inline float sm_random_extreme(struct sm_random *r, float largest)
{
    const float odd[] = {0, 1, 0x1p-149f, 0x1.fffffcp-127f, 0x1p-126f, 1e-15f, 1e15f, 88.7f, 104.5f, 0.625f, largest};
    float x = odd[sm_random_below(r, sizeof odd / sizeof *odd)];
    if (x > largest) x = largest;
    return sm_random_below(r, 2) ? -x : x;
}

/* A finite half: any bits in the extreme regime, else of magnitude 2^-8 to 2^-1. */
static inline uint16_t sm_random_half(enum sm_regime regime, struct sm_random *r)
{
    const uint16_t bits = (uint16_t)sm_random_u64(r);
    if (regime == SM_REGIME_EXTREME) return (bits & 0x7c00) == 0x7c00 ? bits & 0x83ff : bits;
    return (uint16_t)((bits & 0x83ff) | (7 + sm_random_below(r, 8)) << 10);
}

static inline const char *sm_refuse_nothing(const struct sm_shape *shape)
{
    (void)shape;
    return NULL;
}

/* Defines the workload `symbol` of the family `name` whose file has create, prepare, error, damage, ops, bytes and
 * destroy; ops counts elements. held: says what an instance's operands take, as `bytes` does where a call moves all. */
#define SM_ROWS_WORKLOAD(symbol, name, refuse_, held)                                                                  \
    static size_t footprint(const struct sm_shape *shape)                                                              \
    {                                                                                                                  \
        return (size_t)held(shape);                                                                                    \
    }                                                                                                                  \
    const struct sm_workload symbol = {                                                                                \
        .family = name,                                                                                                \
        .refuse = refuse_,                                                                                             \
        .create = create,                                                                                              \
        .prepare = prepare,                                                                                            \
        .error = error,                                                                                                \
        .damage = damage,                                                                                              \
        .ops = ops,                                                                                                    \
        .bytes = bytes,                                                                                                \
        .ops_unit = "elements",                                                                                        \
        .footprint = footprint,                                                                                        \
        .destroy = destroy,                                                                                            \
    }

#endif
