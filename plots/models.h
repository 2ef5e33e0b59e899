/* models.h - the records of whole models that one figure is drawn from. */
#ifndef SM_PLOT_MODELS_H
#define SM_PLOT_MODELS_H

#include "slice.h"

#define SM_PHASES 3
extern const char *const sm_phases[SM_PHASES]; /* "prefill", "append", "decode" */

/* Profiles, without sessions of turns, of one model under one recipe, KV type and place of the scale: of the ones with
 * the most records. */
struct sm_slice sm_model_slice(const struct sm_results *results);
/* The same of those that fit. */
struct sm_slice sm_model_slice_with(const struct sm_results *results, int (*fits)(const struct sm_result *r));

/* Keeps the records of one model: the one with the most, of equals the first. */
void sm_model_keep_most_frequent(struct sm_slice *slice);

/* Narrows to one record for each max_seq: of one prompt length where that was swept, else of what each max_seq was
 * given; by rising max_seq. */
void sm_model_max_seqs(struct sm_slice *slice);

/* "smollm2-135m (synthetic weights), recipe native, KV f16; more" */
void sm_model_subtitle(const struct sm_result *r, const char *more, char *text, size_t bytes);

#endif
