/* trial_record.h - what the records of a model's trials have in common. */
#ifndef SM_TRIAL_RECORD_H
#define SM_TRIAL_RECORD_H

#include "machine.h"
#include "trial.h"
#include "witness.h"

/* Label, memory, work, ceilings and variants of a phase that the session has run. */
void sm_trial_describe(struct sm_record *record, const struct sm_trial *trial, const struct sm_source *source,
                       const struct sm_session *session, const struct sm_weights *weights, enum sm_phase phase);

/* "matmul_w4g32_a8/avx2, ...": which implementation of each family a phase runs. 1024 bytes are enough. */
const char *sm_trial_variants(const struct sm_session *session, enum sm_phase phase, char *text, size_t bytes);

/* The mean time of each step, its parts by kind of layer where there are several, and what they leave over. */
void sm_trial_add_steps(struct sm_record *record, const struct sm_step_times *times);

/* "witnesses" of a record, with where the team was held; NULL: it was not, which is flagged. */
json_t *sm_trial_witnesses(const struct sm_witnesses *witnesses, const struct sm_pin *pin);

#endif
