/* ceiling_narrow.h - the loops that ceilings of rows of small integers are measured with. For ceiling_kernels.c.
 *
 * The fewest instructions known that make them, in registers: 32 or 64 values in turn are scaled, rounded, packed in
 * their order and added up; in 8 bits the largest magnitude is found as well, in 16 bits what is too large is clamped.
 * Loads and stores, the scales themselves and the last steps of sums and maxima are left out. */
#ifndef SM_CEILING_NARROW_H
#define SM_CEILING_NARROW_H

#include <stdint.h>

#define SM_NARROW_WORK_AVX2 (8 * 32) /* values in a round */
#define SM_NARROW_WORK_AVX512 (8 * 64)

void sm_narrow8_f32_avx2(uint64_t rounds); /* int8 from floats */
void sm_narrow8_f32_avx512(uint64_t rounds);
void sm_narrow16_f32_avx2(uint64_t rounds); /* int16 from floats */
void sm_narrow16_f32_avx512(uint64_t rounds);
void sm_narrow16_i16_avx2(uint64_t rounds); /* int16 from int16 of another scale */
void sm_narrow16_i16_avx512(uint64_t rounds);

#endif
