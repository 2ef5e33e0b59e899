/* matmul_walk.h - the order in which a matmul visits the tiles of its part.
 *
 * Columns are taken in chunks whose weights stay in the second-level cache, and in a chunk all its columns for one
 * block of rows before the next block. So a block's activations stay in the first-level cache while the weights, which
 * lie in one piece, stream through it in one line that hardware prefetches; the other way round, each tile of weights
 * would stay and a stream for every row would pass. Row blocks are as equal as they can be: one of 13 rows and tiles
 * of 12 is 7 and 6, not 12 and the worst. */
#ifndef SM_MATMUL_WALK_H
#define SM_MATMUL_WALK_H

#include "registry.h"

#define SM_WALK_CHUNK_BYTES (384 * 1024) /* of weights; a second-level cache has 512 KiB and more */

/* Fetches the line at p into the second-level cache, where there is memory at p. Tiles fetch so what the next ones
 * need: with scales beside quants, or several tiles at once, weights come as streams that hardware follows late and
 * not across pages. Weights of 8 bits and few rows are one line after the other faster than instructions for each. */
#define SM_PREFETCH_L2(p) __builtin_prefetch(p, 0, 2)

/* The same into the first-level cache. */
#define SM_PREFETCH_L1(p) __builtin_prefetch(p, 0, 3)

/* Where few rows leave the rest to hardware: the first lines of each page that begins in the `bytes` from p on, by
 * SM_PAGES_AHEAD. Hardware follows a stream inside a page, and finds the next one late and without its address. */
#define SM_PAGE 4096
#define SM_PAGES_AHEAD 32768 /* bytes; what memory has under way, and time to find the page */
static inline void sm_prefetch_pages(const uint8_t *p, size_t bytes)
{
    for (size_t at = (0 - (uintptr_t)p) % SM_PAGE; at < bytes; at += SM_PAGE)
        for (size_t line = 0; line < 256; line += 64) SM_PREFETCH_L2(p + at + SM_PAGES_AHEAD + line);
}

/* Where hardware follows one stream too late, as on Emerald Rapids (16 GB/s from DRAM, 20 of four streams): every line,
 * of several pages in turns. A kernel takes a turn for each `lines` lines that it reads, counted from base on, and
 * fetches as many: one of each page of the next window, which has `lines` pages. */
#define SM_WINDOW_TURNS (SM_PAGE / 64)
static inline __attribute__((always_inline)) void sm_prefetch_window(const uint8_t *base, size_t turn, size_t lines)
{
    const uint8_t *next = base + (turn / SM_WINDOW_TURNS + 1) * lines * SM_PAGE + turn % SM_WINDOW_TURNS * 64;
#pragma GCC unroll 20
    for (size_t k = 0; k < lines; k++) SM_PREFETCH_L2(next + k * SM_PAGE);
}

struct sm_walk {
    struct sm_part part;
    size_t row_blocks, chunk; /* columns */
};

/* unit: columns that lie together in unit_bytes; row_most: rows of a tile. The part has rows. */
static inline struct sm_walk sm_walk(struct sm_part part, size_t rows_most, size_t unit, size_t unit_bytes)
{
    const size_t units = SM_WALK_CHUNK_BYTES / unit_bytes;
    return (struct sm_walk){
        .part = part,
        .row_blocks = (part.row_end - part.row_begin + rows_most - 1) / rows_most,
        .chunk = (units ? units : 1) * unit,
    };
}

static inline size_t sm_walk_columns_end(const struct sm_walk *walk, size_t begin)
{
    return walk->part.col_end - begin > walk->chunk ? begin + walk->chunk : walk->part.col_end;
}

/* Where row block i begins; i = row_blocks: where the last one ends. */
static inline size_t sm_walk_row(const struct sm_walk *walk, size_t i)
{
    return walk->part.row_begin + (walk->part.row_end - walk->part.row_begin) * i / walk->row_blocks;
}

#endif
