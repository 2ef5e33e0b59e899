#include "verify_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "trial_record.h"

struct pair {
    const struct verify_setup *setup;
    struct verify_result *result;
    struct sm_session *tested, *reference;
    size_t vocab, all; /* tokens to come */
};

static const float *reference_logits(const struct pair *p, size_t position)
{
    return p->reference ? sm_session_logits(p->reference) : p->setup->given.logits + position * p->vocab;
}

static int feed_tested(struct sm_session *s, enum sm_phase phase, const int32_t *tokens, size_t count, char *why,
                       size_t why_bytes)
{
    switch (phase) {
    case SM_PHASE_PREFILL: return sm_session_prefill(s, tokens, count, SM_PAD_RIGHT, why, why_bytes);
    case SM_PHASE_APPEND: return sm_session_append(s, tokens, count, why, why_bytes);
    default: return sm_session_decode(s, tokens[0], why, why_bytes);
    }
}

/* Appended tokens one by one: a way that shares nothing with the buckets it judges. */
static int feed_reference(struct sm_session *s, enum sm_phase phase, const int32_t *tokens, size_t count, char *why,
                          size_t why_bytes)
{
    int failed = 0;
    if (phase == SM_PHASE_PREFILL) return sm_session_prefill(s, tokens, count, SM_PAD_RIGHT, why, why_bytes);
    for (size_t i = 0; i < count && !failed; i++) failed = sm_session_decode(s, tokens[i], why, why_bytes);
    return failed;
}

void verify_shapes(const struct sm_chunk *chunks, size_t count, char *text, size_t bytes)
{
    size_t used = 0, run;
    *text = 0;
    for (size_t i = 0; i < count && used < bytes; i += run) {
        char times[32] = "";
        for (run = 1; i + run < count && chunks[i + run].rows == chunks[i].rows; run++) continue;
        if (run > 1) snprintf(times, sizeof times, "x%zu", run);
        used += (size_t)snprintf(text + used, bytes - used, "%s%zu%s", i ? "," : "", chunks[i].rows, times);
    }
    if (used >= bytes) memcpy(text + bytes - 4, "...", 4);
}

/* Feeds both sides and compares what they say after the last of the tokens. */
static int feed(struct pair *p, size_t turn, enum sm_phase phase, const int32_t *tokens, size_t count, char *why,
                size_t why_bytes)
{
    struct verify_result *r = p->result;
    const size_t past = r->token_count;
    size_t chunks;
    memcpy(r->tokens + past, tokens, count * sizeof *tokens);
    const uint64_t begin = sm_clock_ns();
    if (feed_tested(p->tested, phase, r->tokens + past, count, why, why_bytes)) return -1;
    const uint64_t end = sm_clock_ns();
    if (p->reference && feed_reference(p->reference, phase, r->tokens + past, count, why, why_bytes)) return -1;
    struct verify_step *step = &r->steps[r->count++];
    *step = (struct verify_step){
        .turn = turn, .phase = phase, .past = past, .tokens = count, .shapes = "1", .ns = (double)(end - begin)};
    if (phase != SM_PHASE_DECODE) {
        const struct sm_chunk *list = sm_session_chunks(p->tested, &chunks);
        verify_shapes(list, chunks, step->shapes, sizeof step->shapes);
    }
    r->token_count += count;
    sm_difference_measure(reference_logits(p, r->token_count - 1), sm_session_logits(p->tested), 1, p->vocab, &step->d);
    if (p->setup->progress) p->setup->progress(p->setup->context, r->token_count, p->all);
    return 0;
}

/* The token that both sides are fed next. */
static int32_t next_token(const struct pair *p)
{
    const struct verify_result *r = p->result;
    if (!p->reference) return p->setup->given.tokens[r->token_count];
    return sm_session_argmax(p->setup->same_token ? p->reference : p->tested);
}

static int walk(struct pair *p, char *why, size_t why_bytes)
{
    const struct sm_turns *turns = p->setup->turns;
    const int32_t *prompt = p->setup->prompts;
    for (size_t t = 0; t < turns->count; t++) {
        const struct sm_turn *turn = &turns->turn[t];
        if (!p->reference) prompt = p->setup->given.tokens + p->result->token_count;
        if (p->setup->interrupted()) return 1;
        if (feed(p, t + 1, t ? SM_PHASE_APPEND : SM_PHASE_PREFILL, prompt, turn->prompt, why, why_bytes)) return -1;
        prompt += turn->prompt;
        for (size_t i = 0; i < turn->gen; i++) {
            const int32_t token = next_token(p);
            if (p->setup->interrupted()) return 1;
            if (feed(p, t + 1, SM_PHASE_DECODE, &token, 1, why, why_bytes)) return -1;
        }
    }
    return 0;
}

int verify_run(const struct verify_setup *setup, struct verify_result *result, char *why, size_t why_bytes)
{
    struct pair p = {.setup = setup,
                     .result = result,
                     .vocab = setup->tested->model->shape.vocab,
                     .all = sm_turns_tokens(setup->turns)};
    struct sm_session_options options = setup->options;
    size_t steps = 0;
    int outcome = -1;
    for (size_t i = 0; i < setup->turns->count; i++) steps += 1 + setup->turns->turn[i].gen;
    *result = (struct verify_result){.steps = malloc(steps * sizeof *result->steps),
                                     .tokens = malloc(p.all * sizeof *result->tokens)};
    if (!result->steps || !result->tokens) {
        snprintf(why, why_bytes, "there is no memory for %zu steps of a session", steps);
        return -1;
    }
    char unsaid[256]; /* a team that cannot be pinned runs all the same */
    result->held = !sm_pin_team(&result->pin, (int)options.threads, unsaid, sizeof unsaid);
    if (!sm_session_create(&p.tested, setup->tested, &options, why, why_bytes)) {
        options.kv = SM_KV_F32;
        options.kv_scales = NULL;
        options.prefill_bucket_count = options.append_bucket_count = 0;
        if (!setup->reference || !sm_session_create(&p.reference, setup->reference, &options, why, why_bytes))
            outcome = walk(&p, why, why_bytes);
        sm_trial_variants(p.tested, SM_PHASE_DECODE, result->variants, sizeof result->variants);
    }
    sm_unpin_team((int)options.threads); /* who packs weights next runs everywhere */
    sm_session_destroy(p.tested);
    sm_session_destroy(p.reference);
    return outcome;
}

void verify_result_free(struct verify_result *result)
{
    free(result->steps);
    free(result->tokens);
    *result = (struct verify_result){0};
}
