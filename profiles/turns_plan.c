/* What is known of a session of turns before it runs: whether it can, how long it takes, what to call it. */
#include <stdio.h>
#include <string.h>

#include "turns_trial.h"

static const char *refuse_turn(const struct sm_turns_trial *t, const struct sm_buckets *append, size_t turn,
                               size_t past, size_t left, char *why, size_t why_bytes)
{
    while (left) {
        const struct sm_bucket_choice c = sm_bucket_choose(append, left, past, t->trial.max_seq, t->when_full);
        if (!c.rows) {
            snprintf(why, why_bytes,
                     "turn %zu: no append bucket fits its last %zu tokens behind %zu valid slots of max_seq %zu, and "
                     "--when-full says %s",
                     turn + 1, left, past, t->trial.max_seq, sm_when_full_name(t->when_full));
            return why;
        }
        left -= c.count;
        past += c.count;
    }
    return NULL;
}

const char *sm_turns_trial_refuse(const struct sm_turns_trial *t, char *why, size_t why_bytes)
{
    struct sm_buckets append, prefill;
    const size_t max_seq = t->trial.max_seq;
    size_t past = 0;
    if (max_seq < 2) {
        snprintf(why, why_bytes, "max_seq %zu leaves no past slot: the least is 2", max_seq);
        return why;
    }
    if (sm_buckets_set(&append, t->append_buckets, t->append_bucket_count, max_seq, why, why_bytes) ||
        sm_buckets_set(&prefill, t->prefill_buckets, t->prefill_bucket_count, max_seq, why, why_bytes))
        return why;
    for (size_t i = 0; i < t->turns->count; i++) {
        const struct sm_turn *turn = &t->turns->turn[i];
        if (past + turn->prompt + turn->gen > max_seq - 1) {
            snprintf(why, why_bytes,
                     "turn %zu (%zu+%zu) starts behind %zu valid tokens and does not fit the %zu past slots of max_seq "
                     "%zu",
                     i + 1, turn->prompt, turn->gen, past, max_seq - 1, max_seq);
            return why;
        }
        size_t first = 0; /* what a prefill takes of it */
        if (!i) first = sm_bucket_holding(&prefill, turn->prompt);
        if (!i && (!first || first > turn->prompt)) first = turn->prompt;
        if (refuse_turn(t, &append, i, past + first, turn->prompt - first, why, why_bytes)) return why;
        past += turn->prompt + turn->gen;
    }
    return NULL;
}

double sm_turns_trial_estimate(const struct sm_turns_trial *t, const struct sm_model_shape *shape,
                               const struct sm_trial_speed *speed)
{
    const size_t max_seq = t->trial.max_seq;
    const double prefill = sm_trial_ops(shape, SM_PHASE_PREFILL, max_seq) / speed->prefill,
                 decode = sm_trial_ops(shape, SM_PHASE_DECODE, max_seq) / speed->decode;
    const double row = prefill / (double)max_seq, tokens = (double)sm_turns_tokens(t->turns);
    double seconds = 2 * prefill + tokens * row; /* the session's own, the exact one's with what stands between */
    for (size_t i = 0; i < t->turns->count; i++) {
        const double in = (double)t->turns->turn[i].prompt, out = (double)t->turns->turn[i].gen;
        seconds += out * decode + (i ? 3 * in * row + in * decode + prefill : 0);
    }
    return ((double)t->trial.reps + 2) * seconds / (double)t->trial.threads;
}

static size_t add_list(char *text, size_t bytes, const char *name, const size_t *rows, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%zu", i ? "+" : name, rows[i]);
    return used < bytes ? used : bytes - 1;
}

const char *sm_turns_trial_text(const struct sm_turns_trial *t, char *text, size_t bytes)
{
    char turns[128];
    size_t used;
    uint32_t hash = 2166136261U; /* FNV-1a of all numbers: what is cut off still counts */
    sm_turns_text(t->turns, turns, sizeof turns);
    for (size_t i = 0; i < t->turns->count; i++)
        hash = ((hash ^ (uint32_t)t->turns->turn[i].prompt) * 16777619U ^ (uint32_t)t->turns->turn[i].gen) * 16777619U;
    used = (size_t)snprintf(text, bytes, "turns=%s", turns);
    if (strstr(turns, "...")) used += (size_t)snprintf(text + used, bytes - used, "#%08x", hash);
    used += add_list(text + used, bytes - used, ",buckets=", t->append_buckets, t->append_bucket_count);
    used += add_list(text + used, bytes - used, ",prefill=", t->prefill_buckets, t->prefill_bucket_count);
    snprintf(text + used, bytes - used, ",when_full=%s", sm_when_full_name(t->when_full));
    return text;
}
