/* attention_plain_body.h - products with keys as they lie, for elements made floats. Text for attention_body.h. */

/* Whether transposing the keys of a block costs less than the reductions of dot tiles do: about 7 operations for
 * VEC_WIDTH elements, or 3 as half floats, against 3 for a logit. */
static int worth_transposing(size_t queries, size_t head_dim)
{
    return queries >= 8 && (TRANSPOSED == RAW ? 15 : 6) * queries >= head_dim;
}

/* z[query][j] = dot of the scaled query with the elements of key j. */
static void block_dots(struct rows *s, const struct block *block)
{
    const size_t head_dim = s->a->head_dim;
    const size_t padded = (block->count + VEC_WIDTH - 1) / VEC_WIDTH * VEC_WIDTH;
    if (worth_transposing(s->queries, head_dim) && TRANSPOSED == RAW && s->queries >= FLOATS_QUERIES) {
        transpose_keys(s->v, block->k, block->count, head_dim); /* where floats of values will be, but later */
        floats_of_slots(s->k, BLOCK, (const attention_element *)(const void *)s->v, head_dim, BLOCK);
        outer(FLOATS, s->q, s->stride, s->queries, s->k, BLOCK, head_dim, padded, s->z, BLOCK, 1, 0);
        return;
    }
    if (worth_transposing(s->queries, head_dim)) {
        transpose_keys(s->k, block->k, block->count, head_dim);
        outer(TRANSPOSED, s->q, s->stride, s->queries, s->k, BLOCK, head_dim, padded, s->z, BLOCK, 1, 0);
        return;
    }
    if (s->queries <= RAW_QUERIES) {
        dots(RAW, s->q, s->stride, s->queries, block->k, head_dim, block->count, head_dim, s->z, (uintptr_t)block->v);
    } else {
        floats_of_slots(s->k, s->stride, block->k, block->count, head_dim);
        dots(FLOATS, s->q, s->stride, s->queries, s->k, s->stride, block->count, s->stride, s->z, 0);
    }
    for (size_t m = 0; m < s->queries; m++)
        for (size_t j = block->count; j < padded; j++) s->z[m * BLOCK + j] = 0;
}
