/* rows_workload.h - matrices of floats as guarded operands, and the judging of one float. For workloads only.
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

/* The step between the judged columns of row r: all of the first and the last row, and everything in a matrix of
 * up to 2^27 elements; else a sample. */
static inline size_t sm_rows_judged_step(const struct sm_rows *m, size_t r)
{
    return r == 0 || r + 1 == m->rows || (double)m->rows * (double)m->cols <= 0x1p27 ? 1 : 61;
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

#endif
