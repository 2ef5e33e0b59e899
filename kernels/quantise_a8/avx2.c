/* Eight groups at a time, so that one tree of shuffles finds the magnitudes of all eight, another their sums, and two
 * divisions serve eight scales. Magnitudes of floats are in the order of their bits, and integers have more units to
 * compare them. Rounding to nearest even is what the conversion does; |x * (127 / amax)| is at most 127 and a rounding
 * error, so that nothing is left to clamp. */
#include <immintrin.h>
#include <stdbool.h>

#include "quantise_a8/quantise_a8.h"
#include "vector_math_avx2.h"

#define GROUPS 8
#define FEWER 6 /* of which rows of 576 and 1152 are multiples */

/* Elements of both in turn, by halves of 128 bits: the larger of the two that each has there. */
static inline __m256i largest_of_two(__m256i a, __m256i b)
{
    return _mm256_max_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}

static inline __m256i largest_of_four(__m256i ab, __m256i cd)
{
    return _mm256_max_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
}

/* The first n elements. */
static inline __attribute__((always_inline)) void store(void *to, __m256 v, size_t n)
{
    if (n == GROUPS)
        _mm256_storeu_ps(to, v);
    else
        _mm256_maskstore_ps(to, sm_first_lanes_avx2(n), v);
}

/* Element g: the largest of x[g]. */
static inline __m256 largest_of_each(const __m256i x[GROUPS])
{
    const __m256i low = largest_of_four(largest_of_two(x[0], x[1]), largest_of_two(x[2], x[3]));
    const __m256i high = largest_of_four(largest_of_two(x[4], x[5]), largest_of_two(x[6], x[7]));
    return _mm256_castsi256_ps(
        _mm256_max_epi32(_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31)));
}

/* Element g: the sum of x[g], which is small enough for 16 bits at every step. */
static inline __m256i sum_of_each(const __m256i x[GROUPS])
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i two[4], four[2];
    for (int i = 0; i < 4; i++) two[i] = _mm256_madd_epi16(_mm256_packs_epi32(x[2 * i], x[2 * i + 1]), ones);
    for (int i = 0; i < 2; i++) four[i] = _mm256_madd_epi16(_mm256_packs_epi32(two[2 * i], two[2 * i + 1]), ones);
    return _mm256_add_epi32(_mm256_permute2x128_si256(four[0], four[1], 0x20),
                            _mm256_permute2x128_si256(four[0], four[1], 0x31));
}

static inline __m256i largest_of_group(const float *x)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i v[4];
    for (int i = 0; i < 4; i++)
        v[i] = _mm256_and_si256(magnitude, _mm256_loadu_si256((const __m256i *)(const void *)(x + 8 * i)));
    return _mm256_max_epi32(_mm256_max_epi32(v[0], v[1]), _mm256_max_epi32(v[2], v[3]));
}

/* The sum of the group is that of the result's eight elements. */
static inline __m256i quantise_group(int8_t *q, const float *x, __m256 factor)
{
    __m256i n[4];
    for (int i = 0; i < 4; i++) n[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), factor));
    const __m256i low = _mm256_packs_epi32(n[0], n[1]), high = _mm256_packs_epi32(n[2], n[3]);
    /* packs work within halves, so that fours of bytes come out of order */
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256((__m256i *)(void *)q, _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order));
    return _mm256_madd_epi16(_mm256_add_epi16(low, high), _mm256_set1_epi16(1));
}

/* What the values of each of n groups are multiplied by, n <= GROUPS; the last counts again for those that are not
 * there.
 */
static inline __attribute__((always_inline)) __m256 factors_of(float *scale, const float *x, size_t n)
{
    __m256i of_group[GROUPS];
    for (size_t g = 0; g < GROUPS; g++) of_group[g] = largest_of_group(x + (g < n ? g : n - 1) * SM_GROUP);
    const __m256 amax = largest_of_each(of_group), inverse = _mm256_div_ps(_mm256_set1_ps(127), amax);
    const __m256 finite = _mm256_cmp_ps(inverse, _mm256_set1_ps(0x1.fffffep127f), _CMP_LE_OQ);
    store(scale, _mm256_div_ps(amax, _mm256_set1_ps(127)), n);
    return _mm256_and_ps(finite, inverse);
}

static inline __attribute__((always_inline)) void quantise_groups(int8_t *q, int32_t *sum, const float *x,
                                                                  __m256 factors, size_t n)
{
    __m256i of_group[GROUPS];
    for (size_t g = 0; g < GROUPS; g++) {
        of_group[g] = _mm256_setzero_si256();
        if (g >= n) continue;
        const __m256 factor = _mm256_permutevar8x32_ps(factors, _mm256_set1_epi32((int)g));
        of_group[g] = quantise_group(q + g * SM_GROUP, x + g * SM_GROUP, factor);
    }
    store(sum, _mm256_castsi256_ps(sum_of_each(of_group)), n);
}

/* Blocks of n groups, of which there are as many at least; the last block begins in the one before it where the groups
 * are no multiple. A block's factors are found while the one before it is worked on: neither waits for the divisions.
 */
static inline __attribute__((always_inline)) void quantise_run(const struct sm_a8 *out, const float *x, size_t groups,
                                                               size_t n)
{
    size_t g = 0;
    __m256 factors = factors_of(out->scale, x, n);
    while (g + n < groups) {
        const size_t next = g + 2 * n <= groups ? g + n : groups - n;
        const __m256 next_factors = factors_of(out->scale + next, x + next * SM_GROUP, n);
        quantise_groups(out->q + g * SM_GROUP, out->sum + g, x + g * SM_GROUP, factors, n);
        factors = next_factors;
        g = next;
    }
    quantise_groups(out->q + g * SM_GROUP, out->sum + g, x + g * SM_GROUP, factors, n);
}

void sm_quantise_a8_avx2(const void *args, struct sm_part part)
{
    const struct sm_quantise_a8 *a = args;
    const size_t groups = a->cols / SM_GROUP, part_groups = part.col_end - part.col_begin;
    /* whole rows that lie without gaps are one */
    const bool one = a->x_stride == a->cols && part_groups == groups;
    const size_t rows = part.row_end - part.row_begin, run = one ? rows * groups : part_groups;
    if (!run) return;
    for (size_t r = part.row_begin; r < part.row_end; r += one ? rows : 1) {
        const size_t at = r * groups + part.col_begin;
        const struct sm_a8 out = {a->out.q + at * SM_GROUP, a->out.scale + at, a->out.sum + at};
        const float *x = a->x + r * a->x_stride + part.col_begin * SM_GROUP;
        if (run < GROUPS)
            quantise_run(&out, x, run, run);
        else if (run % GROUPS && run % FEWER == 0)
            quantise_run(&out, x, run, FEWER);
        else
            quantise_run(&out, x, run, GROUPS);
    }
}
