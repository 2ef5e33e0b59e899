/* random.h - seeded numbers for operands: the same on every machine and compiler. For workloads only. */
#ifndef SM_RANDOM_H
#define SM_RANDOM_H

#include <stdint.h>

struct sm_random {
    uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t sm_random_u64(struct sm_random *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Uniform in [0, n). */
static inline uint32_t sm_random_below(struct sm_random *r, uint32_t n)
{
    return (uint32_t)(((sm_random_u64(r) >> 32) * n) >> 32);
}

/* Uniform in [-1, 1), on a grid of 2^-23. */
static inline float sm_random_unit(struct sm_random *r)
{
    return (float)((int32_t)(sm_random_u64(r) >> 40) - 0x800000) * 0x1p-23f;
}

/* Near normal, standard deviation 1: the sum of four uniforms, scaled. */
static inline float sm_random_normal(struct sm_random *r)
{
    const float s = sm_random_unit(r) + sm_random_unit(r) + sm_random_unit(r) + sm_random_unit(r);
    return s * 0.8660254f;
}

#endif
