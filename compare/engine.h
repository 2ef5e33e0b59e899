/* engine.h - one base against one other, from their names to the verdicts. */
#ifndef SM_ENGINE_H
#define SM_ENGINE_H

#include "history.h"
#include "report.h"

struct sm_engine_request {
    const char *purpose; /* "compare", "gate", "record", "bisect" */
    struct sm_pairing_options pairing;
    struct sm_rounds_options rounds; /* `place` and `launched` are the engine's own */
    bool as_built;                   /* changes are not measured again with the code placed anew */
    bool anew;                       /* every launch has its code placed anew, where that can be done (rounds.h) */
    struct sm_history *history;      /* or NULL */
    bool count;                      /* the instructions of kernels that changed */
    const char *model;               /* compared end to end on this one, not kernel by kernel; or NULL */
    char *const *passed;             /* options for profile then */
    size_t passed_count;
    FILE *outline; /* a dry run: what would be compared is written there, nothing is built, run or kept; or NULL */
    FILE *words;   /* what is built and why something is not done; or NULL */
};

struct sm_engine_outcome {
    struct sm_arm arm[2];
    struct sm_pairing pairing;
    struct sm_rounds_result rounds;
    char note[200]; /* about the answers; or "" */
};

/* 0; else one of SM_EXIT_USAGE, _FAILED (it does not build), _REFUSED, _NOTHING, and a sentence, and there is nothing
 * in the outcome. Free it after 0. */
int sm_engine_run(const char *base, const char *other, const struct sm_engine_request *request,
                  struct sm_engine_outcome *outcome, char *why, size_t why_bytes);
void sm_engine_free(struct sm_engine_outcome *outcome);

#endif
