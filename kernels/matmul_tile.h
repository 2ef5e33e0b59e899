/* matmul_tile.h - "tile16": group-quantised weights arranged for kernels that hold 16 output channels in a vector.
 *
 * A tile is 16 output channels, and lies in one piece, aligned to 64 bytes:
 *
 *     quants  [blocks][quant_bytes / 4][16 channels][4]   bytes 4j .. 4j+3 of each channel's block, side by side
 *     scales  [blocks][16]  f16, or with an offset [blocks][2][16]: the scales, then the offsets
 *
 * so that a 32-bit lane holds four weights of one channel that follow each other, which is what vpdpbusd and
 * vpmaddubsw sum. The channels past `out` in the last tile are zeros. */
#ifndef SM_MATMUL_TILE_H
#define SM_MATMUL_TILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "quant.h"

#define SM_TILE 16

/* Where a tile's scales begin: quant_bytes is 16 for 4-bit weights and 32 for 8-bit ones. */
static inline size_t sm_tile_scales_at(size_t in, size_t quant_bytes)
{
    return in / SM_GROUP * quant_bytes * SM_TILE;
}

static inline size_t sm_tile_bytes(size_t in, size_t quant_bytes, int has_offset)
{
    const size_t scales = in / SM_GROUP * SM_TILE * (has_offset ? 4 : 2);
    return (sm_tile_scales_at(in, quant_bytes) + scales + 63) / 64 * 64;
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
    const size_t blocks = in / SM_GROUP, head = has_offset ? 4 : 2, block_bytes = head + quant_bytes;
    const size_t tile_bytes = sm_tile_bytes(in, quant_bytes, has_offset);
    memset(dst, 0, sm_tile_packed_bytes(out, in, quant_bytes, has_offset));
    for (size_t o = 0; o < out; o++) {
        uint8_t *quants = (uint8_t *)dst + o / SM_TILE * tile_bytes + o % SM_TILE * 4;
        uint8_t *scales =
            (uint8_t *)dst + o / SM_TILE * tile_bytes + sm_tile_scales_at(in, quant_bytes) + o % SM_TILE * 2;
        const uint8_t *from = (const uint8_t *)rows + o * blocks * block_bytes;
        for (size_t b = 0; b < blocks; b++, from += block_bytes) {
            for (size_t h = 0; h < head; h += 2, scales += SM_TILE * 2) memcpy(scales, from + h, 2);
            for (size_t j = 0; j < quant_bytes; j += 4, quants += SM_TILE * 4) {
                uint32_t four;
                memcpy(&four, from + head + j, 4);
                four ^= flip;
                memcpy(quants, &four, 4);
            }
        }
    }
}

#endif
