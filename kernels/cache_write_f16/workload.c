#include "cache_write_f16/cache_write_f16.h"

#include "quant.h"

static uint16_t convert(float x, float largest)
{
    (void)largest;
    return sm_f32_to_f16(x);
}

#define CACHE_FAMILY "cache_write_f16"
#define CACHE_WORKLOAD sm_workload_cache_write_f16
#define CACHE_ELEMENT uint16_t
#define CACHE_TOGETHER SM_CACHE_WRITE_TOGETHER_f16
#define CACHE_HAS_SCALE 0
#define CACHE_POISON 0xff
#include "cache_write_workload_body.h"
