/* Forms for people and for spreadsheets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "machine.h"
#include "report.h"

static void print_time(FILE *out, double ns)
{
    if (!isfinite(ns))
        fprintf(out, "%9s", "");
    else if (ns < 9999.5)
        fprintf(out, "%6.*f ns", ns < 99.95 ? 2 : ns < 999.5 ? 1 : 0, ns);
    else if (ns < 9999500)
        fprintf(out, "%6.*f us", ns < 99950 ? 2 : ns < 999500 ? 1 : 0, ns / 1e3);
    else
        fprintf(out, "%6.*f ms", ns < 99950000 ? 2 : 1, ns / 1e6);
}

static void interval_text(const struct sm_report_row *row, char *text, size_t bytes)
{
    if (isfinite(row->low) && isfinite(row->high))
        snprintf(text, bytes, "[%+7.2f, %+7.2f]", row->low, row->high);
    else
        snprintf(text, bytes, "%s", "");
}

static void print_head(const struct sm_report *r, FILE *out)
{
    const struct sm_rounds_result *s = r->result;
    const char *name[2] = {r->arm[0].identity, r->arm[1].identity};
    fprintf(out, "slotmark %s  %s -> %s   seed %llu\n", r->command, name[0], name[1],
            (unsigned long long)r->options->seed);
    for (int i = 0; i < 2; i++)
        if (r->arm[i].built[0]) fprintf(out, "  %s: %s\n", name[i], r->arm[i].built);
    fprintf(out, "%zu kernels: %zu identical code, %zu measured, %zu added, %zu removed\n", sm_report_compared(r),
            sm_report_count(r, SM_VERDICT_IDENTICAL), s->measured, sm_report_count(r, SM_VERDICT_ADDED),
            sm_report_count(r, SM_VERDICT_REMOVED));
    if (r->note && *r->note) fprintf(out, "%s\n", r->note);
    if (s->controls)
        fprintf(out, "null control, %zu copies against themselves: worst %.2f %%   floor %.2f %%\n", s->controls,
                100 * s->control_worst, 100 * s->floor);
}

/* Of a model's phase tokens per second, which people know better than times. */
static void print_rates(const struct sm_comparison *c, const struct sm_report_row *row, FILE *out)
{
    if (c->tokens > 0 && isfinite(row->ns[0]) && isfinite(row->ns[1]))
        fprintf(out, "  %.1f -> %.1f t/s", 1e9 * c->tokens / row->ns[0], 1e9 * c->tokens / row->ns[1]);
}

static void print_counts(const struct sm_comparison *c, FILE *out)
{
    const double a = c->instructions[0], b = c->instructions[1];
    if (c->uncounted[0])
        fprintf(out, "  (instructions: %s)", c->uncounted);
    else if (a > 0 && b > 0)
        fprintf(out, "  instructions %.0f -> %.0f, %+.2f %%", a, b, 100 * (b / a - 1));
}

static bool folded(const struct sm_comparison *c)
{
    return c->verdict == SM_VERDICT_IDENTICAL || c->verdict == SM_VERDICT_ADDED;
}

static void print_row(const struct sm_comparison *c, int width, FILE *out)
{
    const struct sm_report_row row = sm_report_row(c);
    char interval[48];
    interval_text(&row, interval, sizeof interval);
    fprintf(out, "%-*s  ", width, c->id);
    print_time(out, row.ns[0]);
    fprintf(out, "  ");
    print_time(out, row.ns[1]);
    if (isfinite(row.change))
        fprintf(out, "  %+7.2f %%", row.change);
    else
        fprintf(out, "  %9s", "");
    fprintf(out, "  %-18s  %3zu  %s", interval, c->launches, sm_verdict_word(c->verdict));
    if (c->verdict == SM_VERDICT_INCONCLUSIVE && isfinite(c->detectable))
        fprintf(out, " (could see >= %.2g %%)", 100 * c->detectable);
    if (c->verdict == SM_VERDICT_LAYOUT) fprintf(out, " (as built %+.2f %%)", 100 * expm1(c->as_built.effect));
    if (c->reason[0]) fprintf(out, ": %s", c->reason);
    print_rates(c, &row, out);
    print_counts(c, out);
    fprintf(out, "\n");
}

static void print_mean(const struct sm_report *r, FILE *out)
{
    const struct sm_paired *m = &r->result->mean;
    if (!m->n || r->result->measured < 2) return;
    fprintf(out, "geometric mean of %zu: %+.2f %%", r->result->measured, 100 * expm1(m->effect));
    if (isfinite(m->low) && isfinite(m->high))
        fprintf(out, "  [%+.2f, %+.2f]", 100 * expm1(m->low), 100 * expm1(m->high));
    fprintf(out, "\n");
}

static int widest(const struct sm_report *r)
{
    size_t width = 6;
    for (size_t i = 0; i < r->pairing->count; i++) {
        const size_t n = strlen(r->pairing->list[i].id);
        if (!r->pairing->list[i].control && (r->everything || !folded(&r->pairing->list[i])) && n > width) width = n;
    }
    return (int)width;
}

void sm_report_text(const struct sm_report *r, FILE *out)
{
    size_t count;
    size_t *order = sm_report_order(r, &count);
    const int width = widest(r);
    char end[200];
    bool head = false;
    print_head(r, out);
    for (size_t i = 0; order && i < count; i++) {
        const struct sm_comparison *c = &r->pairing->list[order[i]];
        if (folded(c) && !r->everything) continue;
        if (!head)
            fprintf(out, "\n%-*s  %9s  %9s  %9s  %-18s  %3s  %s\n", width, "kernel", "A", "B", "change", "interval, %",
                    "n", "verdict");
        head = true;
        print_row(c, width, out);
    }
    free(order);
    fprintf(out, "\n%zu launches in %.1f s.", r->result->launches, r->result->seconds);
    if (r->result->out_of_time) fprintf(out, "  The budget ended it.");
    fprintf(out, "\n");
    print_mean(r, out);
    sm_report_end(r, end, sizeof end);
    fprintf(out, "%s\n", end);
}

static void markdown_row(const struct sm_comparison *c, FILE *out)
{
    const struct sm_report_row row = sm_report_row(c);
    char interval[48];
    interval_text(&row, interval, sizeof interval);
    fprintf(out, "| `%s` | ", c->id);
    print_time(out, row.ns[0]);
    fprintf(out, " | ");
    print_time(out, row.ns[1]);
    if (isfinite(row.change))
        fprintf(out, " | %+.2f %%", row.change);
    else
        fprintf(out, " | ");
    fprintf(out, " | %s | %zu | **%s**", interval, c->launches, sm_verdict_word(c->verdict));
    print_rates(c, &row, out);
    print_counts(c, out);
    fprintf(out, " |\n");
}

/* Worst first; what did not change is folded. Of hundreds of rows the first ones are shown: a comment has a limit. */
void sm_report_markdown(const struct sm_report *r, FILE *out)
{
    enum { ROWS_MOST = 300 };
    static const char head[] = "| kernel | A | B | change | interval, % | n | verdict |\n"
                               "|---|--:|--:|--:|---|--:|---|\n";
    size_t count, shown = 0;
    size_t *order = sm_report_order(r, &count);
    char end[200];
    sm_report_end(r, end, sizeof end);
    fprintf(out, "### slotmark %s: %s\n\n`%s` -> `%s`\n\n", r->command, end, r->arm[0].identity, r->arm[1].identity);
    if (r->note && *r->note) fprintf(out, "%s\n\n", r->note);
    for (int quiet = 0; order && quiet < 2; quiet++) {
        size_t rows = 0;
        for (size_t i = 0; i < count; i++) {
            const struct sm_comparison *c = &r->pairing->list[order[i]];
            const bool unchanged = folded(c) || c->verdict == SM_VERDICT_SAME;
            if (unchanged != quiet || shown == ROWS_MOST) continue;
            if (!rows++) fprintf(out, "%s%s", quiet ? "<details><summary>unchanged</summary>\n\n" : "", head);
            markdown_row(c, out);
            shown++;
        }
        if (quiet && rows) fprintf(out, "\n</details>\n");
        if (rows) fprintf(out, "\n");
    }
    free(order);
    if (shown < count) fprintf(out, "%zu more rows are left out.\n\n", count - shown);
    fprintf(out,
            "<details><summary>how</summary>\n\n%zu launches in %.1f s, seed %llu, floor %.2f %%, tolerance %g %%\n",
            r->result->launches, r->result->seconds, (unsigned long long)r->options->seed, 100 * r->result->floor,
            100 * r->options->tolerance);
    fprintf(out, "\n`slotmark %s %s %s --seed %llu`\n\n</details>\n", r->command, r->arm[0].spec, r->arm[1].spec,
            (unsigned long long)r->options->seed);
}

static void csv_number(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, ",%.9g", x);
    else
        fprintf(out, ",");
}

void sm_report_csv(const struct sm_report *r, FILE *out)
{
    fprintf(out, "kernel,a,b,a_ns,b_ns,change_percent,low_percent,high_percent,launches,p,verdict,reason,a_"
                 "instructions,b_instructions\n");
    for (size_t i = 0; i < r->pairing->count; i++) {
        const struct sm_comparison *c = &r->pairing->list[i];
        const struct sm_report_row row = sm_report_row(c);
        if (c->control) continue;
        fprintf(out, "\"%s\",\"%s\",\"%s\"", c->id, r->arm[0].identity, r->arm[1].identity);
        csv_number(out, row.ns[0]);
        csv_number(out, row.ns[1]);
        csv_number(out, row.change);
        csv_number(out, row.low);
        csv_number(out, row.high);
        fprintf(out, ",%zu", c->launches);
        csv_number(out, c->looks ? c->p_overall : NAN);
        fprintf(out, ",%s,\"", sm_verdict_word(c->verdict));
        for (const char *at = c->reason; *at; at++) fprintf(out, *at == '"' ? "\"\"" : "%c", *at);
        fprintf(out, "\"");
        for (int side = 0; side < 2; side++) csv_number(out, c->instructions[side] > 0 ? c->instructions[side] : NAN);
        fprintf(out, "\n");
    }
}
