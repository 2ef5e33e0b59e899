/* weights_fill.h - the two halves of packing: weights.c lists what goes where, weights_fill.c puts it there. Nobody
 * else includes it. */
#ifndef SM_WEIGHTS_FILL_H
#define SM_WEIGHTS_FILL_H

#include "convert.h"
#include "weights.h"

/* A matrix or vector on its way into the weights. */
struct weights_job {
    const struct sm_tensor *from;
    struct sm_weight *weight; /* NULL: a vector, that becomes floats */
    const float **vector;
    enum sm_format format;  /* what a matrix is packed from */
    size_t paired;          /* rows are pairs inside heads of this many: put them in order. 0: they are in order */
    float plus;             /* added to a vector's elements */
    float times;            /* multiplies all elements then (weights_fold.h); else 1 */
    enum sm_format through; /* a matrix of floats: those that this format would mean; else SM_FORMAT_NONE */
    bool clip;              /* sm_convert */
    size_t offset;
    struct sm_error_sums sums;
};

/* A table that is read where it lies, or converted row by row when its formats differ. */
struct weights_table {
    const struct sm_tensor *from;
    struct sm_tensor *to;
    size_t offset;
};

struct recipe;

struct weights_packer {
    struct sm_weights *weights;
    const struct recipe *recipe;
    struct weights_job *jobs;
    size_t count;
    struct weights_table table[2];
    size_t table_count;
    size_t bytes;
    char *why;
    size_t why_bytes;
};

/* Fills the memory of the weights, which the caller has reserved, and the table of conversions. 0, or -1 and a
 * sentence. */
int weights_fill(struct weights_packer *packer);

/* The family that gathers rows of a table in this format, or NULL. */
const struct sm_family *weights_embedding_family(enum sm_format format);

#endif
