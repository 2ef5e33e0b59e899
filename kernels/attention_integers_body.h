/* attention_integers_body.h - products in integers: attention_madd_body.h, or attention_vnni_body.h,
 * attention_vnni_values_body.h, and with SM_ATTENTION_AMX attention_amx_body.h, for the blocks and row blocks of
 * attention_body.h, whose text this is. */

/* The m-th query, scaled and padded with zeros, in 16 bits. */
static void begin_query(struct rows *s, size_t m)
{
    const float *const q = s->q + m * s->stride;
    const size_t head_dim = s->a->head_dim;
#ifdef SM_ATTENTION_MADD
    s->plane_step[m] = madd_query(s->planes + m * madd_query_bytes(head_dim), q, head_dim);
#else
    s->plane_step[m] = vnni_planes(s->planes + m * vnni_plane_bytes(head_dim), s->plane_begin[m], q, head_dim);
#endif
}

#ifdef SM_ATTENTION_MADD

/* z[query][j] = dot of the scaled query with the elements of key j. A function of its own, so that it has the
 * registers. */
__attribute__((noinline)) static void block_dots(struct rows *s, const struct block *block)
{
    int32_t *const keys = (int32_t *)(void *)s->k;
    const size_t head_dim = s->a->head_dim;
    if (s->queries <= RAW_KEY_QUERIES && head_dim % 16 == 0) {
        madd_raw_dots(s->z, s->planes, s->plane_step, s->queries, block->k, block->count, head_dim,
                      (uintptr_t)block->v);
        return;
    }
    madd_keys(keys, block->k, block->count, head_dim);
    madd_outer(KEY_PAIRS, s->z, BLOCK, s->plane_step, s->planes, madd_query_bytes(head_dim), s->queries, keys, BLOCK,
               head_dim / 2, (block->count + 15) / 16 * 16, 0);
}

static void add_values(struct rows *s, const struct block *block)
{
    int32_t *const values = (int32_t *)(void *)s->v;
    const size_t head_dim = s->a->head_dim, count = block->count;
    if (s->queries <= TILE_ROWS && head_dim % 16 == 0) {
        const uintptr_t next_keys = (uintptr_t)(block->k + BLOCK * head_dim);
        madd_outer(SLOTS, s->sum, s->stride, s->weight_step, s->z, BLOCK * sizeof *s->z, s->queries, block->v, head_dim,
                   count, head_dim, next_keys);
        return;
    }
    madd_values(values, s->stride, block->v, count, head_dim);
    madd_outer(VALUE_PAIRS, s->sum, s->stride, s->weight_step, s->z, BLOCK * sizeof *s->z, s->queries, values,
               s->stride, (count + 1) / 2, s->stride, 0);
}

#elif defined SM_ATTENTION_AMX

/* The planes of the queries as tiles want them. */
static void begin_tiles(struct rows *s)
{
    const size_t bytes = vnni_plane_bytes(s->a->head_dim);
    if (s->queries <= AMX_FEW_QUERIES)
        amx_pack_few(s->few, s->planes, s->queries, s->a->head_dim);
    else if (s->queries % AMX_QUERIES)
        memset(s->planes + s->queries * bytes, 0, (AMX_QUERIES - s->queries % AMX_QUERIES) * bytes);
}

/* Keys of a block in whole sixteens, of whole 64 bytes. */
static const int8_t *whole_keys(struct rows *s, const struct block *block)
{
    const size_t head_dim = s->a->head_dim, padded = (head_dim + 63) / 64 * 64;
    if (block->count % 16 == 0 && padded == head_dim) return block->k;
    int8_t *const to = (int8_t *)s->k;
    for (size_t j = 0; j < (block->count + 15) / 16 * 16; j++)
        for (size_t d = 0; d < padded; d += 64)
            _mm512_store_si512(to + j * padded + d,
                               _mm512_maskz_loadu_epi8(vnni_there(head_dim, d),
                                                       block->k + smaller(j, block->count - 1) * head_dim + d));
    return to;
}

static void block_dots(struct rows *s, const struct block *block)
{
    uint8_t *const keys = (uint8_t *)s->k;
    const size_t head_dim = s->a->head_dim;
    if (s->queries <= AMX_FEW_QUERIES) {
        amx_few_dots(s->z, s->sums, s->few, s->plane_step, s->queries, whole_keys(s, block), (head_dim + 63) / 64 * 64,
                     block->count);
        return;
    }
    vnni_keys(keys, block->k, block->count, head_dim);
    amx_dots(s->z, s->sums, s->planes, s->plane_step, s->queries, keys, head_dim);
}

static void add_values(struct rows *s, const struct block *block)
{
    uint8_t *const values = (uint8_t *)s->v;
    vnni_values(values, block->v, block->first, block->count, s->a->head_dim);
    amx_add_values(s->sum, s->stride, s->sums, (const uint8_t *)s->z, s->weight_step, s->queries, values);
}

#else

/* z[query][j] = dot of the scaled query with the elements of key j. A function of its own, so that it has the
 * registers. */
__attribute__((noinline)) static void block_dots(struct rows *s, const struct block *block)
{
    uint8_t *const keys = (uint8_t *)s->k;
    vnni_keys(keys, block->k, block->count, s->a->head_dim * sizeof(attention_element));
    vnni_dots(s->z, s->planes, (const int32_t(*)[2])s->plane_begin, s->plane_step, s->queries, keys, s->a->head_dim);
}

#ifdef VALUES_IN_INTEGERS
static void add_values(struct rows *s, const struct block *block)
{
    uint8_t *const values = (uint8_t *)s->v;
    if (s->queries <= VALUES_RAW_QUERIES && block->count - block->first == BLOCK) {
        vnni_add_raw_values(s->sum, s->stride, (const uint8_t *)s->z, s->weight_step, s->queries, block->v,
                            s->a->head_dim);
        return;
    }
    vnni_values(values, block->v, block->first, block->count, s->a->head_dim);
    vnni_add_values(s->sum, s->stride, (const uint8_t *)s->z, s->weight_step, s->queries, values, block->count);
}
#endif

#endif
