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

/* Tiles 1, 3 and 6 of m x 4n, m x 4k and k x 4n bytes, which the last operand's bits say, from rows that overlap. */
static void load_tiles(const unsigned char *in)
{
    const unsigned char *bits = in + 3 * SM_OPERAND_BYTES;
    const unsigned m = 1 + (bits[0] & 15), n = 1 + (bits[1] & 15), k = 1 + (bits[2] & 15);
    unsigned char shapes[64] = {1};
    shapes[16 + 2 * 1] = shapes[16 + 2 * 6] = (unsigned char)(4 * n);
    shapes[16 + 2 * 3] = (unsigned char)(4 * k);
    shapes[48 + 1] = shapes[48 + 3] = (unsigned char)m;
    shapes[48 + 6] = (unsigned char)k;
    __asm__ volatile("" : : "r"(shapes), "r"(in) : "memory"); /* gcc 12 does not know that the intrinsics read them */
    _tile_loadconfig(shapes);
    _tile_loadd(1, in, 12);
    _tile_loadd(3, in + 5, 11);
    _tile_loadd(6, in + 9, 10);
}

/* What `change` makes of the tiles, and the tile that is stored then. */
#define TILES(name, change, t)                                                                                         \
    CASE(t, name, __extension__({                                                                                      \
             load_tiles(in);                                                                                           \
             change;                                                                                                   \
             _tile_stored(t, STORE, 64);                                                                               \
             _tile_release();                                                                                          \
             0;                                                                                                        \
         }))

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
