/* attention_skip_body.h - the blocks that the mask hides, and the proof that one weighs nothing. Text for
 * attention_body.h, which says why that is enough, and defines the blocks and row blocks spoken of here. */

/* Where a logit stops to weigh anything. A quarter and 2^-20 of the maximum cover the roundings of the mask's
 * addition and the maximum's subtraction. */
static void begin_hidden(struct rows *s)
{
    for (size_t m = 0; m < s->queries; m++)
        s->limit[m] = s->live[m] ? s->most[m] + WEIGHTLESS - 0.25f - 0x1p-20f * fabsf(s->most[m]) : INFINITY;
}

#if SM_ATTENTION_SKIP

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

/* Whether the caller knows all keys of the block to be zeros. */
static int is_of_zeros(const struct sm_attention *a, const struct block *block)
{
    return block->column < a->past && block->column + a->zero_slots >= a->past;
}

/* The largest that a logit of a query may be. 2^-10 covers what rounding does to both norms and to the dot product,
 * less than 4 (head_dim + 4) 2^-24, and what 16 bits do to a query, at most sqrt(head_dim) / 65024 of its norm. */
static float reach(const struct rows *s, size_t m, float norm, float hidden_most)
{
    float bound = s->norm[m] * norm;
    if (s->a->softcap > 0) bound = s->cap * (bound < 1 ? bound : 1) * (1 + 0x1p-10f);
    return bound + hidden_most * SM_LOG2_E;
}

/* The largest |key| of a hidden block, read once for all rows. A function of its own, so that it has the registers. */
__attribute__((noinline)) static float known_norm(const struct rows *s, const struct block *block, float *norm)
{
    if (*norm < 0) *norm = is_of_zeros(s->a, block) ? 0 : largest_norm(block, s->a->head_dim) * (1 + 0x1p-10f);
    return *norm;
}

static int is_out_of_reach(const struct rows *s, const struct block *block, float *norm, float hidden_most)
{
    const float most = known_norm(s, block, norm);
    int reached = 0;
    for (size_t m = 0; m < s->queries; m++) reached |= !(reach(s, m, most, hidden_most) < s->limit[m]);
    return !reached;
}

#endif

static void attend_hidden(struct rows *s, struct plan *plan, size_t g, size_t row_block, size_t blocks)
{
#if SM_ATTENTION_SKIP
    begin_hidden(s);
#endif
    for (size_t b = 0; b < blocks; b++) {
        if (plan->seen[b] >> row_block & 1) continue;
        const struct block block = block_at(s->a, g, b);
#if SM_ATTENTION_SKIP
        if (is_out_of_reach(s, &block, &plan->norm[b], plan->hidden_most[b])) continue;
#endif
        attend_block(s, &block, SM_ATTENTION_SKIP);
    }
}
