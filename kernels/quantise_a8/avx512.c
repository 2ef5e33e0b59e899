/* As avx2.c does it, with a group in two vectors: eight groups at a time, so that one tree of shuffles finds their
 * magnitudes, another their sums, and two divisions serve eight scales. Two groups are narrowed together. Rounding to
 * nearest even is what the conversion does; |x * (127 / amax)| is at most 127 and a rounding error, so that nothing is
 * left to clamp. */
#include <immintrin.h>
#include <stdbool.h>

#include "quantise_a8/quantise_a8.h"

#define GROUPS 8
#define FEWER 6 /* of which rows of 576 and 1152 are multiples */

static inline __m512i larger(__m512i a, __m512i b)
{
    return _mm512_max_epi32(a, b);
}

/* Lane g of 128 bits: the largest of x[g]'s four lanes. */
static inline __m512i largest_of_four(const __m512i x[4])
{
    const __m512i low = larger(_mm512_shuffle_i32x4(x[0], x[1], 0x44), _mm512_shuffle_i32x4(x[0], x[1], 0xee));
    const __m512i high = larger(_mm512_shuffle_i32x4(x[2], x[3], 0x44), _mm512_shuffle_i32x4(x[2], x[3], 0xee));
    return larger(_mm512_shuffle_i32x4(low, high, 0x88), _mm512_shuffle_i32x4(low, high, 0xdd));
}

/* Element g: the largest of x[g]. */
static inline __m256 largest_of_each(const __m512i x[GROUPS])
{
    const __m512i low = largest_of_four(x), high = largest_of_four(x + 4);
    const __m512i two = larger(_mm512_unpacklo_epi32(low, high), _mm512_unpackhi_epi32(low, high));
    const __m512i one = larger(two, _mm512_shuffle_epi32(two, 0x4e)); /* lane g: of x[g] and x[g + 4] */
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0);
    return _mm256_castsi256_ps(_mm512_castsi512_si256(_mm512_permutexvar_epi32(order, one)));
}

/* Element g: the sum of group g. x[i] has fours of bytes of group 2 i and of 2 i + 1, two of each in a lane. */
static inline __m256i sum_of_each(const __m512i x[GROUPS / 2])
{
    const __m512i ones = _mm512_set1_epi16(1);
    __m512i of_fours[GROUPS / 2];
    for (int i = 0; i < GROUPS / 2; i++)
        of_fours[i] = _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_set1_epi8(1), x[i]), ones);
    const __m512i low = _mm512_madd_epi16(_mm512_packs_epi32(of_fours[0], of_fours[1]), ones);
    const __m512i high = _mm512_madd_epi16(_mm512_packs_epi32(of_fours[2], of_fours[3]), ones);
    const __m512i each = _mm512_packs_epi32(low, high); /* a lane has words of all eight */
    const __m256i half = _mm256_add_epi16(_mm512_castsi512_si256(each), _mm512_extracti64x4_epi64(each, 1));
    return _mm256_cvtepi16_epi32(_mm_add_epi16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}

static inline __m512i largest_of_group(const float *x)
{
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    return larger(_mm512_and_si512(magnitude, _mm512_loadu_si512(x)),
                  _mm512_and_si512(magnitude, _mm512_loadu_si512(x + 16)));
}

/* What the values of each of n groups are multiplied by, n <= GROUPS; the last counts again for those that are not
 * there. */
static inline __attribute__((always_inline)) __m512 factors_of(float *scale, const float *x, size_t n)
{
    __m512i of_group[GROUPS];
    for (size_t g = 0; g < GROUPS; g++) of_group[g] = largest_of_group(x + (g < n ? g : n - 1) * SM_GROUP);
    const __m256 amax = largest_of_each(of_group), inverse = _mm256_div_ps(_mm256_set1_ps(127), amax);
    const __m256 finite = _mm256_cmp_ps(inverse, _mm256_set1_ps(0x1.fffffep127f), _CMP_LE_OQ);
    _mm256_mask_storeu_ps(scale, (__mmask8)((1u << n) - 1), _mm256_div_ps(amax, _mm256_set1_ps(127)));
    return _mm512_castps256_ps512(_mm256_and_ps(finite, inverse));
}

static inline __m512i words_of_group(const float *x, __m512 factors, size_t g)
{
    const __m512 factor = _mm512_permutexvar_ps(_mm512_set1_epi32((int)g), factors);
    return _mm512_packs_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), factor)),
                              _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16), factor)));
}

static inline __attribute__((always_inline)) void quantise_groups(int8_t *q, int32_t *sum, const float *x,
                                                                  __m512 factors, size_t n)
{
    /* packs work within lanes of 128 bits, so that fours of bytes come out of order */
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i bytes[GROUPS / 2];
    for (size_t g = 0; g < GROUPS; g += 2) {
        bytes[g / 2] = _mm512_setzero_si512();
        if (g >= n) continue;
        const __m512i first = words_of_group(x + g * SM_GROUP, factors, g);
        const __m512i second = g + 1 < n ? words_of_group(x + (g + 1) * SM_GROUP, factors, g + 1) : first;
        bytes[g / 2] = _mm512_packs_epi16(first, second);
        const __m512i ordered = _mm512_permutexvar_epi32(order, bytes[g / 2]);
        _mm512_mask_storeu_epi32(q + g * SM_GROUP, g + 1 < n ? 0xffff : 0xff, ordered);
    }
    _mm256_mask_storeu_epi32(sum, (__mmask8)((1u << n) - 1), sum_of_each(bytes));
}

/* Blocks of n groups, of which there are as many at least; the last block begins in the one before it where the groups
 * are no multiple. A block's factors are found while the one before it is worked on: neither waits for the divisions.
 */
static inline __attribute__((always_inline)) void quantise_run(const struct sm_a8 *out, const float *x, size_t groups,
                                                               size_t n)
{
    size_t g = 0;
    __m512 factors = factors_of(out->scale, x, n);
    while (g + n < groups) {
        const size_t next = g + 2 * n <= groups ? g + n : groups - n;
        const __m512 next_factors = factors_of(out->scale + next, x + next * SM_GROUP, n);
        quantise_groups(out->q + g * SM_GROUP, out->sum + g, x + g * SM_GROUP, factors, n);
        factors = next_factors;
        g = next;
    }
    quantise_groups(out->q + g * SM_GROUP, out->sum + g, x + g * SM_GROUP, factors, n);
}

void sm_quantise_a8_avx512(const void *args, struct sm_part part)
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
