/* positions.h - the rotary tables of a model for positions 0 .. max_seq - 1, one for every kind of layer.
 *
 * cos and sin are [max_seq][head_dim / 2]; the angle of pair i at position p is the float product p * f[i] with
 * f[i] = theta^(-2i / head_dim) / (factor * divisor[i]) rounded to float, 0 for pairs that do not rotate (model-math:
 * 0.4 to 0.7). The divisors are those of the model's tensor, else of its rotary scaling; they are about long contexts,
 * so they leave layers with a window alone (model-math: E, 11), and a tensor only counts where its length fits. */
#ifndef SM_POSITIONS_H
#define SM_POSITIONS_H

#include "model.h"

#define SM_MAX_ROTATIONS 8

struct sm_rotation {
    double theta, factor;
    size_t head_dim, pairs;
    bool divided; /* by the divisors */
    float *cos, *sin;
};

struct sm_positions {
    size_t max_seq, count;
    struct sm_rotation rotation[SM_MAX_ROTATIONS];
    unsigned char of_layer[SM_SHAPE_MAX_LAYERS]; /* which of them a layer uses */
    size_t bytes;
};

/* 0 on success; -1 and a sentence. */
int sm_positions_create(struct sm_positions **positions, const struct sm_model *model, size_t max_seq, char *why,
                        size_t why_bytes);
void sm_positions_destroy(struct sm_positions *positions);

#endif
