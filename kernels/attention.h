/* attention.h - attention of query rows over exactly K static columns under an additive mask.
 *
 * One contract for the families attention_f32, attention_f16, attention_i8, attention_i16, which differ in the KV type.
 * For query row r and query head h, with KV head g = h / (heads / kv_heads) and K = past + now columns:
 *
 *     z[j]      = scale * dot(q[r][h], key[g][j])             over head_dim
 *     z[j]      = softcap * tanh(z[j] / softcap)              when softcap > 0, before the mask
 *     z[j]     += mask[r][j]                                  finite, 0 or -120 by default
 *     out[r][h] = sum over j of softmax(z)[j] * value[g][j]
 *
 * Columns are two segments: [past slots of the cache | now rows of this call]. Prefill has past = 0 and now = K;
 * decode has past = K - 1 and now = 1; append of a bucket Q has past = K - Q and now = Q.
 * A mask value forbids when it is SM_ATTENTION_FORBIDDEN or less. A row whose mask forbids every column is finite
 * and meaningless: the host discards it.
 *
 *   out   [rows][out_stride], row r holds [heads][head_dim]
 *   q     [rows][q_stride], row r holds [heads][head_dim], rotated
 *   k, v  per segment: [kv_heads] matrices of [slots][head_dim], head_stride elements apart. Keys are rotated.
 *         i8: element = data * scale[g][slot], scale [kv_heads] rows of scale_stride floats; data in -127..127.
 *         i16: element = data * *scale, one float for all slots and heads of both segments; data in -32768..32767.
 *         Values always lie so. Keys do in variants of the layout plain; in those of the layout keys16 they lie as
 *         cache_write's blocks16 has them, in both segments, head_stride elements apart:
 *             [kv_heads] of [blocks of 16 slots][head_dim / e][16 slots][e],   e = 1 (f32, f16), 2 (i16), 4 (i8)
 *         with the last block whole, whatever finite numbers its unused slots hold: max_seq - 1 slots are no multiple
 *         of 16. The past may begin within its first block, at slot past_first of 0..15, so that a window of slots can
 *         move; values and scales begin with the first column in any layout.
 *   mask  [rows][mask_stride] floats
 *
 * A part is query rows x query heads, but where there is a `partial`: then rows is 1, and a part is of shares. Each KV
 * head has sm_attention_shares of them, one after another, and a share is some of the columns that the row sees, for
 * all heads of the KV head: so few heads keep many threads busy, and what a share is does not depend on their number.
 * The thread that ends the last share of a KV head puts them together, in their order. A variant may take heads for
 * shares instead: sm_attention_heads_of. The caller promises: rows, heads, kv_heads, now >= 1; heads a multiple of
 * kv_heads; head_dim a multiple of 8, at most SM_ATTENTION_MAX_HEAD_DIM; all numbers finite, those of unused slots too;
 * softcap >= 0; scales of i8 >= 0, those of i16 in 2^-100..2^100. Nothing is aligned beyond its element, though keys16
 * is fastest where k.data and head_stride are aligned to 64 bytes. Data may be NULL where past is 0.
 *
 * How far a variant may be off (u = 2^-24, n = head_dim, K columns, z exact logits, w = exp(z - max z), o exact out):
 * a float logit is off by at most s[j] = sm_attention_dot_slack + sm_attention_logit_slack, so a weight is off by a
 * factor within exp(+-s[j]), and since sum(w (v - o)) = 0 the exact softmax of those logits is off by at most
 *     sum over j of w[j] (exp(s[j]) - 1) |v[j] - o| / sum over j of w[j] exp(-s[j]).
 * The rounding of the two sums over K columns adds sm_attention_sum_slack. For i8 a variant may also round weights
 * before values are weighed, which adds, with x[j] = w[j] exp(s[j]) scale of value j, and x of its group of
 * SM_ATTENTION_GROUP columns at most most[j],
 *     sum over j of sm_attention_weight_slack(x[j], most[j]) |data of value j| / sum over j of w[j] exp(-s[j]). */
#ifndef SM_ATTENTION_H
#define SM_ATTENTION_H

#include "registry.h"

#define SM_ATTENTION_MAX_HEAD_DIM 512
#define SM_ATTENTION_FORBIDDEN (-64.0f)
#define SM_ATTENTION_GROUP 64 /* columns of a segment, from past_first before its first, whose weights round alike */

/* Keys or values of one segment. */
struct sm_kv {
    const void *data;    /* float, f16 (uint16_t), int8_t or int16_t, by family */
    const float *scale;  /* i8 and i16, else NULL */
    size_t head_stride;  /* elements from one KV head to the next */
    size_t scale_stride; /* i8: floats from one KV head to the next */
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
    float softcap;     /* 0: none */
    size_t past_first; /* keys16: the slot of k_past.data that is column 0, 0..15; else 0 */
    size_t
        zero_slots; /* the last so many past columns have keys of zeros, which nobody need read to know; 0: unknown */
    /* NULL, or with rows = 1 sm_attention_partial_bytes of scratch, aligned to 64 bytes and zeroed once: when all parts
     * of a call have been done it serves the next, of this or another shape. Parts of two calls must not overlap in
     * time. */
    void *partial;
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

#define SM_ATTENTION_SHARES_MOST 16
#define SM_ATTENTION_LINE 16 /* floats of a cache line */

/* Shares of a KV head: enough for as many threads as there are heads, and for 8. */
static inline size_t sm_attention_shares(size_t heads, size_t kv_heads)
{
    size_t shares = 1;
    while (shares < SM_ATTENTION_SHARES_MOST && (shares * kv_heads < 8 || shares * kv_heads < heads)) shares *= 2;
    return shares;
}

/* Floats that a share leaves of one head: sums, and two lines for their weight and how large logits are. */
static inline size_t sm_attention_share_floats(size_t head_dim)
{
    return (head_dim + 63) / 64 * 64 + 2 * SM_ATTENTION_LINE;
}

/* A line for each KV head, which counts its shares, and what each share leaves of each head. */
static inline size_t sm_attention_partial_bytes(size_t heads, size_t kv_heads, size_t head_dim)
{
    return sizeof(float) * (kv_heads * SM_ATTENTION_LINE +
                            sm_attention_shares(heads, kv_heads) * heads * sm_attention_share_floats(head_dim));
}

/* The heads of a part: where it is of shares, those that may be done whole in their place. */
static inline struct sm_part sm_attention_heads_of(const struct sm_attention *a, struct sm_part part)
{
    const size_t group = a->heads / a->kv_heads, shares = sm_attention_shares(a->heads, a->kv_heads);
    if (!a->partial) return part;
    part.col_begin = part.col_begin / shares * group + part.col_begin % shares * group / shares;
    part.col_end = part.col_end / shares * group + part.col_end % shares * group / shares;
    return part;
}

/* The dot and its scale: n + 4 roundings of sums of |scale q k| (Higham, Accuracy and Stability, 2nd ed., 3.1; one
 * each for the KV scale, the softmax scale and a rounded product of both). For i8 and i16 a variant may also round a
 * query to 16 bits, q = max|q| / 32512 * n: half a step of it against every |key|. */
static inline double sm_attention_dot_slack(size_t head_dim, int in_integers, double scaled_dot_of_magnitudes,
                                            double scaled_query_most_times_key_sum)
{
    return ((double)head_dim + 4) * 0x1p-24 * scaled_dot_of_magnitudes +
           (in_integers ? 1.01 * 0x1p-16 * scaled_query_most_times_key_sum : 0);
}

/* From the logit to its weight: softcap (tanh within 8 u), the additions of mask and maximum, exp within 4 u, and the
 * online softmax, which rescales at most once per 16 columns, off by 6 u and u per unit of change. */
static inline double sm_attention_logit_slack(size_t columns, double softcap, double logit, double most)
{
    const double size = (logit < 0 ? -logit : logit) + (most < 0 ? -most : most);
    return 0x1p-24 * (8 * softcap + 4 * size + 6 * ((double)columns / 16 + 1) + 4);
}

/* The sum of weights and the weighted sum of values, each K additions and one rescale per 16 columns, and the
 * division; and weights that fall below the normal floats. magnitude is sum(w |v|) / sum(w) + |o|. */
static inline double sm_attention_sum_slack(size_t columns, double magnitude, double value_most)
{
    return 0x1p-24 * (1.0625 * (double)columns + 8) * magnitude + (double)columns * 0x1p-124 * value_most + 0x1p-148;
}

/* A weight times the scale of its value, rounded to 16 bits of a step that fits the largest of its group: off by 2^-16
 * of that, but by no more than itself; and below 2^-111 by half a step of 2^-126. */
static inline double sm_attention_weight_slack(double x, double most)
{
    const double half_step = 1.01 * 0x1p-16 * most;
    return (x < half_step ? x : half_step) + 0x1p-127;
}

#endif
