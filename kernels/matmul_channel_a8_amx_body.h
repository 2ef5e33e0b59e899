/* matmul_channel_a8_amx_body.h - weights per output channel times int8 rows, by products of tiles.
 *
 * Included by one variant, after matmul_channel_a8_avx512vnni_body.h, whose loops take up to FEW_FOR_TILES rows, which
 * the variant defines. Signed activations, unsigned weights. */
#include "amx.h"

#define PLANES 1
#define PRODUCT_0 _tile_dpbsud
#define PRODUCT_1 _tile_dpbsud
#define AS_TILES_WANT (BITS == 8)

static inline void copy_inputs(int8_t *to, size_t plane, const int8_t *x, int more)
{
    (void)plane;
    _mm512_store_si512(to, _mm512_maskz_loadu_epi8(more ? ~(__mmask64)0 : 0xffffffff, x));
}

static inline __attribute__((always_inline)) void store_sums(const ARGS *a, size_t r, size_t o, const int32_t *sums,
                                                             const int32_t *others)
{
    __m512i dot = _mm512_load_si512(sums);
    if (others) dot = _mm512_add_epi32(dot, _mm512_load_si512(others));
    store_rows(a, r, o, &dot, 1);
}

#include "matmul_channel_amx_body.h"
