/* What a session is told to do: the checks of a call, and the plans that it takes. */
#include <stdio.h>
#include <string.h>

#include "run_session.h"

void sm_session_reset(struct sm_session *s)
{
    sm_cache_clear(s->cache, 0);
    s->past = s->chunk_count = 0;
    s->ran = false;
}

int sm_session_truncate(struct sm_session *s, size_t past, char *why, size_t why_bytes)
{
    if (!s->ran || past > s->past) {
        snprintf(why, why_bytes, "going back to %zu tokens: the cache holds %zu", past, s->past);
        return -1;
    }
    sm_cache_clear(s->cache, past);
    s->past = past;
    return 0;
}

int sm_session_assume(struct sm_session *s, size_t past, char *why, size_t why_bytes)
{
    if (!s->ran || past > s->options.max_seq - 1) {
        snprintf(why, why_bytes,
                 s->ran ? "taking %zu tokens for valid: there are %zu slots"
                        : "taking %zu tokens of %zu slots for valid: prefill comes first",
                 past, s->options.max_seq - 1);
        return -1;
    }
    s->past = past;
    if (s->cache->used < past) s->cache->used = past;
    return 0;
}

static int check_tokens(const struct sm_session *s, const int32_t *tokens, size_t count, const char *doing, char *why,
                        size_t why_bytes)
{
    const size_t vocab = s->weights->model->shape.vocab;
    for (size_t i = 0; i < count; i++) {
        if (tokens[i] >= 0 && (size_t)tokens[i] < vocab) continue;
        snprintf(why, why_bytes, "%s: token %zu is %d, and the vocabulary has 0 to %zu", doing, i, (int)tokens[i],
                 vocab - 1);
        return -1;
    }
    return 0;
}

int sm_padding_of(const bool *valid, size_t rows, enum sm_padding padding, size_t *begin, size_t *count, char *why,
                  size_t why_bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < rows; i++) n += valid[i];
    const size_t first = padding == SM_PAD_LEFT ? rows - n : 0;
    if (!n) {
        snprintf(why, why_bytes, "reading a padded row: there is no valid token");
        return -1;
    }
    for (size_t i = 0; i < rows; i++) {
        if (valid[i] == (i >= first && i < first + n)) continue;
        snprintf(why, why_bytes,
                 "reading a padded row: %s padding expected, and token %zu is %s though %zu of %zu are valid",
                 padding == SM_PAD_LEFT ? "left" : "right", i, valid[i] ? "valid" : "padding", n, rows);
        return -1;
    }
    *begin = first;
    *count = n;
    return 0;
}

/* Whether a bucket, or the policy, takes each of the `count` tokens that follow `past` valid ones. */
static int check_chunks(const struct sm_session *s, size_t past, size_t count, const char *doing, char *why,
                        size_t why_bytes)
{
    const struct sm_buckets *buckets = &s->buckets[SM_PHASE_APPEND];
    const size_t max_seq = s->options.max_seq;
    while (count) {
        const struct sm_bucket_choice c = sm_bucket_choose(buckets, count, past, max_seq, s->options.when_full);
        if (!c.rows) {
            const size_t rows = sm_bucket_holding(buckets, count);
            snprintf(why, why_bytes,
                     "%s: the bucket of %zu rows for the next %zu tokens does not fit after %zu: it needs %zu columns "
                     "of max_seq %zu, and the policy is to refuse",
                     doing, rows, count < rows ? count : rows, past, past + rows, max_seq);
            return -1;
        }
        past += c.count;
        count -= c.count;
    }
    return 0;
}

/* Tokens after those of the cache, call by call; all of it has been checked. */
static void append(struct sm_session *s, const int32_t *tokens, size_t count)
{
    while (count) {
        const struct sm_bucket_choice c =
            sm_bucket_choose(&s->buckets[SM_PHASE_APPEND], count, s->past, s->options.max_seq, s->options.when_full);
        const struct sm_call call = {.tokens = tokens, .count = c.count, .past = s->past};
        s->chunks[s->chunk_count++] =
            session_run(s, c.decode ? SM_PHASE_DECODE : SM_PHASE_APPEND, c.rows, &call, c.policy);
        tokens += c.count;
        count -= c.count;
    }
}

int sm_session_prefill(struct sm_session *s, const int32_t *tokens, size_t count, enum sm_padding padding, char *why,
                       size_t why_bytes)
{
    const size_t max_seq = s->options.max_seq;
    const size_t rows = sm_bucket_holding(&s->buckets[SM_PHASE_PREFILL], count);
    const size_t now = count < rows ? count : rows;
    if (!count) {
        snprintf(why, why_bytes, "prefill: there is no valid token");
        return -1;
    }
    if (count > max_seq - 1) {
        snprintf(why, why_bytes,
                 "prefill: %zu tokens do not fit the %zu slots of max_seq %zu, which keeps one for the "
                 "token being decoded",
                 count, max_seq - 1, max_seq);
        return -1;
    }
    if (check_tokens(s, tokens, count, "prefill", why, why_bytes) ||
        check_chunks(s, now, count - now, "prefill", why, why_bytes))
        return -1;
    const struct sm_call call = {.tokens = tokens, .begin = padding == SM_PAD_LEFT ? rows - now : 0, .count = now};
    sm_cache_clear(s->cache, now); /* as if the cache were new: slots before are written now */
    s->chunks[0] = session_run(s, SM_PHASE_PREFILL, rows, &call, false);
    s->chunk_count = 1;
    append(s, tokens + now, count - now);
    return 0;
}

int sm_session_prefill_padded(struct sm_session *s, const int32_t *tokens, const bool *valid, size_t rows,
                              enum sm_padding padding, char *why, size_t why_bytes)
{
    const struct sm_buckets *shapes = &s->buckets[SM_PHASE_PREFILL];
    size_t begin, count, i = 0;
    while (i < shapes->count && shapes->rows[i] != rows) i++;
    if (i == shapes->count) {
        snprintf(why, why_bytes, "prefill: a padded row of %zu tokens: no prefill shape has as many rows", rows);
        return -1;
    }
    if (sm_padding_of(valid, rows, padding, &begin, &count, why, why_bytes)) return -1;
    return sm_session_prefill(s, tokens + begin, count, padding, why, why_bytes);
}

int sm_session_append(struct sm_session *s, const int32_t *tokens, size_t count, char *why, size_t why_bytes)
{
    const size_t slots = s->options.max_seq - 1;
    if (!s->ran) {
        snprintf(why, why_bytes, "append: there is nothing to append to; prefill comes first");
        return -1;
    }
    if (!count) {
        snprintf(why, why_bytes, "append: there is no valid token");
        return -1;
    }
    if (count > slots - s->past) {
        snprintf(why, why_bytes,
                 "append: the cache has no room: %zu tokens after %zu do not fit the %zu slots of "
                 "max_seq %zu",
                 count, s->past, slots, s->options.max_seq);
        return -1;
    }
    if (check_tokens(s, tokens, count, "append", why, why_bytes) ||
        check_chunks(s, s->past, count, "append", why, why_bytes))
        return -1;
    s->chunk_count = 0;
    append(s, tokens, count);
    return 0;
}

static bool has_bucket(const struct sm_buckets *buckets, size_t rows)
{
    for (size_t i = 0; i < buckets->count; i++)
        if (buckets->rows[i] == rows) return true;
    return false;
}

/* Whether each of a caller's calls can be made, one after another. */
static int check_calls(const struct sm_session *s, const struct sm_chunk *calls, size_t count, size_t *tokens,
                       char *why, size_t why_bytes)
{
    const size_t max_seq = s->options.max_seq;
    size_t past = s->past;
    *tokens = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sm_chunk *c = &calls[i];
        const char *wrong = NULL;
        if ((unsigned)c->phase >= SM_PHASES || !has_bucket(&s->buckets[c->phase], c->rows))
            wrong = "there is no such bucket";
        else if (c->phase == SM_PHASE_PREFILL && i)
            wrong = "a prefill can only be the first call";
        else if (c->phase != SM_PHASE_PREFILL && !i && !s->ran)
            wrong = "there is nothing to append to; prefill comes first";
        if (!wrong && c->phase == SM_PHASE_PREFILL) past = 0;
        if (!wrong && (!c->count || c->count > c->rows)) wrong = "its rows cannot hold its tokens";
        if (!wrong && (past + c->rows > max_seq || past + c->count > max_seq - 1)) wrong = "it does not fit max_seq";
        if (wrong) {
            snprintf(why, why_bytes, "taking tokens in: call %zu, %s of %zu rows with %zu tokens after %zu: %s", i + 1,
                     sm_phase_name(c->phase), c->rows, c->count, past, wrong);
            return -1;
        }
        past += c->count;
        *tokens += c->count;
    }
    return 0;
}

int sm_session_take(struct sm_session *s, const int32_t *tokens, const struct sm_chunk *calls, size_t count, char *why,
                    size_t why_bytes)
{
    size_t all;
    if (!count) {
        snprintf(why, why_bytes, "taking tokens in: there is no call");
        return -1;
    }
    if (check_calls(s, calls, count, &all, why, why_bytes) ||
        check_tokens(s, tokens, all, "taking tokens in", why, why_bytes))
        return -1;
    s->chunk_count = 0;
    for (size_t i = 0; i < count; i++) {
        const bool prefill = calls[i].phase == SM_PHASE_PREFILL;
        const struct sm_call call = {.tokens = tokens, .count = calls[i].count, .past = prefill ? 0 : s->past};
        if (prefill) sm_cache_clear(s->cache, calls[i].count);
        s->chunks[s->chunk_count++] = session_run(s, calls[i].phase, calls[i].rows, &call, false);
        tokens += call.count;
    }
    return 0;
}

int sm_session_decode(struct sm_session *s, int32_t token, char *why, size_t why_bytes)
{
    if (!s->ran) {
        snprintf(why, why_bytes, "decode: there is nothing to go on from; prefill comes first");
        return -1;
    }
    if (s->past >= s->options.max_seq - 1) {
        snprintf(why, why_bytes, "decode: the cache is full: %zu tokens are in the %zu slots of max_seq %zu", s->past,
                 s->options.max_seq - 1, s->options.max_seq);
        return -1;
    }
    if (check_tokens(s, &token, 1, "decode", why, why_bytes)) return -1;
    const struct sm_call call = {.tokens = &token, .begin = 0, .count = 1, .past = s->past};
    (void)session_run(s, SM_PHASE_DECODE, 1, &call, false);
    return 0;
}
