/* hf_target.h - the body of the fuzz target of folders, for the test that changes real ones. */
#ifndef SM_HF_TARGET_H
#define SM_HF_TARGET_H

#include <stddef.h>

/* 1 when the config and the tensors were a model and it ran; 0 and a sentence when they were refused. Aborts on
 * anything else. */
int hf_target(const void *config, size_t config_bytes, const void *tensors, size_t tensor_bytes, char *why,
              size_t why_bytes);

#endif
