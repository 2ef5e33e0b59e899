/* perplexity.h - how well a model predicts a text: -ln of the probability that it gave to each next token.
 *
 * The text is read in windows of max_seq - 1 tokens, the first from its beginning and each later one `stride` tokens
 * after the one before. A window's last row predicts the token after the window, so every token but the first is
 * scored, exactly once: by the first window that has it, which, with a stride shorter than the window, leaves it a
 * context of window - stride tokens or more. A window is given in append buckets of a few rows, whatever the
 * vocabulary: the logits of all rows at once would be larger than the model. */
#ifndef SM_PERPLEXITY_H
#define SM_PERPLEXITY_H

#include "run.h"

struct sm_perplexity_progress {
    size_t done, total; /* rows of all windows */
    double left_s;      /* at the speed so far */
};

struct sm_perplexity_options {
    /* max_seq, kv and its scales, threads, mask and short_sliding are taken from here; what all_rows, the buckets and
     * the hooks must be, they become. */
    struct sm_session_options session;
    size_t stride; /* 1 to max_seq - 1; 0: half a window */
    /* The token that every window begins with, -1: none. Where it is not -1 the text's own first token must be it
     * (sm_tokenizer_encode with SM_ENCODE_ADD_SPECIAL): the later windows have it before their part of the text. */
    int32_t begin;
    /* Called now and then; false ends the run (NULL: nobody looks). */
    bool (*progress)(void *state, const struct sm_perplexity_progress *progress);
    void *state;
};

struct sm_perplexity {
    size_t tokens;  /* of the text */
    size_t scored;  /* of them; less than tokens - 1 when it was interrupted */
    size_t windows; /* that were needed */
    size_t window;  /* tokens of a full one */
    size_t stride;
    double nll;        /* the mean, natural logarithm */
    double error;      /* its standard error, as if tokens were independent */
    double perplexity; /* e to the mean; 0 when nothing was scored */
    bool interrupted;
};

/* each: NULL, or [count - 1] for the -ln p of tokens 1, 2, ...; those not scored become NaN. Needs 2 tokens.
 * 0; -1 and a sentence. */
int sm_perplexity(const struct sm_weights *weights, const int32_t *tokens, size_t count,
                  const struct sm_perplexity_options *options, struct sm_perplexity *result, float *each, char *why,
                  size_t why_bytes);

#endif
