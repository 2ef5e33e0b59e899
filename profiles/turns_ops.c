#include "turns_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

const char *sm_turn_way_name(enum sm_turn_way way)
{
    static const char *const names[] = {"buckets", "decode", "decode-loop", "re-prefill", "exact"};
    return names[way];
}

static int add(struct sm_turn_ops *ops, size_t turn, enum sm_turn_way way, size_t past, size_t tokens)
{
    struct sm_turn_op *op = &ops->at[ops->count++];
    *op = (struct sm_turn_op){.turn = turn, .way = way, .past = past, .tokens = tokens};
    op->ns = calloc(ops->reps, sizeof *op->ns);
    op->witnesses = sm_witnesses_create(ops->reps, SM_WITNESS_PROCESS);
    if (way == SM_TURN_DECODE) op->token_ns = calloc(ops->reps * tokens, sizeof *op->token_ns);
    return op->ns && op->witnesses && (op->token_ns || way != SM_TURN_DECODE) ? 0 : -1;
}

int sm_turn_ops_create(struct sm_turn_ops *ops, const struct sm_turns *turns, const int32_t *prompts, size_t reps,
                       bool exact)
{
    size_t past = 0;
    *ops = (struct sm_turn_ops){.reps = reps, .total = sm_turns_tokens(turns)};
    ops->at = calloc(turns->count * SM_TURN_WAYS, sizeof *ops->at);
    ops->tokens = calloc(ops->total, sizeof *ops->tokens);
    if (!ops->at || !ops->tokens) return -1;
    for (size_t t = 0; t < turns->count; t++) {
        const struct sm_turn *turn = &turns->turn[t];
        memcpy(ops->tokens + past, prompts, turn->prompt * sizeof *prompts);
        prompts += turn->prompt;
        if (add(ops, t, SM_TURN_BUCKETS, past, turn->prompt) ||
            (turn->gen && add(ops, t, SM_TURN_DECODE, past + turn->prompt, turn->gen)) ||
            (t && add(ops, t, SM_TURN_DECODE_LOOP, past, turn->prompt)) ||
            (t && add(ops, t, SM_TURN_RE_PREFILL, past, turn->prompt)) ||
            (exact && add(ops, t, SM_TURN_EXACT, past, turn->prompt)))
            return -1;
        past += turn->prompt + turn->gen;
    }
    return 0;
}

void sm_turn_ops_destroy(struct sm_turn_ops *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        struct sm_turn_op *op = &ops->at[i];
        free(op->ns);
        free(op->token_ns);
        free(op->chunks);
        sm_witnesses_destroy(op->witnesses);
        sm_record_destroy(op->record);
    }
    free(ops->at);
    free(ops->tokens);
    *ops = (struct sm_turn_ops){0};
}

static int generate(struct sm_turn_ops *ops, const struct sm_turn_op *op, struct sm_session *s, double *token_ns,
                    char *why, size_t why_bytes)
{
    for (size_t i = 0; i < op->tokens; i++) {
        const uint64_t begin = sm_clock_ns();
        const int32_t token = sm_session_argmax(s);
        ops->tokens[op->past + i] = token;
        if (sm_session_decode(s, token, why, why_bytes)) return -1;
        if (token_ns) token_ns[i] = (double)(sm_clock_ns() - begin);
    }
    return 0;
}

int sm_turn_op_run(struct sm_turn_ops *ops, struct sm_turn_op *op, struct sm_session *s, double *token_ns, char *why,
                   size_t why_bytes)
{
    const int32_t *tokens = ops->tokens + op->past;
    int failed = 0;
    switch (op->way) {
    case SM_TURN_DECODE: return generate(ops, op, s, token_ns, why, why_bytes);
    case SM_TURN_DECODE_LOOP:
        for (size_t i = 0; i < op->tokens && !failed; i++) failed = sm_session_decode(s, tokens[i], why, why_bytes);
        return failed;
    case SM_TURN_RE_PREFILL:
        return sm_session_prefill(s, ops->tokens, op->past + op->tokens, SM_PAD_RIGHT, why, why_bytes);
    default:
        return op->past ? sm_session_append(s, tokens, op->tokens, why, why_bytes)
                        : sm_session_prefill(s, tokens, op->tokens, SM_PAD_RIGHT, why, why_bytes);
    }
}
