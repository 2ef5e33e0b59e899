/* attention_keys16_body.h - products with keys in the layout keys16 (attention.h), for float and half float elements.
 * Text for attention_body.h.
 *
 * A vector is one element of as many keys as it has lanes: no sums across lanes, and nothing to turn before many
 * queries use a block. */

#define KEY_BLOCK SM_CACHE_WRITE_BLOCK
#define KEY_VECS (KEY_BLOCK / VEC_WIDTH) /* of a block of keys */

/* z[q][key] of `rows` queries and `vecs` vectors of keys from `key` on, which is a multiple of what they hold. */
INLINE void key_tile(const size_t rows, const size_t vecs, const float *q, size_t q_stride, const attention_element *k,
                     size_t key, size_t head_dim, float *z, uintptr_t ahead)
{
    const attention_element *from = k + key / KEY_BLOCK * KEY_BLOCK * head_dim + key % KEY_BLOCK;
    const size_t next = KEY_VECS == 1 ? KEY_BLOCK * head_dim : VEC_WIDTH;
    outer_tile(rows, vecs, RAW, 0, q, q_stride, from, KEY_BLOCK, next, head_dim, z + key, BLOCK, 1,
               ahead ? ahead + key * head_dim * sizeof(attention_element) : 0);
}

INLINE void key_rows(const size_t rows, const float *q, size_t q_stride, const attention_element *k, size_t keys,
                     size_t head_dim, float *z, uintptr_t ahead)
{
    size_t key = 0;
    for (; key + TILE_VECS * VEC_WIDTH <= keys; key += TILE_VECS * VEC_WIDTH)
        key_tile(rows, TILE_VECS, q, q_stride, k, key, head_dim, z, ahead);
    for (; key < keys; key += VEC_WIDTH) key_tile(rows, 1, q, q_stride, k, key, head_dim, z, ahead);
}

/* to[d][key]: floats of the half floats of `keys` keys, whole vectors of them. */
static void floats_of_keys(float *to, const attention_element *k, size_t keys, size_t head_dim)
{
    for (size_t key = 0; key < keys; key += VEC_WIDTH) {
        const attention_element *from = k + key / KEY_BLOCK * KEY_BLOCK * head_dim + key % KEY_BLOCK;
        for (size_t d = 0; d < head_dim; d++) vec_store(to + d * BLOCK + key, load(RAW, from, d * KEY_BLOCK));
    }
}

/* z[query][j] = dot of the scaled query with the elements of key j. */
static void block_dots(struct rows *s, const struct block *block)
{
    const size_t tiles = (s->queries + TILE_ROWS - 1) / TILE_ROWS, head_dim = s->a->head_dim;
    const size_t keys = (block->count + VEC_WIDTH - 1) / VEC_WIDTH * VEC_WIDTH;
    if (SM_ATTENTION_KV == 16 && s->queries >= FLOATS_QUERIES) {
        floats_of_keys(s->k, block->k, keys, head_dim);
        outer(FLOATS, s->q, s->stride, s->queries, s->k, BLOCK, head_dim, keys, s->z, BLOCK, 1, (uintptr_t)block->v);
        return;
    }
    for (size_t t = 0; t < tiles; t++) {
        const size_t begin = s->queries * t / tiles, n = s->queries * (t + 1) / tiles - begin;
        const float *const q = s->q + begin * s->stride;
        float *const z = s->z + begin * BLOCK;
        const uintptr_t values = t ? 0 : (uintptr_t)block->v;
        switch (n) {
        case 1: key_rows(1, q, s->stride, block->k, keys, head_dim, z, values); break;
        case 2: key_rows(2, q, s->stride, block->k, keys, head_dim, z, values); break;
        case 3: key_rows(3, q, s->stride, block->k, keys, head_dim, z, values); break;
        case 4: key_rows(4, q, s->stride, block->k, keys, head_dim, z, values); break;
        case 5: key_rows(5, q, s->stride, block->k, keys, head_dim, z, values); break;
        default: key_rows(6, q, s->stride, block->k, keys, head_dim, z, values); break;
        }
    }
}

#if SM_ATTENTION_SKIP
/* The largest |key| of a block, or more: slots of its key blocks that are no columns count as well. */
static float largest_norm(const struct block *block, size_t head_dim)
{
    vec most = vec_zero();
    for (size_t key = 0; key < block->count; key += VEC_WIDTH) {
        const attention_element *from = block->k + key / KEY_BLOCK * KEY_BLOCK * head_dim + key % KEY_BLOCK;
        vec sum[4] = {vec_zero(), vec_zero(), vec_zero(), vec_zero()};
        for (size_t d = 0; d < head_dim; d += 4)
#pragma GCC unroll 4
            for (size_t i = 0; i < 4; i++) {
                const vec x = load(RAW, from, (d + i) * KEY_BLOCK);
                sum[i] = vec_fma(x, x, sum[i]);
            }
        most = vec_max(vec_add(vec_add(sum[0], sum[1]), vec_add(sum[2], sum[3])), most);
    }
    return sqrtf(vec_largest(most));
}
#endif
