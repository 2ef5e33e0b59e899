/* attention_kv_body.h - a slot of keys or values as floats, for whichever KV type SM_ATTENTION_KV names: 32 (float),
 * 16 (f16), 8 (int8 with one scale per slot) or 15 (int16, 15 bits and a sign, with one scale for all). Plain C, exact:
 * for the reference and the workload. */
#ifndef SM_ATTENTION_KV_BODY_H
#define SM_ATTENTION_KV_BODY_H

#include "attention.h"
#include "cache_write.h"
#include "quant.h"

/* ATTENTION_TOGETHER: elements of a slot that keys16 keeps together. */
#if SM_ATTENTION_KV == 32
typedef float attention_element;
#define ATTENTION_TOGETHER SM_CACHE_WRITE_TOGETHER_f32
#elif SM_ATTENTION_KV == 16
typedef uint16_t attention_element;
#define ATTENTION_TOGETHER SM_CACHE_WRITE_TOGETHER_f16
#elif SM_ATTENTION_KV == 15
typedef int16_t attention_element;
#define ATTENTION_TOGETHER SM_CACHE_WRITE_TOGETHER_i16
#else
typedef int8_t attention_element;
#define ATTENTION_TOGETHER SM_CACHE_WRITE_TOGETHER_i8
#endif

static inline double attention_kv_at(const struct sm_kv *kv, size_t head, size_t slot, size_t head_dim, size_t d)
{
    const attention_element e = ((const attention_element *)kv->data)[head * kv->head_stride + slot * head_dim + d];
#if SM_ATTENTION_KV == 32
    return (double)e;
#elif SM_ATTENTION_KV == 16
    return (double)sm_f16_to_f32(e);
#elif SM_ATTENTION_KV == 15
    return (double)e * (double)*kv->scale;
#else
    return (double)e * (double)kv->scale[head * kv->scale_stride + slot];
#endif
}

/* Column j of a call: a slot of the past, or a row of now. */
static inline double attention_key_at(const struct sm_attention *a, size_t head, size_t j, size_t d)
{
    return j < a->past ? attention_kv_at(&a->k_past, head, j, a->head_dim, d)
                       : attention_kv_at(&a->k_now, head, j - a->past, a->head_dim, d);
}

static inline double attention_value_at(const struct sm_attention *a, size_t head, size_t j, size_t d)
{
    return j < a->past ? attention_kv_at(&a->v_past, head, j, a->head_dim, d)
                       : attention_kv_at(&a->v_now, head, j - a->past, a->head_dim, d);
}

#endif
