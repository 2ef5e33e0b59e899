/* attention_skip_body.h - the proof that a hidden block weighs nothing. Text for attention_body.h, which says why that
 * is enough, and defines the blocks and row blocks spoken of here. */

#ifndef SM_ATTENTION_KEYS16
/* The largest |key| of a block. */
static float largest_norm(const struct block *block, size_t head_dim)
{
    const size_t whole = head_dim / VEC_WIDTH * VEC_WIDTH;
    float most = 0;
    for (size_t j = 0; j < block->count; j += VEC_WIDTH) {
        vec square[VEC_WIDTH];
        for (size_t i = 0; i < VEC_WIDTH; i++) {
            const size_t slot = smaller(j + i, block->count - 1);
            const attention_element *k = block->k + slot * head_dim;
            vec sum = vec_zero();
            for (size_t d = 0; d < whole; d += VEC_WIDTH) {
                const vec x = load(RAW, k, d);
                sum = vec_fma(x, x, sum);
            }
            if (whole < head_dim) {
                const vec x = load_half(RAW, k, whole);
                sum = vec_fma(x, x, sum);
            }
            if (SM_ATTENTION_KV == 8) sum = vec_mul(sum, vec_set(block->k_scale[slot] * block->k_scale[slot]));
            square[i] = sum;
        }
        const float norm = vec_largest(vec_sums(square));
        if (!(norm <= most)) most = norm;
    }
    return sqrtf(most);
}
#endif

/* Where a logit stops to weigh anything. A quarter and 2^-20 of the maximum cover the roundings of the mask's
 * addition and the maximum's subtraction. */
static void begin_hidden(struct rows *s)
{
    for (size_t m = 0; m < s->queries; m++)
        s->limit[m] = s->live[m] ? s->most[m] + WEIGHTLESS - 0.25f - 0x1p-20f * fabsf(s->most[m]) : INFINITY;
}

/* Whether the caller knows all keys of the block to be zeros. */
static int is_of_zeros(const struct sm_attention *a, const struct block *block)
{
    return block->column < a->past && block->column + a->zero_slots >= a->past;
}

/* 2^-10 covers what rounding does to both norms and to the dot product, less than 4 (head_dim + 4) 2^-24, and what
 * 16 bits do to a query, at most sqrt(head_dim) / 65024 of its norm. */
static int is_out_of_reach(const struct rows *s, const struct block *block, float *norm, float hidden_most)
{
    const float hidden = hidden_most * SM_LOG2_E;
    if (*norm < 0) *norm = is_of_zeros(s->a, block) ? 0 : largest_norm(block, s->a->head_dim) * (1 + 0x1p-10f);
    int reached = 0;
    for (size_t m = 0; m < s->queries; m++) {
        float bound = s->norm[m] * *norm;
        if (s->a->softcap > 0) bound = s->cap * (bound < 1 ? bound : 1) * (1 + 0x1p-10f);
        reached |= !(bound + hidden < s->limit[m]);
    }
    return !reached;
}
