#include "planner_reference.h"

#include <math.h>

#include "clock.h"

static bool can_be_made(const struct sm_cost_measured *m, size_t max_seq)
{
    const size_t most = max_seq - 1;
    return m->tokens == m->rows && m->rows <= most &&
           (m->phase == SM_PHASE_PREFILL || (m->max_seq == max_seq && m->past <= most - m->rows));
}

void planner_reference_choose(struct planner_reference *r, const struct planner_study *study)
{
    const struct sm_cost_series *s = study->series;
    const double wanted = study->planned.price.ttft;
    *r = (struct planner_reference){.count = 0};
    for (int p = 0; p < SM_PHASES; p++) {
        const struct sm_cost_measured *best = NULL;
        for (size_t i = 0; i < s->count; i++) {
            const struct sm_cost_measured *m = &s->measured[i];
            if ((int)m->phase != p || !can_be_made(m, study->problem.max_seq)) continue;
            if (!best || fabs(log(m->ns / wanted)) < fabs(log(best->ns / wanted))) best = m;
        }
        if (best) r->point[r->count++] = best;
    }
}

int planner_reference_open(struct planner_reference *r, const struct planner_study *study,
                           const struct sm_weights *weights, const struct sm_run_hooks *hooks, const int32_t *tokens,
                           char *why, size_t why_bytes)
{
    double ns;
    struct sm_session_options o = {.max_seq = study->problem.max_seq,
                                   .kv = study->series->kv,
                                   .threads = study->series->threads,
                                   .hooks = *hooks,
                                   .prefill_buckets = {1},
                                   .prefill_bucket_count = 1};
    r->tokens = tokens;
    for (size_t i = 0; i < r->count; i++) {
        if (r->point[i]->phase == SM_PHASE_PREFILL) o.prefill_buckets[0] = r->point[i]->rows;
        if (r->point[i]->phase == SM_PHASE_APPEND) o.append_buckets[o.append_bucket_count++] = r->point[i]->rows;
    }
    if (sm_session_create(&r->session, weights, &o, why, why_bytes) ||
        sm_session_prefill(r->session, tokens, 1, SM_PAD_RIGHT, why, why_bytes))
        return -1;
    return planner_reference_run(r, &ns, why, why_bytes);
}

void planner_reference_close(struct planner_reference *r)
{
    sm_session_destroy(r->session);
    r->session = NULL;
}

/* Slots before a call hold nought: what is in them makes no difference to its time. */
static int prepare(struct planner_reference *r, const struct sm_cost_measured *m, char *why, size_t why_bytes)
{
    if (sm_session_truncate(r->session, 0, why, why_bytes)) return -1;
    return m->past ? sm_session_assume(r->session, m->past, why, why_bytes) : 0;
}

int planner_reference_run(struct planner_reference *r, double *ns, char *why, size_t why_bytes)
{
    *ns = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct sm_cost_measured *m = r->point[i];
        const struct sm_chunk call = {.phase = m->phase, .rows = m->rows, .count = m->tokens};
        if (prepare(r, m, why, why_bytes)) return -1;
        const uint64_t begin = sm_clock_ns();
        if (sm_session_take(r->session, r->tokens, &call, 1, why, why_bytes)) return -1;
        *ns += (double)(sm_clock_ns() - begin);
    }
    return 0;
}

double planner_reference_ns(const struct planner_reference *r)
{
    double ns = 0;
    for (size_t i = 0; i < r->count; i++) ns += r->point[i]->ns;
    return ns;
}
