#include "cache_write_i8/cache_write_i8.h"

#include <math.h>

static int8_t convert(float x, float largest)
{
    return largest > 0 ? (int8_t)rintf(x * (127 / largest)) : (int8_t)0;
}

#define CACHE_FAMILY "cache_write_i8"
#define CACHE_WORKLOAD sm_workload_cache_write_i8
#define CACHE_ELEMENT int8_t
#define CACHE_TOGETHER SM_CACHE_WRITE_TOGETHER_i8
#define CACHE_HAS_SCALE 1
#define CACHE_POISON 0x80
#include "cache_write_workload_body.h"
