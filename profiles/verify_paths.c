#include "verify_paths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify_run.h"

const char *verify_way_name(enum verify_way way)
{
    static const char *const names[] = {"decode loop", "chunks", "one bucket", "prefill"};
    return names[way];
}

static int walk(struct sm_session *s, enum verify_way way, const int32_t *tokens, size_t first, size_t count, char *why,
                size_t why_bytes)
{
    const size_t prefilled = way == VERIFY_PREFILL ? count : first;
    if (sm_session_prefill(s, tokens, prefilled, SM_PAD_RIGHT, why, why_bytes)) return -1;
    if (way == VERIFY_PREFILL) return 0;
    if (way != VERIFY_DECODE_LOOP) return sm_session_append(s, tokens + first, count - first, why, why_bytes);
    int failed = 0;
    for (size_t i = first; i < count && !failed; i++) failed = sm_session_decode(s, tokens[i], why, why_bytes);
    return failed;
}

int verify_paths_run(const struct sm_weights *weights, const struct sm_session_options *options, const int32_t *tokens,
                     size_t first, size_t count, struct verify_paths *paths, char *why, size_t why_bytes)
{
    const size_t vocab = weights->model->shape.vocab;
    float *loop = malloc(vocab * sizeof *loop);
    int failed = -1;
    *paths = (struct verify_paths){.first = first, .tokens = count};
    if (!loop) {
        snprintf(why, why_bytes, "there is no memory for %zu logits", vocab);
        return -1;
    }
    for (enum verify_way way = 0; way < VERIFY_WAYS; way++) {
        struct sm_session_options with = *options;
        struct sm_session *s = NULL;
        if (way == VERIFY_ONE_BUCKET) with.append_buckets[0] = count - first, with.append_bucket_count = 1;
        if (way == VERIFY_DECODE_LOOP || way == VERIFY_PREFILL) with.append_bucket_count = 0;
        if (way == VERIFY_PREFILL) with.prefill_bucket_count = 0;
        failed =
            sm_session_create(&s, weights, &with, why, why_bytes) || walk(s, way, tokens, first, count, why, why_bytes);
        if (!failed) {
            const float *logits = sm_session_logits(s);
            size_t chunks;
            const struct sm_chunk *list = sm_session_chunks(s, &chunks);
            if (way == VERIFY_DECODE_LOOP)
                snprintf(paths->shapes[way], sizeof paths->shapes[way], "1x%zu", count - first);
            else
                verify_shapes(list, chunks, paths->shapes[way], sizeof paths->shapes[way]);
            if (way == VERIFY_DECODE_LOOP) memcpy(loop, logits, vocab * sizeof *loop);
            sm_difference_measure(loop, logits, 1, vocab, &paths->d[way]);
        }
        sm_session_destroy(s);
        if (failed) break;
    }
    free(loop);
    return failed ? -1 : 0;
}

double verify_paths_worst(const struct verify_paths *paths, enum verify_way *way)
{
    double worst = 0;
    *way = VERIFY_DECODE_LOOP;
    for (enum verify_way w = 0; w < VERIFY_WAYS; w++) {
        if (paths->d[w].peir <= worst) continue; /* a NAN is never */
        worst = paths->d[w].peir;
        *way = w;
        if (isnan(worst)) break;
    }
    return worst;
}
