/* registry.h - families of kernels and their variants: the one list that everything else reads.
 *
 * A family is one operation on one set of formats (kernels/<family>/). A variant is one implementation
 * of it: one C file and one line in the family's variants.def. The dispatcher, the tests, the
 * microbenchmarks, the runtime and the comparer find both through the tables declared here.
 *
 * These structs cross the boundary of a shared object (abi.h): append members, never reorder them. */
#ifndef SM_REGISTRY_H
#define SM_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#define SM_MAX_DIMS 16

/* The share of a call that one thread does: rows x columns of the family's output grid. What a row and
 * a column are is said in the family's header (matmul: activation rows x output channels; attention:
 * query rows x query heads). Empty when a begin is not below its end. */
struct sm_part {
    size_t row_begin, row_end;
    size_t col_begin, col_end;
};

/* Every kernel. args points to the family's argument struct (its header); the kernel does `part` of the
 * output, touches nothing outside it, cannot fail, allocates nothing, keeps no state, starts no thread.
 * Threads may run disjoint parts of one call at once. */
typedef void sm_kernel_fn(const void *args, struct sm_part part);

/* One named axis of a family's shapes. */
struct sm_dim {
    const char *name;    /* as on the command line: "max_seq" */
    int64_t standard;    /* the value when none is given */
    int64_t least, most; /* legal range, both included */
    const char *help;    /* one line, with the unit */
};

/* A shape: one value for each axis of its family, in the family's order. */
struct sm_shape {
    int64_t dim[SM_MAX_DIMS];
};

/* What a weight or an activation is stored as. Values are part of the ABI. */
enum sm_format {
    SM_FORMAT_NONE = 0, /* the family has no weights */
    SM_FORMAT_F32 = 1,
    SM_FORMAT_F16 = 2,
    SM_FORMAT_Q4_0 = 3, /* GGUF: 32 weights, f16 scale d, value (n - 8) d */
    SM_FORMAT_Q4_1 = 4, /* GGUF: 32 weights, f16 scale d and minimum m, value n d + m */
    SM_FORMAT_Q8_0 = 5, /* GGUF: 32 weights, f16 scale d, value q d */
    /* Formats of files that no kernel multiplies by as they are: runtime converts them (weights.h). */
    SM_FORMAT_BF16 = 6,
    SM_FORMAT_Q5_0 = 7,
    SM_FORMAT_Q5_1 = 8,
    SM_FORMAT_Q2_K = 9,
    SM_FORMAT_Q3_K = 10,
    SM_FORMAT_Q4_K = 11,
    SM_FORMAT_Q5_K = 12,
    SM_FORMAT_Q6_K = 13,
    /* One scale and zero point for each output channel (quant.h). */
    SM_FORMAT_W4C = 14,
    SM_FORMAT_W8C = 15,
};

/* How weights (or a cache) lie in memory. Packing is a function of the layout, never of the variant. */
struct sm_layout {
    const char *name;      /* unique in its family; "plain" where there is nothing to choose */
    enum sm_format format; /* what it holds without loss */
    /* Bytes of a packed [out][in] matrix, and packing it from canonical rows (quant.h: GGUF blocks, or
     * floats for F32). Both NULL where the layout is not one of weights. dst is 64-byte aligned. */
    size_t (*packed_bytes)(size_t out, size_t in);
    void (*pack)(void *dst, const void *rows, size_t out, size_t in);
};

struct sm_variant {
    const char *name; /* unique in its family; part of the name of every result */
    const char *isa;  /* the column of variants.def: "any", "avx2", ... */
    uint32_t needs;   /* CPU features (cpu.h), all of them; 0: runs anywhere */
    const struct sm_layout *layout;
    sm_kernel_fn *fn;
    const char *bet; /* one line: why it should be fast */
};

struct sm_family {
    const char *name;    /* "matmul_w4g32_a8": also its folder */
    const char *group;   /* "matmul", "attention", "softcap", "cache_write", "layer" */
    const char *summary; /* one line */
    const struct sm_dim *dims;
    size_t dim_count;
    const struct sm_variant *variants; /* slowest first: dispatch takes the last one that fits */
    size_t variant_count;
    /* The share of thread i of `threads`: pure, the shares are disjoint and cover the output. */
    struct sm_part (*split)(const struct sm_shape *shape, size_t threads, size_t i);
};

/* All families, in the order of families.def. */
size_t sm_family_count(void);
const struct sm_family *sm_family_at(size_t i);
const struct sm_family *sm_family_named(const char *name); /* NULL: none */

/* The variant named so, or NULL. It may need features this CPU lacks: check with sm_cpu_has. */
const struct sm_variant *sm_variant_named(const struct sm_family *family, const char *name);

/* The variant to use: the last of the family that `features` can run and whose layout holds `format`
 * (SM_FORMAT_NONE: any layout of the first variant's kind). NULL: none. Resolve once, outside the loop. */
const struct sm_variant *sm_variant_best(const struct sm_family *family, uint32_t features, enum sm_format format);

/* The same by the name of the layout: for families whose layouts hold the same format (cache_write). */
const struct sm_variant *sm_variant_best_layout(const struct sm_family *family, uint32_t features, const char *layout);

/* The axis named so, or -1. */
int sm_dim_index(const struct sm_family *family, const char *name);

/* The whole output of a call, as one part. */
struct sm_part sm_part_whole(size_t rows, size_t cols);

/* The i-th of `threads` equal ranges of [0, count), cut at multiples of `grain`: *begin >= *end when empty. */
void sm_split_range(size_t count, size_t grain, size_t threads, size_t i, size_t *begin, size_t *end);

#endif
