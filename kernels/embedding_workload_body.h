/* embedding_workload_body.h - the workload of every embedding_* family. workload.c of a family defines
 *
 *     EMBEDDING_FAMILY             its name, as a string
 *     EMBEDDING_WORKLOAD           the symbol of its workload
 *     EMBEDDING_ELEMENTS           what cols must be a multiple of
 *     EMBEDDING_BLOCK              the type of a block of that many elements
 *     fill_block(b, regime, r)     a block for that regime
 *     element(b, i)                the exact value of element i of a block
 *
 * or, where a row is no sequence of blocks, instead of the last three row_bytes, fill_row_at and element_at as below,
 *
 * and then includes this, once. Only the rows of the table that the tokens name are filled. */
#include <stdlib.h>
#include <string.h>

#include "embedding.h"
#include "rows_workload.h"

struct work {
    enum sm_regime regime;
    uint64_t seed;
    struct sm_guarded table, token;
    struct sm_rows y;
    uint64_t token_hash;
    struct sm_embedding args;
};

static const char *refuse(const struct sm_shape *shape)
{
    return shape->dim[SM_EMBEDDING_COLS] % EMBEDDING_ELEMENTS ? "cols is not a whole number of blocks of 32" : NULL;
}

#ifdef EMBEDDING_BLOCK
static size_t row_bytes(size_t cols)
{
    return cols / EMBEDDING_ELEMENTS * sizeof(EMBEDDING_BLOCK);
}

static void fill_row_at(void *row, size_t cols, enum sm_regime regime, struct sm_random *random)
{
    EMBEDDING_BLOCK *blocks = row;
    for (size_t b = 0; b < cols / EMBEDDING_ELEMENTS; b++) fill_block(&blocks[b], regime, random);
}

static double element_at(const void *row, size_t c)
{
    return element((const EMBEDDING_BLOCK *)row + c / EMBEDDING_ELEMENTS, c % EMBEDDING_ELEMENTS);
}
#endif

static void *table_row(const struct work *k, size_t token)
{
    return (char *)k->table.data + token * row_bytes(k->args.cols);
}

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_guarded_destroy(&k->table);
    sm_guarded_destroy(&k->token);
    sm_rows_destroy(&k->y);
    free(k);
}

/* Twice the same token gives twice the same row: each is filled from its own seed. */
static void fill_row(struct work *k, size_t token)
{
    struct sm_random random = {k->seed + token * 977};
    fill_row_at(table_row(k, token), k->args.cols, k->regime, &random);
}

static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    const size_t rows = (size_t)shape->dim[SM_EMBEDDING_ROWS], cols = (size_t)shape->dim[SM_EMBEDDING_COLS],
                 vocab = (size_t)shape->dim[SM_EMBEDDING_VOCAB];
    static const float scales[SM_REGIME_COUNT] = {
        [SM_REGIME_RANDOM] = 1, [SM_REGIME_EXACT] = 0.5f, [SM_REGIME_EXTREME] = 25.25f};
    k->regime = regime;
    k->seed = seed;
    if (sm_guarded_create(&k->table, vocab * row_bytes(cols), regime == SM_REGIME_RANDOM ? 64 : 4) ||
        sm_guarded_create(&k->token, rows * sizeof(int32_t), 4) || sm_rows_create(&k->y, rows, cols, regime, seed)) {
        destroy(k);
        return NULL;
    }
    int32_t *token = k->token.data;
    k->args = (struct sm_embedding){.y = sm_rows_at(&k->y, 0),
                                    .y_stride = k->y.stride,
                                    .token = token,
                                    .table = k->table.data,
                                    .rows = rows,
                                    .cols = cols,
                                    .vocab = vocab,
                                    .scale = scales[regime]};
    struct sm_random random = {seed};
    for (size_t r = 0; r < rows; r++) {
        token[r] = (int32_t)sm_random_below(&random, (uint32_t)vocab);
        if (r == 0 && seed % 3 == 0) token[r] = (int32_t)vocab - 1;
        fill_row(k, (size_t)token[r]);
    }
    k->token_hash = sm_guarded_hash(&k->token);
    return k;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    sm_rows_poison(&k->y);
    return &k->args;
}

/* Bit for bit: an element rounded to float, times the scale, rounded. */
static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    for (size_t r = 0; r < k->args.rows; r++) {
        const void *row = table_row(k, (size_t)k->args.token[r]);
        const float *y = sm_rows_at(&k->y, r);
        const size_t step = sm_rows_judged_step(&k->y, r);
        for (size_t c = (size_t)(k->seed + r) % step; c < k->args.cols; c += step) {
            const float value = (float)element_at(row, c);
            const float right = value * k->args.scale;
            if (memcmp(&y[c], &right, sizeof right)) return INFINITY;
        }
    }
    return 0;
}

static const char *damage(void *work)
{
    struct work *k = work;
    if (sm_rows_intact(&k->y)) return "wrote outside the output";
    if (sm_guarded_intact(&k->token) || sm_guarded_hash(&k->token) != k->token_hash) return "changed its tokens";
    if (sm_guarded_intact(&k->table)) return "wrote outside the table";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_EMBEDDING_ROWS] * (double)s->dim[SM_EMBEDDING_COLS];
}

static double bytes(const struct sm_shape *s)
{
    const double rows = (double)s->dim[SM_EMBEDDING_ROWS];
    return 4 * (ops(s) + rows) + rows * (double)row_bytes((size_t)s->dim[SM_EMBEDDING_COLS]);
}

/* The whole table, of which a call reads a few rows. */
static double held(const struct sm_shape *s)
{
    return bytes(s) + (double)s->dim[SM_EMBEDDING_VOCAB] * (double)row_bytes((size_t)s->dim[SM_EMBEDDING_COLS]);
}

SM_ROWS_WORKLOAD(EMBEDDING_WORKLOAD, EMBEDDING_FAMILY, refuse, held);
