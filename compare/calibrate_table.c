/* The goals of a comparer beside what trials made of them. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"
#include "machine.h"
#include "record.h"
#include "stats.h"

double sm_upper_limit(size_t hits, size_t count)
{
    double low = 0, high = 1;
    if (!count || hits >= count) return 1;
    for (int i = 0; i < 60; i++) {
        const double p = (low + high) / 2;
        /* logarithms: (1 - p)^count is too small for a double when there are many trials */
        double term = (double)count * log1p(-p), sum = exp(term);
        for (size_t k = 1; k <= hits; k++) {
            term += log(p) - log1p(-p) + log((double)(count - k + 1) / (double)k);
            sum += exp(term);
        }
        if (sum > 0.05)
            low = p;
        else
            high = p;
    }
    return high;
}

static bool is_slower(enum sm_verdict v)
{
    return v == SM_VERDICT_SLOWER || v == SM_VERDICT_SLOWER_WITHIN;
}

static bool is_faster(enum sm_verdict v)
{
    return v == SM_VERDICT_FASTER || v == SM_VERDICT_FASTER_WITHIN;
}

static int keep_seconds(struct sm_calibration *c, double seconds)
{
    if (!isfinite(seconds)) return 0;
    if (c->verdicts == c->room) {
        const size_t room = c->room ? 2 * c->room : 256;
        double *grown = realloc(c->seconds, room * sizeof *grown);
        if (!grown) return -1;
        c->seconds = grown;
        c->room = room;
    }
    c->seconds[c->verdicts++] = seconds;
    return 0;
}

int sm_calibration_add(struct sm_calibration *c, const struct sm_trial *t)
{
    const struct sm_comparison *k = &t->comparison;
    struct sm_cell *cell = t->placed ? &c->placed : &c->cell[t->class][t->planted];
    const double truth = log1p(sm_planted[t->planted]);
    const double *first = k->randomised ? k->as_built_d : k->d;
    struct sm_paired plain;
    if (!k->looks && !k->randomised) {
        c->failed++;
        return 0;
    }
    cell->count++;
    cell->slower += is_slower(k->verdict);
    cell->faster += is_faster(k->verdict);
    cell->same_quickly += k->verdict == SM_VERDICT_SAME && k->launches <= 12;
    cell->excludes_zero += k->estimate.low > 0 || k->estimate.high < 0;
    cell->holds += k->estimate.low <= truth && truth <= k->estimate.high;
    cell->flagged += k->randomised;
    if (!sm_paired_estimate(first, sm_look_launches[0], 0.05, &plain)) {
        cell->plain++;
        cell->plain_holds += plain.low <= truth && truth <= plain.high;
    }
    if (isfinite(t->seconds) && !t->placed && !t->planted && t->class != SM_STREAMED) {
        c->seconds_same += t->seconds;
        c->count_same++;
    }
    return keep_seconds(c, t->seconds);
}

/* A goal and what was seen. `share`: hits of count, with a limit; else the value alone. */
struct line {
    char goal[72];
    double least, most; /* the target; NAN: none on that side */
    double got;         /* NAN: there was no trial */
    size_t hits, count;
    const char *unit; /* "%", "s", "": got is a share when it is "%" */
};

struct lines {
    struct line list[40];
    size_t count;
};

static struct line *add(struct lines *l, const char *goal, double least, double most, const char *unit)
{
    struct line *line = &l->list[l->count++];
    *line = (struct line){.least = least, .most = most, .got = NAN, .unit = unit};
    snprintf(line->goal, sizeof line->goal, "%s", goal);
    return line;
}

static void add_share(struct lines *l, const char *goal, double least, double most, size_t hits, size_t count)
{
    struct line *line = add(l, goal, least, most, "%");
    line->hits = hits;
    line->count = count;
    if (count) line->got = (double)hits / (double)count;
}

static void add_value(struct lines *l, const char *goal, double most, double got, size_t count, const char *unit)
{
    struct line *line = add(l, goal, NAN, most, unit);
    line->count = count;
    if (count) line->got = got;
}

/* NULL: no target, or no trial. */
static const char *judge(const struct line *l)
{
    if (isnan(l->got) || (isnan(l->least) && isnan(l->most))) return NULL;
    return l->got < l->least || l->got > l->most ? "missed" : "met"; /* comparisons with NAN are false */
}

static void add_power(struct lines *l, const struct sm_calibration *c)
{
    static const double targets[SM_CLASSES][SM_PLANTED] = {{0, .8, .99, 1, 1}, {0, .5, .95, 1, 1}, {0, NAN, .5, .9, 1}};
    for (int k = 0; k < SM_CLASSES; k++)
        for (size_t p = 1; p < SM_PLANTED; p++) {
            const struct sm_cell *cell = &c->cell[k][p];
            char goal[72];
            snprintf(goal, sizeof goal, "%s: a planted %g %% is %s", sm_class_names[k], 100 * sm_planted[p],
                     k == SM_STREAMED ? "seen (0 excluded)" : "found");
            add_share(l, goal, targets[k][p], NAN, k == SM_STREAMED ? cell->excludes_zero : cell->slower, cell->count);
        }
}

static void add_time(struct lines *l, const struct sm_calibration *c)
{
    double *seconds = malloc((c->verdicts + 1) * sizeof *seconds), most = NAN;
    if (!seconds) return;
    for (size_t i = 0; i < c->verdicts; i++) {
        seconds[i] = c->seconds[i];
        most = fmax(most, seconds[i]);
    }
    add_value(l, "time to a verdict, median", 1, sm_median(seconds, c->verdicts), c->verdicts, "s");
    add_value(l, "time to a verdict, longest", 3, most, c->verdicts, "s");
    /* a tenth of them are run once more as controls */
    add_value(l, "200 kernels and 20 controls, by the mean of those", 300,
              220 * c->seconds_same / (double)(c->count_same ? c->count_same : 1), c->count_same, "s");
    free(seconds);
}

static void fill(struct lines *l, const struct sm_calibration *c)
{
    struct sm_cell none = {0}, all = {0};
    for (int k = 0; k < SM_CLASSES; k++)
        for (size_t p = 0; p < SM_PLANTED; p++) {
            const struct sm_cell *t = &c->cell[k][p];
            struct sm_cell *to = p ? &all : &none;
            to->count += t->count;
            to->faster += t->faster;
            to->slower += t->slower;
            to->holds += t->holds;
            to->plain += t->plain;
            to->plain_holds += t->plain_holds;
        }
    const struct sm_cell *r = &c->cell[SM_IN_CACHES][0], *a = &c->placed;
    add_share(l, "a build against itself is called faster or slower", NAN, .005, none.faster + none.slower, none.count);
    add_share(l, "... is proved the same in <= 12 launches (in caches)", .95, NAN, r->same_quickly, r->count);
    add_share(l, "its code placed elsewhere is called faster or slower", NAN, .01, a->faster + a->slower, a->count);
    add_share(l, "... would be, if placed only once", NAN, NAN, a->flagged, a->count);
    add_power(l, c);
    add_share(l, "planted work is called faster", NAN, 0, all.faster, all.count);
    add_share(l, "a 95 % interval of 8 launches holds the truth", .94, .97, none.plain_holds + all.plain_holds,
              none.plain + all.plain);
    add_share(l, "the interval reported holds the truth", .94, NAN, none.holds + all.holds, none.count + all.count);
    add_time(l, c);
    add_value(l, "false alarms in a run of 200 kernels (replayed)", 0.05,
              (double)c->suite_alarms / (double)(c->suites ? c->suites : 1), c->suites, "");
    const struct sm_replay_history *h = &c->history;
    const double commits = (double)h->series * (double)h->commits;
    add_value(l, "false change points in 1000 commits (replayed)", 1,
              1000 * (double)h->confirmed_falsely / (commits > 0 ? commits : 1), h->series * h->commits, "");
    add_share(l, "planted steps of a series found (replayed)", NAN, NAN, h->found, h->planted);
    add_share(l, "bisect: 1 % among 1024 commits is found (replayed)", .98, NAN, c->bisect.right, c->bisect.searches);
    add_value(l, "... builds, median", 12, (double)c->bisect.builds_half, c->bisect.searches, "");
}

static void target_text(const struct line *l, char *text, size_t bytes)
{
    const bool share = *l->unit == '%';
    const double scale = share ? 100 : 1;
    const char *space = *l->unit ? " " : "";
    if (!isnan(l->least) && !isnan(l->most))
        snprintf(text, bytes, "%g to %g%s%s", scale * l->least, scale * l->most, space, l->unit);
    else if (!isnan(l->least))
        snprintf(text, bytes, "%s%g%s%s", l->least >= 1 ? "" : ">= ", scale * l->least, space, l->unit);
    else if (!isnan(l->most))
        snprintf(text, bytes, "%s%g%s%s", l->most > 0 ? "<= " : "", scale * l->most, space, l->unit);
    else
        snprintf(text, bytes, "%s", "");
}

/* What the trials leave possible (95 %): at most for what should be rare, at least for what should be found. */
static void limit_text(const struct line *l, char *text, size_t bytes)
{
    *text = '\0';
    if (*l->unit != '%' || !l->count || (!isnan(l->least) && !isnan(l->most))) return;
    if (!isnan(l->least))
        snprintf(text, bytes, ">= %.3g %%", 100 * (1 - sm_upper_limit(l->count - l->hits, l->count)));
    else
        snprintf(text, bytes, "<= %.3g %%", 100 * sm_upper_limit(l->hits, l->count));
}

static void print_line(const struct line *l, FILE *out)
{
    char target[40], got[40] = "no trial", limit[32];
    target_text(l, target, sizeof target);
    limit_text(l, limit, sizeof limit);
    if (l->count && *l->unit == '%')
        snprintf(got, sizeof got, "%.4g %%", 100 * l->got);
    else if (l->count)
        snprintf(got, sizeof got, "%.3g%s%s", l->got, *l->unit ? " " : "", l->unit);
    fprintf(out, "| %-56s | %10s | %12s | %6zu | %10s | %-6s |\n", l->goal, target, got, l->count, limit,
            judge(l) ? judge(l) : "");
}

size_t sm_calibration_print(const struct sm_calibration *c, FILE *out)
{
    struct lines l = {.count = 0};
    size_t missed = 0;
    fill(&l, c);
    fprintf(out, "| %-56s | %10s | %12s | %6s | %10s | %-6s |\n|:---|---:|---:|---:|---:|:---|\n", "goal", "target",
            "this machine", "trials", "95 % sure", "");
    for (size_t i = 0; i < l.count; i++) {
        print_line(&l.list[i], out);
        missed += judge(&l.list[i]) && !strcmp(judge(&l.list[i]), "missed");
    }
    fprintf(out, "\n%zu goals missed. %s", missed, c->source);
    if (c->load_least <= c->load_most) fprintf(out, " Load average %.1f to %.1f.", c->load_least, c->load_most);
    if (c->failed) fprintf(out, " %zu trials failed.", c->failed);
    if (c->elsewhere) fprintf(out, " %zu trials of other machines are left out.", c->elsewhere);
    fprintf(out, "\n");
    return missed;
}

int sm_calibration_json(const struct sm_calibration *c, FILE *out)
{
    struct lines l = {.count = 0};
    json_t *list = json_array();
    fill(&l, c);
    for (size_t i = 0; i < l.count; i++) {
        const struct line *x = &l.list[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o, s:o, s:I, s:o, s:s?}", "goal", x->goal, "unit",
                                              *x->unit == '%' ? "share" : x->unit, "least", sm_record_number(x->least),
                                              "most", sm_record_number(x->most), "got", sm_record_number(x->got),
                                              "trials", (json_int_t)x->count, "hits",
                                              *x->unit == '%' ? json_integer((json_int_t)x->hits) : json_null(),
                                              "verdict", judge(x)));
    }
    json_t *j = json_pack("{s:s, s:i, s:s, s:o, s:I, s:o}", "schema", "slotmark-calibrate", "version", 2, "source",
                          c->source, "machine", sm_machine_json(), "failed", (json_int_t)c->failed, "goals", list);
    const int bad = !j || json_dumpf(j, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) || fputc('\n', out) < 0;
    json_decref(j);
    return bad ? -1 : 0;
}
