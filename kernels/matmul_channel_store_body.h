/* matmul_channel_store_body.h - the last steps of matmul_channel.h for LANES channels, in plain C: every variant takes
 * the same, so that all give the same bits; compilers make vectors of it.
 *
 * Included by one variant, which defines ARGS (its family's argument struct), DOT (the type that holds a dot without
 * loss), SCALE_OF(x, r) and LANES (8 or 16) first. */
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

/* dot: of row r and the LANES channels from o on, of quants less `less`, zeros not yet taken away. A tile may begin
 * past `out`. */
static inline __attribute__((always_inline)) void store_lanes(const ARGS *a, size_t r, size_t o, const DOT *dot,
                                                              int32_t less)
{
    if (o >= a->out) return;
    const size_t lanes = a->out - o < LANES ? a->out - o : LANES, at = r * a->y_stride + o;
    const float *scale = (const float *)(const void *)head_of(a, o), scale_x = SCALE_OF(a->x, r);
    const int32_t *zero = (const int32_t *)(const void *)(scale + SM_CHANNELS);
    const DOT sum = a->x.sum[r];
    float y[LANES];
    for (size_t l = 0; l < LANES; l++) y[l] = scale[l] * scale_x * (float)(dot[l] - (DOT)(zero[l] - less) * sum);
    if (a->bias) add_lanes(y, a->bias + o, lanes);
    if (a->residual) add_lanes(y, a->residual + at, lanes);
    if (lanes == LANES)
        memcpy(a->y + at, y, sizeof y);
    else
        memcpy(a->y + at, y, lanes * sizeof *y);
}
