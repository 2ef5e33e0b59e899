/* matmul_channel_a16_amx_body.h - weights per output channel times int16 rows, by products of tiles.
 *
 * Included by one variant, after matmul_channel_a16_body.h, whose loops take up to FEW_FOR_TILES rows, which the
 * variant defines. A value is 256 times a signed byte and an unsigned one, and a row two planes of such bytes, each of
 * which meets the weights (0..15, or less 128: signed bytes) in a product of its own.
 *
 * Of at most 2^14 inputs 32 bits hold the sums of either plane: 255 * 128 * 2^14 is below 2^29. A row's sum is split
 * likewise, so that zero points times it are at most 2^28 and are taken away in 32 bits too. What is then 256 * high +
 * low, below 2^37, is 2^16 * a + b, 0 <= b < 2^16: floats hold both exactly, and one fused multiplication and addition
 * rounds the whole once. */
#include "amx.h"

#define PLANES 2
#define PRODUCT_0 _tile_dpbssd
#define PRODUCT_1 _tile_dpbusd
#define AS_TILES_WANT 0
#define STEP_BYTES (STEP * LANES * BITS / 8)

static inline const uint8_t *tile_of(const ARGS *a, size_t o)
{
    return (const uint8_t *)a->w + o / SM_CHANNELS * sm_channel_tile_bytes(a->in, BITS);
}

/* w[0], w[1]: four inputs of a step each; of four bits 0, 4, 1, 5 and 2, 6, 3, 7, as they lie: copy_inputs follows. */
static inline void load_step(__m512i w[2], const uint8_t *quants)
{
    if (BITS == 4) {
        const __m512i bytes = _mm512_load_si512(quants), low = _mm512_set1_epi8(15);
        w[0] = _mm512_and_si512(bytes, low);
        w[1] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low);
        return;
    }
    /* two inputs of sixteen channels, and the next two, become four inputs of each */
    const __m512i pairs =
        _mm512_setr_epi32(0x100000, 0x110001, 0x120002, 0x130003, 0x140004, 0x150005, 0x160006, 0x170007, 0x180008,
                          0x190009, 0x1a000a, 0x1b000b, 0x1c000c, 0x1d000d, 0x1e000e, 0x1f000f);
    w[0] = _mm512_permutexvar_epi16(pairs, _mm512_load_si512(quants));
    w[1] = _mm512_permutexvar_epi16(pairs, _mm512_load_si512(quants + 64));
}

/* 32 bytes as load_step orders their inputs. */
static inline void store_plane(int8_t *to, __m256i bytes)
{
    const __m256i order =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15));
    if (BITS == 4) bytes = _mm256_shuffle_epi8(bytes, order);
    _mm256_store_si256((__m256i *)(void *)to, bytes);
}

static inline void copy_inputs(int8_t *to, size_t plane, const int16_t *x, int more)
{
    for (size_t i = 0; i < 64; i += 32, to += 32) {
        const __m512i values = i && !more ? _mm512_setzero_si512() : _mm512_loadu_si512(x + i);
        store_plane(to, _mm512_cvtepi16_epi8(_mm512_srli_epi16(values, 8)));
        store_plane(to + plane, _mm512_cvtepi16_epi8(values));
    }
}

/* The last steps of matmul_channel.h for a row and the channels of a tile. One may begin past `out`. */
static inline __attribute__((always_inline)) void store_sums(const ARGS *a, size_t r, size_t o, const int32_t *highs,
                                                             const int32_t *lows)
{
    if (o >= a->out) return;
    const __mmask16 mask = (__mmask16)(a->out - o < LANES ? (1u << (a->out - o)) - 1 : 0xffff);
    const size_t at = r * a->y_stride + o;
    const uint8_t *head = tile_of(a, o);
    const __m512i zero = _mm512_load_si512(head + 64);
    const int32_t sum = (int32_t)a->x.sum[r];
    const __m512i high =
        _mm512_sub_epi32(_mm512_load_si512(highs), _mm512_mullo_epi32(zero, _mm512_set1_epi32(sum >> 8)));
    const __m512i low =
        _mm512_sub_epi32(_mm512_load_si512(lows), _mm512_mullo_epi32(zero, _mm512_set1_epi32(sum & 255)));
    /* 2^16 first + last */
    const __m512i first = _mm512_srai_epi32(_mm512_add_epi32(high, _mm512_srai_epi32(low, 8)), 8);
    const __m512i last = _mm512_and_si512(_mm512_add_epi32(_mm512_slli_epi32(high, 8), low), _mm512_set1_epi32(0xffff));
    const __m512 dot = _mm512_fmadd_ps(_mm512_cvtepi32_ps(first), _mm512_set1_ps(65536), _mm512_cvtepi32_ps(last));
    __m512 y = _mm512_mul_ps(_mm512_load_ps(head), _mm512_set1_ps(SCALE_OF(a->x, r)));
    y = _mm512_mul_ps(y, dot);
    if (a->bias) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask, a->bias + o));
    if (a->residual) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask, a->residual + at));
    _mm512_mask_storeu_ps(a->y + at, mask, y);
}

#include "matmul_channel_amx_body.h"
