/* Planted faults: for each a broken kernel that the workload of its family must find, in error or damage.
 *
 * Most are the reference called with one argument wrong; a fault that passes in every regime fails the test. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "argmax/argmax.h"
#include "cache_write_f16/cache_write_f16.h"
#include "cache_write_f32/cache_write_f32.h"
#include "cache_write_i16/cache_write_i16.h"
#include "cache_write_i8/cache_write_i8.h"
#include "embedding_f32/embedding_f32.h"
#include "embedding_q4_0/embedding_q4_0.h"
#include "embedding_q4_1/embedding_q4_1.h"
#include "embedding_q8_0/embedding_q8_0.h"
#include "gated_gelu/gated_gelu.h"
#include "gated_silu/gated_silu.h"
#include "kv_concat/kv_concat.h"
#include "quant.h"
#include "quantise_a16/quantise_a16.h"
#include "requantise/requantise.h"
#include "rmsnorm/rmsnorm.h"
#include "rope/rope.h"
#include "softcap_argmax/softcap_argmax.h"
#include "softcap_f32/softcap_f32.h"
#include "workload.h"

/* Defines the fault `name`: the kernel `run` with its arguments `a` after `change`. Off by one goes down: below an
 * operand lie guard bytes, above it a page that faults. */
#define FAULT(name, type, run, change)                                                                                 \
    static void name(const void *args, struct sm_part part)                                                            \
    {                                                                                                                  \
        type changed = *(const type *)args, *a = &changed;                                                             \
        change;                                                                                                        \
        run(a, part);                                                                                                  \
    }

FAULT(softcap_scale, struct sm_softcap_f32, sm_softcap_f32_ref, a->cap *= 1.00001f)
FAULT(softcap_column, struct sm_softcap_f32, sm_softcap_f32_ref, a->x--)
FAULT(softcap_last_block, struct sm_softcap_f32, sm_softcap_f32_ref, part.col_end -= 16)
FAULT(softcap_absent, struct sm_softcap_f32, sm_softcap_f32_ref, a->cap = 0x1p60f)
FAULT(softcap_argmax_last_block, struct sm_softcap_argmax, sm_softcap_argmax_ref, a->cols -= 16)

/* The first of the largest y: where tanh saturates that is not the largest x. */
static void softcap_argmax_of_y(const void *args, struct sm_part part)
{
    const struct sm_softcap_argmax *a = args;
    sm_softcap_argmax_ref(args, part);
    const struct sm_argmax of_y = {
        .index = a->index, .x = a->y, .x_stride = a->y_stride, .rows = a->rows, .cols = a->cols};
    sm_argmax_ref(&of_y, part);
}

FAULT(argmax_last_column, struct sm_argmax, sm_argmax_ref, a->cols--)
FAULT(argmax_off_by_one, struct sm_argmax, sm_argmax_ref, (a->x++, a->cols--))

static void argmax_last_of_equals(const void *args, struct sm_part part)
{
    const struct sm_argmax *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        size_t best = 0;
        for (size_t c = 1; c < a->cols; c++)
            if (x[c] >= x[best]) best = c;
        a->index[r] = (int32_t)best;
    }
}

#define CACHE_FAULTS(type, layout)                                                                                     \
    FAULT(type##_slot_above##layout, struct sm_cache_write, sm_cache_write_##type##_ref##layout, a->slot++)            \
    FAULT(type##_slot_below##layout, struct sm_cache_write, sm_cache_write_##type##_ref##layout, a->slot--)            \
    FAULT(type##_row##layout, struct sm_cache_write, sm_cache_write_##type##_ref##layout, a->first = 0)                \
    FAULT(type##_last_block##layout, struct sm_cache_write, sm_cache_write_##type##_ref##layout, part.row_end -= 8)    \
    FAULT(type##_one_more##layout, struct sm_cache_write, sm_cache_write_##type##_ref##layout,                         \
          (a->x -= a->x_stride, a->slot--, part.row_end++))                                                            \
    FAULT(type##_column##layout, struct sm_cache_write, sm_cache_write_##type##_ref##layout, a->x--)                   \
    FAULT(type##_head##layout, struct sm_cache_write, sm_cache_write_##type##_ref##layout,                             \
          a->head_stride = a->slots * a->head_dim)
FAULT(concat_last_column, struct sm_kv_concat, sm_kv_concat_ref, part.row_end--)
FAULT(concat_past_slot, struct sm_kv_concat, sm_kv_concat_ref,
      a->past.data = (const char *)a->past.data - a->head_dim * a->element_bytes)
FAULT(concat_past_head, struct sm_kv_concat, sm_kv_concat_ref, a->past.head_stride = a->past_rows * a->head_dim)
FAULT(concat_out_head, struct sm_kv_concat, sm_kv_concat_ref, a->out_stride = 40 * a->head_dim)

static void concat_segments_swapped(const void *args, struct sm_part part)
{
    struct sm_kv_concat a = *(const struct sm_kv_concat *)args;
    const struct sm_kv past = a.past;
    const size_t past_rows = a.past_rows;
    a.past = a.now, a.past_rows = a.now_rows;
    a.now = past, a.now_rows = past_rows;
    sm_kv_concat_ref(&a, part);
}

FAULT(concat_scale_head, struct sm_kv_concat, sm_kv_concat_ref, a->out_scale_stride = 40)
FAULT(concat_no_scale, struct sm_kv_concat, sm_kv_concat_ref, a->out_scale = NULL)

CACHE_FAULTS(f32, )
CACHE_FAULTS(f32, _transposed)
CACHE_FAULTS(f32, _blocks16)
CACHE_FAULTS(f16, )
CACHE_FAULTS(f16, _transposed)
CACHE_FAULTS(f16, _blocks16)
CACHE_FAULTS(i8, )
CACHE_FAULTS(i8, _transposed)
CACHE_FAULTS(i8, _blocks16)
CACHE_FAULTS(i16, )
CACHE_FAULTS(i16, _transposed)
CACHE_FAULTS(i16, _blocks16)

/* What happens to the elements and the scale of each slot after a right write; v is the stored element. */
#define AFTER_WRITE(name, type, element, change)                                                                       \
    static void name(const void *args, struct sm_part part)                                                            \
    {                                                                                                                  \
        const struct sm_cache_write *a = args;                                                                         \
        sm_cache_write_##type##_ref(args, part);                                                                       \
        for (size_t g = part.col_begin; g < part.col_end; g++)                                                         \
            for (size_t i = part.row_begin; i < part.row_end; i++) {                                                   \
                element *v = (element *)a->cache + g * a->head_stride + (a->slot + i) * a->head_dim;                   \
                const float *x = a->x + (a->first + i) * a->x_stride + g * a->head_dim;                                \
                float *scale = sizeof(element) == 1 ? a->scale + g * a->scale_stride + a->slot + i : NULL;             \
                (void)v, (void)x, (void)scale;                                                                         \
                for (size_t c = 0; c < a->head_dim; c++) change;                                                       \
            }                                                                                                          \
    }
AFTER_WRITE(f16_truncates, f16, uint16_t, {
    const float back = sm_f16_to_f32(v[c]);
    if (fabsf(back) > fabsf(x[c])) v[c]--;
})
AFTER_WRITE(i8_scale, i8, int8_t, *scale = *scale > 0 ? nextafterf(*scale, 1) : 0)
AFTER_WRITE(i8_truncates, i8, int8_t, v[c] = (int8_t)(*scale > 0 ? x[c] / *scale : 0))
AFTER_WRITE(i8_ties_away, i8, int8_t, v[c] = (int8_t)(*scale > 0 ? roundf(x[c] / *scale) : 0))
AFTER_WRITE(
    i8_halves, i8, int8_t, if (c < a->head_dim / 2) {
        const int8_t kept = v[c];
        v[c] = v[c + a->head_dim / 2];
        v[c + a->head_dim / 2] = kept;
    })

/* int16, one element at a time, `n` rounded and kept within bounds by `rule`. */
#define I16_BY(name, rule)                                                                                             \
    static void name(const void *args, struct sm_part part)                                                            \
    {                                                                                                                  \
        const struct sm_cache_write *a = args;                                                                         \
        for (size_t g = part.col_begin; g < part.col_end; g++)                                                         \
            for (size_t i = part.row_begin; i < part.row_end; i++)                                                     \
                for (size_t c = 0; c < a->head_dim; c++) {                                                             \
                    const float n = a->x[(a->first + i) * a->x_stride + g * a->head_dim + c] * (1 / *a->scale);        \
                    ((int16_t *)a->cache)[g * a->head_stride + (a->slot + i) * a->head_dim + c] = (int16_t)(rule);     \
                }                                                                                                      \
    }
I16_BY(i16_truncates, fminf(fmaxf(n, -32768), 32767))
I16_BY(i16_ties_away, roundf(fminf(fmaxf(n, -32768), 32767)))
I16_BY(i16_down_to_32767, rintf(fminf(fmaxf(n, -32767), 32767)))
I16_BY(i16_wraps, lrintf(fmodf(rintf(n), 65536)))
FAULT(i16_scale_of_its_own, struct sm_cache_write, sm_cache_write_i16_ref, float other = *a->scale * 1.001f;
      a->scale = &other)

/* Rows of int16, one element at a time, by `rule`; the sums as `summed` says. */
#define A16_BY(name, type, factor, rule, summed)                                                                       \
    static void name(const void *args, struct sm_part part)                                                            \
    {                                                                                                                  \
        const type *a = args;                                                                                          \
        for (size_t r = part.row_begin; r < part.row_end; r++) {                                                       \
            int64_t sum = 0;                                                                                           \
            for (size_t c = 0; c < a->cols; c++) {                                                                     \
                const float n = (float)a->x[r * a->x_stride + c] * (factor);                                           \
                const int16_t q = a->out.q[r * a->cols + c] = (int16_t)(rule);                                         \
                sum += (summed);                                                                                       \
            }                                                                                                          \
            if (a->out.sum) a->out.sum[r] = sum;                                                                       \
        }                                                                                                              \
    }
#define CLAMPED(n) fmaxf(fminf((n), 32767), -32768)
A16_BY(a16_truncates, struct sm_quantise_a16, 1 / a->out.scale, CLAMPED(n), q)
A16_BY(a16_ties_away, struct sm_quantise_a16, 1 / a->out.scale, CLAMPED(roundf(CLAMPED(n))), q)
A16_BY(a16_down_to_32767, struct sm_quantise_a16, 1 / a->out.scale, fmaxf(rintf(CLAMPED(n)), -32767), q)
A16_BY(a16_sum_of_16_bits, struct sm_quantise_a16, 1 / a->out.scale, rintf(CLAMPED(n)), (int16_t)(sum + q) - sum)
A16_BY(a16_sum_of_all_but_one, struct sm_quantise_a16, 1 / a->out.scale, rintf(CLAMPED(n)), c ? q : 0)
FAULT(a16_scale, struct sm_quantise_a16, sm_quantise_a16_ref, a->out.scale *= 1.001f)
FAULT(a16_last_row, struct sm_quantise_a16, sm_quantise_a16_ref, part.row_end--)
A16_BY(requantise_truncates, struct sm_requantise, a->x_scale / a->out.scale, CLAMPED(n), q)
A16_BY(requantise_wraps, struct sm_requantise, a->x_scale / a->out.scale, lrintf(fmodf(rintf(n), 65536)), q)
FAULT(requantise_swapped, struct sm_requantise, sm_requantise_ref, const float kept = a->x_scale;
      (a->x_scale = a->out.scale, a->out.scale = kept))
FAULT(requantise_column, struct sm_requantise, sm_requantise_ref, a->x--)

FAULT(rmsnorm_no_eps, struct sm_rmsnorm, sm_rmsnorm_ref, a->eps *= 0.9f)
FAULT(rmsnorm_weight_column, struct sm_rmsnorm, sm_rmsnorm_ref, a->w -= a->w ? 1 : 0)
FAULT(rmsnorm_last_block, struct sm_rmsnorm, sm_rmsnorm_ref, a->cols -= 16)
FAULT(rmsnorm_no_residual, struct sm_rmsnorm, sm_rmsnorm_ref, a->residual = NULL)
FAULT(rmsnorm_residual_column, struct sm_rmsnorm, sm_rmsnorm_ref, a->residual--)
FAULT(rmsnorm_no_scale, struct sm_rmsnorm, sm_rmsnorm_ref, a->scale = 1)

/* All columns are written, but the mean leaves the last one out. */
static void rmsnorm_mean(const void *args, struct sm_part part)
{
    const struct sm_rmsnorm *a = args;
    struct sm_rmsnorm fewer = *a;
    fewer.cols--;
    float last[64];
    for (size_t r = part.row_begin; r < part.row_end; r++) last[r] = a->x[r * a->x_stride + fewer.cols];
    sm_rmsnorm_ref(&fewer, part);
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        float *y = &a->y[r * a->y_stride + fewer.cols];
        const float residual = a->residual[r * a->residual_stride + fewer.cols];
        *y = (last[r] * (a->w ? a->w[fewer.cols] : 1) + residual) * a->scale;
    }
}

/* The branch is scaled, and not the sum. */
static void rmsnorm_scaled_branch(const void *args, struct sm_part part)
{
    const struct sm_rmsnorm *a = args;
    struct sm_rmsnorm bare = *a;
    bare.residual = NULL;
    float kept[16][96];
    for (size_t r = part.row_begin; r < part.row_end; r++)
        memcpy(kept[r], a->residual + r * a->residual_stride, a->cols * sizeof(float));
    sm_rmsnorm_ref(&bare, part);
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t c = 0; c < a->cols; c++) {
            float *y = &a->y[r * a->y_stride + c];
            *y = *y * a->scale + kept[r][c];
        }
}

FAULT(rope_position, struct sm_rope, sm_rope_ref, (a->cos -= a->head_dim / 2, a->sin -= a->head_dim / 2))
FAULT(rope_tables_swapped, struct sm_rope, sm_rope_ref, const float *kept = a->cos; (a->cos = a->sin, a->sin = kept))
FAULT(rope_last_head, struct sm_rope, sm_rope_ref, part.col_end--)

/* Turned the other way: the halves of a pair exchanged. */
static void rope_halves(const void *args, struct sm_part part)
{
    const struct sm_rope *a = args;
    float back[4096];
    struct sm_rope turned = *a;
    for (size_t i = 0; i < a->rows * (a->head_dim / 2); i++) back[i] = -a->sin[i];
    turned.sin = back;
    sm_rope_ref(&turned, part);
}

FAULT(gated_swapped, struct sm_gated, sm_gated_silu_ref, const float *kept = a->gate;
      const size_t stride = a->gate_stride;
      (a->gate = a->up, a->gate_stride = a->up_stride, a->up = kept, a->up_stride = stride))
FAULT(gated_up_column, struct sm_gated, sm_gated_silu_ref, a->up--)
FAULT(gated_last_block, struct sm_gated, sm_gated_silu_ref, part.col_end -= 16)
FAULT(gelu_is_silu, struct sm_gated, sm_gated_silu_ref, (void)a)

/* The approximation x sigmoid(1.702 x), which some call gelu. */
static void gelu_by_sigmoid(const void *args, struct sm_part part)
{
    const struct sm_gated *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t c = part.col_begin; c < part.col_end; c++) {
            const float x = a->gate[r * a->gate_stride + c];
            a->y[r * a->y_stride + c] = x / (1 + expf(-1.702f * x)) * a->up[r * a->up_stride + c];
        }
}

FAULT(embedding_scale, struct sm_embedding, sm_embedding_f32_ref, a->scale = nextafterf(a->scale, 2))
FAULT(embedding_last_block, struct sm_embedding, sm_embedding_q8_0_ref, a->cols -= 32)

static void embedding_token(const void *args, struct sm_part part)
{
    struct sm_embedding a = *(const struct sm_embedding *)args;
    int32_t token[64];
    for (size_t r = 0; r < a.rows; r++) token[r] = a.token[r] ? a.token[r] - 1 : 1;
    a.token = token;
    sm_embedding_q4_1_ref(&a, part);
}

/* Each y of a right answer changed: b is its block's scale, times the scale of the call. */
#define AFTER_EMBEDDING(name, format, change)                                                                          \
    static void name(const void *args, struct sm_part part)                                                            \
    {                                                                                                                  \
        const struct sm_embedding *a = args;                                                                           \
        sm_embedding_##format##_ref(args, part);                                                                       \
        for (size_t r = part.row_begin; r < part.row_end; r++)                                                         \
            for (size_t c = 0; c < a->cols; c++) {                                                                     \
                const struct sm_block_##format *b =                                                                    \
                    (const struct sm_block_##format *)a->table + ((size_t)a->token[r] * a->cols + c) / SM_GROUP;       \
                float *y = a->y + r * a->y_stride + c;                                                                 \
                const float unit = sm_f16_to_f32(b->d) * a->scale;                                                     \
                (void)unit;                                                                                            \
                change;                                                                                                \
            }                                                                                                          \
    }
AFTER_EMBEDDING(q4_0_offset, q4_0, *y += unit)
AFTER_EMBEDDING(
    q4_0_halves, q4_0, if (c % 32 < 16) {
        const float kept = *y;
        *y = y[16];
        y[16] = kept;
    })
AFTER_EMBEDDING(q4_1_no_minimum, q4_1, *y -= sm_f16_to_f32(b->m) * a->scale)
AFTER_EMBEDDING(q8_0_next_scale, q8_0, *y *= c + 32 < a->cols ? sm_f16_to_f32(b[1].d) / sm_f16_to_f32(b->d) : 1)

static const struct fault {
    const char *family, *name;
    sm_kernel_fn *run;
    const char *of; /* the variant whose layout it is judged in */
} faults[] = {
#define CAUGHT(family, run)                                                                                            \
    {                                                                                                                  \
#family, #run, run, "ref"                                                                                      \
    }
#define CAUGHT_CACHE(type)                                                                                             \
    CAUGHT(cache_write_##type, type##_slot_above), CAUGHT(cache_write_##type, type##_slot_below),                      \
        CAUGHT(cache_write_##type, type##_row), CAUGHT(cache_write_##type, type##_last_block),                         \
        CAUGHT(cache_write_##type, type##_one_more), CAUGHT(cache_write_##type, type##_column),                        \
        CAUGHT(cache_write_##type, type##_head)
#define CAUGHT_LAYOUT(type, layout)                                                                                    \
    {"cache_write_" #type, #type "_slot_above " #layout, type##_slot_above_##layout, "ref_" #layout},                  \
        {"cache_write_" #type, #type "_slot_below " #layout, type##_slot_below_##layout, "ref_" #layout},              \
        {"cache_write_" #type, #type "_row " #layout, type##_row_##layout, "ref_" #layout},                            \
        {"cache_write_" #type, #type "_last_block " #layout, type##_last_block_##layout, "ref_" #layout},              \
        {"cache_write_" #type, #type "_one_more " #layout, type##_one_more_##layout, "ref_" #layout},                  \
        {"cache_write_" #type, #type "_column " #layout, type##_column_##layout, "ref_" #layout},                      \
        {"cache_write_" #type, #type "_head " #layout, type##_head_##layout, "ref_" #layout},                          \
        {"cache_write_" #type, #type " in slot_major for " #layout, sm_cache_write_##type##_ref, "ref_" #layout},      \
    {                                                                                                                  \
        "cache_write_" #type, #type " in " #layout " for slot_major", sm_cache_write_##type##_ref_##layout, "ref"      \
    }
    CAUGHT(softcap_f32, softcap_scale),
    CAUGHT(softcap_f32, softcap_column),
    CAUGHT(softcap_f32, softcap_last_block),
    CAUGHT(softcap_f32, softcap_absent),
    CAUGHT(softcap_argmax, softcap_argmax_last_block),
    CAUGHT(softcap_argmax, softcap_argmax_of_y),
    CAUGHT(argmax, argmax_last_column),
    CAUGHT(argmax, argmax_off_by_one),
    CAUGHT(argmax, argmax_last_of_equals),
    CAUGHT(kv_concat, concat_last_column),
    CAUGHT(kv_concat, concat_past_slot),
    CAUGHT(kv_concat, concat_past_head),
    CAUGHT(kv_concat, concat_out_head),
    CAUGHT(kv_concat, concat_segments_swapped),
    CAUGHT(kv_concat, concat_scale_head),
    CAUGHT(kv_concat, concat_no_scale),
    CAUGHT_CACHE(f32),
    CAUGHT_LAYOUT(f32, transposed),
    CAUGHT_LAYOUT(f32, blocks16),
    CAUGHT_CACHE(f16),
    CAUGHT_LAYOUT(f16, transposed),
    CAUGHT_LAYOUT(f16, blocks16),
    CAUGHT(cache_write_f16, f16_truncates),
    CAUGHT_CACHE(i8),
    CAUGHT_LAYOUT(i8, transposed),
    CAUGHT_LAYOUT(i8, blocks16),
    CAUGHT(cache_write_i8, i8_scale),
    CAUGHT(cache_write_i8, i8_truncates),
    CAUGHT(cache_write_i8, i8_ties_away),
    CAUGHT(cache_write_i8, i8_halves),
    CAUGHT_CACHE(i16),
    CAUGHT_LAYOUT(i16, transposed),
    CAUGHT_LAYOUT(i16, blocks16),
    CAUGHT(cache_write_i16, i16_truncates),
    CAUGHT(cache_write_i16, i16_ties_away),
    CAUGHT(cache_write_i16, i16_down_to_32767),
    CAUGHT(cache_write_i16, i16_wraps),
    CAUGHT(cache_write_i16, i16_scale_of_its_own),
    CAUGHT(quantise_a16, a16_truncates),
    CAUGHT(quantise_a16, a16_ties_away),
    CAUGHT(quantise_a16, a16_down_to_32767),
    CAUGHT(quantise_a16, a16_sum_of_16_bits),
    CAUGHT(quantise_a16, a16_sum_of_all_but_one),
    CAUGHT(quantise_a16, a16_scale),
    CAUGHT(quantise_a16, a16_last_row),
    CAUGHT(requantise, requantise_truncates),
    CAUGHT(requantise, requantise_wraps),
    CAUGHT(requantise, requantise_swapped),
    CAUGHT(requantise, requantise_column),
    CAUGHT(rmsnorm, rmsnorm_no_eps),
    CAUGHT(rmsnorm, rmsnorm_weight_column),
    CAUGHT(rmsnorm, rmsnorm_last_block),
    CAUGHT(rmsnorm, rmsnorm_mean),
    CAUGHT(rmsnorm, rmsnorm_no_residual),
    CAUGHT(rmsnorm, rmsnorm_residual_column),
    CAUGHT(rmsnorm, rmsnorm_no_scale),
    CAUGHT(rmsnorm, rmsnorm_scaled_branch),
    CAUGHT(rope, rope_position),
    CAUGHT(rope, rope_tables_swapped),
    CAUGHT(rope, rope_last_head),
    CAUGHT(rope, rope_halves),
    CAUGHT(gated_silu, gated_swapped),
    CAUGHT(gated_silu, gated_up_column),
    CAUGHT(gated_silu, gated_last_block),
    CAUGHT(gated_gelu, gelu_is_silu),
    CAUGHT(gated_gelu, gelu_by_sigmoid),
    CAUGHT(embedding_f32, embedding_scale),
    CAUGHT(embedding_q8_0, embedding_last_block),
    CAUGHT(embedding_q4_1, embedding_token),
    CAUGHT(embedding_q4_0, q4_0_offset),
    CAUGHT(embedding_q4_0, q4_0_halves),
    CAUGHT(embedding_q4_1, q4_1_no_minimum),
    CAUGHT(embedding_q8_0, q8_0_next_scale),
};

/* A shape with a tail in every axis, and room around the slots that are written. */
static struct sm_shape shape_of(const struct sm_family *f)
{
    static const struct {
        const char *axis;
        int64_t value;
    } values[] = {{"rows", 11}, {"max_seq", 40}, {"head_dim", 20}, {"kv_heads", 3}, {"valid", 5},
                  {"cols", 96}, {"heads", 3},    {"vocab", 50},    {"residual", 1}, {"element_bytes", 1}};
    struct sm_shape shape = {{0}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const int d = sm_dim_index(f, values[i].axis);
        if (d >= 0) shape.dim[d] = values[i].value;
    }
    return shape;
}

/* Whether the workload finds the kernel wrong in this regime; -1 when there is no memory. */
static int found(const struct fault *fault, enum sm_regime regime, uint64_t seed)
{
    const struct sm_family *f = sm_family_named(fault->family);
    const struct sm_workload *w = sm_workload_named(fault->family);
    const struct sm_variant *v = sm_variant_named(f, fault->of);
    const struct sm_shape shape = shape_of(f);
    void *work = w->create(&shape, regime, seed);
    const void *args = work ? w->prepare(work, v) : NULL;
    int answer = -1;
    if (args) {
        fault->run(args, f->split(&shape, 1, 0));
        answer = !(w->error(work, v) <= 1) || w->damage(work);
    }
    w->destroy(work);
    return answer;
}

int main(void)
{
    static const char *const regimes[SM_REGIME_COUNT] = {"random", "exact", "extreme"};
    int missed = 0;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const struct fault *fault = &faults[i];
        int times = 0;
        printf("%-16s %-28s", fault->family, fault->name);
        for (int regime = 0; regime < SM_REGIME_COUNT; regime++) {
            int of_regime = 0;
            for (uint64_t seed = 2; seed < 10; seed++) of_regime += found(fault, (enum sm_regime)regime, seed) == 1;
            printf(" %s %d/8", regimes[regime], of_regime);
            times += of_regime;
        }
        printf("%s\n", times ? "" : " MISSED");
        missed += !times;
    }
    printf("%zu planted faults, %d missed\n", sizeof faults / sizeof *faults, missed);
    return missed != 0;
}
