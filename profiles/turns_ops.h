/* turns_ops.h - what a session of turns is made of, as a list: what is timed, in which session, and what came of it. */
#ifndef SM_TURNS_OPS_H
#define SM_TURNS_OPS_H

#include "record.h"
#include "run.h"
#include "turns.h"
#include "witness.h"

/* How a turn's tokens get into the cache. All end in the same state. */
enum sm_turn_way {
    SM_TURN_BUCKETS,     /* as the session does it: prefill of the first turn, then appends in buckets */
    SM_TURN_DECODE,      /* not a way in: the tokens generated after them */
    SM_TURN_DECODE_LOOP, /* one by one */
    SM_TURN_RE_PREFILL,  /* all tokens so far anew */
    SM_TURN_EXACT,       /* in a bucket made for them: what they would cost without padding */
    SM_TURN_WAYS
};

const char *sm_turn_way_name(enum sm_turn_way way); /* "buckets", "decode", "decode-loop", ... */

struct sm_turn_op {
    size_t turn; /* from 0 */
    enum sm_turn_way way;
    size_t past, tokens; /* valid slots before; that come in, or are generated */
    double *ns;          /* [reps] */
    double *token_ns;    /* [reps * tokens], SM_TURN_DECODE */
    struct sm_witnesses *witnesses;
    struct sm_chunk *chunks; /* of its last run, but for SM_TURN_DECODE */
    size_t chunk_count;
    double peir; /* of its logits, against the buckets' */
    struct sm_record *record;
};

/* A session's ops turn by turn, and the tokens that go through it. */
struct sm_turn_ops {
    struct sm_turn_op *at;
    size_t count, reps;
    int32_t *tokens; /* [total], by position; those generated are filled in by SM_TURN_DECODE */
    size_t total;
};

/* prompts: of all turns, one after the other. Every turn has the first two ways, later ones the next two, and all the
 * last where `exact`. 0, or -1: no memory. The list is to be destroyed whatever comes back. */
int sm_turn_ops_create(struct sm_turn_ops *ops, const struct sm_turns *turns, const int32_t *prompts, size_t reps,
                       bool exact);
void sm_turn_ops_destroy(struct sm_turn_ops *ops);

/* Runs one, in a session that holds its past. token_ns: NULL, or where the times of generated tokens go. */
int sm_turn_op_run(struct sm_turn_ops *ops, struct sm_turn_op *op, struct sm_session *session, double *token_ns,
                   char *why, size_t why_bytes);

#endif
