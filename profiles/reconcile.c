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

enum { ALONE_CALLS = 5, COLD_CALLS = 4, MODEL_CALLS = 5 };

/* Memory larger than the caches. */
struct area {
    char *memory;
    size_t bytes;
};

/* The times of one call, each if it is the least so far. */
static void keep_least(struct sm_reconciled *r, const struct sm_step_times *times)
{
    for (int l = 0; l < SM_LABELS; l++)
        if (times->calls[l]) r->model_ns[l] = fmin(r->model_ns[l], (double)times->ns[l]);
    r->call_ns = fmin(r->call_ns, (double)times->elapsed_ns);
}

static void run_shares(const struct sm_step *step, size_t shares, size_t thread, size_t team)
{
    for (size_t i = thread; i < shares; i += team) {
        const struct sm_part *part = &step->parts[i];
        if (part->row_begin < part->row_end && part->col_begin < part->col_end) step->fn(step->args, *part);
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
        if (!calls[l]) r->model_ns[l] = 0;
        r->alone_ns[l] = fmax(r->alone_ns[l] - waits, 0);
        r->cold_ns[l] = fmax(r->cold_ns[l] - waits, 0);
    }
}

static struct sm_reconciled nothing_yet(size_t threads)
{
    struct sm_reconciled r = {.call_ns = INFINITY, .barrier_ns = NAN};
    const struct sm_ceiling *barrier = sm_ceiling_named(sm_ceilings((int)threads), "omp_barrier");
    if (barrier) r.barrier_ns = barrier->value * 1e9;
    for (int l = 0; l < SM_LABELS; l++) r.model_ns[l] = INFINITY;
    return r;
}

int sm_reconcile(const struct sm_trial *t, const struct sm_weights *weights, struct sm_run_hooks hooks,
                 struct sm_reconciled *prefill, struct sm_reconciled *decode, char *why, size_t why_bytes)
{
    const struct sm_session_options options = {
        .max_seq = t->max_seq, .kv = t->kv, .threads = t->threads, .clock_ns = sm_clock_ns, .hooks = hooks};
    struct sm_session *s = NULL;
    if (sm_session_create(&s, weights, &options, why, why_bytes)) return -1;
    *prefill = *decode = nothing_yet(t->threads);
    const struct sm_session_memory memory = sm_session_memory(s);
    const size_t needed = memory.weights_bytes + memory.cache_bytes + memory.arena_bytes;
    prefill->fits = decode->fits = needed <= sm_machine()->l2_bytes;
    int failed = 0;
    for (int call = 0; call < MODEL_CALLS && !failed; call++) {
        sm_session_times_clear(s);
        failed = sm_session_prefill(s, t->tokens, t->prompt, t->padding, why, why_bytes);
        if (!failed) keep_least(prefill, sm_session_times(s, SM_PHASE_PREFILL));
        for (size_t i = 0; i < t->gen && !failed; i++) {
            sm_session_times_clear(s);
            failed = sm_session_decode(s, sm_session_argmax(s), why, why_bytes);
            if (!failed) keep_least(decode, sm_session_times(s, SM_PHASE_DECODE));
        }
    }
    const size_t last = sm_machine()->l3_bytes ? sm_machine()->l3_bytes : (size_t)32 << 20;
    struct area area = {.memory = failed ? NULL : malloc(2 * last), .bytes = 2 * last};
    if (area.memory) {
        memset(area.memory, 1, area.bytes);
        time_plan(prefill, sm_session_plan(s, SM_PHASE_PREFILL), t->threads, &area);
        if (t->gen) time_plan(decode, sm_session_plan(s, SM_PHASE_DECODE), t->threads, &area);
    } else if (!failed) {
        snprintf(why, why_bytes, "there is no memory to sweep the caches with");
        failed = -1;
    }
    free(area.memory);
    sm_session_destroy(s);
    return failed ? -1 : 0;
}

const char *sm_reconcile_cause(const struct sm_reconciled *r, enum sm_label label, char *text, size_t bytes)
{
    const double model = r->model_ns[label], difference = model - r->alone_ns[label];
    const double waits = isfinite(r->barrier_ns) ? (double)r->barriers[label] * r->barrier_ns : 0;
    const double far = r->fits ? 0 : fmax(r->cold_ns[label] - r->alone_ns[label], 0);
    *text = 0;
    if (!(fabs(difference) > SM_RECONCILE_DIFFERS * model) || model < SM_RECONCILE_MATTERS * r->call_ns) return text;
    if (difference < 0)
        snprintf(text, bytes, "disturbed while it ran alone");
    else if (waits + far < difference - SM_RECONCILE_DIFFERS * model)
        snprintf(text, bytes, "the step itself: slower than alone by %.0f %%, most of it in no other way",
                 100 * difference / r->alone_ns[label]);
    else if (waits > far)
        snprintf(text, bytes, "%zu barriers of %.2f us", r->barriers[label], r->barrier_ns * 1e-3);
    else
        snprintf(text, bytes, "cold weights or operands: from memory it takes %.0f %% more alone, too",
                 100 * far / r->alone_ns[label]);
    return text;
}

void sm_reconcile_record(const struct sm_reconciled *r, struct sm_record *record)
{
    json_t *steps = json_array(), *all = json_object();
    for (int l = 0; l < SM_LABELS; l++) {
        char cause[128];
        if (!(r->model_ns[l] > 0)) continue;
        sm_reconcile_cause(r, (enum sm_label)l, cause, sizeof cause);
        json_array_append_new(steps, json_pack("{s:s,s:f,s:f,s:f,s:I,s:s?}", "label", sm_label_name((enum sm_label)l),
                                               "model_ns", r->model_ns[l], "alone_ns", r->alone_ns[l], "cold_ns",
                                               r->cold_ns[l], "barriers", (json_int_t)r->barriers[l], "cause",
                                               *cause ? cause : NULL));
    }
    json_object_set_new(all, "steps", steps);
    json_object_set_new(all, "call_ns", json_real(r->call_ns));
    json_object_set_new(all, "barrier_ns", sm_record_number(r->barrier_ns));
    sm_record_set_json(record, "reconciliation", all);
}

void sm_reconcile_print(const json_t *record, FILE *out)
{
    const json_t *all = json_object_get(record, "reconciliation");
    const double call = sm_cell_number(all, "call_ns");
    double model = 0, alone = 0, far = 0, waits = 0;
    size_t i;
    json_t *step;
    if (!json_is_object(all)) return;
    fprintf(out,
            "\nThe steps of a %s in the model and alone, least times in ms:\n\n"
            "| step                | in the model |    alone |     cold | model/alone | likely cause of a difference\n"
            "|---------------------|-------------:|---------:|---------:|------------:|:----------------------------\n",
            !strcmp(sm_cell_text(record, "phase"), "decode") ? "decoded token" : "prefill");
    json_array_foreach(json_object_get(all, "steps"), i, step)
    {
        const double m = sm_cell_number(step, "model_ns"), a = sm_cell_number(step, "alone_ns");
        fprintf(out, "| %-19s | %12.4f | %8.4f | %8.4f | %11.2f | %s\n", sm_cell_text(step, "label"), m * 1e-6,
                a * 1e-6, sm_cell_number(step, "cold_ns") * 1e-6, a > 0 ? m / a : NAN, sm_cell_text(step, "cause"));
        model += m;
        alone += a;
        far += fmax(sm_cell_number(step, "cold_ns") - a, 0);
        waits += sm_cell_number(step, "barriers") * sm_cell_number(all, "barrier_ns");
    }
    fprintf(out, "Steps alone: %.3f ms, %.0f %% of the call's %.3f. The rest: %.3f ms between and around the steps, ",
            alone * 1e-6, 100 * alone / call, call * 1e-6, (call - model) * 1e-6);
    if (isfinite(waits)) fprintf(out, "%.3f ms barriers, ", waits * 1e-6);
    fprintf(out, "%.3f ms cold weights and operands.%s\n", far * 1e-6,
            fabs(call - alone) > SM_RECONCILE_DIFFERS * call ? " They differ by more than 10 %: see the causes." : "");
}
