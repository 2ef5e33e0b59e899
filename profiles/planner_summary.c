/* What the replays of a result file say together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "planner_replay.h"
#include "record.h"
#include "stats.h"

/* One set, over all its records. */
struct total {
    const char *name;
    double turns, sessions, ttft, predicted, mean, predicted_mean;
    double *errors; /* of each turn */
    size_t error_count;
};

static void add_turn(struct total *t, const json_t *turn)
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
    t->mean += ttft + (out > 0 ? out * decode : 0);
    t->predicted_mean += predicted + (out > 0 ? out * predicted_decode : 0);
}

static json_t *total_json(struct total *t)
{
    return json_pack("{s:s, s:f, s:f, s:o, s:o, s:o, s:o, s:o}", "name", t->name, "turns", t->turns, "sessions",
                     t->sessions, "ttft_ns", sm_record_number(t->ttft / t->turns), "predicted_ttft_ns",
                     sm_record_number(t->predicted / t->turns), "mean_ns", sm_record_number(t->mean / t->turns),
                     "predicted_mean_ns", sm_record_number(t->predicted_mean / t->turns), "median_error",
                     sm_record_number(sm_median(t->errors, t->error_count)));
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
        size_t at = 0;
        if (strcmp(sm_cell_text(plan, "role"), "replay") || strcmp(sm_cell_text(record, "status"), "ok")) continue;
        while (at < count && strcmp(totals[at].name, name)) at++;
        if (at == PLANNER_REPLAY_SETS) continue;
        if (at == count) totals[count++].name = name;
        totals[at].sessions++;
        json_array_foreach(json_object_get(plan, "turns"), k, turn) add_turn(&totals[at], turn);
    }
    for (i = 0; i < count; i++) {
        json_array_append_new(list, total_json(&totals[i]));
        free(totals[i].errors);
    }
    return list;
}

void planner_replay_text(const json_t *summary, FILE *out)
{
    const json_t *t, *first = json_array_get(summary, 0);
    const double turns = sm_cell_number(first, "turns"), own = sm_cell_number(first, "ttft_ns");
    size_t i;
    if (!first) {
        fputs("\nNo session was replayed: --budget was too small.\n", out);
        return;
    }
    fprintf(
        out,
        "\nReplayed: %.0f sessions of %.0f turns, each by every set in turn; predicted > measured, ms:\n\n"
        "| set                    | time to first token     |  error | turn of all its tokens  |  error | median | time"
        "    |\n"
        "|------------------------|------------------------:|-------:|------------------------:|-------:|-------:|----"
        "----:|\n",
        sm_cell_number(first, "sessions"), turns);
    json_array_foreach(summary, i, t)
    {
        const double ttft = sm_cell_number(t, "ttft_ns"), mean = sm_cell_number(t, "mean_ns");
        const double said = sm_cell_number(t, "predicted_ttft_ns"), said_mean = sm_cell_number(t, "predicted_mean_ns");
        char cell[4][32], both[2][72];
        snprintf(both[0], sizeof *both, "%s > %s", planner_ms(cell[0], sizeof *cell, said),
                 planner_ms(cell[1], sizeof *cell, ttft));
        snprintf(both[1], sizeof *both, "%s > %s", planner_ms(cell[0], sizeof *cell, said_mean),
                 planner_ms(cell[1], sizeof *cell, mean));
        fprintf(out, "| %-22s | %23s | %6s | %23s | %6s | %6s | %7s |\n", sm_cell_text(t, "name"), both[0],
                sm_cell_shown(cell[0], sizeof *cell, "%+.1f %%", 100 * (said / ttft - 1)), both[1],
                sm_cell_shown(cell[1], sizeof *cell, "%+.1f %%", 100 * (said_mean / mean - 1)),
                sm_cell_shown(cell[2], sizeof *cell, "%.1f %%", 100 * sm_cell_number(t, "median_error")),
                sm_cell_shown(cell[3], sizeof *cell, "%+.1f %%", 100 * (ttft / own - 1)));
    }
    fputs("\nerror: of the prediction, over all turns; median: of single turns, without sign; time: measured to first "
          "tokens, over the first set.\n",
          out);
}
