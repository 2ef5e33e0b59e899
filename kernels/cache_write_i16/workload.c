#include "cache_write_i16/cache_write_i16.h"

#include <math.h>

static int16_t convert(float x, float scale)
{
    return (int16_t)nearbyintf(fminf(fmaxf(x * (1 / scale), -32768), 32767));
}

#define CACHE_FAMILY "cache_write_i16"
#define CACHE_WORKLOAD sm_workload_cache_write_i16
#define CACHE_ELEMENT int16_t
#define CACHE_TOGETHER SM_CACHE_WRITE_TOGETHER_i16
#define CACHE_HAS_SCALE 0
#define CACHE_TENSOR_SCALE 1
#define CACHE_POISON (b % 2 ? 0x80 : 0x01) /* -32767, which saturation passes by */
#include "cache_write_workload_body.h"
