/* hf_config.h - the shape of a model from the config.json of its folder, in either generation of keys
 * (model-math: B.2).
 *
 * A key that decides what is computed must be there: a guess would give numbers that look right. Keys that are not
 * known are left alone, except those that would change the answer and that nothing here runs. */
#ifndef SM_HF_CONFIG_H
#define SM_HF_CONFIG_H

#include "shape.h"

struct sm_hf_config {
    struct sm_model_shape shape; /* named after its architecture */
    bool norm_plus_one;          /* norm weights are stored less one */
    bool attention_bias, mlp_bias;
};

/* `where` names the text in errors. 0, or -1 and a sentence. */
int sm_hf_config_parse(struct sm_hf_config *config, const char *text, size_t bytes, const char *where, char *why,
                       size_t why_bytes);

#endif
