/* verify_golden.h - results that another implementation computed, from a safetensors file and the JSON beside it.
 *
 *   turns.tokens [T], turns.logits [T][vocab]   a session of turns; row p: the logits after token p, from the call
 *                                               that processed it. The JSON's "turns" lists the calls:
 *                                               [{"n_tokens":13,"decode_steps":5}, ...]; its "max_seq" their K
 *   full.tokens [N], full.logits [N][vocab]     one pass over one sequence
 *   hidden.full [layers + 1][N][hidden]         of that pass: what enters layer 0, then what leaves each layer
 *   hidden.final_norm [N][hidden]
 *
 * There must be full.* or turns.*; the rest may be missing. */
#ifndef SM_VERIFY_GOLDEN_H
#define SM_VERIFY_GOLDEN_H

#include "turns.h"
#include "verify_layers.h"
#include "verify_run.h"

struct verify_golden {
    struct verify_given turns, full; /* count 0: not there */
    struct verify_hidden hidden;     /* of full; its logits are full's */
    struct sm_turns calls;           /* of turns, from the JSON; count 0: it does not say */
    size_t max_seq;                  /* 0: it does not say */
    void *memory;
};

/* Reads and checks against a model's sizes. 0; or -1, a sentence and nothing to close. */
int verify_golden_open(struct verify_golden *golden, const char *path, const struct sm_model_shape *shape, char *why,
                       size_t why_bytes);
void verify_golden_close(struct verify_golden *golden); /* safe on a struct of zeros */

#endif
