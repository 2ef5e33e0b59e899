/* model_open.h - the kinds of checkpoint behind sm_model_open (model.c). Nobody else includes it.
 *
 * Each fills in a model of zeros whose `file` is set, and leaves what it mapped in it, for sm_model_close also when
 * it fails. 0, or -1 and a sentence. */
#ifndef SM_MODEL_OPEN_H
#define SM_MODEL_OPEN_H

#include "model.h"

int sm_model_open_gguf(struct sm_model *model, char *why, size_t why_bytes);
int sm_model_open_folder(struct sm_model *model, char *why, size_t why_bytes);

#endif
