/* What a session is asked for after a call. */
#include <string.h>

#include "run_session.h"

const struct sm_chunk *sm_session_chunks(const struct sm_session *s, size_t *count)
{
    *count = s->chunk_count;
    return s->chunks;
}

const float *sm_session_logits(const struct sm_session *s)
{
    const float *logits = sm_plan_logits(s->last);
    const bool all = sm_plan_options_of(s->last)->all_rows;
    return all ? logits + sm_plan_last_row(s->last) * s->weights->model->shape.vocab : logits;
}

int32_t sm_session_argmax(const struct sm_session *s)
{
    return sm_plan_argmax(s->last);
}

size_t sm_session_past(const struct sm_session *s)
{
    return s->past;
}

const float *sm_session_token_logits(const struct sm_session *s, size_t i)
{
    if (!s->ran || i >= s->last_count) return NULL;
    if (!sm_plan_options_of(s->last)->all_rows) return i + 1 == s->last_count ? sm_plan_logits(s->last) : NULL;
    return sm_plan_logits(s->last) + (s->last_begin + i) * s->weights->model->shape.vocab;
}

const float *sm_session_token_hidden(const struct sm_session *s, size_t layer, size_t i)
{
    if (!s->ran || i >= s->last_count) return NULL;
    const float *hidden = sm_plan_hidden(s->last, layer);
    return hidden ? hidden + (s->last_begin + i) * s->weights->model->shape.hidden : NULL;
}

struct sm_cache *sm_session_cache(struct sm_session *s)
{
    return s->cache;
}

const struct sm_buckets *sm_session_buckets(const struct sm_session *s, enum sm_phase phase)
{
    return &s->buckets[phase];
}

const struct sm_plan *sm_session_bucket_plan(const struct sm_session *s, enum sm_phase phase, size_t rows)
{
    for (size_t i = 0; i < s->buckets[phase].count; i++)
        if (s->buckets[phase].rows[i] == rows) return s->plan[phase][i];
    return NULL;
}

const struct sm_plan *sm_session_plan(const struct sm_session *s, enum sm_phase phase)
{
    return s->recent[phase];
}

struct sm_session_memory sm_session_memory(const struct sm_session *s)
{
    struct sm_session_memory m = {.weights_bytes = s->weights->bytes, .cache_bytes = s->cache->bytes};
    m.arena_bytes = s->positions->bytes;
    for (size_t phase = 0; phase < SM_PHASES; phase++)
        for (size_t i = 0; i < s->buckets[phase].count; i++) m.arena_bytes += s->arena[phase][i].bytes;
    return m;
}

const struct sm_step_times *sm_session_times(const struct sm_session *s, enum sm_phase phase)
{
    return &s->times[phase];
}

void sm_session_times_clear(struct sm_session *s)
{
    memset(s->times, 0, sizeof s->times);
}

size_t sm_session_variants(const struct sm_session *s, enum sm_phase phase, struct sm_variant_use *list,
                           size_t capacity)
{
    const struct sm_plan *plan = s->recent[phase];
    const struct sm_step *steps = plan ? sm_plan_steps(plan) : NULL;
    size_t used = 0;
    for (size_t i = 0; plan && i < sm_plan_step_count(plan); i++) {
        size_t k = 0;
        while (k < used && list[k].variant != steps[i].variant) k++;
        if (k == used && used == capacity) continue;
        if (k == used) list[used++] = (struct sm_variant_use){steps[i].family, steps[i].variant, 0};
        list[k].steps++;
    }
    return used;
}
