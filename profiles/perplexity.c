#include "perplexity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

/* The logits of a call's rows take at most this much. */
#define LOGITS_BYTES ((size_t)64 << 20)
#define MOST_ROWS 64

struct reader {
    const struct sm_perplexity_options *options;
    struct sm_session *session;
    const int32_t *tokens;
    size_t count, vocab;
    size_t window, stride, rows; /* rows: of a call */
    int32_t *row;                /* [window]: the tokens of a window */
    size_t at, ahead;            /* text position of the window's row `ahead`; rows before that are not of the text */
    size_t scored;               /* tokens 1 .. scored have been */
    double sum, squares;
    float *each;
    size_t done, total;
    uint64_t since;
};

/* -ln of the probability of one token: the sum in double, over a vocabulary of floats. */
static double minus_log(const float *logits, size_t vocab, int32_t token)
{
    float most = logits[0];
    double sum = 0;
    for (size_t i = 1; i < vocab; i++) most = logits[i] > most ? logits[i] : most;
    for (size_t i = 0; i < vocab; i++) sum += (double)expf(logits[i] - most);
    return log(sum) - (double)(logits[token] - most);
}

/* After each call of a window: its rows predict the tokens after them. */
static void score(void *state, const struct sm_chunk *chunk)
{
    struct reader *r = state;
    for (size_t i = 0; i < chunk->count; i++) {
        const size_t row = chunk->past + i;
        if (row < r->ahead) continue;
        const size_t target = r->at + (row - r->ahead) + 1;
        const float *logits = sm_session_token_logits(r->session, i);
        if (target <= r->scored || target >= r->count || !logits) continue;
        const double nll = minus_log(logits, r->vocab, r->tokens[target]);
        r->sum += nll;
        r->squares += nll * nll;
        r->scored = target;
        if (r->each) r->each[target - 1] = (float)nll;
    }
    r->done += chunk->count;
}

static bool go_on(const struct reader *r)
{
    const double elapsed = (double)(sm_clock_ns() - r->since) * 1e-9;
    const struct sm_perplexity_progress progress = {
        .done = r->done,
        .total = r->total,
        .left_s = r->done ? elapsed / (double)r->done * (double)(r->total - r->done) : 0};
    return !r->options->progress || r->options->progress(r->options->state, &progress);
}

/* The window whose text begins at `at`: fills r->row and says how many rows it has. */
static size_t fill(struct reader *r, size_t at)
{
    const size_t ahead = r->options->begin >= 0 && at ? 1 : 0;
    const size_t room = r->window - ahead, left = r->count - at, count = left < room ? left : room;
    if (ahead) r->row[0] = r->options->begin;
    memcpy(r->row + ahead, r->tokens + at, count * sizeof *r->row);
    r->at = at;
    r->ahead = ahead;
    return ahead + count;
}

/* 0, 1 when it was interrupted, -1. */
static int read_window(struct reader *r, size_t rows, char *why, size_t why_bytes)
{
    for (size_t done = 0, now; done < rows; done += now) {
        if (!go_on(r)) return 1;
        now = rows - done < r->rows ? rows - done : r->rows;
        if (done ? sm_session_append(r->session, r->row + done, now, why, why_bytes)
                 : sm_session_prefill(r->session, r->row, now, SM_PAD_RIGHT, why, why_bytes))
            return -1;
    }
    return 0;
}

/* Where the window after the one at `at` begins, or the text's end once all tokens are scored. */
static size_t next_window(const struct reader *r, size_t at)
{
    const size_t ahead = r->options->begin >= 0 && at ? 1 : 0;
    return at + r->window - ahead >= r->count - 1 ? r->count : at + r->stride;
}

static int read_text(struct reader *r, struct sm_perplexity *result, char *why, size_t why_bytes)
{
    int outcome = 0;
    for (size_t at = 0; at < r->count; at = next_window(r, at)) r->total += fill(r, at);
    r->since = sm_clock_ns();
    for (size_t at = 0; at < r->count && !outcome; at = next_window(r, at)) {
        outcome = read_window(r, fill(r, at), why, why_bytes);
        result->windows++;
    }
    if (!outcome) (void)go_on(r); /* the last word: all is done */
    return outcome;
}

/* Calls of as many rows as the logits leave room for, and of fewer where a window ends. */
static int open_session(struct reader *r, const struct sm_weights *weights, char *why, size_t why_bytes)
{
    struct sm_session_options options = r->options->session;
    size_t rows = MOST_ROWS;
    while (rows > 1 && (rows * r->vocab * sizeof(float) > LOGITS_BYTES || rows > options.max_seq / 2)) rows /= 2;
    r->rows = rows;
    options.all_rows = true;
    options.prefill_buckets[0] = rows;
    options.prefill_bucket_count = 1;
    options.append_bucket_count = 0;
    for (size_t b = rows; b > 1; b /= 4) options.append_buckets[options.append_bucket_count++] = b;
    options.when_full = SM_WHEN_FULL_SMALLER;
    options.hooks = (struct sm_run_hooks){.done = score, .state = r};
    options.clock_ns = NULL;
    return sm_session_create(&r->session, weights, &options, why, why_bytes);
}

static int check(const struct reader *r, char *why, size_t why_bytes)
{
    const size_t max_seq = r->options->session.max_seq;
    if (r->count < 2)
        snprintf(why, why_bytes, "perplexity: a text of %zu tokens has none to predict", r->count);
    else if (max_seq < 4)
        snprintf(why, why_bytes, "perplexity: max_seq %zu leaves no window; it must be 4 or more", max_seq);
    else if (r->stride > r->window - 1 + (r->options->begin < 0))
        snprintf(why, why_bytes, "perplexity: a stride of %zu would skip tokens: windows have %zu", r->stride,
                 r->window);
    else if (r->options->begin >= 0 && r->tokens[0] != r->options->begin)
        snprintf(why, why_bytes, "perplexity: windows are to begin with token %d, and the text begins with %d",
                 (int)r->options->begin, (int)r->tokens[0]);
    else
        return 0;
    return -1;
}

static int check_tokens(const struct reader *r, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->tokens[i] >= 0 && (size_t)r->tokens[i] < r->vocab) continue;
        snprintf(why, why_bytes, "perplexity: token %zu of the text is %d, and the vocabulary has 0 to %zu", i,
                 (int)r->tokens[i], r->vocab - 1);
        return -1;
    }
    return 0;
}

int sm_perplexity(const struct sm_weights *weights, const int32_t *tokens, size_t count,
                  const struct sm_perplexity_options *options, struct sm_perplexity *result, float *each, char *why,
                  size_t why_bytes)
{
    struct reader r = {.options = options,
                       .tokens = tokens,
                       .count = count,
                       .vocab = weights->model->shape.vocab,
                       .window = options->session.max_seq - 1,
                       .each = each};
    int outcome = -1;
    r.stride = options->stride ? options->stride : r.window > 1 ? r.window / 2 : 1;
    *result = (struct sm_perplexity){.tokens = count, .window = r.window, .stride = r.stride};
    if (check(&r, why, why_bytes) || check_tokens(&r, why, why_bytes)) return -1;
    for (size_t i = 0; each && i + 1 < count; i++) each[i] = NAN;
    r.row = malloc(r.window * sizeof *r.row);
    if (!r.row)
        snprintf(why, why_bytes, "perplexity: no memory for a window of %zu tokens", r.window);
    else if (!open_session(&r, weights, why, why_bytes))
        outcome = read_text(&r, result, why, why_bytes);
    sm_session_destroy(r.session);
    free(r.row);
    if (outcome < 0) return -1;
    result->interrupted = outcome > 0;
    result->scored = r.scored;
    if (!r.scored) return 0;
    const double n = (double)r.scored, mean = r.sum / n;
    result->nll = mean;
    result->error = r.scored > 1 ? sqrt(fmax(r.squares / n - mean * mean, 0) / (n - 1)) : 0;
    result->perplexity = exp(mean);
    return 0;
}
