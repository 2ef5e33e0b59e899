/* The cases of emulate_cases.def as a table of functions. Compiled twice: with the machine's own instructions, and
 * with the emulating header; SM_CASES is the table's name. */
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "emulate_check.h"

#define IN(T, i) (*(const T *)(in + (i)*SM_OPERAND_BYTES))
#define POINTER(i) ((const void *)(in + (i)*SM_OPERAND_BYTES))
#define MASK(K) IN(K, 3)
#define STORE ((void *)(out + 64))
/* an index below 16 in each lane */
#define SMALL(T, i) _mm512_and_si512(IN(T, i), _mm512_set1_epi32(15))
/* without NaN and negative zero: which of two equals a reduction returns is the compiler's affair */
#define ORDERED(i) _mm512_add_ps(_mm512_max_ps(IN(__m512, i), _mm512_set1_ps(-INFINITY)), _mm512_setzero_ps())

#define CASE(tag, name, expression)                                                                                    \
    static void run_##name##_##tag(const unsigned char *in, unsigned char *out)                                        \
    {                                                                                                                  \
        __auto_type result = expression;                                                                               \
        (void)in;                                                                                                      \
        memcpy(out, &result, sizeof result);                                                                           \
    }
#include "emulate_cases.def"
#undef CASE

const struct sm_emulate_case SM_CASES[] = {
#define CASE(tag, name, expression) {#name, run_##name##_##tag},
#include "emulate_cases.def"
#undef CASE
    {NULL, NULL},
};
