#include "reconcile.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "ceilings.h"
#include "cells.h"
#include "clock.h"
#include "machine.h"
#include "record.h"

/* Calls of the model are made more often where they are over soon. */
enum { ALONE_CALLS = 5, COLD_CALLS = 4, CALLS = 10, CALLS_MOST = 60, CALLS_NS = 1000000000 };

/* Memory larger than the caches. */
struct area {
    char *memory;
    size_t bytes;
};

/* The steps of a plan, each with the least of its times: one that is disturbed in a call is not in another. */
struct laps {
    const struct sm_step *steps;
    size_t count, at; /* at: of the call under way, begun steps */
    uint64_t since;
    double *least, all; /* all: that the steps of this call have taken */
};

static int laps_create(struct laps *laps, const struct sm_plan *plan)
{
    *laps = (struct laps){.steps = sm_plan_steps(plan), .count = sm_plan_step_count(plan)};
    laps->least = malloc(laps->count * sizeof *laps->least);
    for (size_t i = 0; laps->least && i < laps->count; i++) laps->least[i] = INFINITY;
    return laps->least ? 0 : -1;
}

/* By thread 0, as a step begins and as the last one ends. */
static void lap(struct laps *laps)
{
    const uint64_t now = sm_clock_ns();
    if (laps->at && laps->at <= laps->count) {
        const double ns = (double)(now - laps->since);
        laps->least[laps->at - 1] = fmin(laps->least[laps->at - 1], ns);
        laps->all += ns;
    }
    laps->at++;
    laps->since = now;
}

/* Adds to the labels. */
static void add_laps(const struct laps *laps, double *ns)
{
    for (size_t i = 0; i < laps->count; i++) ns[laps->steps[i].label] += laps->least[i];
}

struct phase {
    struct laps model, replay;
};

/* What the session calls back. */
struct watch {
    struct phase phase[SM_PHASES];
    struct laps *now;
    sm_reconcile_call *call;
};

static void on_begin(void *state, enum sm_phase phase, size_t thread)
{
    struct watch *w = state;
    if (thread) return;
    w->now = &w->phase[phase].model;
    w->now->at = 0;
    w->now->all = 0;
}

static void on_end(void *state, enum sm_phase phase, size_t thread)
{
    (void)phase;
    if (!thread) lap(((struct watch *)state)->now);
}

static void on_step(void *state, const struct sm_step *step, size_t begin, size_t count)
{
    (void)step, (void)begin, (void)count;
    lap(((struct watch *)state)->now);
}

static void on_call(void *state, const struct sm_step *step, const struct sm_part *part)
{
    ((struct watch *)state)->call(step, part);
}

static void run_shares(const struct sm_step *step, size_t shares, size_t thread, size_t team)
{
    for (size_t owner = thread; owner < shares; owner += team)
        for (size_t i = 0; i < step->each; i++) {
            const struct sm_part *part = sm_step_part(step, owner * step->each + i);
            if (part) step->fn(step->args, *part);
        }
}

/* The last call once more, without the session: each step finds in the caches what it finds in the model. */
static void replay(struct laps *laps, size_t threads)
{
    laps->at = 0;
#pragma omp parallel num_threads((int)threads)
    {
        const size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads();
        for (size_t i = 0; i < laps->count; i++) {
            if (laps->steps[i].barrier) {
#pragma omp barrier
            }
            if (thread == 0) lap(laps);
            run_shares(&laps->steps[i], threads, thread, team);
        }
#pragma omp barrier
        if (thread == 0) lap(laps);
    }
}

/* Of the caller's team: reads so much that what was in the caches is gone. */
static void sweep(const char *area, size_t bytes)
{
    const size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads();
    for (size_t b = bytes / team * thread; b < bytes / team * (thread + 1); b += 64)
        (void)*(const volatile char *)(area + b);
}

/* Steps [begin, end) of a label, each followed by a barrier, by the caller's team; the caches swept first where there
 * is an area. The least of several calls, the first left out. */
static double time_steps(const struct sm_step *steps, size_t begin, size_t end, enum sm_label label, size_t shares,
                         int calls, const struct area *area)
{
    const size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads();
    double least = INFINITY;
    for (int c = 0; c < calls; c++) {
        if (area) sweep(area->memory, area->bytes);
#pragma omp barrier
        const uint64_t since = sm_clock_ns();
        for (size_t i = begin; i < end; i++) {
            if (steps[i].label != label) continue;
            run_shares(&steps[i], shares, thread, team);
#pragma omp barrier
        }
        if (c) least = fmin(least, (double)(sm_clock_ns() - since));
    }
    return least;
}

static void time_plan(struct sm_reconciled *r, const struct sm_plan *plan, size_t threads, const struct area *area)
{
    const struct sm_step *steps = sm_plan_steps(plan);
    const size_t count = sm_plan_step_count(plan);
    size_t calls[SM_LABELS] = {0};
    for (size_t i = 0; i < count; i++) {
        calls[steps[i].label]++;
        r->barriers[steps[i].label] += threads > 1 && (i + 1 == count || steps[i + 1].barrier);
    }
#pragma omp parallel num_threads((int)threads)
    {
        for (size_t i = 0; i < count; i++) {
            const double ns = time_steps(steps, i, i + 1, steps[i].label, threads, ALONE_CALLS, NULL);
            if (omp_get_thread_num() == 0) r->alone_ns[steps[i].label] += ns;
        }
        for (int l = 0; l < SM_LABELS; l++) {
            if (!calls[l]) continue;
            const double ns = time_steps(steps, 0, count, (enum sm_label)l, threads, COLD_CALLS, area);
            if (omp_get_thread_num() == 0) r->cold_ns[l] = ns;
        }
    }
    for (int l = 0; l < SM_LABELS; l++) {
        const double waits = isfinite(r->barrier_ns) ? (double)calls[l] * r->barrier_ns : 0; /* one after each, alone */
        r->alone_ns[l] = fmax(r->alone_ns[l] - waits, 0);
        r->cold_ns[l] = fmax(r->cold_ns[l] - waits, 0);
    }
}

static struct sm_reconciled nothing_yet(size_t threads)
{
    struct sm_reconciled r = {.call_ns = INFINITY, .around_ns = INFINITY, .barrier_ns = NAN, .threads = threads};
    const struct sm_ceiling *barrier = sm_ceiling_named(sm_ceilings((int)threads), "omp_barrier");
    if (barrier) r.barrier_ns = barrier->value * 1e9;
    return r;
}

/* A call that began then has ended: its time, and what of it lies outside its steps. */
static void end_call(struct sm_reconciled *r, const struct laps *model, uint64_t since)
{
    const double ns = (double)(sm_clock_ns() - since);
    r->call_ns = fmin(r->call_ns, ns);
    r->around_ns = fmin(r->around_ns, fmax(ns - model->all, 0));
}

/* Calls of the model, and each again in a replay right after it, so that both have the machine's same moments. */
static int time_model(struct sm_session *s, const struct sm_trial *t, struct watch *w, struct sm_reconciled *prefill,
                      struct sm_reconciled *decode, char *why, size_t why_bytes)
{
    const uint64_t begin = sm_clock_ns();
    for (int call = 0; call < CALLS || (call < CALLS_MOST && sm_clock_ns() - begin < CALLS_NS); call++) {
        uint64_t since = sm_clock_ns();
        if (sm_session_prefill(s, t->tokens, t->prompt, t->padding, why, why_bytes)) return -1;
        end_call(prefill, &w->phase[SM_PHASE_PREFILL].model, since);
        replay(&w->phase[SM_PHASE_PREFILL].replay, t->threads);
        for (size_t i = 0; i < t->gen; i++) {
            since = sm_clock_ns();
            if (sm_session_decode(s, sm_session_argmax(s), why, why_bytes)) return -1;
            end_call(decode, &w->phase[SM_PHASE_DECODE].model, since);
            replay(&w->phase[SM_PHASE_DECODE].replay, t->threads);
        }
    }
    return 0;
}

/* One phase's steps alone and cold, and what was seen of them in the model. */
static void take_phase(struct sm_reconciled *r, const struct sm_session *s, struct watch *w, enum sm_phase phase,
                       size_t threads, const struct area *area)
{
    add_laps(&w->phase[phase].model, r->model_ns);
    add_laps(&w->phase[phase].replay, r->replay_ns);
    time_plan(r, sm_session_plan(s, phase), threads, area);
}

int sm_reconcile(const struct sm_trial *t, const struct sm_weights *weights, sm_reconcile_call *call,
                 struct sm_reconciled *prefill, struct sm_reconciled *decode, char *why, size_t why_bytes)
{
    struct watch w = {.call = call};
    const struct sm_session_options options = {
        .max_seq = t->max_seq,
        .kv = t->kv,
        .threads = t->threads,
        .hooks = {.begin = on_begin, .end = on_end, .step = on_step, .call = call ? on_call : NULL, .state = &w}};
    struct sm_session *s = NULL;
    if (sm_session_create(&s, weights, &options, why, why_bytes)) return -1;
    *prefill = *decode = nothing_yet(t->threads);
    const size_t last = sm_machine()->l3_bytes ? sm_machine()->l3_bytes : (size_t)32 << 20;
    struct area area = {.memory = malloc(2 * last), .bytes = 2 * last};
    int failed = area.memory ? 0 : -1;
    for (int p = 0; p < SM_PHASES && !failed; p++) {
        const struct sm_plan *plan = sm_session_plan(s, (enum sm_phase)p);
        if (plan) failed = laps_create(&w.phase[p].model, plan) || laps_create(&w.phase[p].replay, plan) ? -1 : 0;
    }
    if (failed) snprintf(why, why_bytes, "there is no memory to time steps with");
    if (!failed) failed = time_model(s, t, &w, prefill, decode, why, why_bytes);
    if (!failed) {
        memset(area.memory, 1, area.bytes);
        take_phase(prefill, s, &w, SM_PHASE_PREFILL, t->threads, &area);
        if (t->gen) take_phase(decode, s, &w, SM_PHASE_DECODE, t->threads, &area);
    }
    for (int p = 0; p < SM_PHASES; p++) {
        free(w.phase[p].model.least);
        free(w.phase[p].replay.least);
    }
    free(area.memory);
    sm_session_destroy(s);
    return failed;
}

const char *sm_reconcile_cause(const struct sm_reconciled *r, enum sm_label label, char *text, size_t bytes)
{
    const double model = r->model_ns[label], again = r->replay_ns[label], alone = r->alone_ns[label];
    const double itself = model - again, place = again - alone, matters = SM_RECONCILE_DIFFERS * model;
    const double waits = isfinite(r->barrier_ns) ? (double)r->barriers[label] * r->barrier_ns : 0;
    const double far = r->cold_ns[label] - alone;
    *text = 0;
    if (model < SM_RECONCILE_MATTERS * r->call_ns) return text;
    if (itself > matters)
        snprintf(text, bytes, "the step itself: it takes %.0f %% more than in a replay of the call",
                 100 * itself / again);
    else if (-itself > matters)
        snprintf(text, bytes, "disturbed while the call was replayed");
    else if (fabs(model - alone) <= matters)
        return text;
    else if (place < 0)
        snprintf(text, bytes, "disturbed while it ran alone");
    else if (waits > place / 2)
        snprintf(text, bytes, "%zu barriers of %.2f us", r->barriers[label], r->barrier_ns * 1e-3);
    else if (r->threads > 1 && place > 2 * far)
        snprintf(text, bytes,
                 "operands in other cores' caches: %.0f %% more after the other steps, from memory %.0f %%",
                 100 * place / alone, 100 * far / alone);
    else
        snprintf(text, bytes, "cold weights or operands: %.0f %% more after the other steps, from memory %.0f %%",
                 100 * place / alone, 100 * far / alone);
    return text;
}

void sm_reconcile_record(const struct sm_reconciled *r, struct sm_record *record)
{
    json_t *steps = json_array(), *all = json_object();
    for (int l = 0; l < SM_LABELS; l++) {
        char cause[128];
        if (!(r->model_ns[l] > 0)) continue;
        sm_reconcile_cause(r, (enum sm_label)l, cause, sizeof cause);
        json_array_append_new(steps, json_pack("{s:s,s:f,s:f,s:f,s:f,s:I,s:s?}", "label",
                                               sm_label_name((enum sm_label)l), "model_ns", r->model_ns[l], "replay_ns",
                                               r->replay_ns[l], "alone_ns", r->alone_ns[l], "cold_ns", r->cold_ns[l],
                                               "barriers", (json_int_t)r->barriers[l], "cause", *cause ? cause : NULL));
    }
    json_object_set_new(all, "steps", steps);
    json_object_set_new(all, "call_ns", json_real(r->call_ns));
    json_object_set_new(all, "around_ns", json_real(r->around_ns));
    json_object_set_new(all, "barrier_ns", sm_record_number(r->barrier_ns));
    sm_record_set_json(record, "reconciliation", all);
}

void sm_reconcile_print(const json_t *record, FILE *out)
{
    const json_t *all = json_object_get(record, "reconciliation");
    const double call = sm_cell_number(all, "call_ns");
    double model = 0, again = 0, alone = 0, waits = 0;
    size_t i;
    json_t *step;
    if (!json_is_object(all)) return;
    fprintf(out,
            "\nThe steps of a %s in the model, in a replay of the call, and alone, least times in ms:\n\n"
            "| step                | in the model | replayed |    alone |     cold | model/alone | likely cause of a "
            "difference\n"
            "|---------------------|-------------:|---------:|---------:|---------:|------------:|:------------------"
            "----------\n",
            !strcmp(sm_cell_text(record, "phase"), "decode") ? "decoded token" : "prefill");
    json_array_foreach(json_object_get(all, "steps"), i, step)
    {
        const double m = sm_cell_number(step, "model_ns"), a = sm_cell_number(step, "alone_ns");
        const double r = sm_cell_number(step, "replay_ns");
        char times[16] = ""; /* alone, it is lost in its barriers */
        if (a > 0) snprintf(times, sizeof times, "%.2f", m / a);
        fprintf(out, "| %-19s | %12.4f | %8.4f | %8.4f | %8.4f | %11s | %s\n", sm_cell_text(step, "label"), m * 1e-6,
                r * 1e-6, a * 1e-6, sm_cell_number(step, "cold_ns") * 1e-6, times, sm_cell_text(step, "cause"));
        model += m;
        again += r;
        alone += a;
        waits += sm_cell_number(step, "barriers") * sm_cell_number(all, "barrier_ns");
    }
    const double around = sm_cell_number(all, "around_ns"), barriers = isfinite(waits) ? waits : 0;
    fprintf(out,
            "Steps alone: %.3f ms, %.0f %% of the call's %.3f. The rest, in ms: %.3f between and around the steps, ",
            alone * 1e-6, 100 * alone / call, call * 1e-6, around * 1e-6);
    if (isfinite(waits)) fprintf(out, "%.3f barriers, ", waits * 1e-6);
    fprintf(out,
            "%.3f what the other steps leave in the caches, %.3f in the steps themselves, %.3f that no one call does "
            "each of them at its best.%s\n",
            (again - alone - barriers) * 1e-6, (model - again) * 1e-6, (call - around - model) * 1e-6,
            fabs(call - alone) > SM_RECONCILE_DIFFERS * call ? " They differ by more than 10 %: see the causes." : "");
}
