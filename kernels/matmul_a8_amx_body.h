/* matmul_a8_amx_body.h - group-quantised weights (matmul_tile.h) times int8 rows, with the tiles of AMX.
 *
 * Included by one variant, which defines ARGS (its family's argument struct) first. Few rows go through the vpdpbusd
 * body, and so do the few that are left beside whole tiles; every float operation is that body's, in its order, so
 * that it cannot be told which of the two made a row.
 *
 * One product of tiles is 16 rows times 16 channels of one group: a group has scales of its own, so its integers must
 * leave the tile, through memory, before the next group's may enter. Around that:
 *
 *   - weights are expanded to signed bytes once for many rows, a SPAN of groups at a time, as tiles want them;
 *   - the producer of integers is AHEAD_TILES in front of the float work, across parts and blocks of rows, and what a
 *     tile sums to is stored while the next operands come in: neither waits for the other;
 *   - where AMX is at work, the second 512-bit multiplier of a core is not (Sapphire and Emerald Rapids, within some
 *     hundred cycles), while its adders are. Integers hence become floats by an integer addition of MAGIC, and two
 *     multiplications are all that a row, vector and group cost (three with an offset). They bind. */
#define BESIDE_TILES
#include "amx.h"
#include "matmul_a8_avx512vnni_body.h"

#define TILE_ROWS SM_AMX_ROWS
#define SPAN 32      /* groups */
#define CHUNK 256    /* rows between two expansions of a tile; their activations stay in the second-level cache */
#define FEW_4_BIT 25 /* rows that vpdpbusd takes no longer for than tiles */
#define FEW_8_BIT 28
#define FEW_LEFT 6 /* and beside whole tiles */
#define AHEAD_TILES 3
#define RING 4
#define PARTS 4 /* of 16 channels, that are expanded at once */

/* The registers: numbers in the text, as gcc 12 wants them. */
#define TILE_X 0
#define TILE_W 1
#define TILE_SUMS 2
enum { D, D_MAGIC, M };            /* of channels: the scale, the scale times MAGIC, the offset */
enum { SCALE, SCALED_SUM, KINDS }; /* of rows */

#define EACH_TILE_ROW(k) _Pragma("GCC unroll 16") for (size_t k = 0; k < TILE_ROWS; k++)

/* A span of PARTS times 16 channels. */
struct expanded {
    alignas(64) int8_t q[PARTS][SPAN][SM_GROUP / 4][4 * LANES];
    alignas(64) float scales[M + 1][PARTS][SPAN][LANES];
};

struct amx_scratch {
    struct expanded w;
    alignas(64) int32_t sums[RING][TILE_ROWS][LANES];
    alignas(64) float rows[KINDS][TILE_ROWS][SPAN]; /* of a block of them */
    alignas(64) float y[CHUNK / TILE_ROWS][TILE_ROWS][PARTS][LANES];
};

/* Blocks of 16 rows: the last one overlaps the one before it where rows are left over but not few. */
struct chunk {
    size_t begin, whole, blocks, end; /* rows in tiles end at `end` */
    size_t few;                       /* rows from `end` on, for vpdpbusd */
};

static inline struct chunk chunk_at(struct sm_part part, size_t begin)
{
    const size_t rows = part.row_end - begin < CHUNK ? part.row_end - begin : CHUNK, left = rows % TILE_ROWS;
    struct chunk c = {.begin = begin, .whole = rows / TILE_ROWS};
    c.blocks = c.whole + (left > FEW_LEFT);
    c.few = left > FEW_LEFT ? 0 : left;
    c.end = begin + rows - c.few;
    return c;
}

static inline size_t chunk_row(const struct chunk *c, size_t block)
{
    return block < c->whole ? c->begin + block * TILE_ROWS : c->end - TILE_ROWS;
}

/* How many of a block's rows the block before it has. */
static inline size_t chunk_skip(const struct chunk *c, size_t block)
{
    return block < c->whole ? 0 : c->begin + block * TILE_ROWS - chunk_row(c, block);
}

static inline void tiles_configure(void)
{
    struct sm_amx_shapes shapes = {.palette = 1};
    sm_amx_shape(&shapes, TILE_X, TILE_ROWS, SM_GROUP);
    sm_amx_shape(&shapes, TILE_W, SM_GROUP / 4, 4 * LANES);
    sm_amx_shape(&shapes, TILE_SUMS, TILE_ROWS, 4 * LANES);
    sm_amx_configure(&shapes);
}

/* Four bits become 16 times the weight, in the upper half of a byte, where its sign is in place; the scale takes the 16
 * out again. With an offset they are 0..15. */
static inline __attribute__((always_inline)) void expand_group(struct expanded *w, size_t part, size_t s,
                                                               const uint8_t *block, size_t quant_bytes, int has_offset)
{
    const __m512i high = _mm512_set1_epi8((char)0xf0), low = _mm512_set1_epi8(15);
    const __m512i flip = _mm512_set1_epi8((char)(quant_bytes == 16 ? 0x88 : 0x80));
    const __m512 magic = _mm512_castsi512_ps(_mm512_set1_epi32(MAGIC));
    const uint8_t *scales = block + sm_tile_scales_at(quant_bytes);
    EACH_VECTOR(v)
    {
#pragma GCC unroll 8
        for (size_t j = 0; j < quant_bytes / 4; j++) {
            const __m512i q = _mm512_load_si512(block + 4 * SM_TILE * j + 64 * v);
            const __m512i flipped = _mm512_xor_si512(q, flip);
            if (quant_bytes == 32) {
                _mm512_store_si512(w->q[part + v][s][j], flipped);
            } else if (has_offset) {
                _mm512_store_si512(w->q[part + v][s][j], _mm512_and_si512(q, low));
                _mm512_store_si512(w->q[part + v][s][4 + j], _mm512_and_si512(_mm512_srli_epi16(q, 4), low));
            } else {
                _mm512_store_si512(w->q[part + v][s][j], _mm512_and_si512(_mm512_slli_epi16(flipped, 4), high));
                _mm512_store_si512(w->q[part + v][s][4 + j], _mm512_and_si512(flipped, high));
            }
        }
        __m512 d = load_halves(scales + 2 * LANES * v);
        if (quant_bytes == 16 && !has_offset) d = _mm512_mul_ps(d, _mm512_set1_ps(1.0f / 16));
        _mm512_store_ps(w->scales[D][part + v][s], d);
        _mm512_store_ps(w->scales[D_MAGIC][part + v][s], _mm512_mul_ps(d, magic));
        if (has_offset) _mm512_store_ps(w->scales[M][part + v][s], load_halves(scales + 2 * SM_TILE + 2 * LANES * v));
    }
}

/* The scales of a block of rows in a span. */
static inline __attribute__((always_inline)) void rows_prepare(struct amx_scratch *scratch, const struct sm_a8 *x,
                                                               size_t at, size_t blocks, size_t count, int has_offset)
{
    for (size_t k = 0; k < TILE_ROWS; k++, at += blocks)
        for (size_t s = 0; s < count; s += LANES) {
            const __mmask16 mask = (__mmask16)(count - s >= LANES ? 0xffff : (1u << (count - s)) - 1);
            const __m512 scale = _mm512_maskz_loadu_ps(mask, x->scale + at + s);
            _mm512_store_ps(scratch->rows[SCALE][k] + s, scale);
            if (!has_offset) continue;
            const __m512i sum = _mm512_maskz_loadu_epi32(mask, x->sum + at + s);
            _mm512_store_ps(scratch->rows[SCALED_SUM][k] + s, _mm512_mul_ps(scale, _mm512_cvtepi32_ps(sum)));
        }
}

/* The next tile of integers: for each block of rows its parts of channels, and in them the span's groups. */
struct producer {
    const int8_t *x, *q;
    size_t in, left, group, part, parts, block;
    size_t slot; /* of the sums that are in the tile */
};

static inline __attribute__((always_inline)) void produce(struct producer *p, struct amx_scratch *scratch,
                                                          const struct chunk *c, size_t count)
{
    if (p->left) {
        _tile_loadd(TILE_X, p->x, p->in);
        _tile_loadd(TILE_W, p->q, 4 * LANES);
    }
    _tile_stored(TILE_SUMS, scratch->sums[p->slot], 4 * LANES);
    if (!p->left) return;
    _tile_zero(TILE_SUMS);
    _tile_dpbssd(TILE_SUMS, TILE_X, TILE_W);
    p->slot = (p->slot + 1) % RING;
    p->left--;
    p->x += SM_GROUP;
    p->q += SM_GROUP * LANES;
    if (++p->group < count) return;
    p->group = 0;
    p->x -= count * SM_GROUP;
    p->q += (SPAN - count) * SM_GROUP * LANES;
    if (++p->part == p->parts) {
        p->part = 0;
        p->q = scratch->w.q[0][0][0];
        p->x += (chunk_row(c, p->block + 1) - chunk_row(c, p->block)) * p->in;
        p->block++;
    }
}

/* y += the integers at `sums`, scaled by what lies at w for the channels and at x for the rows. */
static inline __attribute__((always_inline)) void add_scaled(__m512 y[TILE_ROWS], const int32_t *sums, const float *w,
                                                             const float *x, int has_offset)
{
    const size_t kind_w = PARTS * SPAN * LANES, kind_x = TILE_ROWS * SPAN;
    const __m512i magic = _mm512_set1_epi32(MAGIC);
    const __m512 d = _mm512_load_ps(w + D * kind_w), d_magic = _mm512_load_ps(w + D_MAGIC * kind_w);
    EACH_TILE_ROW(k)
    {
        const __m512i sum = _mm512_add_epi32(magic, _mm512_load_si512(sums + LANES * k));
        const __m512 t = _mm512_fmsub_ps(d, _mm512_castsi512_ps(sum), d_magic);
        y[k] = _mm512_fmadd_ps(_mm512_set1_ps(x[SCALE * kind_x + SPAN * k]), t, y[k]);
        if (has_offset)
            y[k] = _mm512_fmadd_ps(_mm512_set1_ps(x[SCALED_SUM * kind_x + SPAN * k]), _mm512_load_ps(w + M * kind_w),
                                   y[k]);
    }
}

/* The sums of a block, for the 16 channels from o on: its rows from `skip` on, which no other block has. */
static inline __attribute__((always_inline)) void block_store(const ARGS *a, size_t r, size_t o, __m512 y[TILE_ROWS],
                                                              size_t skip)
{
    const size_t left = a->out > o ? a->out - o : 0;
    const __mmask16 mask = (__mmask16)(left >= LANES ? 0xffff : (1u << left) - 1);
    const __m512 bias = a->bias ? _mm512_maskz_loadu_ps(mask, a->bias + o) : _mm512_setzero_ps();
    EACH_TILE_ROW(k)
    {
        const size_t at = (r + k) * a->y_stride + o;
        if (k < skip) continue;
        if (a->bias) y[k] = _mm512_add_ps(y[k], bias);
        if (a->residual) y[k] = _mm512_add_ps(y[k], _mm512_maskz_loadu_ps(mask, a->residual + at));
        _mm512_mask_storeu_ps(a->y + at, mask, y[k]);
    }
}

/* The span in scratch->w, `count` groups from group `begin` on of 32 channels from o on, for the chunk's blocks. Sums
 * wait in scratch->y for the next span. */
static inline __attribute__((always_inline)) void chunk_span(struct amx_scratch *scratch, const ARGS *a,
                                                             const struct chunk *c, size_t o, size_t begin,
                                                             size_t count, size_t parts, int has_offset)
{
    const size_t blocks = a->in / SM_GROUP;
    const int32_t *sums = scratch->sums[0][0];
    struct producer p = {.x = a->x.q + chunk_row(c, 0) * a->in + begin * SM_GROUP,
                         .q = scratch->w.q[0][0][0],
                         .in = a->in,
                         .left = parts * c->blocks * count,
                         .parts = parts,
                         .slot = RING - 1};
    for (size_t i = 0; i < AHEAD_TILES; i++) produce(&p, scratch, c, count);
    for (size_t i = 0; i < c->blocks; i++) {
        rows_prepare(scratch, &a->x, chunk_row(c, i) * blocks + begin, blocks, count, has_offset);
        for (size_t v = 0; v < parts; v++) {
            __m512 y[TILE_ROWS];
            EACH_TILE_ROW(k) y[k] = begin ? _mm512_load_ps(scratch->y[i][k][v]) : _mm512_setzero_ps();
            for (size_t s = 0; s < count; s++) {
                produce(&p, scratch, c, count);
                add_scaled(y, sums, scratch->w.scales[0][v][s], scratch->rows[0][0] + s, has_offset);
                sums = sums == scratch->sums[RING - 1][0] ? scratch->sums[0][0] : sums + TILE_ROWS * LANES;
            }
            if (begin + count < blocks)
                EACH_TILE_ROW(k) _mm512_store_ps(scratch->y[i][k][v], y[k]);
            else
                block_store(a, chunk_row(c, i), o + LANES * v, y, chunk_skip(c, i));
        }
    }
}

static inline __attribute__((always_inline)) void matmul_chunk(struct amx_scratch *scratch, const ARGS *a,
                                                               struct sm_part part, const struct chunk *c,
                                                               size_t quant_bytes, int has_offset)
{
    const size_t blocks = a->in / SM_GROUP, block_bytes = sm_tile_block_bytes(quant_bytes, has_offset);
    for (size_t o = part.col_begin; o < part.col_end; o += PARTS * LANES) {
        const size_t tiles = part.col_end - o > SM_TILE ? PARTS / 2 : 1, tile_bytes = blocks * block_bytes;
        const uint8_t *tile = (const uint8_t *)a->w + o / SM_TILE * tile_bytes;
        for (size_t b = 0; c->blocks && b < blocks; b += SPAN) {
            const size_t count = blocks - b < SPAN ? blocks - b : SPAN;
            for (size_t t = 0; t < tiles; t++)
                for (size_t s = 0; s < count; s++)
                    expand_group(&scratch->w, 2 * t, s, tile + t * tile_bytes + (b + s) * block_bytes, quant_bytes,
                                 has_offset);
            sm_amx_written(&scratch->w);
            chunk_span(scratch, a, c, o, b, count, 2 * tiles, has_offset);
        }
        for (size_t t = 0; c->few && t < tiles; t++)
            tile_any_rows(a, tile + t * tile_bytes, c->end, o + t * SM_TILE, quant_bytes, has_offset, c->few);
    }
}

static inline __attribute__((always_inline)) void matmul_tiles_amx(const ARGS *a, struct sm_part part,
                                                                   size_t quant_bytes, int has_offset)
{
    const size_t rows = part.row_end - part.row_begin;
    struct amx_scratch scratch;
    if (rows <= (quant_bytes == 16 ? FEW_4_BIT : FEW_8_BIT)) {
        matmul_tiles(a, part, quant_bytes, has_offset);
        return;
    }
    tiles_configure();
    for (size_t r = part.row_begin; r < part.row_end; r += CHUNK) {
        const struct chunk c = chunk_at(part, r);
        matmul_chunk(&scratch, a, part, &c, quant_bytes, has_offset);
    }
    _tile_release();
}
