/* matmul_tile.h - "tile32": group-quantised weights arranged for kernels that hold 32 output channels, in two vectors
 * of 16 or four of 8.
 *
 * A tile is 32 output channels, and lies in one piece, aligned to 64 bytes: block after block of
 *
 *     quants  [quant_bytes / 4][32 channels][4]   bytes 4j .. 4j+3 of each channel's block, side by side
 *     scales  [32] f16, and with an offset the offsets [32] f16
 *
 * so that a 32-bit lane holds four weights of one channel that follow each other, which is what vpdpbusd and
 * vpmaddubsw sum, and all that one pass over a tile reads is one stream of whole cache lines. The channels past `out`
 * in the last tile are zeros. */
#ifndef SM_MATMUL_TILE_H
#define SM_MATMUL_TILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "quant.h"

#define SM_TILE 32

/* Where a block's scales begin: quant_bytes is 16 for 4-bit weights and 32 for 8-bit ones. */
static inline size_t sm_tile_scales_at(size_t quant_bytes)
{
    return SM_TILE * quant_bytes;
}

static inline size_t sm_tile_block_bytes(size_t quant_bytes, int has_offset)
{
    return sm_tile_scales_at(quant_bytes) + SM_TILE * (has_offset ? 4u : 2u);
}

static inline size_t sm_tile_bytes(size_t in, size_t quant_bytes, int has_offset)
{
    return in / SM_GROUP * sm_tile_block_bytes(quant_bytes, has_offset);
}

static inline size_t sm_tile_packed_bytes(size_t out, size_t in, size_t quant_bytes, int has_offset)
{
    return (out + SM_TILE - 1) / SM_TILE * sm_tile_bytes(in, quant_bytes, has_offset);
}

/* rows: GGUF blocks, [out][in / 32] of {f16 scale, f16 offset if has_offset, quant_bytes of quants}; flip is
 * exclusive-ored into every quant. */
static inline void sm_tile_pack(void *dst, const void *rows, size_t out, size_t in, size_t quant_bytes, int has_offset,
                                uint32_t flip)
{
    const size_t head = has_offset ? 4 : 2, tile_bytes = sm_tile_bytes(in, quant_bytes, has_offset);
    const uint8_t *from = rows;
    memset(dst, 0, sm_tile_packed_bytes(out, in, quant_bytes, has_offset));
    for (size_t o = 0; o < out; o++) {
        uint8_t *block = (uint8_t *)dst + o / SM_TILE * tile_bytes;
        for (size_t b = 0; b < in / SM_GROUP; b++, from += head + quant_bytes) {
            uint8_t *quants = block + o % SM_TILE * 4, *scales = block + sm_tile_scales_at(quant_bytes);
            for (size_t j = 0; j < quant_bytes; j += 4, quants += SM_TILE * 4) {
                uint32_t four;
                memcpy(&four, from + head + j, 4);
                four ^= flip;
                memcpy(quants, &four, 4);
            }
            for (size_t h = 0; h < head; h += 2) memcpy(scales + (SM_TILE * h + o % SM_TILE * 2), from + h, 2);
            block += sm_tile_block_bytes(quant_bytes, has_offset);
        }
    }
}

#endif
