/* models.h - two builds end to end: whole models, by processes in turn.
 *
 * A launch is a process of each build's own `slotmark profile`, and one more of the base as its null control, in an
 * order that is drawn anew each time. Each of the phases that it times (a prefill, the tokens of a decode, appended
 * tokens) is one comparison, judged like those of kernels. Before any time is taken, the greedy tokens of both are
 * compared. */
#ifndef SM_MODELS_H
#define SM_MODELS_H

#include "rounds.h"

#define SM_MODELS_ARGUMENTS_MOST 64
#define SM_MODELS_LAUNCHES_MOST 24

struct sm_models_request {
    const char *model;
    char *const *passed; /* options for profile; none: a prompt, 24 tokens, 12 appended in a bucket of 16, 12 tokens */
    size_t passed_count;
    FILE *words; /* or NULL */
};

/* Fills the pairing, an id for each phase, and decides. A variant of an arm is "family=variant", for profile. 0, or an
 * exit code of report.h and a sentence. `note` gets a sentence about the answers, or "". */
int sm_models_run(const struct sm_arm arm[2], const struct sm_models_request *request,
                  const struct sm_rounds_options *options, struct sm_pairing *pairing, struct sm_rounds_result *result,
                  char note[200], char *why, size_t why_bytes);

#endif
