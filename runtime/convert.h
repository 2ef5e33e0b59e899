/* convert.h - rows of weights in a format that no kernel multiplies by, made into the nearest one that some kernel
 * does; and what that costs.
 *
 * Only the representation changes where it can: Q5_0 fits in Q8_0 as it is, BF16 in F32, and the groups of
 * Q4_K keep their nibbles in Q4_1, whose scale and minimum are halves where Q4_K's are products of two numbers. The
 * others are dequantised and quantised again. */
#ifndef SM_CONVERT_H
#define SM_CONVERT_H

#include "model.h"

/* Sums over what was converted. */
struct sm_error_sums {
    double squares, error_squares; /* of the values, and of their differences */
    double most, most_error;       /* the largest magnitudes of both */
};

/* The native format that is nearest to a file's: itself, when it is one (F32, F16, Q4_0, Q4_1, Q8_0). Q2_K and Q3_K go
 * to Q8_0, although they are small: their groups of 16 have a scale each, and Q4_1, whose groups are of 32, loses 4 and
 * 7 % of the RMS of random blocks of them where Q8_0 loses 0.4 and 0.5 %. */
enum sm_format sm_nearest_format(enum sm_format format);

/* `cols` finite elements from one format to another (F32, Q4_0, Q4_1, Q8_0; or a row of W4C or W8C, whose range is
 * searched with `clip`: quantise_channel.h). `scratch` holds 2 * cols floats. Differences are added to `sums`. */
void sm_convert(void *to, enum sm_format to_format, const void *from, enum sm_format from_format, size_t cols,
                bool clip, float *scratch, struct sm_error_sums *sums);

void sm_error_add(struct sm_error_sums *to, const struct sm_error_sums *more);

#endif
