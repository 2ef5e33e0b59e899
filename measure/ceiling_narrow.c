/* Raw assembly, as in ceiling_kernels.c. Registers 0 to 3 are renamed from one turn to the next, of which none waits
 * for another but by the sum; operands are ordinary numbers. */
#include "ceiling_narrow.h"

#if defined(__x86_64__)

/* In registers 4 to 13: four values, the mask of a magnitude, a factor, an order, words of 1, a sum, the largest. */
static const float floats[10] = {0.7f, 1.3f, 0.9f, 0.4f, 0, 99, 0, 0, 0, 32767};
static const int32_t integers[10] = {0, 0, 0, 0, 0x7fffffff, 0, 0, 0x00010001, 0, 0};

#define TWICE(op) op op
#define EIGHT_TIMES(op) op op op op op op op op
#define NARROW(fn, vector, op)                                                                                         \
    void fn(uint64_t rounds)                                                                                           \
    {                                                                                                                  \
        __asm__ volatile(".irp i,4,5,6,7,9,13\n\t"                                                                     \
                         "vbroadcastss 4*\\i-16(%[f]), %%" vector "\\i\n\t"                                            \
                         ".endr\n\t"                                                                                   \
                         ".irp i,8,10,11,12\n\t"                                                                       \
                         "vpbroadcastd 4*\\i-16(%[i]), %%" vector "\\i\n\t"                                            \
                         ".endr\n\t.p2align 6\n1:\n\t" EIGHT_TIMES(op) "decq %[n]\n\t"                                 \
                                                                       "jnz 1b\n\tvzeroupper\n\t"                      \
                         : [n] "+r"(rounds)                                                                            \
                         : [f] "r"(floats), [i] "r"(integers)                                                          \
                         : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",     \
                           "xmm9", "xmm10", "xmm11", "xmm12", "xmm13");                                                \
    }
#define NARROW8_F32_AVX2                                                                                               \
    "vpand %%ymm4, %%ymm8, %%ymm0\n\t"                                                                                 \
    "vpand %%ymm5, %%ymm8, %%ymm1\n\t"                                                                                 \
    "vpmaxsd %%ymm1, %%ymm0, %%ymm0\n\t"                                                                               \
    "vpand %%ymm6, %%ymm8, %%ymm1\n\t"                                                                                 \
    "vpmaxsd %%ymm1, %%ymm0, %%ymm0\n\t"                                                                               \
    "vpand %%ymm7, %%ymm8, %%ymm1\n\t"                                                                                 \
    "vpmaxsd %%ymm1, %%ymm0, %%ymm0\n\t"                                                                               \
    "vmulps %%ymm4, %%ymm9, %%ymm2\n\t"                                                                                \
    "vcvtps2dq %%ymm2, %%ymm2\n\t"                                                                                     \
    "vmulps %%ymm5, %%ymm9, %%ymm3\n\t"                                                                                \
    "vcvtps2dq %%ymm3, %%ymm3\n\t"                                                                                     \
    "vpackssdw %%ymm3, %%ymm2, %%ymm0\n\t"                                                                             \
    "vmulps %%ymm6, %%ymm9, %%ymm2\n\t"                                                                                \
    "vcvtps2dq %%ymm2, %%ymm2\n\t"                                                                                     \
    "vmulps %%ymm7, %%ymm9, %%ymm3\n\t"                                                                                \
    "vcvtps2dq %%ymm3, %%ymm3\n\t"                                                                                     \
    "vpackssdw %%ymm3, %%ymm2, %%ymm1\n\t"                                                                             \
    "vpaddw %%ymm0, %%ymm1, %%ymm2\n\t"                                                                                \
    "vpmaddwd %%ymm2, %%ymm11, %%ymm2\n\t"                                                                             \
    "vpaddd %%ymm2, %%ymm12, %%ymm12\n\t"                                                                              \
    "vpacksswb %%ymm1, %%ymm0, %%ymm0\n\t"                                                                             \
    "vpermd %%ymm0, %%ymm10, %%ymm0\n\t"
#define NARROW8_F32_AVX512                                                                                             \
    "vpandd %%zmm4, %%zmm8, %%zmm0\n\t"                                                                                \
    "vpandd %%zmm5, %%zmm8, %%zmm1\n\t"                                                                                \
    "vpmaxsd %%zmm0, %%zmm1, %%zmm0\n\t"                                                                               \
    "vpandd %%zmm6, %%zmm8, %%zmm0\n\t"                                                                                \
    "vpandd %%zmm7, %%zmm8, %%zmm1\n\t"                                                                                \
    "vpmaxsd %%zmm0, %%zmm1, %%zmm0\n\t"                                                                               \
    "vmulps %%zmm4, %%zmm9, %%zmm2\n\t"                                                                                \
    "vcvtps2dq %%zmm2, %%zmm2\n\t"                                                                                     \
    "vmulps %%zmm5, %%zmm9, %%zmm3\n\t"                                                                                \
    "vcvtps2dq %%zmm3, %%zmm3\n\t"                                                                                     \
    "vpackssdw %%zmm3, %%zmm2, %%zmm0\n\t"                                                                             \
    "vmulps %%zmm6, %%zmm9, %%zmm2\n\t"                                                                                \
    "vcvtps2dq %%zmm2, %%zmm2\n\t"                                                                                     \
    "vmulps %%zmm7, %%zmm9, %%zmm3\n\t"                                                                                \
    "vcvtps2dq %%zmm3, %%zmm3\n\t"                                                                                     \
    "vpackssdw %%zmm3, %%zmm2, %%zmm1\n\t"                                                                             \
    "vpaddw %%zmm0, %%zmm1, %%zmm2\n\t"                                                                                \
    "vpmaddwd %%zmm2, %%zmm11, %%zmm2\n\t"                                                                             \
    "vpaddd %%zmm2, %%zmm12, %%zmm12\n\t"                                                                              \
    "vpacksswb %%zmm1, %%zmm0, %%zmm0\n\t"                                                                             \
    "vpermd %%zmm0, %%zmm10, %%zmm0\n\t"
#define NARROW16_F32_AVX2                                                                                              \
    "vmulps %%ymm4, %%ymm9, %%ymm0\n\t"                                                                                \
    "vminps %%ymm13, %%ymm0, %%ymm0\n\t"                                                                               \
    "vcvtps2dq %%ymm0, %%ymm0\n\t"                                                                                     \
    "vmulps %%ymm5, %%ymm9, %%ymm1\n\t"                                                                                \
    "vminps %%ymm13, %%ymm1, %%ymm1\n\t"                                                                               \
    "vcvtps2dq %%ymm1, %%ymm1\n\t"                                                                                     \
    "vpackssdw %%ymm1, %%ymm0, %%ymm0\n\t"                                                                             \
    "vpermq $0xd8, %%ymm0, %%ymm0\n\t"                                                                                 \
    "vpmaddwd %%ymm0, %%ymm11, %%ymm1\n\t"                                                                             \
    "vpaddd %%ymm1, %%ymm12, %%ymm12\n\t"
#define NARROW16_F32_AVX512                                                                                            \
    "vmulps %%zmm4, %%zmm9, %%zmm0\n\t"                                                                                \
    "vminps %%zmm13, %%zmm0, %%zmm0\n\t"                                                                               \
    "vcvtps2dq %%zmm0, %%zmm0\n\t"                                                                                     \
    "vmulps %%zmm5, %%zmm9, %%zmm1\n\t"                                                                                \
    "vminps %%zmm13, %%zmm1, %%zmm1\n\t"                                                                               \
    "vcvtps2dq %%zmm1, %%zmm1\n\t"                                                                                     \
    "vpackssdw %%zmm1, %%zmm0, %%zmm0\n\t"                                                                             \
    "vpermq %%zmm0, %%zmm10, %%zmm0\n\t"                                                                               \
    "vpmaddwd %%zmm0, %%zmm11, %%zmm1\n\t"                                                                             \
    "vpaddd %%zmm1, %%zmm12, %%zmm12\n\t"
#define NARROW16_I16_AVX2                                                                                              \
    "vpmovsxwd %%xmm4, %%ymm0\n\t"                                                                                     \
    "vcvtdq2ps %%ymm0, %%ymm0\n\t"                                                                                     \
    "vmulps %%ymm0, %%ymm9, %%ymm0\n\t"                                                                                \
    "vminps %%ymm13, %%ymm0, %%ymm0\n\t"                                                                               \
    "vcvtps2dq %%ymm0, %%ymm0\n\t"                                                                                     \
    "vpmovsxwd %%xmm5, %%ymm1\n\t"                                                                                     \
    "vcvtdq2ps %%ymm1, %%ymm1\n\t"                                                                                     \
    "vmulps %%ymm1, %%ymm9, %%ymm1\n\t"                                                                                \
    "vminps %%ymm13, %%ymm1, %%ymm1\n\t"                                                                               \
    "vcvtps2dq %%ymm1, %%ymm1\n\t"                                                                                     \
    "vpackssdw %%ymm1, %%ymm0, %%ymm0\n\t"                                                                             \
    "vpermq $0xd8, %%ymm0, %%ymm0\n\t"                                                                                 \
    "vpmaddwd %%ymm0, %%ymm11, %%ymm1\n\t"                                                                             \
    "vpaddd %%ymm1, %%ymm12, %%ymm12\n\t"
#define NARROW16_I16_AVX512                                                                                            \
    "vpmovsxwd %%ymm4, %%zmm0\n\t"                                                                                     \
    "vcvtdq2ps %%zmm0, %%zmm0\n\t"                                                                                     \
    "vmulps %%zmm0, %%zmm9, %%zmm0\n\t"                                                                                \
    "vminps %%zmm13, %%zmm0, %%zmm0\n\t"                                                                               \
    "vcvtps2dq %%zmm0, %%zmm0\n\t"                                                                                     \
    "vpmovsxwd %%ymm5, %%zmm1\n\t"                                                                                     \
    "vcvtdq2ps %%zmm1, %%zmm1\n\t"                                                                                     \
    "vmulps %%zmm1, %%zmm9, %%zmm1\n\t"                                                                                \
    "vminps %%zmm13, %%zmm1, %%zmm1\n\t"                                                                               \
    "vcvtps2dq %%zmm1, %%zmm1\n\t"                                                                                     \
    "vpackssdw %%zmm1, %%zmm0, %%zmm0\n\t"                                                                             \
    "vpermq %%zmm0, %%zmm10, %%zmm0\n\t"                                                                               \
    "vpmaddwd %%zmm0, %%zmm11, %%zmm1\n\t"                                                                             \
    "vpaddd %%zmm1, %%zmm12, %%zmm12\n\t"

NARROW(sm_narrow8_f32_avx2, "ymm", NARROW8_F32_AVX2)
NARROW(sm_narrow8_f32_avx512, "zmm", NARROW8_F32_AVX512)
NARROW(sm_narrow16_f32_avx2, "ymm", TWICE(NARROW16_F32_AVX2))
NARROW(sm_narrow16_f32_avx512, "zmm", TWICE(NARROW16_F32_AVX512))
NARROW(sm_narrow16_i16_avx2, "ymm", TWICE(NARROW16_I16_AVX2))
NARROW(sm_narrow16_i16_avx512, "zmm", TWICE(NARROW16_I16_AVX512))

#endif
