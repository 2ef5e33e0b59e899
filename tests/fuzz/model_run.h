/* model_run.h - the end of the fuzz targets of model files: what was loaded is packed, planned and run. */
#ifndef SM_MODEL_RUN_H
#define SM_MODEL_RUN_H

#include "model.h"

/* 1 when it ran, 0 and a sentence when it was refused. Aborts on a token that is none. */
int model_run(const struct sm_model *model, char *why, size_t why_bytes);

#endif
