/* slotmark ceilings: what this machine can do at most, measured several times, with the range that was seen. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "ceilings.h"
#include "commands.h"
#include "lacking.h"
#include "machine.h"
#include "progress.h"
#include "record.h"
#include "stats.h"
#include "table.h"

#define RUNS_MOST 50

/* One name over the runs. */
struct seen {
    struct sm_ceiling first;
    double values[RUNS_MOST], clocks[RUNS_MOST]; /* NAN: it does not move with the cores' clock */
    size_t count;
};

static void collect(struct seen *seen, const struct sm_ceilings *run, size_t i)
{
    const struct sm_ceiling *c = &run->item[i];
    if (!seen->first.name[0]) seen->first = *c;
    if (!isfinite(c->value) || seen->count >= RUNS_MOST) return;
    seen->clocks[seen->count] = c->core_hz;
    seen->values[seen->count++] = c->value;
}

/* Bytes that one core moves in a cycle, for the levels that it has to itself; NAN for all else. */
static double bytes_per_cycle(const struct seen *s)
{
    double per_cycle[RUNS_MOST];
    if (strcmp(s->first.unit, "B/s") || !s->count) return NAN;
    for (size_t i = 0; i < s->count; i++) per_cycle[i] = s->values[i] / (s->first.threads * s->clocks[i]);
    for (size_t i = 0; i < s->count; i++)
        if (!isfinite(per_cycle[i])) return NAN;
    return sm_median(per_cycle, s->count);
}

/* (most - least) / median in percent; NAN with fewer than two. */
static double range_percent(const double *values, size_t count, double *median)
{
    double sorted[RUNS_MOST], least = INFINITY, most = -INFINITY;
    memcpy(sorted, values, count * sizeof *sorted);
    *median = sm_median(sorted, count);
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    return count > 1 ? 100 * (most - least) / *median : NAN;
}

/* The range that is left when each value is taken at the clock it was seen at; NAN for what does not move with it. */
static double range_at_one_clock(const struct seen *s)
{
    double per_cycle[RUNS_MOST], median;
    for (size_t i = 0; i < s->count; i++) per_cycle[i] = s->values[i] / s->clocks[i];
    for (size_t i = 0; i < s->count; i++)
        if (!isfinite(per_cycle[i])) return NAN;
    return range_percent(per_cycle, s->count, &median);
}

static const char *why_of(const struct seen *s)
{
    return s->first.why ? s->first.why : "not measured";
}

static void add_row(struct sm_table *table, const struct seen *s)
{
    char value[32], range[32] = "", one_clock[32] = "", set[32] = "", threads[16], cycle[32] = "", unit[32];
    double median;
    const double per_cycle = bytes_per_cycle(s);
    const double percent = range_percent(s->values, s->count, &median), at_one_clock = range_at_one_clock(s);
    if (!s->count)
        snprintf(value, sizeof value, "%s", "");
    else if (strstr(s->first.unit, "/cycle"))
        snprintf(value, sizeof value, median < 10 ? "%.2f" : "%.1f", median);
    else if (!strcmp(s->first.unit, "s"))
        snprintf(value, sizeof value, median < 1e-6 ? "%.0f n" : "%.2f u", median < 1e-6 ? median * 1e9 : median * 1e6);
    else
        snprintf(value, sizeof value, "%.2f G", median / 1e9);
    if (isfinite(percent)) snprintf(range, sizeof range, "%.1f %%", percent);
    if (isfinite(at_one_clock)) snprintf(one_clock, sizeof one_clock, "%.1f %%", at_one_clock);
    if (isfinite(per_cycle)) snprintf(cycle, sizeof cycle, "%.1f", per_cycle);
    if (s->first.bytes >= 1 << 20)
        snprintf(set, sizeof set, "%zu MiB", s->first.bytes >> 20);
    else if (s->first.bytes)
        snprintf(set, sizeof set, "%zu KiB", s->first.bytes >> 10);
    snprintf(threads, sizeof threads, "%d", s->first.threads);
    /* a screen is narrow: as everywhere in tables, a multiply-add is a MAC */
    const char *rest = strstr(s->first.unit, "multiply-adds");
    snprintf(unit, sizeof unit, "%s%s", rest ? "MAC" : s->first.unit, rest ? rest + strlen("multiply-adds") : "");
    const char *const row[] = {
        s->first.name, threads, value, unit, range, one_clock, cycle, set, s->count ? "" : why_of(s)};
    sm_table_add(table, row);
}

static json_t *json_of(const struct seen *s)
{
    double median;
    const double percent = range_percent(s->values, s->count, &median);
    json_t *values = json_array(), *clocks = json_array();
    for (size_t i = 0; i < s->count; i++) {
        json_array_append_new(values, json_real(s->values[i]));
        json_array_append_new(clocks, sm_record_number(s->clocks[i]));
    }
    json_t *j = json_pack("{s:s, s:s, s:i, s:o}", "name", s->first.name, "unit", s->first.unit, "threads",
                          s->first.threads, "values", values);
    json_object_set_new(j, "value", s->count ? json_real(median) : json_null());
    json_object_set_new(j, "range_percent", sm_record_number(percent));
    json_object_set_new(j, "core_hz", clocks);
    json_object_set_new(j, "range_percent_at_one_clock", sm_record_number(range_at_one_clock(s)));
    json_object_set_new(j, "bytes_per_cycle", sm_record_number(bytes_per_cycle(s)));
    json_object_set_new(j, "bytes", s->first.bytes ? json_integer((json_int_t)s->first.bytes) : json_null());
    if (!s->count) json_object_set_new(j, "why", json_string(why_of(s)));
    return j;
}

/* Those that a neighbour never left alone, to the second time: their figures are too low. */
static size_t disturbed_runs(const struct sm_ceilings *run, size_t runs, size_t teams, size_t team)
{
    size_t count = 0;
    for (size_t r = 0; r < runs; r++) count += sm_ceilings_disturbed(&run[r * teams + team]);
    return count;
}

static void print_disturbed(const struct sm_ceilings *run, size_t runs, size_t teams, FILE *out)
{
    for (size_t t = 0; t < teams; t++) {
        const size_t count = disturbed_runs(run, runs, teams, t);
        if (count)
            fprintf(
                out,
                "\ntoo low: %zu of %zu runs at t = %d, though measured twice; a neighbour has part of the cores, or "
                "the\n  host has put two on one\n",
                count, runs, run[t].threads);
    }
}

static int print(const struct seen *seen, size_t count, const struct sm_ceilings *run, size_t runs, size_t teams,
                 int form, FILE *out)
{
    if (form == 2) {
        json_t *list = json_array(), *disturbed = json_array();
        for (size_t t = 0; t < teams; t++)
            json_array_append_new(disturbed, json_pack("{s:i, s:I}", "threads", run[t].threads, "runs",
                                                       (json_int_t)disturbed_runs(run, runs, teams, t)));
        for (size_t i = 0; i < count; i++) json_array_append_new(list, json_of(&seen[i]));
        json_t *page = json_pack("{s:s, s:i, s:o, s:o, s:o}", "schema", "slotmark-ceilings", "version", 1, "machine",
                                 sm_machine_json(), "disturbed", disturbed, "ceilings", list);
        const int bad = !page || json_dumpf(page, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) || putc('\n', out) < 0;
        json_decref(page);
        return bad ? -1 : 0;
    }
    const char *const heading[] = {"ceiling",      "t",       "median",      "unit", "range",
                                   "at one clock", "B/cycle", "working set", ""};
    struct sm_table table;
    sm_table_init(&table, 9, heading);
    table.right[1] = table.right[2] = table.right[4] = table.right[5] = table.right[6] = table.right[7] = true;
    for (size_t i = 0; i < count; i++)
        if (seen[i].count || seen[i].first.why != sm_ceiling_lacks) add_row(&table, &seen[i]);
    sm_table_print(&table, form == 1, out);
    sm_lacking_print(run, NULL, out);
    print_disturbed(run, runs, teams, out);
    const int lost = table.lost;
    sm_table_free(&table);
    return lost ? -1 : 0;
}

static double each_s(enum sm_ceilings_effort effort)
{
    return effort == SM_CEILINGS_FULL ? 9 : 1.5;
}

/* All teams, in turn, `runs` times. */
static int measure_runs(struct sm_ceilings *run, const struct sm_list *threads, size_t runs,
                        enum sm_ceilings_effort effort, struct sm_progress *progress, char *why, size_t why_bytes)
{
    const size_t count = runs * threads->count;
    for (size_t i = 0; i < count; i++) {
        const int team = (int)threads->value[i % threads->count];
        char text[64];
        snprintf(text, sizeof text, "run %zu of %zu, %d threads", i / threads->count + 1, runs, team);
        sm_progress_show(progress, each_s(effort) * (double)i, text);
        if (sm_ceilings_measure(&run[i], team, effort, why, why_bytes)) return -1;
    }
    sm_progress_show(progress, each_s(effort) * (double)count, "once more what was disturbed");
    return sm_ceilings_measure_again(run, count, effort, why, why_bytes);
}

static int measure(const struct sm_list *threads, size_t runs, enum sm_ceilings_effort effort, bool quiet, int form)
{
    const size_t teams = threads->count;
    struct seen *seen = calloc(teams * SM_CEILINGS_MOST, sizeof *seen);
    struct sm_ceilings *run = calloc(runs * teams, sizeof *run);
    struct sm_progress progress;
    char why[256] = "out of memory";
    size_t count = 0;
    int bad = !seen || !run;
    sm_progress_begin(&progress, quiet ? NULL : stderr, each_s(effort) * (double)(runs * teams));
    if (!bad) bad = measure_runs(run, threads, runs, effort, &progress, why, sizeof why);
    sm_progress_clear(&progress);
    for (size_t t = 0; !bad && t < teams; t++)
        for (size_t i = 0; i < run[t].count; i++, count++)
            for (size_t r = 0; r < runs; r++) collect(&seen[count], &run[r * teams + t], i);
    if (!bad) bad = print(seen, count, run, runs, teams, form, stdout);
    if (bad) fprintf(stderr, "slotmark ceilings: %s\n", why);
    free(seen);
    free(run);
    return bad ? 2 : 0;
}

int ceilings_main(int argc, char **argv)
{
    static const char *const forms[] = {"text", "md", "json", NULL};
    struct sm_list threads = SM_LIST(1);
    const int all = sm_machine()->threads;
    int64_t runs = 3;
    int form = 0;
    bool full = false, quiet = false;
    char why[512];
    if (all > 1) threads.value[threads.count++] = all;
    const struct sm_argument options[] = {
        {"threads", 0, SM_ARGUMENT_LIST, &threads, NULL, "LIST", "teams to measure with (default: 1 and all)"},
        {"runs", 0, SM_ARGUMENT_INTEGER, &runs, NULL, "N", "times to measure, for the range (default 3)"},
        {"full", 0, SM_ARGUMENT_FLAG, &full, NULL, NULL,
         "a run is the best of five rounds, 9 s a team instead of 1.5 s"},
        {"quiet", 0, SM_ARGUMENT_FLAG, &quiet, NULL, NULL, "no progress"},
        {"output", 'o', SM_ARGUMENT_CHOICE, &form, forms, "FORMAT", "text (default), md or json"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        .command = "ceilings",
        .usage = "[OPTION]...",
        .summary = "Measures what this machine can do at most: bytes a second by memory level; multiply-adds, exp and\n"
                   "tanh by arithmetic scheme; what a team's fork and barrier cost: median and range of several runs.",
        .options = options,
        .example = "slotmark ceilings --threads 1,2 --runs 5",
    };
    switch (sm_arguments_parse(&spec, argc, argv, NULL, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 0;
    case SM_ARGUMENTS_BAD: fprintf(stderr, "slotmark ceilings: %s\n", why); return 2;
    case SM_ARGUMENTS_OK: break;
    }
    if (runs < 1 || runs > RUNS_MOST) {
        fprintf(stderr, "slotmark ceilings: --runs must be 1 to %d\n", RUNS_MOST);
        return 2;
    }
    for (size_t i = 0; i < threads.count; i++)
        if (threads.value[i] < 1 || threads.value[i] > SM_PIN_MOST) {
            fprintf(stderr, "slotmark ceilings: --threads must be 1 to %d\n", SM_PIN_MOST);
            return 2;
        }
    return measure(&threads, (size_t)runs, full ? SM_CEILINGS_FULL : SM_CEILINGS_QUICK, quiet, form);
}
