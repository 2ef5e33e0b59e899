/* reconcile.h - the steps of a model, each alone, against the same steps in the run: where the rest of a call goes.
 *
 * A step is timed four ways, at the same shape, on the same operands and by the same team: in the model; in a replay of
 * the call, all steps in their order but without the session; alone, called again and again, its weights near; and
 * cold, once after the caches were swept. What the model takes beyond the replay is the step's own; what the replay
 * takes beyond the steps alone is put down to barriers, or to what the other steps leave in the caches, however large
 * the model is. */
#ifndef SM_RECONCILE_H
#define SM_RECONCILE_H

#include <jansson.h>
#include <stdio.h>

#include "trial.h"

/* A difference above so much of a step's time, in a step that takes so much of the call, has a cause to be named. */
#define SM_RECONCILE_DIFFERS 0.10
#define SM_RECONCILE_MATTERS 0.01

struct sm_reconciled {
    /* of all steps of a label; 0: there is none */
    double model_ns[SM_LABELS], replay_ns[SM_LABELS], alone_ns[SM_LABELS], cold_ns[SM_LABELS];
    size_t barriers[SM_LABELS]; /* that a call waits at after them */
    double call_ns;             /* of the whole call in the model */
    double around_ns;           /* of that, outside its steps */
    double barrier_ns;          /* of one barrier; NAN: not known */
    size_t threads;
};

/* In place of each call of a kernel in the model, which it must make. */
typedef void sm_reconcile_call(const struct sm_step *step, const struct sm_part *part);

/* Measures both phases (decode only where gen is not 0): of each step the least time of several calls, all of a call
 * the least as well. call: NULL but in tests. 0, or -1 and a sentence. */
int sm_reconcile(const struct sm_trial *trial, const struct sm_weights *weights, sm_reconcile_call *call,
                 struct sm_reconciled *prefill, struct sm_reconciled *decode, char *why, size_t why_bytes);

/* Why the steps of a label take longer in the model, or not as long; "" when they do not. */
const char *sm_reconcile_cause(const struct sm_reconciled *r, enum sm_label label, char *text, size_t bytes);

/* "reconciliation" of a record; and it as a table, where there is one. */
void sm_reconcile_record(const struct sm_reconciled *r, struct sm_record *record);
void sm_reconcile_print(const json_t *record, FILE *out);

#endif
