#include "rows_steps.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cells.h"
#include "limit.h"
#include "reconcile.h"

/* Counters with a value, and of the others the state and how many share it. */
static void print_counters(const json_t *record, FILE *out)
{
    const json_t *counters = json_object_get(record, "counters");
    size_t i;
    json_t *c;
    if (!json_array_size(counters)) return;
    fprintf(out, "\nCounters of %s, the team's sum:\n",
            !strcmp(sm_cell_text(record, "phase"), "decode")   ? "a decoded token"
            : !strcmp(sm_cell_text(record, "phase"), "append") ? "a turn's append"
                                                               : "a prefill");
    json_array_foreach(counters, i, c)
    {
        if (json_is_number(json_object_get(c, "value")))
            fprintf(out, "  %-22s %.6g%s%s (%s: %s)\n", sm_cell_text(c, "name"), sm_cell_number(c, "value"),
                    strcmp(sm_cell_text(c, "unit"), "1") ? " " : "",
                    strcmp(sm_cell_text(c, "unit"), "1") ? sm_cell_text(c, "unit") : "", sm_cell_text(c, "state"),
                    sm_cell_text(c, "provider"));
        else
            fprintf(out, "  %-22s %s: %s\n", sm_cell_text(c, "name"), sm_cell_text(c, "state"), sm_cell_text(c, "why"));
    }
}

/* "65 dram_read", "162*fma", or that it cannot be; "" where there is none. */
static const char *limit_text(const json_t *step, char *text, size_t bytes)
{
    const double share = sm_cell_number(step, "share");
    const char *name = sm_cell_text(step, "ceiling"), *why = sm_cell_text(step, "why");
    snprintf(text, bytes, "%s", strncmp(why, "impossible", 10) ? "" : why);
    if (isfinite(share))
        snprintf(text, bytes, "%3.0f%s%.*s", 100 * share, share > SM_LIMIT_IMPOSSIBLE ? "*" : " ", sm_limit_shown(name),
                 name);
    return text;
}

const char *sm_rows_steps_text(const json_t *record, char *text, size_t bytes)
{
    const json_t *steps = json_object_get(record, "steps");
    size_t i, used = 0;
    json_t *step;
    *text = 0;
    json_array_foreach(steps, i, step)
    {
        const double share = sm_cell_number(step, "share");
        if (used >= bytes) break;
        used += (size_t)snprintf(text + used, bytes - used, "%s%s=%.6g", i ? ";" : "", sm_cell_text(step, "label"),
                                 sm_cell_number(step, "ns") * 1e-6);
        if (isfinite(share) && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, ":%.4f:%s", share, sm_cell_text(step, "ceiling"));
    }
    return text;
}

static void print_steps(const json_t *record, FILE *out)
{
    const json_t *steps = json_object_get(record, "steps");
    double total = 0;
    size_t i;
    json_t *step;
    json_array_foreach(steps, i, step) total += sm_cell_number(step, "ns");
    if (!(total > 0)) return;
    fprintf(out,
            "\nWhere %s goes (max_seq %.0f, kv %s, %.0f threads), %.3f ms:\n\n"
            "| step                | share |       ms | %% of limit    |\n"
            "|---------------------|------:|---------:|:--------------|\n",
            !strcmp(sm_cell_text(record, "phase"), "decode")   ? "a decoded token's time"
            : !strcmp(sm_cell_text(record, "phase"), "append") ? "the time of an append"
                                                               : "the time of a prefill",
            sm_cell_number(record, "max_seq"), sm_cell_text(record, "kv_type"), sm_cell_number(record, "threads"),
            total * 1e-6);
    bool beyond = false;
    json_array_foreach(steps, i, step)
    {
        char limit[128];
        fprintf(out, "| %-19s | %4.1f%% | %8.3f | %-13s |\n", sm_cell_text(step, "label"),
                100 * sm_cell_number(step, "ns") / total, sm_cell_number(step, "ns") * 1e-6,
                limit_text(step, limit, sizeof limit));
        beyond |= sm_cell_number(step, "share") > SM_LIMIT_IMPOSSIBLE;
    }
    if (beyond)
        fputs("* a rate counts every column of the static shape, of which a variant may leave out what the mask hides; "
              "and caches\n"
              "may hold a part of what is read from memory otherwise\n",
              out);
}

/* The part of a step that is called so, or NULL. */
static const json_t *part_of(const json_t *step, const char *name)
{
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(step, "parts"), i, part)
    {
        if (!strcmp(sm_cell_text(part, "part"), name)) return part;
    }
    return NULL;
}

/* The steps of layers by kind of layer, where the model has several: its attention has them all. */
static void print_parts(const json_t *record, FILE *out)
{
    const json_t *steps = json_object_get(record, "steps");
    const json_t *kinds = NULL;
    size_t i, k;
    json_t *step, *kind;
    json_array_foreach(steps, i, step)
    {
        if (!strcmp(sm_cell_text(step, "label"), "attention")) kinds = json_object_get(step, "parts");
    }
    if (json_array_size(kinds) < 2) return;
    fputs("\nThe same by kind of layer, ms:\n\n| step                |", out);
    json_array_foreach(kinds, k, kind) fprintf(out, " %16s |", sm_cell_text(kind, "part"));
    fputs("\n|---------------------|", out);
    json_array_foreach(kinds, k, kind) fputs("-----------------:|", out);
    fprintf(out, "\n| %-19s |", "layers");
    json_array_foreach(kinds, k, kind) fprintf(out, " %16.0f |", sm_cell_number(kind, "calls"));
    fputc('\n', out);
    json_array_foreach(steps, i, step)
    {
        if (!json_array_size(json_object_get(step, "parts"))) continue;
        fprintf(out, "| %-19s |", sm_cell_text(step, "label"));
        json_array_foreach(kinds, k, kind)
        {
            const json_t *part = part_of(step, sm_cell_text(kind, "part"));
            if (part)
                fprintf(out, " %16.3f |", sm_cell_number(part, "ns") * 1e-6);
            else
                fprintf(out, " %16s |", "");
        }
        fputc('\n', out);
    }
}

void sm_rows_steps_print(const json_t *record, FILE *out)
{
    print_steps(record, out);
    print_parts(record, out);
    sm_reconcile_print(record, out);
    print_counters(record, out);
}
