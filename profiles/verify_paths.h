/* verify_paths.h - the ways to the same state: tokens appended in chunks, in one bucket, decoded one by one, or all
 * prefilled at once must end in the same logits. */
#ifndef SM_VERIFY_PATHS_H
#define SM_VERIFY_PATHS_H

#include "run.h"
#include "verify_metrics.h"

enum verify_way { VERIFY_DECODE_LOOP, VERIFY_CHUNKS, VERIFY_ONE_BUCKET, VERIFY_PREFILL, VERIFY_WAYS };

const char *verify_way_name(enum verify_way way); /* "decode loop", "chunks", ... */

struct verify_paths {
    size_t first, tokens; /* prefilled by all ways but the last; in all */
    char shapes[VERIFY_WAYS][48];
    struct sm_difference d[VERIFY_WAYS]; /* against the decode loop, whose own is nought */
};

/* options: with append buckets. 1 <= first < tokens <= max_seq - 1. 0, or -1 and a sentence. */
int verify_paths_run(const struct sm_weights *weights, const struct sm_session_options *options, const int32_t *tokens,
                     size_t first, size_t count, struct verify_paths *paths, char *why, size_t why_bytes);

/* The greatest PEIR of all ways, and which; NAN when a logit is not finite. */
double verify_paths_worst(const struct verify_paths *paths, enum verify_way *way);

#endif
