/* verify_run.h - two sides walk through the same session, call by call, and their logits are compared after each.
 *
 * The tested side makes the calls that are to be verified: a prefill, then decodes, then the next turn's tokens, and
 * so on. The reference side is a session of its own with float weights and a float cache, which takes appended tokens
 * one by one, or logits that somebody else computed. Both are fed the same tokens: those of the prompts, and between
 * them the greedy tokens of the tested side or, with same_token, of the reference. */
#ifndef SM_VERIFY_RUN_H
#define SM_VERIFY_RUN_H

#include "machine.h"
#include "run.h"
#include "turns.h"
#include "verify_metrics.h"

/* Logits that came with their tokens: row p belongs to the token at position p. */
struct verify_given {
    const int32_t *tokens; /* [count] */
    const float *logits;   /* [count][vocab] */
    size_t count;
};

struct verify_setup {
    const struct sm_weights *tested;
    const struct sm_weights *reference; /* NULL: given */
    struct verify_given given;
    struct sm_session_options options; /* of the tested side */
    const struct sm_turns *turns;      /* fit max_seq - 1, and what is given */
    const int32_t *prompts;            /* of all turns, one after the other; unused where tokens are given */
    bool same_token;
    void (*progress)(void *context, size_t done, size_t all); /* tokens; NULL: none */
    void *context;
    bool (*interrupted)(void);
};

struct verify_step {
    size_t turn; /* from 1 */
    enum sm_phase phase;
    size_t past, tokens; /* before the call; that it took in */
    char shapes[48];     /* the static rows of its calls: "64", "8x3,1" */
    double ns;           /* of the tested side's call, or calls */
    struct sm_difference d;
};

struct verify_result {
    struct verify_step *steps;
    size_t count;
    int32_t *tokens; /* fed, by position */
    size_t token_count;
    char variants[1024]; /* that the tested side's decode runs */
    struct sm_pin pin;   /* where the team ran */
    bool held;           /* it did, as was read back */
};

/* 0; 1: interrupted; -1 and a sentence. The result is to be freed whatever comes back. */
int verify_run(const struct verify_setup *setup, struct verify_result *result, char *why, size_t why_bytes);
void verify_result_free(struct verify_result *result);

/* The rows of some calls, like ones counted: "8x3,1"; "..." ends what is too long. */
void verify_shapes(const struct sm_chunk *chunks, size_t count, char *text, size_t bytes);

#endif
