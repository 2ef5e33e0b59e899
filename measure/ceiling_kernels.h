/* ceiling_kernels.h - the loops that ceilings are measured with. */
#ifndef SM_CEILING_KERNELS_H
#define SM_CEILING_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sm_memory_kind {
    SM_MEMORY_READ,
    SM_MEMORY_WRITE,
    SM_MEMORY_COPY,
    SM_MEMORY_UPDATE, /* each line is read, changed and written back where it was */
    SM_MEMORY_STREAM,
    SM_MEMORY_COPY_STREAM, /* what is written goes past the caches */
    /* Several streams side by side, a KiB of each in turn, or software that fetches ahead: far memory gives some
     * machines a quarter more that way, and kernels read so. */
    SM_MEMORY_READ_4,
    SM_MEMORY_READ_16,
    SM_MEMORY_READ_AHEAD,
    SM_MEMORY_READ_4_AHEAD,
    SM_MEMORY_READ_16_AHEAD,
    SM_MEMORY_WRITE_8,
    SM_MEMORY_KINDS
};

/* Passes over `bytes` (a multiple of 2048) at memory, 64-byte aligned, by the widest vectors of this CPU. A
 * copy goes from the first half to the second; streams are as many as divide the bytes into whole KiB. Returns the
 * bytes it moved: those of an update are read and written. */
static inline uint64_t sm_memory_moved(enum sm_memory_kind kind, size_t bytes) /* in one pass */
{
    return kind == SM_MEMORY_UPDATE ? 2 * bytes : bytes;
}

uint64_t sm_memory_run(enum sm_memory_kind kind, char *memory, size_t bytes, uint64_t passes);

/* One way to multiply and add, or to work out a function of a float. */
struct sm_scheme {
    const char *name; /* "fma_f32_avx2", "exp_f32_avx2" */
    const char *isa;  /* the level it needs */
    const char *unit; /* of the work: "multiply-adds" or "values" */
    void (*run)(uint64_t rounds);
    double work;     /* of a round */
    bool needs_bf16; /* AVX512_BF16 too */
};
/* NULL past the end; none where no loop is written for this architecture. */
const struct sm_scheme *sm_scheme_at(size_t i);
/* 1 when this CPU can run it. */
int sm_scheme_runs(const struct sm_scheme *scheme);

#endif
