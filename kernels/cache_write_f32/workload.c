#include "cache_write_f32/cache_write_f32.h"

static float convert(float x, float largest)
{
    (void)largest;
    return x;
}

#define CACHE_FAMILY "cache_write_f32"
#define CACHE_WORKLOAD sm_workload_cache_write_f32
#define CACHE_ELEMENT float
#define CACHE_TOGETHER SM_CACHE_WRITE_TOGETHER_f32
#define CACHE_HAS_SCALE 0
#define CACHE_POISON 0xff
#include "cache_write_workload_body.h"
