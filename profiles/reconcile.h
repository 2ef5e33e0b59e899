/* reconcile.h - the steps of a model, each alone, against the same steps in the run: where the rest of a call goes.
 *
 * A step is timed three ways, at the same shape, on the same operands and by the same team: in the model; alone, called
 * again and again, its weights near; and cold, once after the caches were swept, so that weights come from memory, as
 * those of a model larger than the caches do. What the model takes beyond the steps alone is then put
 * down to barriers, to weights that were far away, or to the step itself. */
#ifndef SM_RECONCILE_H
#define SM_RECONCILE_H

#include <jansson.h>
#include <stdio.h>

#include "trial.h"

/* A difference above so much of a step's time, in a step that takes so much of the call, has a cause to be named. */
#define SM_RECONCILE_DIFFERS 0.10
#define SM_RECONCILE_MATTERS 0.01

struct sm_reconciled {
    double model_ns[SM_LABELS], alone_ns[SM_LABELS], cold_ns[SM_LABELS]; /* of all steps of a label; 0: there is none */
    size_t barriers[SM_LABELS];                                          /* that a call waits at after them */
    double call_ns;                                                      /* of the whole call in the model */
    bool fits;         /* the whole model into one core's cache: it has no cold weights */
    double barrier_ns; /* of one barrier; NAN: not known */
};

/* Measures both phases (decode only where gen is not 0), least times of several calls. hooks: of the session in the
 * model; NULLs but in tests. 0, or -1 and a sentence. */
int sm_reconcile(const struct sm_trial *trial, const struct sm_weights *weights, struct sm_run_hooks hooks,
                 struct sm_reconciled *prefill, struct sm_reconciled *decode, char *why, size_t why_bytes);

/* Why the steps of a label take longer in the model, or not as long; "" when they do not. */
const char *sm_reconcile_cause(const struct sm_reconciled *r, enum sm_label label, char *text, size_t bytes);

/* "reconciliation" of a record; and it as a table, where there is one. */
void sm_reconcile_record(const struct sm_reconciled *r, struct sm_record *record);
void sm_reconcile_print(const json_t *record, FILE *out);

#endif
