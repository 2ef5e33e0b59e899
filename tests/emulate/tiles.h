/* tiles.h - the tile instructions of AMX, which SIMDe 0.7.4 has not, after the operation sections of Intel's Software
 * Developer's Manual, volume 2. Compared with the instructions by emulate_check.c on a machine that has them.
 *
 * A thread's registers are those of one translation unit: every kernel configures what it uses. What the instructions
 * answer with an exception ends the process here too. */
#ifndef SM_EMULATE_TILES_H
#define SM_EMULATE_TILES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SM_TILE_COUNT 8
#define SM_TILE_ROWS 16
#define SM_TILE_BYTES 64 /* of a row */

static _Thread_local struct {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config;
    uint8_t tile[SM_TILE_COUNT][SM_TILE_ROWS][SM_TILE_BYTES];
} sm_tiles;

static inline void sm_tile_fault(int fault)
{
    if (fault) abort();
}

/* Of palette 1, whose tiles past the eighth do not exist; one with neither rows nor bytes is not there either. */
SM_OP void _tile_loadconfig(const void *from)
{
    memset(&sm_tiles, 0, sizeof sm_tiles);
    memcpy(&sm_tiles.config, from, sizeof sm_tiles.config);
    sm_tile_fault(sm_tiles.config.palette > 1);
    if (!sm_tiles.config.palette) memset(&sm_tiles.config, 0, sizeof sm_tiles.config);
    for (int i = 0; i < 14; i++) sm_tile_fault(sm_tiles.config.reserved[i]);
    for (int t = 0; t < 16; t++) {
        const unsigned rows = sm_tiles.config.rows[t], bytes = sm_tiles.config.row_bytes[t];
        sm_tile_fault(!rows != !bytes || rows > SM_TILE_ROWS || bytes > SM_TILE_BYTES || (t >= SM_TILE_COUNT && rows));
    }
}

SM_OP void _tile_storeconfig(void *to)
{
    memcpy(to, &sm_tiles.config, sizeof sm_tiles.config);
}

SM_OP void _tile_release(void)
{
    memset(&sm_tiles, 0, sizeof sm_tiles);
}

SM_OP void _tile_zero(int t)
{
    sm_tile_fault(!sm_tiles.config.rows[t]);
    memset(sm_tiles.tile[t], 0, sizeof sm_tiles.tile[t]);
}

SM_OP void sm_tile_loadd(int t, const void *base, long stride)
{
    _tile_zero(t);
    for (int r = 0; r < sm_tiles.config.rows[t]; r++)
        memcpy(sm_tiles.tile[t][r], (const char *)base + r * stride, sm_tiles.config.row_bytes[t]);
}

SM_OP void sm_tile_stored(int t, void *base, long stride)
{
    sm_tile_fault(!sm_tiles.config.rows[t]);
    for (int r = 0; r < sm_tiles.config.rows[t]; r++)
        memcpy((char *)base + r * stride, sm_tiles.tile[t][r], sm_tiles.config.row_bytes[t]);
}

/* Strides of any integer type, as in the compilers' own headers. */
#define _tile_loadd(t, base, stride) sm_tile_loadd(t, base, (long)(stride))
#define _tile_stream_loadd(t, base, stride) _tile_loadd(t, base, stride)
#define _tile_stored(t, base, stride) sm_tile_stored(t, base, (long)(stride))

/* The shapes that a product needs: to [m][4n bytes] += a [m][4k bytes] * b [k][4n bytes]. */
SM_OP void sm_tile_check_product(int to, int a, int b)
{
    const uint16_t *bytes = sm_tiles.config.row_bytes;
    const uint8_t *rows = sm_tiles.config.rows;
    sm_tile_fault(to == a || to == b || a == b || !rows[to] || !rows[a] || !rows[b]);
    sm_tile_fault(bytes[to] % 4 || bytes[a] % 4 || bytes[b] % 4);
    sm_tile_fault(rows[a] != rows[to] || bytes[a] / 4 != rows[b] || bytes[b] != bytes[to]);
}

/* Sums wrap round in 32 bits; what lies past the rows and bytes of `to` becomes zero, as it was. */
#define SM_TILE_PRODUCT(name, A, B)                                                                                    \
    SM_OP void name(int to, int a, int b)                                                                              \
    {                                                                                                                  \
        sm_tile_check_product(to, a, b);                                                                               \
        for (int m = 0; m < sm_tiles.config.rows[to]; m++)                                                             \
            for (int n = 0; n < sm_tiles.config.row_bytes[to]; n += 4) {                                               \
                uint32_t sum;                                                                                          \
                memcpy(&sum, sm_tiles.tile[to][m] + n, sizeof sum);                                                    \
                for (int i = 0; i < sm_tiles.config.row_bytes[a]; i++)                                                 \
                    sum += (uint32_t)((A)sm_tiles.tile[a][m][i] * (B)sm_tiles.tile[b][i / 4][n + i % 4]);              \
                memcpy(sm_tiles.tile[to][m] + n, &sum, sizeof sum);                                                    \
            }                                                                                                          \
    }
SM_TILE_PRODUCT(_tile_dpbssd, int8_t, int8_t)
SM_TILE_PRODUCT(_tile_dpbsud, int8_t, uint8_t)
SM_TILE_PRODUCT(_tile_dpbusd, uint8_t, int8_t)
SM_TILE_PRODUCT(_tile_dpbuud, uint8_t, uint8_t)

#endif
