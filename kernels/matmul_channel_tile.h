/* matmul_channel_tile.h - weights per output channel arranged for kernels whose lanes are output channels.
 *
 * A tile is 16 channels and lies in one piece, aligned to 64 bytes: 16 float scales, 16 int32 zeros, then the quants
 * in an order that depends on what multiplies them. Tiles come in pairs: the channels past `out` have scale, zero and
 * quants 0.
 *
 *     a8, 4 bits    [in / 8][16][4]  byte b: input b of the eight in the low half, input 4 + b in the high half
 *     a8, 8 bits    [in / 4][16][4]  a 32-bit lane is four inputs of a channel, as vpdpbusd and vpmaddubsw sum them
 *     a16, 4 bits   [in / 8][16][2]  16-bit: nibble p of word e is input 2p + e of the eight, so that after a shift
 *                                    a 32-bit lane is two inputs of a channel, as vpdpwssd and vpmaddwd sum them
 *     a16, 8 bits   [in / 2][16][2]  signed bytes q - 128, to be widened; the zeros are 128 less too */
#ifndef SM_MATMUL_CHANNEL_TILE_H
#define SM_MATMUL_CHANNEL_TILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "quant.h"

#define SM_CHANNELS 16      /* of a tile */
#define SM_CHANNEL_HEAD 128 /* bytes before its quants */

static inline size_t sm_channel_tile_bytes(size_t in, size_t bits)
{
    return SM_CHANNEL_HEAD + in * SM_CHANNELS * bits / 8;
}

static inline size_t sm_channel_packed_bytes(size_t out, size_t in, size_t bits)
{
    return (out + 2 * SM_CHANNELS - 1) / (2 * SM_CHANNELS) * 2 * sm_channel_tile_bytes(in, bits);
}

/* Where input i of channel c stands: its byte after the head, and the shift inside it. */
static inline size_t sm_channel_at(size_t c, size_t i, size_t bits, int wide, unsigned *shift)
{
    *shift = 0;
    if (bits == 8) return wide ? i / 2 * 32 + c * 2 + i % 2 : i / 4 * 64 + c * 4 + i % 4;
    if (wide) {
        *shift = i / 2 % 2 * 4;
        return i / 8 * 64 + c * 4 + i % 2 * 2 + i % 8 / 4;
    }
    *shift = i / 4 % 2 * 4;
    return i / 8 * 64 + c * 4 + i % 4;
}

/* rows: canonical (quant.h). wide: for int16 rows. */
static inline void sm_channel_pack(void *dst, const void *rows, size_t out, size_t in, size_t bits, int wide)
{
    const size_t tile_bytes = sm_channel_tile_bytes(in, bits), row_bytes = sm_channel_bytes(in, (int)bits);
    const int32_t less = wide && bits == 8 ? 128 : 0;
    memset(dst, 0, sm_channel_packed_bytes(out, in, bits));
    for (size_t o = 0; o < out; o++) {
        const uint8_t *row = (const uint8_t *)rows + o * row_bytes, *q = row + sizeof(struct sm_channel);
        uint8_t *tile = (uint8_t *)dst + o / SM_CHANNELS * tile_bytes;
        const size_t c = o % SM_CHANNELS;
        struct sm_channel head;
        memcpy(&head, row, sizeof head);
        head.zero -= less;
        memcpy(tile + 4 * c, &head.scale, 4);
        memcpy(tile + 64 + 4 * c, &head.zero, 4);
        for (size_t i = 0; i < in; i++) {
            unsigned shift;
            const int value = bits == 8 ? (uint8_t)(q[i] - less) : q[i / 2] >> i % 2 * 4 & 15;
            const size_t at = SM_CHANNEL_HEAD + sm_channel_at(c, i, bits, wide, &shift);
            tile[at] = (uint8_t)(tile[at] | value << shift);
        }
    }
}

#endif
