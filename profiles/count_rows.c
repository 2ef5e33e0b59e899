/* The counts of a model, a table for each phase. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cells.h"
#include "count_trial.h"

static const struct {
    const char *name, *head;
    int width;
} columns[] = {{"instructions", "instructions", 12},
               {"branches", "branches", 10},
               {"memory_reads", "reads", 11},
               {"memory_writes", "writes", 10},
               {"sim_l1i_misses", "I1", 6},
               {"sim_l1d_misses", "D1", 9},
               {"sim_ll_misses", "LL", 8}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double counter(const json_t *record, const char *name)
{
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(record, "counters"), i, c)
    {
        if (!strcmp(sm_cell_text(c, "name"), name)) return sm_cell_number(c, "value");
    }
    return NAN;
}

static bool is_decode(const json_t *record)
{
    return !strcmp(sm_cell_text(record, "phase"), "decode");
}

static void print_md(const json_t *record, FILE *out)
{
    const char *status = sm_cell_text(record, "status");
    fprintf(out, "\n%s\n", sm_cell_text(record, "case"));
    if (strcmp(status, "ok")) {
        fprintf(out, "%s: %s\n", status, sm_cell_text(record, "why"));
        return;
    }
    const double total = counter(record, columns[0].name);
    if (is_decode(record))
        fprintf(out, "A decoded token, mean of %.0f at max_seq %.0f",
                sm_cell_number(json_object_get(record, "callgrind"), "calls"), sm_cell_number(record, "max_seq"));
    else
        fprintf(out, "A prefill of %.0f rows, %.0f of them real", sm_cell_number(record, "bucket"),
                sm_cell_number(record, "n_prompt"));
    fprintf(out, ", caches %s, %.3f instructions a multiply-add:\n\n| step                | calls | share |",
            sm_cell_text(record, "cache_state"), total / sm_cell_number(record, "ops"));
    for (size_t c = 0; c < COLUMNS; c++) fprintf(out, " %*s |", columns[c].width, columns[c].head);
    fputs("\n|---------------------|------:|------:|", out);
    for (size_t c = 0; c < COLUMNS; c++) fprintf(out, "%.*s:|", columns[c].width + 1, "-----------------");
    fputc('\n', out);
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(record, "steps"), i, step)
    {
        fprintf(out, "| %-19s | %5.0f | %4.1f%% |", sm_cell_text(step, "label"), sm_cell_number(step, "calls"),
                100 * sm_cell_number(step, columns[0].name) / total);
        for (size_t c = 0; c < COLUMNS; c++)
            fprintf(out, " %*.0f |", columns[c].width, sm_cell_number(step, columns[c].name));
        fputc('\n', out);
    }
    fprintf(out, "| %-19s | %5s | %5s |", "all", "", "");
    for (size_t c = 0; c < COLUMNS; c++) fprintf(out, " %*.0f |", columns[c].width, counter(record, columns[c].name));
    fputc('\n', out);
}

static void print_csv(const json_t *record, FILE *out)
{
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(record, "steps"), i, step)
    {
        fprintf(out, "\"%s\",%s,%.0f,%.0f,\"%s\",%.0f", sm_cell_text(record, "case"), sm_cell_text(record, "phase"),
                sm_cell_number(record, "threads"), sm_cell_number(record, "max_seq"), sm_cell_text(step, "label"),
                sm_cell_number(step, "calls"));
        for (size_t c = 0; c < COLUMNS; c++) fprintf(out, ",%.15g", sm_cell_number(step, columns[c].name));
        fprintf(out, ",%s\n", sm_cell_text(record, "cache_state"));
    }
}

void sm_count_trial_print(const json_t *records, enum sm_rows_format format, FILE *out)
{
    size_t i, shown = 0;
    json_t *record;
    if (format == SM_ROWS_CSV) {
        fputs("case,phase,threads,max_seq,step,calls", out);
        for (size_t c = 0; c < COLUMNS; c++) fprintf(out, ",%s", columns[c].name);
        fputs(",cache_state\n", out);
    }
    if (format == SM_ROWS_JSON) fputs("[\n", out);
    json_array_foreach(records, i, record)
    {
        if (format == SM_ROWS_MD) {
            print_md(record, out);
        } else if (format == SM_ROWS_CSV) {
            print_csv(record, out);
        } else {
            if (shown++ && format == SM_ROWS_JSON) fputs(",\n", out);
            json_dumpf(record, out, JSON_COMPACT);
            if (format == SM_ROWS_JSONL) fputc('\n', out);
        }
    }
    if (format == SM_ROWS_JSON) fputs("\n]\n", out);
    if (format == SM_ROWS_MD)
        fputs(
            "\nof kernels alone, by callgrind; a team's shares one after another in one thread; I1, D1, LL: misses of "
            "simulated caches,\ncold: swept before the call; hot: as the calls before it left them\n",
            out);
}
