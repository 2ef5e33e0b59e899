#include "requantise/requantise.h"

#include "random.h"
#include "workload.h"

static void set_scales(struct sm_requantise *a, enum sm_regime regime, struct sm_random *r)
{
    static const float exact[] = {0.25f, 0.5f, 1, 2, 4}, extreme[] = {0x1p-60f, 0x1p60f, 1, 3.1e-4f, 0.7f};
    const float *of = regime == SM_REGIME_EXACT ? exact : extreme;
    a->x_scale = regime == SM_REGIME_RANDOM ? 3.0f / 32767 : of[sm_random_below(r, 5)];
    a->out.scale = regime == SM_REGIME_RANDOM ? 2.3f / 32767 : of[sm_random_below(r, 5)];
}

static int16_t value(const struct sm_requantise *a, enum sm_regime regime, struct sm_random *r)
{
    static const int16_t odd[] = {-32768, 32767, -32767, 0, 1, -1, 2, 3};
    (void)a;
    if (regime == SM_REGIME_EXTREME) return odd[sm_random_below(r, sizeof odd / sizeof *odd)];
    return (int16_t)((int)sm_random_below(r, 65536) - 32768);
}

static float factor_of(const struct sm_requantise *a)
{
    return a->x_scale / a->out.scale;
}

#define A16_FAMILY "requantise"
#define A16_WORKLOAD sm_workload_requantise
#define A16_ARGS struct sm_requantise
#define A16_ELEMENT int16_t
#include "a16_workload_body.h"
