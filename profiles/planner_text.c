#include <math.h>
#include <string.h>

#include "cells.h"
#include "planner_show.h"

const char *planner_sizes_text(const size_t *sizes, size_t count, char *text, size_t bytes)
{
    size_t used = 0;
    snprintf(text, bytes, "none");
    for (size_t i = 0; i < count && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%zu", i ? "," : "", sizes[i]);
    return text;
}

const char *planner_ms(char *cell, size_t bytes, double ns)
{
    const double ms = ns * 1e-6;
    return sm_cell_shown(cell, bytes, ms < 1 ? "%.3f" : ms < 10 ? "%.2f" : ms < 100 ? "%.1f" : "%.0f", ms);
}

static void print_row(const struct planner_study *s, const struct planner_choice *c, const char *name, FILE *out)
{
    const struct sm_planner_price *p = &c->price;
    const double best = sm_planner_value(&s->planned.price, s->objective), own = sm_planner_value(p, s->objective);
    char prefill[128], append[128], cell[6][32];
    if (c->why[0]) {
        fprintf(out, "| %-22s | %5s | %-18s | %-24s | not priced: %s |\n", name, "", "", "", c->why);
        return;
    }
    fprintf(out, "| %-22s | %5zu | %-18s | %-24s | %8s | %8s | %9s | %7s | %7s | %7s |\n", name, planner_plans(&c->set),
            planner_sizes_text(c->set.prefill, c->set.prefill_count, prefill, sizeof prefill),
            planner_sizes_text(c->set.append, c->set.append_count, append, sizeof append),
            planner_ms(cell[0], sizeof *cell, p->ttft), planner_ms(cell[1], sizeof *cell, p->p95),
            planner_ms(cell[2], sizeof *cell, p->mean),
            sm_cell_shown(cell[3], sizeof *cell, "%.2f", p->rows / p->tokens),
            sm_cell_shown(cell[4], sizeof *cell, "%.1f", p->bytes / 1048576),
            sm_cell_shown(cell[5], sizeof *cell, "%+.1f %%", 100 * (own / best - 1)));
}

static void print_head(FILE *out, const char *first)
{
    fprintf(out,
            "| %-22s | plans | %-18s | %-24s | TTFT, ms |  p95, ms |  turn, ms | rows/in | MiB     | time    |\n"
            "|------------------------|------:|--------------------|--------------------------|---------:|---------:|-"
            "---------:|--------:|--------:|--------:|\n",
            first, "prefill", "append");
}

static void print_max_seq(const struct planner_study *s, FILE *out)
{
    char name[32];
    if (s->max_seq.count < 2) return;
    fprintf(out, "\nBest at each max_seq:");
    for (size_t i = 0; i < s->max_seq.count; i++) {
        fprintf(out, "%s %lld ", i ? ";" : "", (long long)s->max_seq.value[i]);
        if (isfinite(s->value[i]))
            fprintf(out, "%s ms", planner_ms(name, sizeof name, s->value[i]));
        else
            fputs((size_t)s->max_seq.value[i] <= s->turns->longest ? "is too short for a session"
                  : s->unmeasured[i]                               ? "was not measured"
                                                                   : "needs more memory",
                  out);
    }
    fputs(".\n", out);
    for (size_t i = 0; i < s->max_seq.count; i++) {
        const size_t max_seq = (size_t)s->max_seq.value[i];
        char text[2048];
        if (!s->unmeasured[i]) continue;
        planner_study_missing(s, SM_PHASE_PREFILL, max_seq, max_seq, text, sizeof text);
        fprintf(out, "For max_seq %zu %s.\n", max_seq, text);
    }
}

/* Beyond what was measured times are a guess that goes on as it went. */
static void print_extrapolated(const struct planner_study *s, FILE *out)
{
    const struct sm_cost_fit *f = &s->series->phase[SM_PHASE_DECODE].time;
    const double max_seq = (double)s->problem.max_seq;
    if (!f->knots || (max_seq >= f->columns_least && max_seq <= f->columns_most)) return;
    fprintf(out,
            "max_seq %.0f lies outside of what was measured, %.0f to %.0f: what attention takes is carried on from "
            "there.\n",
            max_seq, f->columns_least, f->columns_most);
}

void planner_text(const struct planner_study *s, const struct planner_facts *facts, FILE *out)
{
    static const char *const whats[] = {"mean time of a turn", "95th percentile of the time to first token",
                                        "mean time to first token"};
    char name[32], cell[2][32];
    const struct planner_turns *t = s->turns;
    const struct sm_cost_phase *append = &s->series->phase[SM_PHASE_APPEND],
                               *prefill = &s->series->phase[SM_PHASE_PREFILL];
    fprintf(out,
            "%s, recipe %s, kv %s, %zu threads, %s attention; costs: %s (held-out error: prefill %s %%, append %s %%)\n"
            "Turns: %s, %.0f of %zu sessions, %.1f tokens in and %.1f generated on average\n",
            facts->source->name, s->series->recipe, sm_kv_name(s->series->kv), s->series->threads,
            sm_cost_attention_name(s->series->attention), facts->costs,
            sm_cell_shown(cell[0], sizeof *cell, "%.1f", 100 * prefill->median_error),
            sm_cell_shown(cell[1], sizeof *cell, "%.1f", 100 * append->median_error), facts->turns, t->weight,
            t->sessions, t->in / t->weight, t->out / t->weight);
    fprintf(out, "\nLeast %s: max_seq %zu, %zu plans. Exact, of all candidates: %zu sets looked at in %.2f s.\n\n",
            whats[s->objective], s->problem.max_seq, planner_plans(&s->planned.set), s->sets, s->seconds);
    print_head(out, "set");
    print_row(s, &s->planned, "planned", out);
    for (size_t i = 0; i < PLANNER_USUALS; i++) print_row(s, &s->usual[i], s->usual[i].name, out);
    fputs("\nBest for each number of plans:\n\n", out);
    print_head(out, "");
    for (size_t n = 2; n <= s->most_plans; n++) {
        const struct planner_choice c = {.set = s->result.best[n], .price = s->curve[n]};
        snprintf(name, sizeof name, "at most %zu", n);
        if (c.set.prefill_count && planner_plans(&c.set) == n) print_row(s, &c, name, out);
    }
    print_max_seq(s, out);
    print_extrapolated(s, out);
    fprintf(
        out,
        "\nplans: prefill, append and the decode; TTFT: until a turn's first token; turn: with the tokens generated; "
        "rows/in: rows that\nthe calls compute for each token that comes in; MiB: arenas of all plans (the cache: "
        "%.1f); time: over the planned set.\nPlanned sets make the calls of least time; the usual ones the smallest "
        "bucket that holds the tokens and fits.\nPadding is priced as measured: padded rows may cost less than real "
        "ones.\n",
        s->cache_bytes / 1048576);
}
