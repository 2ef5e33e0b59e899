/* What the replays of a result file say together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "planner_replay.h"
#include "record.h"
#include "stats.h"

#define MOST_SHAPES 128 /* of calls */

/* One set, over all its records. */
struct total {
    const char *name;
    double turns, sessions, ttft, predicted, now, mean, predicted_mean;
    double *errors; /* of each turn */
    size_t error_count;
};

/* slower: how many times longer calls of the cost table took then; NAN: not known. */
static void add_turn(struct total *t, const json_t *turn, double slower)
{
    const double ttft = sm_cell_number(turn, "ttft_ns"), predicted = sm_cell_number(turn, "predicted_ttft_ns"),
                 out = sm_cell_number(turn, "out"), decode = sm_cell_number(turn, "decode_ns"),
                 predicted_decode = sm_cell_number(turn, "predicted_decode_ns");
    if (!(ttft > 0) || !(predicted > 0)) return;
    double *grown = realloc(t->errors, (t->error_count + 1) * sizeof *grown);
    if (!grown) return;
    t->errors = grown;
    t->errors[t->error_count++] = fabs(predicted / ttft - 1);
    t->turns++;
    t->ttft += ttft;
    t->predicted += predicted;
    t->now += predicted * slower;
    t->mean += ttft + (out > 0 ? out * decode : 0);
    t->predicted_mean += predicted + (out > 0 ? out * predicted_decode : 0);
}

static json_t *total_json(struct total *t)
{
    return json_pack("{s:s, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", t->name, "turns", t->turns,
                     "sessions", t->sessions, "ttft_ns", sm_record_number(t->ttft / t->turns), "predicted_ttft_ns",
                     sm_record_number(t->predicted / t->turns), "mean_ns", sm_record_number(t->mean / t->turns),
                     "predicted_mean_ns", sm_record_number(t->predicted_mean / t->turns), "median_error",
                     sm_record_number(sm_median(t->errors, t->error_count)), "predicted_now_ns",
                     sm_record_number(t->now / t->turns), "speed", sm_record_number(t->now / t->predicted - 1));
}

json_t *planner_replay_summary(const json_t *records)
{
    struct total totals[PLANNER_REPLAY_SETS] = {{0}};
    size_t count = 0, i, k;
    const json_t *record, *turn;
    json_t *list = json_array();
    json_array_foreach(records, i, record)
    {
        const json_t *plan = json_object_get(record, "plan");
        const char *name = sm_cell_text(plan, "set");
        const double slower = sm_cell_number(plan, "reference_ns") / sm_cell_number(plan, "reference_table_ns");
        size_t at = 0;
        if (strcmp(sm_cell_text(plan, "role"), "replay") || strcmp(sm_cell_text(record, "status"), "ok")) continue;
        while (at < count && strcmp(totals[at].name, name)) at++;
        if (at == PLANNER_REPLAY_SETS) continue;
        if (at == count) totals[count++].name = name;
        totals[at].sessions++;
        json_array_foreach(json_object_get(plan, "turns"), k, turn) add_turn(&totals[at], turn, slower);
    }
    for (i = 0; i < count; i++) {
        json_array_append_new(list, total_json(&totals[i]));
        free(totals[i].errors);
    }
    return list;
}

/* Calls of one shape, over all sets. */
struct shape {
    const char *phase;
    double rows, calls, tokens, predicted, ns;
    double *errors;
};

static struct shape *shape_of(struct shape *shapes, size_t *count, const json_t *call)
{
    const char *phase = sm_cell_text(call, "phase");
    const double rows = sm_cell_number(call, "rows");
    for (size_t i = 0; i < *count; i++)
        if (!(fabs(shapes[i].rows - rows) > 0) && !strcmp(shapes[i].phase, phase)) return &shapes[i];
    if (*count == MOST_SHAPES) return NULL;
    shapes[*count] = (struct shape){.phase = phase, .rows = rows};
    return &shapes[(*count)++];
}

static void add_call(struct shape *s, const json_t *call)
{
    const double ns = sm_cell_number(call, "ns"), predicted = sm_cell_number(call, "predicted_ns");
    const size_t at = (size_t)s->calls;
    if (!(ns > 0) || !(predicted > 0)) return;
    if (!(at & (at - 1))) { /* a power of two, or none: full */
        double *grown = realloc(s->errors, (at ? 2 * at : 1) * sizeof *grown);
        if (!grown) return;
        s->errors = grown;
    }
    s->errors[at] = predicted / ns - 1;
    s->calls++;
    s->tokens += sm_cell_number(call, "tokens");
    s->predicted += predicted;
    s->ns += ns;
}

static int by_shape(const void *a, const void *b)
{
    const struct shape *x = a, *y = b;
    const int phase = -strcmp(x->phase, y->phase); /* prefill first */
    return phase ? phase : (x->rows > y->rows) - (x->rows < y->rows);
}

json_t *planner_replay_calls(const json_t *records)
{
    struct shape shapes[MOST_SHAPES];
    size_t count = 0, i, k, n;
    const json_t *record, *turn, *call;
    json_t *list = json_array();
    json_array_foreach(records, i, record)
    {
        const json_t *plan = json_object_get(record, "plan");
        if (strcmp(sm_cell_text(plan, "role"), "replay") || strcmp(sm_cell_text(record, "status"), "ok")) continue;
        json_array_foreach(json_object_get(plan, "turns"), k, turn)
            json_array_foreach(json_object_get(turn, "calls"), n, call)
        {
            struct shape *s = shape_of(shapes, &count, call);
            if (s) add_call(s, call);
        }
    }
    qsort(shapes, count, sizeof *shapes, by_shape);
    for (i = 0; i < count; i++) {
        struct shape *s = &shapes[i];
        if (s->calls > 0)
            json_array_append_new(list,
                                  json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:o}", "phase", s->phase, "rows", s->rows,
                                            "calls", s->calls, "tokens", s->tokens / s->calls, "predicted_ns",
                                            s->predicted / s->calls, "ns", s->ns / s->calls, "median_error",
                                            sm_record_number(sm_median(s->errors, (size_t)s->calls))));
        free(s->errors);
    }
    return list;
}

static void calls_text(const json_t *calls, FILE *out)
{
    size_t i;
    const json_t *c;
    fputs("\nTheir calls, of all sets together; ms of one on average:\n\n"
          "| phase   | rows | calls | padded |  predicted > measured   |  error | median |\n"
          "|---------|-----:|------:|-------:|------------------------:|-------:|-------:|\n",
          out);
    json_array_foreach(calls, i, c)
    {
        const double rows = sm_cell_number(c, "rows"), ns = sm_cell_number(c, "ns"),
                     said = sm_cell_number(c, "predicted_ns");
        char cell[4][32], both[72];
        snprintf(both, sizeof both, "%s > %s", planner_ms(cell[0], sizeof *cell, said),
                 planner_ms(cell[1], sizeof *cell, ns));
        fprintf(out, "| %-7s | %4.0f | %5.0f | %4.0f %% | %23s | %6s | %6s |\n", sm_cell_text(c, "phase"), rows,
                sm_cell_number(c, "calls"), 100 * (1 - sm_cell_number(c, "tokens") / rows), both,
                sm_cell_shown(cell[2], sizeof *cell, "%+.1f %%", 100 * (said / ns - 1)),
                sm_cell_shown(cell[3], sizeof *cell, "%+.1f %%", 100 * sm_cell_number(c, "median_error")));
    }
}

void planner_replay_text(const json_t *summary, const json_t *calls, FILE *out)
{
    const json_t *t, *first = json_array_get(summary, 0);
    const double turns = sm_cell_number(first, "turns"), own = sm_cell_number(first, "ttft_ns");
    size_t i;
    if (!first) {
        fputs("\nNo session was replayed: --budget was too small.\n", out);
        return;
    }
    fprintf(out,
            "\nReplayed: %.0f sessions of %.0f turns, each by every set in turn; predicted > measured, ms:\n\n"
            "| set                    | time to first token     |  error | machine |   left | turn of all its tokens  "
            "|  error "
            "| median | time    |\n"
            "|------------------------|------------------------:|-------:|--------:|-------:|------------------------:|"
            "-------:"
            "|-------:|--------:|\n",
            sm_cell_number(first, "sessions"), turns);
    json_array_foreach(summary, i, t)
    {
        const double ttft = sm_cell_number(t, "ttft_ns"), mean = sm_cell_number(t, "mean_ns");
        const double said = sm_cell_number(t, "predicted_ttft_ns"), said_mean = sm_cell_number(t, "predicted_mean_ns");
        const double now = sm_cell_number(t, "predicted_now_ns"), speed = sm_cell_number(t, "speed");
        char cell[6][32], both[2][72];
        snprintf(both[0], sizeof *both, "%s > %s", planner_ms(cell[0], sizeof *cell, said),
                 planner_ms(cell[1], sizeof *cell, ttft));
        snprintf(both[1], sizeof *both, "%s > %s", planner_ms(cell[0], sizeof *cell, said_mean),
                 planner_ms(cell[1], sizeof *cell, mean));
        fprintf(out, "| %-22s | %23s | %6s | %7s | %6s | %23s | %6s | %6s | %7s |\n", sm_cell_text(t, "name"), both[0],
                sm_cell_shown(cell[0], sizeof *cell, "%+.1f %%", 100 * (said / ttft - 1)),
                sm_cell_shown(cell[4], sizeof *cell, "%+.1f %%", 100 * speed),
                sm_cell_shown(cell[5], sizeof *cell, "%+.1f %%", 100 * (now / ttft - 1)), both[1],
                sm_cell_shown(cell[1], sizeof *cell, "%+.1f %%", 100 * (said_mean / mean - 1)),
                sm_cell_shown(cell[2], sizeof *cell, "%.1f %%", 100 * sm_cell_number(t, "median_error")),
                sm_cell_shown(cell[3], sizeof *cell, "%+.1f %%", 100 * (ttft / own - 1)));
    }
    fputs("\nerror: of the prediction, over all turns; machine: how much longer (or less long) calls of the cost table "
          "took\n"
          "when they were made again after each session, and left: the error with that taken off; median: of single "
          "turns,\nwithout sign; time: measured to first tokens, over the first set.\n",
          out);
    calls_text(calls, out);
}
