/* attention_body.h - attention in vectors, for one KV type (SM_ATTENTION_KV), one instruction set (the vector header
 * included before this text; SM_ATTENTION_MADD and SM_ATTENTION_VNNI: in integers, SM_ATTENTION_AMX: by tiles too), one
 * layout of keys (SM_ATTENTION_KEYS16: keys16, else plain) and one promise (SM_ATTENTION_SKIP: 0 computes every column,
 * 1 proves what it may skip).
 *
 * The part is walked KV head by KV head, and in each by blocks of query rows: the queries of a row block are its rows
 * times the heads that share the KV head, so that keys and values are read once for all of them. Columns come in
 * blocks; softmax is online, with one running maximum and VEC_WIDTH running sums a query, rescaled when a logit
 * appears that is much larger: what is called the maximum below may be up to RAISE less.
 *
 * Why skip has the bits of literal. Both take first the column blocks that some row of the row block may see, in
 * order, and then the hidden ones, in order. When the hidden ones come, each row's maximum covers all it may see. A
 * hidden block whose every logit, for every row that sees anything, is more than 150 ln 2 below that maximum has
 * weights of exactly 0 (vector_math_avx2.h) and moves no maximum, so computing it leaves every sum as it was: x + 0 * v
 * = x for finite v, but for the sign of a zero, which the last line of finish_row settles. skip shows that from |scale
 * q . k| <= |scale q| |k|   (Cauchy-Schwarz),   <= softcap where there is one, with the largest |k| of the block (read
 * once for all rows of a part, cached), or failing that from the logits themselves, which saves the values. Rows that
 * see nothing at all have no veto: what they hold is meaningless. */

#include <float.h>
#include <math.h>
#include <stdalign.h>
#include <string.h>

#include "attention_tiles_body.h"
#ifdef SM_ATTENTION_VNNI
#include "attention_vnni_body.h"
#if SM_ATTENTION_KV == 8
#include "attention_vnni_values_body.h"
#endif
#endif
#ifdef SM_ATTENTION_AMX
#include "attention_amx_body.h"
#endif
#ifdef SM_ATTENTION_MADD
#include "attention_madd_body.h"
#endif
#if defined SM_ATTENTION_VNNI || defined SM_ATTENTION_MADD
#define IN_INTEGERS
#endif
#ifdef VALUES_IN_INTEGERS
#define SUM_FLOATS VALUES_AT_ONCE
#else
#define SUM_FLOATS VEC_WIDTH
#endif

#define QUERIES_MOST 96    /* of a row block */
#define QUERY_FLOATS 24576 /* of a row block, so that its sums stay in the second-level cache */
#define ROW_BLOCKS 32      /* that one plan covers: the bits of seen */
#define BLOCKS_MOST 4096   /* column blocks that a plan knows; those beyond count as seen */
#define RAW_QUERIES 4      /* up to here keys are read as they lie: one dot tile uses each once */
#define FLOATS_QUERIES 24  /* from here on keys of half floats are made floats once, not by each tile of queries */
#define PLANE_FLOATS                                                                                                   \
    (QUERY_FLOATS +                                                                                                    \
     56 * QUERIES_MOST / 2)  /* four bytes for an element of int16, two of int8, whose rows are rounded up to 64 */
#define WEIGHTLESS (-150.0f) /* 2 to this or less is exactly 0 */
#define RAISE 8.0f           /* logits may be this far above the running maximum: weights of 256 do no harm */

/* What the mask hides, for the row blocks of one chunk of rows, and how large the keys there are. */
struct plan {
    size_t row_begin, row_end, block_rows;
    uint32_t seen[BLOCKS_MOST];     /* bit i: row block i may see a column of this block */
    float hidden_most[BLOCKS_MOST]; /* the largest mask value where a row sees none of the block */
    float norm[BLOCKS_MOST];        /* the largest |key|, negative: not known */
    uint8_t live[ROW_BLOCKS * QUERIES_MOST];
};

/* One block of columns of one KV head: keys first..count of those at k, with their values and columns from there. */
struct block {
    const attention_element *k, *v;
    const float *k_scale, *v_scale; /* i8 only */
    size_t first, count, column;    /* first is 0, but where keys16 begin within their first block */
};

/* One row block. A query is a row and a head: query = row * heads + head. */
struct rows {
    const struct sm_attention *a;
    size_t row, row_count, head, head_count, queries;
    size_t stride; /* of q and sum: head_dim rounded up to whole SUM_FLOATS */
    float *q, *sum, *z, *mask, *k, *v;
    float cap; /* softcap in units of ln 2, as are z before it becomes weights, mask, most and limit */
    float k_scale[BLOCK], v_scale[BLOCK];
    float most[QUERIES_MOST];  /* running maximum */
    float norm[QUERIES_MOST];  /* of the scaled query; 0 where the row sees nothing */
    float limit[QUERIES_MOST]; /* a logit below this weighs nothing */
    float weight[QUERIES_MOST][VEC_WIDTH];
    uint8_t live[QUERIES_MOST];
#ifdef SM_ATTENTION_AMX
    alignas(64) int32_t sums[AMX_SUMS];
    int8_t *few; /* attention_amx_body.h: planes of few queries */
#endif
#ifdef SM_ATTENTION_VNNI
    int32_t plane_begin[QUERIES_MOST][2];
#endif
#ifdef IN_INTEGERS
    int8_t *planes; /* the queries in 16 bits */
    float plane_step[QUERIES_MOST];
#endif
#ifdef VALUES_IN_INTEGERS
    float weight_step[QUERIES_MOST]; /* of weights in 16 bits, in the place of their logits */
#endif
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t past_blocks(const struct sm_attention *a)
{
    return a->past ? (a->past_first + a->past + BLOCK - 1) / BLOCK : 0;
}

static struct block block_at(const struct sm_attention *a, size_t g, size_t b)
{
    const size_t of_past = past_blocks(a);
    const int is_past = b < of_past;
    const struct sm_kv *k = is_past ? &a->k_past : &a->k_now, *v = is_past ? &a->v_past : &a->v_now;
    const size_t lead = is_past ? a->past_first : 0, end = lead + (is_past ? a->past : a->now);
    const size_t from = (is_past ? b : b - of_past) * BLOCK, first = from ? 0 : lead, slot = from + first - lead;
    return (struct block){
        .k = (const attention_element *)k->data + g * k->head_stride + from * a->head_dim,
        .v = (const attention_element *)v->data + g * v->head_stride + slot * a->head_dim,
        .k_scale = SM_ATTENTION_KV == 8 ? k->scale + g * k->scale_stride + slot : NULL,
        .v_scale = SM_ATTENTION_KV == 8 ? v->scale + g * v->scale_stride + slot : NULL,
        .first = first,
        .count = smaller(BLOCK, end - from),
        .column = (is_past ? 0 : a->past) + slot,
    };
}

static size_t block_count(const struct sm_attention *a)
{
    return past_blocks(a) + (a->now + BLOCK - 1) / BLOCK;
}

static float largest_of(const float *p, size_t count)
{
    float most = -INFINITY;
    size_t i = 0;
    if (count >= VEC_WIDTH) {
        vec m = vec_load(p);
        for (i = VEC_WIDTH; i + VEC_WIDTH <= count; i += VEC_WIDTH) m = vec_max(m, vec_load(p + i));
        most = vec_largest(m);
    }
    for (; i < count; i++) most = p[i] > most ? p[i] : most;
    return most;
}

/* Reads the mask of the chunk once, for all heads. */
static void plan_rows(struct plan *plan, const struct sm_attention *a)
{
    memset(plan->live, 0, plan->row_end - plan->row_begin);
    for (size_t b = 0; b < block_count(a); b++) {
        const struct block block = block_at(a, 0, b);
        uint32_t seen = 0;
        float hidden_most = -INFINITY;
        for (size_t r = plan->row_begin; r < plan->row_end; r++) {
            const float most = largest_of(a->mask + r * a->mask_stride + block.column, block.count - block.first);
            if (most > SM_ATTENTION_FORBIDDEN) {
                seen |= (uint32_t)1 << (r - plan->row_begin) / plan->block_rows;
                plan->live[r - plan->row_begin] = 1;
            } else if (most > hidden_most) {
                hidden_most = most;
            }
        }
        if (b >= BLOCKS_MOST) continue;
        plan->seen[b] = seen;
        plan->hidden_most[b] = hidden_most;
    }
}

#ifdef IN_INTEGERS
#include "attention_integers_body.h"
#elif defined SM_ATTENTION_KEYS16
#include "attention_keys16_body.h"
#else
#include "attention_plain_body.h"
#endif

static void begin_sums(struct rows *s)
{
    memset(s->sum, 0, s->queries * s->stride * sizeof *s->sum);
    memset(s->weight, 0, s->queries * sizeof *s->weight);
    for (size_t m = 0; m < s->queries; m++) s->most[m] = -INFINITY;
}

/* Queries times the softmax scale and that of all keys, if they have one, padded with zeros. Their dots with keys are
 * logits in units of ln 2, or what tanh is taken of. */
static void begin_rows(struct rows *s)
{
    const struct sm_attention *a = s->a;
    const float unit = a->softcap > 0 ? 1 / a->softcap : SM_LOG2_E;
    const vec scale = vec_set((SM_ATTENTION_KV == 15 ? a->scale * *a->k_now.scale : a->scale) * unit);
    s->cap = a->softcap * SM_LOG2_E;
    for (size_t m = 0; m < s->queries; m++) {
        const float *from =
            a->q + (s->row + m / s->head_count) * a->q_stride + (s->head + m % s->head_count) * a->head_dim;
        float *to = s->q + m * s->stride;
        vec square = vec_zero();
        for (size_t d = 0; d < s->stride; d += VEC_WIDTH) {
            const size_t left = a->head_dim - smaller(d, a->head_dim);
            const vec x = vec_mul(scale, left >= VEC_WIDTH ? vec_load(from + d) : vec_load_part(from + d, left));
            vec_store(to + d, x);
            square = vec_fma(x, x, square);
        }
        s->norm[m] = s->live[m] ? sqrtf(vec_sum(square)) : 0;
#ifdef IN_INTEGERS
        begin_query(s, m);
#endif
    }
#ifdef SM_ATTENTION_AMX
    begin_tiles(s);
#endif
}

/* What of a block is no column, at both ends. */
static void fill_rest(float *to, const struct block *block, float fill)
{
    for (size_t j = 0; j < block->first; j++) to[j] = fill;
    for (size_t j = block->count; j < BLOCK; j++) to[j] = fill;
}

/* Mask rows and slot scales of a block, padded to whole vectors so that what is not there weighs nothing. A mask in
 * units of ln 2 stays finite. */
static void begin_block(struct rows *s, const struct block *block)
{
    const struct sm_attention *a = s->a;
    const size_t columns = block->count - block->first;
    for (size_t r = 0; r < s->row_count; r++) {
        const float *from = a->mask + (s->row + r) * a->mask_stride + block->column;
        float *to = s->mask + r * BLOCK;
        for (size_t j = 0; j < columns; j++) {
            const float in_ln2 = from[j] * SM_LOG2_E;
            to[block->first + j] = in_ln2 < -FLT_MAX ? -FLT_MAX : in_ln2;
        }
        fill_rest(to, block, -INFINITY);
    }
    if (SM_ATTENTION_KV == 8) {
        memcpy(s->k_scale + block->first, block->k_scale, columns * sizeof(float));
        memcpy(s->v_scale + block->first, block->v_scale, columns * sizeof(float));
        fill_rest(s->k_scale, block, 0);
        fill_rest(s->v_scale, block, 0);
    }
}

/* The masked logits of one query, in units of ln 2. */
INLINE void logits(const struct rows *s, size_t m, const size_t vecs, const int capped, vec z[BLOCK / VEC_WIDTH])
{
    const float *from = s->z + m * BLOCK, *mask = s->mask + m / s->head_count * BLOCK;
#pragma GCC unroll 8
    for (size_t v = 0; v < vecs; v++) {
        z[v] = vec_load(from + v * VEC_WIDTH);
        if (SM_ATTENTION_KV == 8) z[v] = vec_mul(z[v], vec_load(s->k_scale + v * VEC_WIDTH));
        if (capped)
            z[v] = vec_fma(vec_set(s->cap), vec_tanh(z[v]), vec_load(mask + v * VEC_WIDTH));
        else
            z[v] = vec_add(z[v], vec_load(mask + v * VEC_WIDTH));
    }
}

/* A larger logit appeared: what was summed so far weighs less. */
static void raise_most(struct rows *s, size_t m, vec most)
{
    const float new_most = vec_largest(most);
    if (s->most[m] == -INFINITY) { /* nothing is summed yet */
        s->most[m] = new_most;
        return;
    }
    const vec factor = vec_exp2(vec_sub(vec_set(s->most[m]), vec_set(new_most)));
    float *sum = s->sum + m * s->stride;
    for (size_t d = 0; d < s->stride; d += VEC_WIDTH) vec_store(sum + d, vec_mul(vec_load(sum + d), factor));
    vec_store(s->weight[m], vec_mul(vec_load(s->weight[m]), factor));
    s->most[m] = new_most;
}

/* Logits of the block become weights, times the scale of their value. */
INLINE void weigh_vecs(struct rows *s, const size_t vecs, const int capped)
{
    for (size_t m = 0; m < s->queries; m++) {
        vec z[BLOCK / VEC_WIDTH];
        logits(s, m, vecs, capped, z);
        vec most = vec_set(-INFINITY);
#pragma GCC unroll 8
        for (size_t v = 0; v < vecs; v++) most = vec_max(most, z[v]);
        if (vec_any_above(most, vec_set(s->most[m] + RAISE))) raise_most(s, m, most);
        const vec now_most = vec_set(s->most[m]);
        vec weight = vec_load(s->weight[m]);
#pragma GCC unroll 8
        for (size_t v = 0; v < vecs; v++) {
            vec w = vec_exp2(vec_sub(z[v], now_most));
            weight = vec_add(weight, w);
            if (SM_ATTENTION_KV == 8) w = vec_mul(w, vec_load(s->v_scale + v * VEC_WIDTH));
            vec_store(s->z + m * BLOCK + v * VEC_WIDTH, w);
        }
        vec_store(s->weight[m], weight);
    }
#ifdef VALUES_IN_INTEGERS
    for (size_t m = 0; m < s->queries; m++) s->weight_step[m] = weights_in_integers(s->z + m * BLOCK, vecs);
#endif
}

/* Whole blocks, all but two, have a count that the compiler knows. */
static void weigh(struct rows *s, size_t vecs)
{
    const size_t all = BLOCK / VEC_WIDTH;
    if (s->a->softcap > 0)
        vecs == all ? weigh_vecs(s, all, 1) : weigh_vecs(s, vecs, 1);
    else
        vecs == all ? weigh_vecs(s, all, 0) : weigh_vecs(s, vecs, 0);
}

/* Whether every weight of the block will be exactly 0, for all rows that see anything. */
static int is_weightless(const struct rows *s, size_t vecs)
{
    for (size_t m = 0; m < s->queries; m++) {
        if (!s->live[m]) continue;
        vec z[BLOCK / VEC_WIDTH];
        logits(s, m, vecs, s->a->softcap > 0, z);
        for (size_t v = 0; v < vecs; v++)
            if (vec_any_above(vec_sub(z[v], vec_set(s->most[m])), vec_set(WEIGHTLESS))) return 0;
    }
    return 1;
}

#ifndef VALUES_IN_INTEGERS

static void add_values(struct rows *s, const struct block *block)
{
    const size_t head_dim = s->a->head_dim, count = block->count - block->first;
    const float *const z = s->z + block->first;
    const uintptr_t next_keys = (uintptr_t)(block->k + BLOCK * head_dim);
    if (s->queries <= TILE_ROWS) {
        outer(RAW, z, BLOCK, s->queries, block->v, head_dim, count, head_dim, s->sum, s->stride, 0, next_keys);
    } else {
        floats_of_slots(s->v, s->stride, block->v, count, head_dim);
        outer(FLOATS, z, BLOCK, s->queries, s->v, s->stride, count, s->stride, s->sum, s->stride, 0, next_keys);
    }
}

#endif

static void attend_block(struct rows *s, const struct block *block, int may_skip_values)
{
    const size_t vecs = (block->count + VEC_WIDTH - 1) / VEC_WIDTH;
    begin_block(s, block);
    block_dots(s, block);
    if (may_skip_values && is_weightless(s, vecs)) return;
    weigh(s, vecs);
    add_values(s, block);
}

#include "attention_skip_body.h"

/* Adding 0 makes one zero of two, whatever weights of 0 were added. */
INLINE vec finished(vec sum, vec divisor, vec scale)
{
    const vec mean = vec_div(sum, divisor);
    return vec_add(SM_ATTENTION_KV == 15 ? vec_mul(mean, scale) : mean, vec_zero());
}

static void finish_rows(struct rows *s)
{
    const struct sm_attention *a = s->a;
    const vec scale = vec_set(SM_ATTENTION_KV == 15 ? *a->v_now.scale : 1);
    for (size_t m = 0; m < s->queries; m++) {
        float *to = a->out + (s->row + m / s->head_count) * a->out_stride + (s->head + m % s->head_count) * a->head_dim;
        float *sum = s->sum + m * s->stride;
#if defined VALUES_IN_INTEGERS && defined SM_ATTENTION_VNNI
        vnni_in_order(sum, s->stride);
#endif
        const float weight = vec_sum(vec_load(s->weight[m]));
        const vec divisor = vec_set(weight > 0 ? weight : 1); /* no weight: a row that sees nothing, skipped whole */
        size_t d = 0;
        for (; d + VEC_WIDTH <= a->head_dim; d += VEC_WIDTH)
            vec_store(to + d, finished(vec_load(sum + d), divisor, scale));
        if (d < a->head_dim) {
            float last[VEC_WIDTH];
            vec_store(last, finished(vec_load(sum + d), divisor, scale));
            memcpy(to + d, last, (a->head_dim - d) * sizeof(float));
        }
    }
}

static void attend_rows(struct rows *s, struct plan *plan, size_t g, size_t row_block)
{
    const size_t blocks = block_count(s->a), planned = smaller(blocks, BLOCKS_MOST);
    s->row = plan->row_begin + row_block * plan->block_rows;
    s->row_count = smaller(plan->block_rows, plan->row_end - s->row);
    s->queries = s->row_count * s->head_count;
    for (size_t m = 0; m < s->queries; m++) s->live[m] = plan->live[s->row - plan->row_begin + m / s->head_count];
    begin_rows(s);
    begin_sums(s);
    for (size_t b = 0; b < blocks; b++) {
        if (b < planned && !(plan->seen[b] >> row_block & 1)) continue;
        const struct block block = block_at(s->a, g, b);
        attend_block(s, &block, 0);
    }
    attend_hidden(s, plan, g, row_block, planned);
    finish_rows(s);
}

/* All heads of a part for the rows of a plan. */
static void attend_plan(struct rows *s, struct plan *plan, struct sm_part part, size_t heads_most)
{
    const struct sm_attention *a = s->a;
    const size_t group = a->heads / a->kv_heads;
    const size_t row_blocks = (plan->row_end - plan->row_begin + plan->block_rows - 1) / plan->block_rows;
    plan_rows(plan, a);
    for (size_t h = part.col_begin, known = a->kv_heads; h < part.col_end; h += s->head_count) {
        const size_t g = h / group;
        s->head = h;
        s->head_count = smaller(heads_most, smaller((g + 1) * group, part.col_end) - h);
        if (known != g)
            for (size_t b = 0; b < BLOCKS_MOST && b < block_count(a); b++) plan->norm[b] = -1;
        known = g;
        for (size_t i = 0; i < row_blocks; i++) attend_rows(s, plan, g, i);
    }
}

/* All of a part, in equal row blocks, so that the last is not a few rows that pay for all keys. */
static void attend_plans(struct rows *s, struct plan *plan, struct sm_part part, size_t heads_most, size_t rows_most)
{
    const size_t rows = part.row_end - part.row_begin, row_blocks = (rows + rows_most - 1) / rows_most;
    plan->block_rows = (rows + row_blocks - 1) / row_blocks;
    for (size_t r = part.row_begin; r < part.row_end; r = plan->row_end) {
        plan->row_begin = r;
        plan->row_end = smaller(part.row_end, r + ROW_BLOCKS * plan->block_rows);
        attend_plan(s, plan, part, heads_most);
    }
}

#include "attention_shares_body.h"

static void attend(const struct sm_attention *a, struct sm_part part)
{
    alignas(64) float
        scratch[2 * QUERY_FLOATS + 2 * BLOCK * SM_ATTENTION_MAX_HEAD_DIM + 2 * QUERIES_MOST * BLOCK + PLANE_FLOATS];
    alignas(64) struct rows s;
    struct plan plan;
    if (part.row_begin >= part.row_end || part.col_begin >= part.col_end) return;
    s.a = a;
    s.stride = (a->head_dim + SUM_FLOATS - 1) / SUM_FLOATS * SUM_FLOATS;
    const size_t queries_most = smaller(QUERIES_MOST, QUERY_FLOATS / s.stride);
    const size_t heads_most = smaller(queries_most, a->heads / a->kv_heads);
    s.q = scratch;
    s.sum = s.q + queries_most * s.stride;
    s.z = s.sum + queries_most * s.stride;
    s.mask = s.z + queries_most * BLOCK;
    s.k = s.mask + queries_most * BLOCK;
    s.v = s.k + BLOCK * s.stride;
#ifdef IN_INTEGERS
    s.planes = (int8_t *)(s.v + BLOCK * s.stride);
#endif
#ifdef SM_ATTENTION_AMX
    s.few = s.planes + AMX_QUERIES * vnni_plane_bytes(a->head_dim);
    amx_begin();
#endif
    if (a->partial)
        attend_shares(&s, &plan, part, heads_most);
    else
        attend_plans(&s, &plan, part, heads_most, queries_most / heads_most);
#ifdef SM_ATTENTION_AMX
    _tile_release();
#endif
}
