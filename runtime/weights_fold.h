/* weights_fold.h - the attention scale folded into weights (weights.h, enum sm_scale_in). Private to weights. */
#ifndef SM_WEIGHTS_FOLD_H
#define SM_WEIGHTS_FOLD_H

#include "weights.h"

/* Whether the scale of that layer can be folded so: 0, or -1 and a sentence. */
int fold_check(const struct sm_model *model, size_t layer, enum sm_scale_in in, char *why, size_t why_bytes);

/* What a tensor of that layer is multiplied by: 1, or the layer's attention scale. */
float fold_factor(const struct sm_model *model, size_t layer, enum sm_scale_in in, enum sm_layer_tensor tensor);

/* Multiplies canonical rows (floats, or blocks and channels by their scales) by a factor of at most 1. */
void fold_rows(enum sm_format format, void *rows, size_t count, size_t cols, float factor);

#endif
