/* attention.h - attention of query rows over exactly K static columns under an additive mask.
 *
 * One contract for the families attention_f32, attention_f16, attention_i8, which differ in the KV type.
 * For query row r and query head h, with KV head g = h / (heads / kv_heads) and K = past + now columns:
 *
 *     z[j]      = scale * dot(q[r][h], key[g][j])             over head_dim
 *     z[j]      = softcap * tanh(z[j] / softcap)              when softcap > 0, before the mask
 *     z[j]     += mask[r][j]                                  finite, 0 or -120 by default
 *     out[r][h] = sum over j of softmax(z)[j] * value[g][j]
 *
 * Columns are two segments: [past slots of the cache | now rows of this call]. Prefill has past = 0 and now = K;
 * decode has past = K - 1 and now = 1; append of a bucket Q has past = K - Q and now = Q.
 * A row whose mask forbids every column is finite and meaningless: the host discards it.
 *
 *   out   [rows][out_stride], row r holds [heads][head_dim]
 *   q     [rows][q_stride], row r holds [heads][head_dim], rotated
 *   k, v  per segment: [kv_heads] matrices of [slots][head_dim], head_stride elements apart. Keys are rotated.
 *         i8: element = data * scale[g][slot], scale [kv_heads] rows of scale_stride floats; data in -127..127.
 *   mask  [rows][mask_stride] floats
 *
 * A part is query rows x query heads. The caller promises: rows, heads, kv_heads, now >= 1; heads a multiple
 * of kv_heads; head_dim a multiple of 8, at most SM_ATTENTION_MAX_HEAD_DIM; all numbers finite, those of unused
 * slots too. */
#ifndef SM_ATTENTION_H
#define SM_ATTENTION_H

#include "registry.h"

#define SM_ATTENTION_MAX_HEAD_DIM 512

/* Keys or values of one segment. */
struct sm_kv {
    const void *data;    /* float, f16 (uint16_t) or int8_t, by family */
    const float *scale;  /* i8 only, else NULL */
    size_t head_stride;  /* elements from one KV head to the next */
    size_t scale_stride; /* floats from one KV head to the next */
};

struct sm_attention {
    float *out;
    size_t out_stride;
    const float *q;
    size_t q_stride;
    struct sm_kv k_past, v_past, k_now, v_now;
    const float *mask;
    size_t mask_stride;
    size_t rows, heads, kv_heads, head_dim, past, now;
    float scale;
    float softcap; /* 0: none */
};

/* The axes of its shapes. max_seq is K; rows = now (bucket or prefill length), or 1 for decode. */
enum {
    SM_ATTENTION_ROWS,
    SM_ATTENTION_MAX_SEQ,
    SM_ATTENTION_HEAD_DIM,
    SM_ATTENTION_HEADS,
    SM_ATTENTION_KV_HEADS,
    SM_ATTENTION_VALID,   /* valid past tokens P, 0..K - rows; -1: all of them */
    SM_ATTENTION_WINDOW,  /* keys a row may see, itself included; 0: no window */
    SM_ATTENTION_SOFTCAP, /* 0: none */
    SM_ATTENTION_DIMS
};

#endif
