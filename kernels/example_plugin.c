/* A plug-in of one file: rope as plain C in another order. Build it anywhere with slotmark's headers:
 *
 *     cc -O3 -shared -fPIC -I PREFIX/include/slotmark -o example.so example_plugin.c -lm */
#include "plugin.h"
#include "rope/rope.h"

/* Whole heads at a time, with the two halves of a head in one loop. */
static void by_halves(const void *args, struct sm_part part)
{
    const struct sm_rope *a = args;
    const size_t half = a->head_dim / 2;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *cosine = a->cos + r * half, *sine = a->sin + r * half;
        for (size_t h = part.col_begin; h < part.col_end; h++) {
            const float *x = a->x + r * a->x_stride + h * a->head_dim;
            float *y = a->y ? a->y + r * a->y_stride + h * a->head_dim : a->x + r * a->x_stride + h * a->head_dim;
            for (size_t i = 0; i < half; i++) {
                const float u = x[i], v = x[i + half];
                y[i] = u * cosine[i] - v * sine[i];
                y[i + half] = v * cosine[i] + u * sine[i];
            }
        }
    }
}

static const struct sm_plugin_variant variants[] = {
    {"rope", "by_halves", "any", "plain", by_halves, "an example: the compiler vectorises both halves at once"},
};
static const struct sm_plugin plugin = {SM_PLUGIN_VERSION, sizeof variants / sizeof *variants, variants};

const struct sm_plugin *slotmark_plugin(uint32_t version)
{
    return version == SM_PLUGIN_VERSION ? &plugin : NULL;
}
