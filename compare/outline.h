/* outline.h - what a comparison would run: for --dry-run, which builds and runs nothing. */
#ifndef SM_OUTLINE_H
#define SM_OUTLINE_H

#include "engine.h"

/* Each writes to request->outline. Of the first two the arms, and for kernels the pairing, are there; always 0. */
int sm_outline_kernels(const struct sm_engine_request *request, const struct sm_engine_outcome *outcome);
int sm_outline_models(const struct sm_engine_request *request, const struct sm_engine_outcome *outcome);

/* A side that would have to be built before it is known what it has. */
void sm_outline_absent(const struct sm_engine_request *request, const struct sm_arm *arm);

#endif
