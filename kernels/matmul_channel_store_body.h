/* matmul_channel_store_body.h - where a channel's scale and zero lie, and the last steps of matmul_channel.h for LANES
 * channels.
 *
 * Included by one variant, which defines ARGS (its family's argument struct) and LANES (8 or 16) first. */
#include "matmul_channel_tile.h"

static inline __attribute__((always_inline)) void add_lanes(float *y, const float *x, size_t lanes)
{
    if (lanes == LANES)
        for (size_t l = 0; l < LANES; l++) y[l] += x[l];
    else
        for (size_t l = 0; l < lanes; l++) y[l] += x[l];
}

/* Where channel o has its scale; its zero is 16 words on. */
static inline const uint8_t *head_of(const ARGS *a, size_t o)
{
    return (const uint8_t *)a->w + o / SM_CHANNELS * sm_channel_tile_bytes(a->in, BITS) + o % SM_CHANNELS * 4;
}

/* Row r's y of the LANES channels from o on, before bias and residual. A tile may begin past `out`. */
static inline __attribute__((always_inline)) void store_floats(const ARGS *a, size_t r, size_t o, float *y)
{
    if (o >= a->out) return;
    const size_t lanes = a->out - o < LANES ? a->out - o : LANES, at = r * a->y_stride + o;
    if (a->bias) add_lanes(y, a->bias + o, lanes);
    if (a->residual) add_lanes(y, a->residual + at, lanes);
    if (lanes == LANES)
        memcpy(a->y + at, y, LANES * sizeof *y);
    else
        memcpy(a->y + at, y, lanes * sizeof *y);
}
