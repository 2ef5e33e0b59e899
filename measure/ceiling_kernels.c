/* Raw assembly, so that no compiler reorders, folds or widens what is being measured; it needs no ISA flags,
 * only a check that the CPU has the instructions. */
#include "ceiling_kernels.h"

#include <string.h>

#include "ceiling_narrow.h"
#include "machine.h"

static const char *const levels[] = {"any", "avx2", "avx512", "avx512vnni", "amx", NULL};

static int level(const char *name)
{
    int i = 0;
    while (levels[i] && strcmp(levels[i], name)) i++;
    return i;
}

int sm_scheme_runs(const struct sm_scheme *scheme)
{
    if (level(sm_machine_isa()) < level(scheme->isa)) return 0;
#if defined(__x86_64__)
    if (scheme->needs_bf16) return __builtin_cpu_supports("avx512bf16") != 0;
#endif
    return 1;
}

#if defined(__x86_64__)

#define VECTORS                                                                                                        \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",         \
        "xmm13", "xmm14", "xmm15"

/* 16 vectors an iteration; `at` says what is done with register v and the n-th vector of width w from here. */
#define EIGHT(at, w, n)                                                                                                \
    at(0, w, n + 0) at(1, w, n + 1) at(2, w, n + 2) at(3, w, n + 3) at(4, w, n + 4) at(5, w, n + 5) at(6, w, n + 6)    \
        at(7, w, n + 7)
#define TEXT(x) #x
#define OFFSET(w, n) TEXT((n)*w) "(%[p])"
#define BEYOND(w, n) TEXT((n)*w) "(%[q])"

/* What is written: a Zen 5 writes lines of zeros past the caches at twice the rate of others. */
static const struct {
    char bytes[64];
} pattern = {"Sixty-four bytes, none of them zero, which a Zen 5 would notice."};

#define MEMORY_FN(suffix, w, end)                                                                                      \
    static void read_##suffix(const char *p, size_t bytes)                                                             \
    {                                                                                                                  \
        __asm__ volatile(".p2align 6\n1:\n\t" EIGHT(LOAD_##suffix, w, 0)                                               \
                             EIGHT(LOAD_##suffix, w, 8) "addq %[step], %[p]\n\t"                                       \
                                                        "subq %[step], %[n]\n\t"                                       \
                                                        "jnz 1b\n\t" end                                               \
                         : [p] "+r"(p), [n] "+r"(bytes)                                                                \
                         : [step] "i"(16 * w)                                                                          \
                         : "cc", "memory", VECTORS);                                                                   \
    }                                                                                                                  \
    static void write_##suffix(char *p, size_t bytes)                                                                  \
    {                                                                                                                  \
        __asm__ volatile(EIGHT(FILL_##suffix, w, 0) ".p2align 6\n1:\n\t" EIGHT(STORE_##suffix, w, 0)                   \
                             EIGHT(STORE_##suffix, w, 8) "addq %[step], %[p]\n\t"                                      \
                                                         "subq %[step], %[n]\n\t"                                      \
                                                         "jnz 1b\n\t" end                                              \
                         : [p] "+r"(p), [n] "+r"(bytes)                                                                \
                         : [step] "i"(16 * w), [d] "m"(pattern)                                                        \
                         : "cc", "memory", VECTORS);                                                                   \
    }                                                                                                                  \
    static void stream_##suffix(char *p, size_t bytes)                                                                 \
    {                                                                                                                  \
        __asm__ volatile(EIGHT(FILL_##suffix, w, 0) ".p2align 6\n1:\n\t" EIGHT(STREAM_##suffix, w, 0)                  \
                             EIGHT(STREAM_##suffix, w, 8) "addq %[step], %[p]\n\t"                                     \
                                                          "subq %[step], %[n]\n\t"                                     \
                                                          "jnz 1b\n\tsfence\n\t" end                                   \
                         : [p] "+r"(p), [n] "+r"(bytes)                                                                \
                         : [step] "i"(16 * w), [d] "m"(pattern)                                                        \
                         : "cc", "memory", VECTORS);                                                                   \
    }                                                                                                                  \
    static void update_##suffix(char *p, size_t bytes)                                                                 \
    {                                                                                                                  \
        __asm__ volatile(UPDATE_BY_##suffix ".p2align 6\n1:\n\t" EIGHT(LOAD_##suffix, w, 0)                            \
                             EIGHT(UPDATE_##suffix, w, 0) EIGHT(LOAD_##suffix, w, 8)                                   \
                                 EIGHT(UPDATE_##suffix, w, 8) "addq %[step], %[p]\n\t"                                 \
                                                              "subq %[step], %[n]\n\t"                                 \
                                                              "jnz 1b\n\t" end                                         \
                         : [p] "+r"(p), [n] "+r"(bytes)                                                                \
                         : [step] "i"(16 * w), [d] "m"(pattern)                                                        \
                         : "cc", "memory", VECTORS);                                                                   \
    }                                                                                                                  \
    static void copy_##suffix(const char *p, char *q, size_t bytes)                                                    \
    {                                                                                                                  \
        __asm__ volatile(".p2align 6\n1:\n\t" EIGHT(LOAD_##suffix, w, 0) EIGHT(PUT_##suffix, w, 0)                     \
                             EIGHT(LOAD_##suffix, w, 8) EIGHT(PUT_##suffix, w, 8) "addq %[step], %[p]\n\t"             \
                                                                                  "addq %[step], %[q]\n\t"             \
                                                                                  "subq %[step], %[n]\n\t"             \
                                                                                  "jnz 1b\n\t" end                     \
                         : [p] "+r"(p), [q] "+r"(q), [n] "+r"(bytes)                                                   \
                         : [step] "i"(16 * w)                                                                          \
                         : "cc", "memory", VECTORS);                                                                   \
    }                                                                                                                  \
    static void copy_stream_##suffix(const char *p, char *q, size_t bytes)                                             \
    {                                                                                                                  \
        __asm__ volatile(".p2align 6\n1:\n\t" EIGHT(LOAD_##suffix, w, 0) EIGHT(PUT_STREAM_##suffix, w, 0)              \
                             EIGHT(LOAD_##suffix, w, 8) EIGHT(PUT_STREAM_##suffix, w, 8) "addq %[step], %[p]\n\t"      \
                                                                                         "addq %[step], %[q]\n\t"      \
                                                                                         "subq %[step], %[n]\n\t"      \
                                                                                         "jnz 1b\n\tsfence\n\t" end    \
                         : [p] "+r"(p), [q] "+r"(q), [n] "+r"(bytes)                                                   \
                         : [step] "i"(16 * w)                                                                          \
                         : "cc", "memory", VECTORS);                                                                   \
    }

#define LOAD_sse(v, w, n) "movaps " OFFSET(w, n) ", %%xmm" TEXT(v) "\n\t"
#define FILL_sse(v, w, n) "movups %[d], %%xmm" TEXT(v) "\n\t"
#define STORE_sse(v, w, n) "movaps %%xmm" TEXT(v) ", " OFFSET(w, n) "\n\t"
#define STREAM_sse(v, w, n) "movntps %%xmm" TEXT(v) ", " OFFSET(w, n) "\n\t"
#define UPDATE_BY_sse "movups %[d], %%xmm15\n\t"
#define UPDATE_sse(v, w, n) "paddd %%xmm15, %%xmm" TEXT(v) "\n\tmovaps %%xmm" TEXT(v) ", " OFFSET(w, n) "\n\t"
#define PUT_sse(v, w, n) "movaps %%xmm" TEXT(v) ", " BEYOND(w, n) "\n\t"
#define PUT_STREAM_sse(v, w, n) "movntps %%xmm" TEXT(v) ", " BEYOND(w, n) "\n\t"
#define LOAD_avx2(v, w, n) "vmovaps " OFFSET(w, n) ", %%ymm" TEXT(v) "\n\t"
#define FILL_avx2(v, w, n) "vmovups %[d], %%ymm" TEXT(v) "\n\t"
#define STORE_avx2(v, w, n) "vmovaps %%ymm" TEXT(v) ", " OFFSET(w, n) "\n\t"
#define STREAM_avx2(v, w, n) "vmovntps %%ymm" TEXT(v) ", " OFFSET(w, n) "\n\t"
#define UPDATE_BY_avx2 "vmovups %[d], %%ymm15\n\t"
#define UPDATE_avx2(v, w, n)                                                                                           \
    "vpaddd %%ymm15, %%ymm" TEXT(v) ", %%ymm" TEXT(v) "\n\tvmovaps %%ymm" TEXT(v) ", " OFFSET(w, n) "\n\t"
#define PUT_avx2(v, w, n) "vmovaps %%ymm" TEXT(v) ", " BEYOND(w, n) "\n\t"
#define PUT_STREAM_avx2(v, w, n) "vmovntps %%ymm" TEXT(v) ", " BEYOND(w, n) "\n\t"
#define LOAD_avx512(v, w, n) "vmovaps " OFFSET(w, n) ", %%zmm" TEXT(v) "\n\t"
#define FILL_avx512(v, w, n) "vmovups %[d], %%zmm" TEXT(v) "\n\t"
#define STORE_avx512(v, w, n) "vmovaps %%zmm" TEXT(v) ", " OFFSET(w, n) "\n\t"
#define STREAM_avx512(v, w, n) "vmovntps %%zmm" TEXT(v) ", " OFFSET(w, n) "\n\t"
#define UPDATE_BY_avx512 "vmovups %[d], %%zmm15\n\t"
#define UPDATE_avx512(v, w, n)                                                                                         \
    "vpaddd %%zmm15, %%zmm" TEXT(v) ", %%zmm" TEXT(v) "\n\tvmovaps %%zmm" TEXT(v) ", " OFFSET(w, n) "\n\t"
#define PUT_avx512(v, w, n) "vmovaps %%zmm" TEXT(v) ", " BEYOND(w, n) "\n\t"
#define PUT_STREAM_avx512(v, w, n) "vmovntps %%zmm" TEXT(v) ", " BEYOND(w, n) "\n\t"

MEMORY_FN(sse, 16, "")
MEMORY_FN(avx2, 32, "vzeroupper\n\t")
MEMORY_FN(avx512, 64, "vzeroupper\n\t")

static const struct {
    void (*read)(const char *p, size_t bytes);
    void (*write)(char *p, size_t bytes);
    void (*stream)(char *p, size_t bytes);
    void (*copy)(const char *p, char *q, size_t bytes);
    void (*copy_stream)(const char *p, char *q, size_t bytes);
    void (*update)(char *p, size_t bytes);
} loops[] = {{read_sse, write_sse, stream_sse, copy_sse, copy_stream_sse, update_sse},
             {read_avx2, write_avx2, stream_avx2, copy_avx2, copy_stream_avx2, update_avx2},
             {read_avx512, write_avx512, stream_avx512, copy_avx512, copy_stream_avx512, update_avx512}};

enum { PIECE = 1024, AHEAD = 2048 };

/* The pieces of each stream in turn. What is fetched ahead of the last ones lies past the memory: a hint, no access. */
static void run_streams(int l, enum sm_memory_kind kind, char *memory, size_t bytes, size_t streams)
{
    const bool ahead =
        kind == SM_MEMORY_READ_AHEAD || kind == SM_MEMORY_READ_4_AHEAD || kind == SM_MEMORY_READ_16_AHEAD;
    while (bytes % (streams * PIECE)) streams /= 2;
    const size_t stride = bytes / streams;
    for (size_t at = 0; at < stride; at += PIECE)
        for (size_t s = 0; s < streams; s++) {
            char *piece = memory + s * stride + at;
            for (size_t i = 0; ahead && i < PIECE; i += 64) __builtin_prefetch(piece + AHEAD + i);
            if (kind == SM_MEMORY_WRITE_8)
                loops[l].write(piece, PIECE);
            else
                loops[l].read(piece, PIECE);
        }
}

uint64_t sm_memory_run(enum sm_memory_kind kind, char *memory, size_t bytes, uint64_t passes)
{
    const int reached = level(sm_machine_isa()), widest = sizeof loops / sizeof *loops - 1;
    const int l = reached < widest ? reached : widest;
    for (uint64_t i = 0; i < passes; i++) switch (kind) {
        case SM_MEMORY_READ: loops[l].read(memory, bytes); break;
        case SM_MEMORY_WRITE: loops[l].write(memory, bytes); break;
        case SM_MEMORY_UPDATE: loops[l].update(memory, bytes); break;
        case SM_MEMORY_STREAM: loops[l].stream(memory, bytes); break;
        case SM_MEMORY_COPY_STREAM: loops[l].copy_stream(memory, memory + bytes / 2, bytes / 2); break;
        case SM_MEMORY_READ_AHEAD: run_streams(l, kind, memory, bytes, 1); break;
        case SM_MEMORY_READ_4:
        case SM_MEMORY_READ_4_AHEAD: run_streams(l, kind, memory, bytes, 4); break;
        case SM_MEMORY_READ_16:
        case SM_MEMORY_READ_16_AHEAD: run_streams(l, kind, memory, bytes, 16); break;
        case SM_MEMORY_WRITE_8: run_streams(l, kind, memory, bytes, 8); break;
        default: loops[l].copy(memory, memory + bytes / 2, bytes / 2); break;
        }
    return passes * sm_memory_moved(kind, bytes);
}

/* Twelve sums, more than latency x units of any CPU so far needs; operands are zero, which no CPU skips. */
#define TWELVE(op) op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11)
#define SCHEME(fn, zero, op, end)                                                                                      \
    static void fn(uint64_t rounds)                                                                                    \
    {                                                                                                                  \
        __asm__ volatile(zero ".p2align 6\n1:\n\t" TWELVE(op) TWELVE(op) "decq %[n]\n\t"                               \
                                                                         "jnz 1b\n\t" end                              \
                         : [n] "+r"(rounds)                                                                            \
                         :                                                                                             \
                         : "cc", VECTORS);                                                                             \
    }
#define ZERO_SSE                                                                                                       \
    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"                                                                 \
    "xorps %%xmm\\i, %%xmm\\i\n\t"                                                                                     \
    ".endr\n\t"
#define ZERO_AVX                                                                                                       \
    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"                                                                 \
    "vxorps %%ymm\\i, %%ymm\\i, %%ymm\\i\n\t"                                                                          \
    ".endr\n\t"
#define END_AVX "vzeroupper\n\t"

#define MULADD_SSE(i)                                                                                                  \
    "movaps %%xmm12, %%xmm14\n\t"                                                                                      \
    "mulps %%xmm13, %%xmm14\n\t"                                                                                       \
    "addps %%xmm14, %%xmm" #i "\n\t"
#define FMA_AVX2(i) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #i "\n\t"
#define FMA_AVX512(i) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" #i "\n\t"
#define MADD_AVX2(i)                                                                                                   \
    "vpmaddwd %%ymm12, %%ymm13, %%ymm14\n\t"                                                                           \
    "vpaddd %%ymm14, %%ymm" #i ", %%ymm" #i "\n\t"
#define MADD_AVX512(i)                                                                                                 \
    "vpmaddwd %%zmm12, %%zmm13, %%zmm14\n\t"                                                                           \
    "vpaddd %%zmm14, %%zmm" #i ", %%zmm" #i "\n\t"
#define MADDUBS_AVX2(i)                                                                                                \
    "vpmaddubsw %%ymm12, %%ymm13, %%ymm14\n\t"                                                                         \
    "vpmaddwd %%ymm14, %%ymm15, %%ymm14\n\t"                                                                           \
    "vpaddd %%ymm14, %%ymm" #i ", %%ymm" #i "\n\t"
#define MADDUBS_AVX512(i)                                                                                              \
    "vpmaddubsw %%zmm12, %%zmm13, %%zmm14\n\t"                                                                         \
    "vpmaddwd %%zmm14, %%zmm15, %%zmm14\n\t"                                                                           \
    "vpaddd %%zmm14, %%zmm" #i ", %%zmm" #i "\n\t"
/* Eight sums in 16 bits before one is widened, as 4-bit weights allow. */
#define MADDUBS_ADD(i)                                                                                                 \
    "vpmaddubsw %%ymm12, %%ymm13, %%ymm14\n\t"                                                                         \
    "vpaddw %%ymm14, %%ymm" #i ", %%ymm" #i "\n\t"
#define MADDUBS_ADD4(i) MADDUBS_ADD(i) MADDUBS_ADD(i) MADDUBS_ADD(i) MADDUBS_ADD(i)
#define MADDUBS4_AVX2(i)                                                                                               \
    MADDUBS_ADD4(i)                                                                                                    \
    MADDUBS_ADD4(i)                                                                                                    \
    "vpmaddwd %%ymm" #i ", %%ymm15, %%ymm14\n\t"                                                                       \
    "vpaddd %%ymm14, %%ymm" #i ", %%ymm" #i "\n\t"
#define MADDUBS_ADD_512(i)                                                                                             \
    "vpmaddubsw %%zmm12, %%zmm13, %%zmm14\n\t"                                                                         \
    "vpaddw %%zmm14, %%zmm" #i ", %%zmm" #i "\n\t"
#define MADDUBS_ADD4_512(i) MADDUBS_ADD_512(i) MADDUBS_ADD_512(i) MADDUBS_ADD_512(i) MADDUBS_ADD_512(i)
#define MADDUBS4_AVX512(i)                                                                                             \
    MADDUBS_ADD4_512(i)                                                                                                \
    MADDUBS_ADD4_512(i)                                                                                                \
    "vpmaddwd %%zmm" #i ", %%zmm15, %%zmm14\n\t"                                                                       \
    "vpaddd %%zmm14, %%zmm" #i ", %%zmm" #i "\n\t"
#define DPWSSD_AVX512(i) "vpdpwssd %%zmm12, %%zmm13, %%zmm" #i "\n\t"
#define DPBUSD_AVX512(i) "vpdpbusd %%zmm12, %%zmm13, %%zmm" #i "\n\t"
#define DPBF16_AVX512(i) "vdpbf16ps %%zmm12, %%zmm13, %%zmm" #i "\n\t"

SCHEME(muladd_sse, ZERO_SSE, MULADD_SSE, "")
SCHEME(fma_avx2, ZERO_AVX, FMA_AVX2, END_AVX)
SCHEME(fma_avx512, ZERO_AVX, FMA_AVX512, END_AVX)
SCHEME(madd_avx2, ZERO_AVX, MADD_AVX2, END_AVX)
SCHEME(madd_avx512, ZERO_AVX, MADD_AVX512, END_AVX)
SCHEME(maddubs_avx2, ZERO_AVX, MADDUBS_AVX2, END_AVX)
SCHEME(maddubs_avx512, ZERO_AVX, MADDUBS_AVX512, END_AVX)
SCHEME(maddubs4_avx2, ZERO_AVX, MADDUBS4_AVX2, END_AVX)
SCHEME(maddubs4_avx512, ZERO_AVX, MADDUBS4_AVX512, END_AVX)
SCHEME(dpwssd_avx512, ZERO_AVX, DPWSSD_AVX512, END_AVX)
SCHEME(dpbusd_avx512, ZERO_AVX, DPBUSD_AVX512, END_AVX)

SCHEME(dpbf16_avx512, ZERO_AVX, DPBF16_AVX512, END_AVX)

/* Products of 16 x 64 by 64 x 16 bytes into four tiles in turn, of zeros, which no CPU skips here either. An int16 is
 * two bytes, each with a product of its own. The registers are given back: a thread that holds tiles is slower to
 * switch. */
static const struct {
    uint8_t palette, start_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_shapes = {.palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
#define TILES(fn, op)                                                                                                  \
    static void fn(uint64_t rounds)                                                                                    \
    {                                                                                                                  \
        __asm__ volatile("ldtilecfg %[c]\n\t.p2align 6\n1:\n\t" op(0) op(1) op(2) op(3) op(0) op(1) op(2)              \
                             op(3) "decq %[n]\n\tjnz 1b\n\ttilerelease\n\t"                                            \
                         : [n] "+r"(rounds)                                                                            \
                         : [c] "m"(tile_shapes)                                                                        \
                         : "cc");                                                                                      \
    }
#define DPBSUD(i) "tdpbsud %%tmm7, %%tmm6, %%tmm" #i "\n\t"
#define DPBSUD_DPBUUD(i) "tdpbsud %%tmm7, %%tmm6, %%tmm" #i "\n\ttdpbuud %%tmm7, %%tmm5, %%tmm" #i "\n\t"

TILES(dpbsud_amx, DPBSUD)
TILES(dpbsud16_amx, DPBSUD_DPBUUD)

/* The fewest instructions that give exp to 2e-6 and, from it, tanh: x = n ln 2 + r, a polynomial of degree 5 in r, 2^n
 * into the exponent; 1 - 2 / (1 + exp x). Operands are ordinary numbers, since a division by some others is shorter.
 * Registers 0 to 2 are renamed from one to the next of the twelve, none of which waits for another. */
static const float function_constants[] = {
    0.7f, 1.44269504f, 0.693147181f, 0.00833f, 0.0416667f, 0.16666667f, 0.5f, 1, 1, 2};
#define FUNCTION(fn, load, op)                                                                                         \
    static void fn(uint64_t rounds)                                                                                    \
    {                                                                                                                  \
        __asm__ volatile(load ".p2align 6\n1:\n\t" TWELVE(op) TWELVE(op) "decq %[n]\n\t"                               \
                                                                         "jnz 1b\n\tvzeroupper\n\t"                    \
                         : [n] "+r"(rounds)                                                                            \
                         : [c] "r"(function_constants)                                                                 \
                         : "cc", "memory", VECTORS);                                                                   \
    }
#define LOAD_CONSTANTS(vector)                                                                                         \
    ".irp i,4,5,6,7,8,9,10,11,12,13\n\t"                                                                               \
    "vbroadcastss 4*\\i-16(%[c]), %%" vector "\\i\n\t"                                                                 \
    ".endr\n\t"
#define EXP_AVX2(i)                                                                                                    \
    "vmulps %%ymm4, %%ymm5, %%ymm0\n\t"                                                                                \
    "vroundps $8, %%ymm0, %%ymm0\n\t"                                                                                  \
    "vmovaps %%ymm4, %%ymm1\n\t"                                                                                       \
    "vfnmadd231ps %%ymm0, %%ymm6, %%ymm1\n\t"                                                                          \
    "vmovaps %%ymm7, %%ymm2\n\t"                                                                                       \
    "vfmadd213ps %%ymm8, %%ymm1, %%ymm2\n\t"                                                                           \
    "vfmadd213ps %%ymm9, %%ymm1, %%ymm2\n\t"                                                                           \
    "vfmadd213ps %%ymm10, %%ymm1, %%ymm2\n\t"                                                                          \
    "vfmadd213ps %%ymm11, %%ymm1, %%ymm2\n\t"                                                                          \
    "vfmadd213ps %%ymm12, %%ymm1, %%ymm2\n\t"                                                                          \
    "vcvtps2dq %%ymm0, %%ymm0\n\t"                                                                                     \
    "vpslld $23, %%ymm0, %%ymm0\n\t"                                                                                   \
    "vpaddd %%ymm0, %%ymm2, %%ymm2\n\t"
#define TANH_AVX2(i)                                                                                                   \
    EXP_AVX2(i)                                                                                                        \
    "vaddps %%ymm12, %%ymm2, %%ymm2\n\t"                                                                               \
    "vdivps %%ymm2, %%ymm13, %%ymm2\n\t"                                                                               \
    "vsubps %%ymm2, %%ymm12, %%ymm2\n\t"
#define EXP_AVX512(i)                                                                                                  \
    "vmulps %%zmm4, %%zmm5, %%zmm0\n\t"                                                                                \
    "vrndscaleps $8, %%zmm0, %%zmm0\n\t"                                                                               \
    "vmovaps %%zmm4, %%zmm1\n\t"                                                                                       \
    "vfnmadd231ps %%zmm0, %%zmm6, %%zmm1\n\t"                                                                          \
    "vmovaps %%zmm7, %%zmm2\n\t"                                                                                       \
    "vfmadd213ps %%zmm8, %%zmm1, %%zmm2\n\t"                                                                           \
    "vfmadd213ps %%zmm9, %%zmm1, %%zmm2\n\t"                                                                           \
    "vfmadd213ps %%zmm10, %%zmm1, %%zmm2\n\t"                                                                          \
    "vfmadd213ps %%zmm11, %%zmm1, %%zmm2\n\t"                                                                          \
    "vfmadd213ps %%zmm12, %%zmm1, %%zmm2\n\t"                                                                          \
    "vscalefps %%zmm0, %%zmm2, %%zmm2\n\t"
#define TANH_AVX512(i)                                                                                                 \
    EXP_AVX512(i)                                                                                                      \
    "vaddps %%zmm12, %%zmm2, %%zmm2\n\t"                                                                               \
    "vdivps %%zmm2, %%zmm13, %%zmm2\n\t"                                                                               \
    "vsubps %%zmm2, %%zmm12, %%zmm2\n\t"

FUNCTION(exp_avx2, LOAD_CONSTANTS("ymm"), EXP_AVX2)
FUNCTION(tanh_avx2, LOAD_CONSTANTS("ymm"), TANH_AVX2)
FUNCTION(exp_avx512, LOAD_CONSTANTS("zmm"), EXP_AVX512)
FUNCTION(tanh_avx512, LOAD_CONSTANTS("zmm"), TANH_AVX512)

#define MULTIPLY_ADDS(name, isa, run, work, bf16)                                                                      \
    {                                                                                                                  \
        name, isa, "multiply-adds", run, work, bf16                                                                    \
    }
#define VALUES(name, isa, run, work)                                                                                   \
    {                                                                                                                  \
        name, isa, "values", run, work, false                                                                          \
    }
static const struct sm_scheme schemes[] = {
    MULTIPLY_ADDS("fma_f32_any", "any", muladd_sse, 24 * 4, false),
    MULTIPLY_ADDS("fma_f32_avx2", "avx2", fma_avx2, 24 * 8, false),
    MULTIPLY_ADDS("fma_f32_avx512", "avx512", fma_avx512, 24 * 16, false),
    MULTIPLY_ADDS("madd_i16_avx2", "avx2", madd_avx2, 24 * 16, false),
    MULTIPLY_ADDS("madd_i16_avx512", "avx512", madd_avx512, 24 * 32, false),
    MULTIPLY_ADDS("maddubs_i8_avx2", "avx2", maddubs_avx2, 24 * 32, false),
    MULTIPLY_ADDS("maddubs_i8_avx512", "avx512", maddubs_avx512, 24 * 64, false),
    MULTIPLY_ADDS("maddubs_i4_avx2", "avx2", maddubs4_avx2, 24 * 8 * 32, false),
    MULTIPLY_ADDS("maddubs_i4_avx512", "avx512", maddubs4_avx512, 24 * 8 * 64, false),
    MULTIPLY_ADDS("dpwssd_i16_avx512vnni", "avx512vnni", dpwssd_avx512, 24 * 32, false),
    MULTIPLY_ADDS("dpbusd_i8_avx512vnni", "avx512vnni", dpbusd_avx512, 24 * 64, false),
    MULTIPLY_ADDS("dpbsud_i16_amx", "amx", dpbsud16_amx, 8 * 16 * 16 * 64, false),
    MULTIPLY_ADDS("dpbsud_i8_amx", "amx", dpbsud_amx, 8 * 16 * 16 * 64, false),
    MULTIPLY_ADDS("dpbf16_avx512bf16", "avx512", dpbf16_avx512, 24 * 32, true),
    VALUES("exp_f32_avx2", "avx2", exp_avx2, 24 * 8),
    VALUES("exp_f32_avx512", "avx512", exp_avx512, 24 * 16),
    VALUES("tanh_f32_avx2", "avx2", tanh_avx2, 24 * 8),
    VALUES("tanh_f32_avx512", "avx512", tanh_avx512, 24 * 16),
    VALUES("narrow8_f32_avx2", "avx2", sm_narrow8_f32_avx2, SM_NARROW_WORK_AVX2),
    VALUES("narrow8_f32_avx512", "avx512", sm_narrow8_f32_avx512, SM_NARROW_WORK_AVX512),
    VALUES("narrow16_f32_avx2", "avx2", sm_narrow16_f32_avx2, SM_NARROW_WORK_AVX2),
    VALUES("narrow16_f32_avx512", "avx512", sm_narrow16_f32_avx512, SM_NARROW_WORK_AVX512),
    VALUES("narrow16_i16_avx2", "avx2", sm_narrow16_i16_avx2, SM_NARROW_WORK_AVX2),
    VALUES("narrow16_i16_avx512", "avx512", sm_narrow16_i16_avx512, SM_NARROW_WORK_AVX512),
};

const struct sm_scheme *sm_scheme_at(size_t i)
{
    return i < sizeof schemes / sizeof *schemes ? &schemes[i] : NULL;
}

#else

uint64_t sm_memory_run(enum sm_memory_kind kind, char *memory, size_t bytes, uint64_t passes)
{
    volatile uint64_t sink = 0;
    for (uint64_t i = 0; i < passes; i++) {
        uint64_t sum = 0, word;
        switch (kind) {
        case SM_MEMORY_READ:
        case SM_MEMORY_READ_4:
        case SM_MEMORY_READ_16:
        case SM_MEMORY_READ_AHEAD:
        case SM_MEMORY_READ_4_AHEAD:
        case SM_MEMORY_READ_16_AHEAD:
            for (size_t b = 0; b < bytes; b += sizeof word) {
                memcpy(&word, memory + b, sizeof word);
                sum |= word;
            }
            sink = sum;
            break;
        case SM_MEMORY_UPDATE:
            for (size_t b = 0; b < bytes; b += sizeof word) {
                memcpy(&word, memory + b, sizeof word);
                word += 0x0101010101010101;
                memcpy(memory + b, &word, sizeof word);
            }
            break;
        case SM_MEMORY_COPY:
        case SM_MEMORY_COPY_STREAM: memcpy(memory + bytes / 2, memory, bytes / 2); break;
        default: memset(memory, (int)(i % 255 + 1), bytes); break;
        }
        __asm__ volatile("" : : "r"(memory) : "memory");
    }
    (void)sink;
    return passes * sm_memory_moved(kind, bytes);
}

const struct sm_scheme *sm_scheme_at(size_t i)
{
    (void)i;
    return NULL;
}

#endif
