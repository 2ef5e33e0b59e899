/* cache_write.h - rows of new keys or values into the slots of a static cache, converted to its type.
 *
 * One contract for cache_write_f32, cache_write_f16, cache_write_i8, cache_write_i16. One call writes K or V of one
 * layer:
 *
 *     cache[g][slot + i] = x[first + i][g],   i in [0, count), g in [0, kv_heads)
 *
 * Decode writes one row to slot P; append writes its T real rows to P..P+T; prefill compacts its n real rows,
 * which start at row `first`, into slots 0..n. Bucket rows also go to a staging segment this way.
 *   x      [rows][x_stride], row r holds [kv_heads][head_dim] floats
 *   cache  layout slot_major: [kv_heads] matrices of [slots][head_dim], head_stride elements apart
 *          layout transposed: [kv_heads] matrices of [head_dim][slots], head_stride elements apart
 *          layout blocks16: [kv_heads] of [blocks of 16 slots][head_dim / e][16 slots][e], head_stride elements apart,
 *          both numbers rounded up; e elements of a slot stay together: 1 of f32 and f16, 2 of i16, 4 of i8
 *          (SM_CACHE_WRITE_TOGETHER_*). What is rounded up is not written either
 *   scale  i8, written: [kv_heads] rows of scale_stride floats, one a slot: max |x| / 127, so x ~= data * scale;
 *          data = round-to-even(x * (127 / max |x|)) in -127..127; a row whose
 *          max |x| is below 2^-120 has scale 0 and zeros
 *          i16, read: one float for the whole tensor, set before anything ran: data = round-to-even(x * (1 / scale)),
 *          clamped to -32768..32767
 * f16 rounds to nearest even, and overflows to infinity only where x does not fit.
 * Every variant gives the same bits. A part is rows i in [0, count) x KV heads. Slots outside [slot, slot + count) are
 * not touched. The caller promises: x finite; slot + count <= slots; i16: scale in 2^-100..2^100. */
#ifndef SM_CACHE_WRITE_H
#define SM_CACHE_WRITE_H

#include "registry.h"

#define SM_CACHE_WRITE_GRAIN 64        /* rows at which shares of threads are cut: whole cache lines of slots */
#define SM_CACHE_WRITE_BLOCK 16        /* slots of a block in blocks16 */
#define SM_CACHE_WRITE_LEAST 0x1p-120f /* i8: the smallest max |x| that is not taken for 0 */

/* Elements of a slot that blocks16 keeps together: what one lane of an integer dot product takes. */
#define SM_CACHE_WRITE_TOGETHER_f32 1
#define SM_CACHE_WRITE_TOGETHER_f16 1
#define SM_CACHE_WRITE_TOGETHER_i16 2
#define SM_CACHE_WRITE_TOGETHER_i8 4

/* Elements of one KV head of `slots` slots in blocks16, and where there element c of a slot is. */
static inline size_t sm_blocks16_elements(size_t slots, size_t head_dim, size_t together)
{
    const size_t block = SM_CACHE_WRITE_BLOCK;
    return (slots + block - 1) / block * block * ((head_dim + together - 1) / together * together);
}

static inline size_t sm_blocks16_at(size_t slot, size_t c, size_t head_dim, size_t together)
{
    const size_t block = SM_CACHE_WRITE_BLOCK, groups = (head_dim + together - 1) / together;
    return ((slot / block * groups + c / together) * block + slot % block) * together + c % together;
}

struct sm_cache_write {
    void *cache; /* float, uint16_t (f16), int8_t or int16_t, by family */
    float *scale;
    size_t head_stride;
    size_t scale_stride;
    size_t slots; /* of the cache: the stride between elements of one slot when transposed */
    const float *x;
    size_t x_stride;
    size_t first, count, slot;
    size_t kv_heads, head_dim;
};

enum {
    SM_CACHE_WRITE_ROWS,    /* count: 1 in decode, T in append, n in prefill */
    SM_CACHE_WRITE_MAX_SEQ, /* slots + 1 */
    SM_CACHE_WRITE_HEAD_DIM,
    SM_CACHE_WRITE_KV_HEADS,
    SM_CACHE_WRITE_VALID, /* the first slot written, P; -1: as late as the rows fit */
    SM_CACHE_WRITE_DIMS
};

#endif
