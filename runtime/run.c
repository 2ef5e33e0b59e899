#include "run.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct arena {
    void *memory;
    size_t bytes;
};

struct sm_session {
    struct sm_session_options options;
    const struct sm_weights *weights;
    struct sm_cache *cache;
    struct sm_positions *positions;
    struct arena arena[SM_PHASES];
    struct sm_plan *plan[SM_PHASES];
    struct sm_step_times times[SM_PHASES];
    size_t past;
    enum sm_phase last; /* whose results are asked for */
    bool ran;
};

static void add_time(struct sm_step_times *times, const struct sm_step *step, uint64_t ns)
{
    times->ns[step->label] += ns;
    times->calls[step->label]++;
    times->kind_ns[step->label][step->kind] += ns;
    times->kind_calls[step->label][step->kind]++;
}

/* Every thread's share of every step; thread 0 keeps the time. Fewer threads than planned do more shares each. */
static void walk(const struct sm_session *s, const struct sm_plan *plan, size_t thread, size_t team,
                 struct sm_step_times *times)
{
    const struct sm_step *steps = sm_plan_steps(plan);
    const size_t count = sm_plan_step_count(plan), shares = s->options.threads;
    uint64_t (*clock_ns)(void) = thread == 0 ? s->options.clock_ns : NULL;
    uint64_t since = clock_ns ? clock_ns() : 0;
    for (size_t i = 0; i < count; i++) {
        const struct sm_step *step = &steps[i];
        if (step->barrier) {
#pragma omp barrier
        }
        if (clock_ns && i) {
            const uint64_t now = clock_ns();
            add_time(times, &step[-1], now - since);
            since = now;
        }
        for (size_t share = thread; share < shares; share += team) {
            const struct sm_part *part = &step->parts[share];
            if (part->row_begin < part->row_end && part->col_begin < part->col_end) step->fn(step->args, *part);
        }
    }
#pragma omp barrier
    if (clock_ns) add_time(times, &steps[count - 1], clock_ns() - since);
}

/* The share of the calling thread of a team. */
static void run_thread(struct sm_session *s, enum sm_phase phase)
{
    const struct sm_run_hooks *hooks = &s->options.hooks;
    const size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads();
    if (hooks->begin) hooks->begin(hooks->state, phase, thread);
    walk(s, s->plan[phase], thread, team, &s->times[phase]);
    if (hooks->end) hooks->end(hooks->state, phase, thread);
}

static void run(struct sm_session *s, enum sm_phase phase, const struct sm_call *call)
{
    struct sm_step_times *times = &s->times[phase];
    const uint64_t since = s->options.clock_ns ? s->options.clock_ns() : 0;
    sm_plan_set(s->plan[phase], call);
    if (s->options.threads == 1) { /* no region: for a team of one, LLVM's OpenMP allocates at each */
        run_thread(s, phase);
    } else {
#pragma omp parallel num_threads((int)s->options.threads)
        run_thread(s, phase);
    }
    if (s->options.clock_ns) times->elapsed_ns += s->options.clock_ns() - since;
    times->runs++;
    s->last = phase;
    s->ran = true;
}

static int make_plan(struct sm_session *s, enum sm_phase phase, size_t rows, char *why, size_t why_bytes)
{
    const struct sm_plan_options options = {.phase = phase,
                                            .rows = rows,
                                            .max_seq = s->options.max_seq,
                                            .kv = s->options.kv,
                                            .threads = s->options.threads,
                                            .all_rows = s->options.all_rows && phase != SM_PHASE_DECODE,
                                            .mask_fill = s->options.mask_fill};
    struct arena *a = &s->arena[phase];
    a->bytes = sm_plan_bytes(s->weights, s->cache, s->positions, &options, why, why_bytes);
    if (!a->bytes) return -1;
    a->memory = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a->memory == MAP_FAILED) {
        a->memory = NULL;
        snprintf(why, why_bytes, "planning %s of %zu rows: no memory for an arena of %zu bytes", sm_phase_name(phase),
                 rows, a->bytes);
        return -1;
    }
    (void)madvise(a->memory, a->bytes, MADV_HUGEPAGE);
    memset(a->memory, 0, a->bytes); /* the pages are there before anything is timed */
    s->plan[phase] = sm_plan_build(a->memory, a->bytes, s->weights, s->cache, s->positions, &options, why, why_bytes);
    return s->plan[phase] ? 0 : -1;
}

int sm_session_create(struct sm_session **session, const struct sm_weights *weights,
                      const struct sm_session_options *options, char *why, size_t why_bytes)
{
    struct sm_session *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(why, why_bytes, "making a session: out of memory");
        return -1;
    }
    s->weights = weights;
    s->options = *options;
    if (sm_cache_create(&s->cache, &weights->model->shape, options->max_seq, options->kv, why, why_bytes) ||
        sm_positions_create(&s->positions, weights->model, options->max_seq, why, why_bytes) ||
        make_plan(s, SM_PHASE_PREFILL, options->max_seq, why, why_bytes) ||
        make_plan(s, SM_PHASE_DECODE, 1, why, why_bytes)) {
        sm_session_destroy(s);
        return -1;
    }
#pragma omp parallel num_threads((int)s->options.threads)
    {
#pragma omp barrier /* the threads start here, not in the first call */
    } *session = s;
    return 0;
}

void sm_session_destroy(struct sm_session *s)
{
    if (!s) return;
    for (size_t i = 0; i < SM_PHASES; i++)
        if (s->arena[i].memory) munmap(s->arena[i].memory, s->arena[i].bytes);
    sm_positions_destroy(s->positions);
    sm_cache_destroy(s->cache);
    free(s);
}

void sm_session_reset(struct sm_session *s)
{
    sm_cache_clear(s->cache, 0);
    s->past = 0;
    s->ran = false;
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

int sm_session_prefill(struct sm_session *s, const int32_t *tokens, size_t count, enum sm_padding padding, char *why,
                       size_t why_bytes)
{
    const size_t max_seq = s->options.max_seq;
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
    if (check_tokens(s, tokens, count, "prefill", why, why_bytes)) return -1;
    const struct sm_call call = {
        .tokens = tokens, .begin = padding == SM_PAD_LEFT ? max_seq - count : 0, .count = count};
    sm_cache_clear(s->cache, count); /* as if the cache were new: slots before are written now */
    run(s, SM_PHASE_PREFILL, &call);
    s->past = s->cache->used = count;
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
    run(s, SM_PHASE_DECODE, &call);
    s->past++;
    if (s->cache->used < s->past) s->cache->used = s->past;
    return 0;
}

const float *sm_session_logits(const struct sm_session *s)
{
    const float *logits = sm_plan_logits(s->plan[s->last]);
    const bool all = sm_plan_options_of(s->plan[s->last])->all_rows;
    return all ? logits + sm_plan_last_row(s->plan[s->last]) * s->weights->model->shape.vocab : logits;
}

int32_t sm_session_argmax(const struct sm_session *s)
{
    return sm_plan_argmax(s->plan[s->last]);
}

size_t sm_session_past(const struct sm_session *s)
{
    return s->past;
}

struct sm_cache *sm_session_cache(struct sm_session *s)
{
    return s->cache;
}

const struct sm_plan *sm_session_plan(const struct sm_session *s, enum sm_phase phase)
{
    return s->plan[phase];
}

struct sm_session_memory sm_session_memory(const struct sm_session *s)
{
    struct sm_session_memory m = {.weights_bytes = s->weights->bytes, .cache_bytes = s->cache->bytes};
    m.arena_bytes = s->positions->bytes;
    for (size_t i = 0; i < SM_PHASES; i++) m.arena_bytes += s->arena[i].bytes;
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
    const struct sm_plan *plan = s->plan[phase];
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
