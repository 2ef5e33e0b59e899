#include "run.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "run_session.h"

static void add_time(struct sm_step_times *times, const struct sm_step *step, uint64_t ns)
{
    times->ns[step->label] += ns;
    times->calls[step->label]++;
    times->kind_ns[step->label][step->kind] += ns;
    times->kind_calls[step->label][step->kind]++;
}

static void run_part(const struct sm_session *s, const struct sm_step *step, size_t i)
{
    const struct sm_run_hooks *hooks = &s->options.hooks;
    const struct sm_part *part = sm_step_part(step, i);
    if (!part) return;
    if (hooks->call)
        hooks->call(hooks->state, step, part);
    else
        step->fn(step->args, *part);
}

/* A thread's own parts, and where parts are taken as they come, what is left of the others'. Whoever counts calls wants
 * the same ones by the same thread each time. Fewer threads than planned do more each. */
static void run_step(const struct sm_session *s, const struct sm_step *step, size_t thread, size_t team)
{
    const size_t threads = s->options.threads, each = step->each;
    if (step->taken && !s->options.hooks.call) {
        for (size_t n = 0; n < threads; n++) {
            const size_t owner = (thread + n) % threads;
            _Atomic size_t *taken = &step->taken[owner].parts;
            for (size_t i; (i = atomic_fetch_add_explicit(taken, 1, memory_order_relaxed)) < each;)
                run_part(s, step, owner * each + i);
        }
    } else {
        for (size_t owner = thread; owner < threads; owner += team)
            for (size_t i = 0; i < each; i++) run_part(s, step, owner * each + i);
    }
}

/* Every thread's part of every step; thread 0 keeps the time. */
static void walk(const struct sm_session *s, const struct sm_plan *plan, const struct sm_call *call, size_t thread,
                 size_t team, struct sm_step_times *times)
{
    const struct sm_step *steps = sm_plan_steps(plan);
    const size_t count = sm_plan_step_count(plan);
    const struct sm_run_hooks *hooks = &s->options.hooks;
    uint64_t (*clock_ns)(void) = thread == 0 ? s->options.clock_ns : NULL;
    uint64_t (*shared_ns)(void) = hooks->share ? s->options.clock_ns : NULL;
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
        if (hooks->step && thread == 0) hooks->step(hooks->state, step, call->begin, call->count);
        const uint64_t begin = shared_ns ? shared_ns() : 0;
        run_step(s, step, thread, team);
        if (shared_ns) hooks->share(hooks->state, step, thread, begin, shared_ns());
    }
#pragma omp barrier
    if (clock_ns) add_time(times, &steps[count - 1], clock_ns() - since);
}

/* The share of the calling thread of a team. */
static void run_thread(struct sm_session *s, enum sm_phase phase, const struct sm_plan *plan,
                       const struct sm_call *call)
{
    const struct sm_run_hooks *hooks = &s->options.hooks;
    const size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads();
    if (hooks->begin) hooks->begin(hooks->state, phase, thread);
    walk(s, plan, call, thread, team, &s->times[phase]);
    if (hooks->end) hooks->end(hooks->state, phase, thread);
}

struct sm_chunk session_run(struct sm_session *s, enum sm_phase phase, size_t rows, const struct sm_call *call,
                            bool policy)
{
    struct sm_step_times *times = &s->times[phase];
    struct sm_chunk chunk = {phase, rows, call->count, call->past, 0, policy};
    size_t bucket = 0;
    while (s->buckets[phase].rows[bucket] != rows) bucket++;
    struct sm_plan *plan = s->plan[phase][bucket];
    const uint64_t since = s->options.clock_ns ? s->options.clock_ns() : 0;
    sm_plan_set(plan, call);
    if (s->options.threads == 1) { /* no region: for a team of one, LLVM's OpenMP allocates at each */
        run_thread(s, phase, plan, call);
    } else {
#pragma omp parallel num_threads((int)s->options.threads)
        run_thread(s, phase, plan, call);
    }
    if (s->options.clock_ns) chunk.ns = s->options.clock_ns() - since;
    times->elapsed_ns += chunk.ns;
    times->runs++;
    s->recent[phase] = s->last = plan;
    s->last_begin = call->begin;
    s->last_count = call->count;
    s->ran = true;
    s->past = call->past + call->count;
    if (s->cache->used < s->past) s->cache->used = s->past;
    if (s->options.hooks.done) s->options.hooks.done(s->options.hooks.state, &chunk);
    return chunk;
}

static int make_plan(struct sm_session *s, enum sm_phase phase, size_t bucket, char *why, size_t why_bytes)
{
    const size_t rows = s->buckets[phase].rows[bucket];
    const struct sm_plan_options options = {.phase = phase,
                                            .rows = rows,
                                            .max_seq = s->options.max_seq,
                                            .kv = s->options.kv,
                                            .threads = s->options.threads,
                                            .all_rows = s->options.all_rows && phase != SM_PHASE_DECODE,
                                            .mask_fill = s->options.mask_fill,
                                            .short_sliding = s->options.short_sliding,
                                            .concatenated = s->options.concatenated,
                                            .last_row = s->options.last_row};
    struct session_arena *a = &s->arena[phase][bucket];
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
    struct sm_plan *plan =
        sm_plan_build(a->memory, a->bytes, s->weights, s->cache, s->positions, &options, why, why_bytes);
    s->recent[phase] = s->plan[phase][bucket] = plan;
    return plan ? 0 : -1;
}

static int make_plans(struct sm_session *s, char *why, size_t why_bytes)
{
    const struct sm_session_options *o = &s->options;
    const size_t one = 1, *const prefill = o->prefill_bucket_count ? o->prefill_buckets : &o->max_seq;
    if (o->prefill_bucket_count > SM_MAX_BUCKETS || o->append_bucket_count > SM_MAX_BUCKETS) {
        snprintf(why, why_bytes, "making a session: there are more than %d buckets", SM_MAX_BUCKETS);
        return -1;
    }
    if (sm_buckets_set(&s->buckets[SM_PHASE_PREFILL], prefill, o->prefill_bucket_count ? o->prefill_bucket_count : 1,
                       o->max_seq, why, why_bytes) ||
        sm_buckets_set(&s->buckets[SM_PHASE_APPEND], o->append_buckets, o->append_bucket_count, o->max_seq, why,
                       why_bytes) ||
        sm_buckets_set(&s->buckets[SM_PHASE_DECODE], &one, 1, o->max_seq, why, why_bytes))
        return -1;
    for (size_t phase = 0; phase < SM_PHASES; phase++)
        for (size_t i = 0; i < s->buckets[phase].count; i++)
            if (make_plan(s, (enum sm_phase)phase, i, why, why_bytes)) return -1;
    return 0;
}

/* Heads of synthetic weights stay well within 32, with norms of their own within sqrt(head_dim). */
#define SYNTHETIC_KV_MOST 32

static int set_kv_scales(struct sm_session *s, char *why, size_t why_bytes)
{
    const struct sm_model *m = s->weights->model;
    const float(*given)[2] = s->options.kv_scales ? s->options.kv_scales : (const float(*)[2])s->weights->kv_scales;
    float scale[SM_SHAPE_MAX_LAYERS][2];
    if (s->options.kv != SM_KV_I16) return 0;
    if (!given && !m->synthetic) {
        snprintf(why, why_bytes,
                 "making a session with keys and values in i16: their static scales are not known; slotmark scales "
                 "MODEL finds them with a text");
        return -1;
    }
    for (size_t l = 0; l < m->shape.layers; l++) {
        const float folded = s->weights->choice.scale_in == SM_SCALE_IN_K ? m->shape.layer[l].attention_scale : 1;
        scale[l][0] = folded * (given ? given[l][0] : SYNTHETIC_KV_MOST / 32767.0f);
        scale[l][1] = given ? given[l][1] : SYNTHETIC_KV_MOST / 32767.0f;
    }
    s->options.kv_scales = NULL; /* the caller's, and copied now */
    return sm_cache_set_scales(s->cache, (const float(*)[2])scale, why, why_bytes);
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
    enum sm_keys keys;
    if (sm_plan_keys(weights, options->kv, options->concatenated, &keys, why, why_bytes) ||
        sm_cache_create(&s->cache, &weights->model->shape, options->max_seq, options->kv, keys, why, why_bytes) ||
        set_kv_scales(s, why, why_bytes) ||
        sm_positions_create(&s->positions, weights->model, options->max_seq, why, why_bytes) ||
        make_plans(s, why, why_bytes)) {
        sm_session_destroy(s);
        return -1;
    }
    s->chunks = calloc(options->max_seq, sizeof *s->chunks);
    if (!s->chunks) {
        snprintf(why, why_bytes, "making a session: out of memory");
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
    for (size_t phase = 0; phase < SM_PHASES; phase++)
        for (size_t i = 0; i < SM_MAX_BUCKETS; i++)
            if (s->arena[phase][i].memory) munmap(s->arena[phase][i].memory, s->arena[phase][i].bytes);
    sm_positions_destroy(s->positions);
    sm_cache_destroy(s->cache);
    free(s->chunks);
    free(s);
}
