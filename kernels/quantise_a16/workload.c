#include "quantise_a16/quantise_a16.h"

#include "random.h"
#include "workload.h"

static void set_scales(struct sm_quantise_a16 *a, enum sm_regime regime, struct sm_random *r)
{
    static const float scales[] = {1, 0.5f, 0x1p-10f, 3.1e-4f, 0x1p-100f, 0x1p100f};
    const float of_regime = scales[sm_random_below(r, regime == SM_REGIME_EXACT ? 3 : 6)];
    a->out.scale = regime == SM_REGIME_RANDOM ? 3.0f / 32767 : of_regime;
}

/* Near normal, some beyond the scale; whole and half units, beyond the ends too; and floats of every size. */
static float value(const struct sm_quantise_a16 *a, enum sm_regime regime, struct sm_random *r)
{
    static const float odd[] = {0, 0x1p-149f, 0x1.fffffep127f, 32766.5f, 32767.5f, 32768.5f, 0.5f, 1.5f, 1e-20f};
    const float x = odd[sm_random_below(r, sizeof odd / sizeof *odd)];
    switch (regime) {
    case SM_REGIME_EXACT: return (float)((int)sm_random_below(r, 131500) - 65750) * 0.5f * a->out.scale;
    case SM_REGIME_EXTREME: return sm_random_below(r, 2) ? x : -x;
    default: return sm_random_normal(r);
    }
}

static float factor_of(const struct sm_quantise_a16 *a)
{
    return 1 / a->out.scale;
}

#define A16_FAMILY "quantise_a16"
#define A16_WORKLOAD sm_workload_quantise_a16
#define A16_ARGS struct sm_quantise_a16
#define A16_ELEMENT float
#include "a16_workload_body.h"
