/* amx.h - the tile registers of AMX, for the variants that multiply with them.
 *
 * A variant shapes its tiles, uses them and gives them back with _tile_release before it returns: a thread that holds
 * tiles is slower to switch, and so is the code that it runs next. Their numbers are constants of the instruction. */
#ifndef SM_AMX_H
#define SM_AMX_H

#include <immintrin.h>
#include <stdint.h>

#define SM_AMX_ROWS 16  /* of a tile, at most */
#define SM_AMX_BYTES 64 /* of a row, at most */

/* What ldtilecfg reads. */
struct sm_amx_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct sm_amx_shapes) == 64, "as the instruction reads it");

static inline void sm_amx_shape(struct sm_amx_shapes *shapes, unsigned tile, size_t rows, size_t row_bytes)
{
    shapes->rows[tile] = (uint8_t)rows;
    shapes->row_bytes[tile] = (uint16_t)row_bytes;
}

/* What was written at p, and is reached from it, is in memory: gcc 12 does not know that a tile is loaded from there.
 */
static inline void sm_amx_written(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* All tiles become zero. */
static inline void sm_amx_configure(const struct sm_amx_shapes *shapes)
{
    sm_amx_written(shapes);
    _tile_loadconfig(shapes);
}

#endif
