/* Series as text, and as JSON for figures. */
#include <fnmatch.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "trend.h"

/* Eight heights between the least and the most of the last points. */
static void sparkline(const double *value, size_t count, FILE *out)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, value[i]);
        high = fmax(high, value[i]);
    }
    for (size_t i = 0; i < count; i++) {
        const double share = (value[i] - low) / (high - low); /* not a number when nothing differs */
        fputs(bars[share >= 0 && share <= 1 ? (int)(7.99 * share) : 0], out);
    }
}

enum { SPARKS = 40 };

/* "family/variant" of a kernel's name, for --bench. */
static int bench_length(const char *kernel)
{
    const char *shape = strrchr(kernel, '/');
    return (int)(shape ? shape - kernel : (long)strlen(kernel));
}

static void print_change(const struct sm_trend_series *s, const struct sm_trend_change *c, FILE *out)
{
    const char *before = s->points[c->before].build, *after = s->points[c->after].build;
    const int length = bench_length(s->kernel);
    fprintf(out, "    %s: %+.2f %% at %s or near it, from %s to %s\n", sm_trend_word(c->state), 100 * expm1(c->step),
            s->points[c->first].build, before, after);
    if (c->state == SM_TREND_CANDIDATE) {
        fprintf(out, "        confirm: slotmark compare %s %s --bench '%.*s', or trend --confirm\n", before, after,
                length, s->kernel);
        return;
    }
    fprintf(out, "        compared: %s", c->proof.verdict);
    if (isfinite(c->proof.effect)) fprintf(out, " %+.2f %%", 100 * expm1(c->proof.effect));
    if (isfinite(c->proof.low) && isfinite(c->proof.high))
        fprintf(out, " [%+.2f, %+.2f]", 100 * expm1(c->proof.low), 100 * expm1(c->proof.high));
    fprintf(out, ", session %s\n", c->proof.session);
    if (c->state == SM_TREND_CONFIRMED)
        fprintf(out, "        narrow:   slotmark bisect %s %s --bench '%.*s'\n", before, after, length, s->kernel);
}

static bool several_machines(const struct sm_trend *t)
{
    for (size_t i = 1; i < t->count; i++)
        if (strcmp(t->series[0].machine, t->series[i].machine)) return true;
    return false;
}

static void print_series(const struct sm_trend *t, const struct sm_trend_series *s, bool only_changes, FILE *out)
{
    const size_t from = s->count > SPARKS ? s->count - SPARKS : 0;
    double last[SPARKS];
    size_t shown = 0;
    for (size_t k = 0; k < s->change_count; k++) shown += fabs(s->changes[k].step) >= t->least;
    if (only_changes && !shown) return;
    for (size_t i = from; i < s->count; i++) last[i - from] = s->points[i].effect;
    fprintf(out, "%s", s->kernel);
    if (s->threads > 1) fprintf(out, " on %d threads", s->threads);
    if (several_machines(t)) fprintf(out, " on %s", s->machine[0] ? s->machine : "a machine that is not known");
    fprintf(out, "  %zu points  ", s->count);
    sparkline(last, s->count - from, out);
    fprintf(out, "  now %+.2f %%%s\n", 100 * expm1(sm_trend_level(s, s->change_count)),
            s->cut ? " (the oldest points are left out)" : "");
    for (size_t k = 0; k < s->change_count; k++)
        if (fabs(s->changes[k].step) >= t->least) print_change(s, &s->changes[k], out);
}

void sm_trend_text(const struct sm_trend *t, bool only_changes, FILE *out)
{
    for (size_t i = 0; i < t->count; i++) print_series(t, &t->series[i], only_changes, out);
}

static json_t *percent(double log_ratio)
{
    return isfinite(log_ratio) ? json_real(100 * expm1(log_ratio)) : json_null();
}

static json_t *time_json(long long seconds)
{
    char text[32];
    return json_string(sm_history_time(seconds, "%Y-%m-%dT%H:%M:%SZ", text, sizeof text));
}

static json_t *point_json(const struct sm_history_point *p)
{
    return json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:I}", "build", p->build, "started", time_json(p->started),
                     "session", p->session, "change_percent", percent(p->effect), "low_percent", percent(p->low),
                     "high_percent", percent(p->high), "launches", (json_int_t)p->launches);
}

static json_t *proof_json(const struct sm_history_proof *p)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "session", p->session, "verdict", p->verdict, "change_percent",
                     percent(p->effect), "low_percent", percent(p->low), "high_percent", percent(p->high));
}

static json_t *series_json(const struct sm_trend_series *s)
{
    json_t *points = json_array(), *levels = json_array(), *changes = json_array();
    for (size_t i = 0; i < s->count; i++) json_array_append_new(points, point_json(&s->points[i]));
    for (size_t k = 0; k <= s->change_count; k++) {
        const size_t first = k ? s->changes[k - 1].first : 0,
                     next = k < s->change_count ? s->changes[k].first : s->count;
        json_array_append_new(levels, json_pack("{s:I, s:I, s:o}", "first", (json_int_t)first, "last",
                                                (json_int_t)next - 1, "level_percent", percent(sm_trend_level(s, k))));
    }
    for (size_t k = 0; k < s->change_count; k++) {
        const struct sm_trend_change *c = &s->changes[k];
        json_array_append_new(changes,
                              json_pack("{s:I, s:s, s:s, s:o, s:s, s:o}", "first", (json_int_t)c->first, "before",
                                        s->points[c->before].build, "after", s->points[c->after].build, "step_percent",
                                        percent(c->step), "state", sm_trend_word(c->state), "confirmation",
                                        c->state == SM_TREND_CANDIDATE ? json_null() : proof_json(&c->proof)));
    }
    return json_pack("{s:s, s:i, s:s?, s:o, s:o, s:o, s:o}", "kernel", s->kernel, "threads", s->threads, "machine",
                     s->machine[0] ? s->machine : NULL, "now_percent", percent(sm_trend_level(s, s->change_count)),
                     "points", points, "levels", levels, "changes", changes);
}

struct imported {
    const char *glob;
    json_t *list, *points; /* of the figure under way; borrowed */
    char name[200], unit[24];
};

static bool add_figure(void *state, const struct sm_history_figure *f)
{
    struct imported *i = state;
    if (i->glob && fnmatch(i->glob, f->name, 0)) return true;
    if (!i->points || strcmp(i->name, f->name) || strcmp(i->unit, f->unit)) {
        snprintf(i->name, sizeof i->name, "%s", f->name);
        snprintf(i->unit, sizeof i->unit, "%s", f->unit);
        i->points = json_array();
        json_t *series = json_pack("{s:s, s:s, s:o}", "name", i->name, "unit", i->unit, "points", i->points);
        if (!series) i->points = NULL; /* a name that is no text */
        json_array_append_new(i->list, series);
    }
    json_array_append_new(
        i->points, json_pack("{s:s?, s:o, s:s, s:f, s:o, s:I}", "build", f->build[0] ? f->build : NULL, "started",
                             f->started ? time_json(f->started) : json_null(), "import", f->import, "value", f->value,
                             "spread", sm_record_number(f->spread), "samples", (json_int_t)f->samples));
    return true;
}

int sm_trend_json(const struct sm_trend *t, struct sm_history *h, const char *glob, FILE *out, char *why,
                  size_t why_bytes)
{
    json_t *series = json_array();
    struct imported imported = {.glob = glob, .list = json_array()};
    for (size_t i = 0; i < t->count; i++) json_array_append_new(series, series_json(&t->series[i]));
    int bad = sm_history_figures(h, add_figure, &imported, why, why_bytes);
    json_t *j = json_pack("{s:s, s:i, s:s?, s:f, s:o, s:o}", "schema", "slotmark-trend", "version", 1, "anchor",
                          t->anchor[0] ? t->anchor : NULL, "least_percent", 100 * expm1(t->least), "series", series,
                          "imported", imported.list);
    if (!bad && (!j || json_dumpf(j, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) || fputc('\n', out) < 0)) {
        snprintf(why, why_bytes, "the series could not be written to their end");
        bad = -1;
    }
    json_decref(j);
    return bad;
}

struct lines {
    const char *glob;
    FILE *out;
    struct sm_history_figure last;
    double value[SPARKS];
    size_t count;
};

static void end_line(struct lines *l)
{
    const size_t kept = l->count < SPARKS ? l->count : SPARKS;
    if (!l->count) return;
    fprintf(l->out, "imported: %s  %zu points  ", l->last.name, l->count);
    sparkline(l->value, kept, l->out);
    fprintf(l->out, "  last %.5g %s%s%.12s\n", l->last.value, l->last.unit, l->last.build[0] ? " of " : "",
            l->last.build);
}

static bool add_line(void *state, const struct sm_history_figure *f)
{
    struct lines *l = state;
    if (l->glob && fnmatch(l->glob, f->name, 0)) return true;
    if (l->count && (strcmp(l->last.name, f->name) || strcmp(l->last.unit, f->unit))) {
        end_line(l);
        l->count = 0;
    }
    if (l->count >= SPARKS) memmove(l->value, l->value + 1, (SPARKS - 1) * sizeof *l->value);
    l->value[l->count < SPARKS ? l->count : SPARKS - 1] = f->value;
    l->count++;
    l->last = *f;
    return true;
}

int sm_trend_imported(struct sm_history *h, const char *glob, FILE *out, char *why, size_t why_bytes)
{
    struct lines l = {.glob = glob, .out = out};
    const int bad = sm_history_figures(h, add_line, &l, why, why_bytes);
    end_line(&l);
    return bad;
}
