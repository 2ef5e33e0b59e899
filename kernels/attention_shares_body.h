/* attention_shares_body.h - one query row, shared out by columns (attention.h). Text for attention_body.h.
 *
 * Shares are of the blocks that the row sees, as equal as blocks allow: each has its own maximum and sums, which are
 * put together in the order of shares. What the row does not see comes last, as ever, by the thread that puts them
 * together; but that has weights of 0 all but always, and each share says beforehand how large a logit there may be:
 * skip by a bound, literal by computing the columns, which so is shared too. */

/* Without a call, which fmaxf is. */
static float larger(float a, float b)
{
    return a > b ? a : b;
}

/* What a share leaves of the m-th query. */
struct share {
    float *weight, *most, *hidden, *sum; /* hidden: no hidden logit of the share is larger */
};

static struct share share_at(const struct rows *s, size_t share, size_t m)
{
    const struct sm_attention *a = s->a;
    float *at = (float *)a->partial + a->kv_heads * SM_ATTENTION_LINE +
                (share * a->heads + s->head + m) * sm_attention_share_floats(a->head_dim);
    float *line = at + SM_ATTENTION_LINE;
    return (struct share){at, line, line + 1, line + SM_ATTENTION_LINE};
}

/* The blocks of a call: those the row sees, in order, and behind them those it does not. */
struct order {
    size_t blocks, known, seen, seen_known; /* known: of the plan; those beyond count as seen */
    uint16_t at[BLOCKS_MOST];
};

static void begin_order(struct order *o, const struct plan *plan, const struct sm_attention *a)
{
    o->blocks = block_count(a);
    o->known = smaller(o->blocks, BLOCKS_MOST);
    o->seen_known = 0;
    for (size_t b = 0; b < o->known; b++)
        if (plan->seen[b] & 1) o->at[o->seen_known++] = (uint16_t)b;
    o->seen = o->seen_known + o->blocks - o->known;
    for (size_t b = 0, i = o->seen_known; b < o->known; b++)
        if (!(plan->seen[b] & 1)) o->at[i++] = (uint16_t)b;
}

static void attend_seen(struct rows *s, const struct order *o, size_t g, size_t share, size_t shares)
{
    for (size_t i = o->seen * share / shares; i < o->seen * (share + 1) / shares; i++) {
        const struct block block = block_at(s->a, g, i < o->seen_known ? o->at[i] : i - o->seen_known + BLOCKS_MOST);
        attend_block(s, &block, 0);
    }
}

#if SM_ATTENTION_SKIP

/* How large a logit may be of the share of hidden blocks: of the largest key and the largest mask value of them all. */
static void bound_hidden(struct rows *s, struct plan *plan, const struct order *o, size_t g, size_t share,
                         size_t shares)
{
    const size_t hidden = o->blocks - o->seen;
    const uint16_t *const at = o->at + o->seen_known;
    const size_t begin = hidden * share / shares, end = hidden * (share + 1) / shares;
    float norm = 0, most = -INFINITY;
    for (size_t i = begin; i < end; i++) {
        const struct block block = block_at(s->a, g, at[i]);
        known_norm(s, &block, &plan->norm[at[i]]);
    }
    for (size_t i = begin; i < end; i++) {
        const float n = plan->norm[at[i]];
        norm = larger(n < INFINITY ? n : INFINITY, norm); /* where it is 0 times infinity, too */
        most = larger(plan->hidden_most[at[i]], most);
    }
    for (size_t m = 0; m < s->queries; m++) {
        const float bound = reach(s, m, norm, most);
        *share_at(s, share, m).hidden = bound < INFINITY ? bound : INFINITY;
    }
}

#else

/* How large a logit is of the share of hidden blocks. */
static void bound_hidden(struct rows *s, struct plan *plan, const struct order *o, size_t g, size_t share,
                         size_t shares)
{
    const size_t hidden = o->blocks - o->seen;
    (void)plan;
    begin_sums(s);
    for (size_t i = hidden * share / shares; i < hidden * (share + 1) / shares; i++) {
        const struct block block = block_at(s->a, g, o->at[o->seen_known + i]);
        attend_block(s, &block, 0);
    }
    for (size_t m = 0; m < s->queries; m++) *share_at(s, share, m).hidden = s->most[m] + RAISE;
}

#endif

static void keep_share(const struct rows *s, size_t share)
{
    for (size_t m = 0; m < s->queries; m++) {
        const struct share to = share_at(s, share, m);
        *to.most = s->most[m];
        if (s->most[m] == -INFINITY) continue; /* it has no column */
        vec_store(to.weight, vec_load(s->weight[m]));
        for (size_t d = 0; d < s->stride; d += VEC_WIDTH) vec_store(to.sum + d, vec_load(s->sum + m * s->stride + d));
    }
}

/* The sums of the m-th query, from all shares of the KV head. Returns what no hidden logit is larger than. */
static float join(struct rows *s, size_t m, size_t shares)
{
    alignas(64) float weight[SM_ATTENTION_SHARES_MOST];
    float *sum = s->sum + m * s->stride, most = -FLT_MAX, hidden = -INFINITY;
    for (size_t i = 0; i < SM_ATTENTION_SHARES_MOST; i++) {
        const struct share from = share_at(s, i < shares ? i : 0, m);
        weight[i] = *from.most;
        most = larger(*from.most, most);
        hidden = larger(*from.hidden, hidden);
    }
    for (size_t i = 0; i < SM_ATTENTION_SHARES_MOST; i += VEC_WIDTH)
        vec_store(weight + i, vec_exp2(vec_max(vec_sub(vec_load(weight + i), vec_set(most)), vec_set(WEIGHTLESS))));
    s->most[m] = most;
    for (size_t i = 0; i < shares; i++) {
        const struct share from = share_at(s, i, m);
        const vec w = vec_set(weight[i]);
        if (*from.most == -INFINITY) continue;
        for (size_t d = 0; d < s->stride; d += VEC_WIDTH)
            vec_store(sum + d, vec_fma(vec_load(from.sum + d), w, vec_load(sum + d)));
        vec_store(s->weight[m], vec_fma(vec_load(from.weight), w, vec_load(s->weight[m])));
    }
    return hidden;
}

/* The row of the heads at hand. */
static void join_shares(struct rows *s, struct plan *plan, size_t g, size_t shares)
{
    int reached = 0;
    float hidden[QUERIES_MOST];
    begin_sums(s);
    for (size_t m = 0; m < s->queries; m++) hidden[m] = join(s, m, shares);
    begin_hidden(s);
    for (size_t m = 0; m < s->queries; m++) reached |= !(hidden[m] < s->limit[m]);
    if (reached) attend_hidden(s, plan, g, 0, smaller(block_count(s->a), BLOCKS_MOST));
    finish_rows(s);
}

/* Whether these shares are the last of the KV head that was missing. The count goes up by the same for each call,
 * whatever its shares, so nobody need set it back. */
static int are_last(const struct sm_attention *a, size_t g, size_t count, size_t shares)
{
    uint32_t *done = (uint32_t *)a->partial + g * SM_ATTENTION_LINE;
    if (count == shares) return 1;
    const uint32_t more = (uint32_t)(count * (SM_ATTENTION_SHARES_MOST / shares));
    const uint32_t before = __atomic_fetch_add(done, more, __ATOMIC_ACQ_REL);
    return before / SM_ATTENTION_SHARES_MOST != (before + more) / SM_ATTENTION_SHARES_MOST;
}

static void take_heads(struct rows *s, size_t h, size_t count)
{
    s->head = h;
    s->head_count = s->queries = count;
    begin_rows(s);
}

/* All of a part, whose columns are shares. */
static void attend_shares(struct rows *s, struct plan *plan, struct sm_part part, size_t heads_most)
{
    const struct sm_attention *a = s->a;
    const size_t group = a->heads / a->kv_heads, shares = sm_attention_shares(a->heads, a->kv_heads);
    struct order order;
    plan->row_begin = 0;
    plan->row_end = plan->block_rows = 1;
    plan_rows(plan, a);
    begin_order(&order, plan, a);
    s->row = 0;
    s->row_count = 1;
    memset(s->live, plan->live[0], sizeof s->live);
    for (size_t c = part.col_begin, end; c < part.col_end; c = end) {
        const size_t g = c / shares, first = g * shares;
        end = smaller(part.col_end, first + shares);
        for (size_t b = 0; b < order.known; b++) plan->norm[b] = -1;
        for (size_t h = g * group; h < (g + 1) * group; h += s->head_count) {
            take_heads(s, h, smaller(heads_most, (g + 1) * group - h));
            for (size_t i = c; i < end; i++) {
                begin_sums(s);
                attend_seen(s, &order, g, i - first, shares);
                keep_share(s, i - first);
                bound_hidden(s, plan, &order, g, i - first, shares);
            }
        }
        if (!are_last(a, g, end - c, shares)) continue;
        for (size_t h = g * group; h < (g + 1) * group; h += s->head_count) {
            if (group > heads_most) take_heads(s, h, smaller(heads_most, (g + 1) * group - h));
            join_shares(s, plan, g, shares);
        }
    }
}
