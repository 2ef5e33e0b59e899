#include "rows_turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "rows.h"
#include "stats.h"

const char *sm_rows_turns_calls(const json_t *turn, char *out, size_t bytes)
{
    const json_t *calls = json_object_get(turn, "calls"), *call;
    size_t i, used = 0, run = 0;
    *out = 0;
    json_array_foreach(calls, i, call)
    {
        const json_t *next = json_array_get(calls, i + 1);
        const int policy = json_is_true(json_object_get(call, "policy"));
        run++;
        if (next && sm_cell_number(next, "rows") == sm_cell_number(call, "rows") &&
            json_is_true(json_object_get(next, "policy")) == policy)
            continue;
        char one[48], times[24] = "";
        if (run > 1) snprintf(times, sizeof times, "x%zu", run);
        const int n = snprintf(one, sizeof one, "%s%.0f%s%s", used ? "," : "", sm_cell_number(call, "rows"),
                               policy ? "*" : "", times);
        if (used + (size_t)n + sizeof "..." > bytes) {
            snprintf(out + used, bytes - used, "...");
            break;
        }
        memcpy(out + used, one, (size_t)n + 1);
        used += (size_t)n;
        run = 0;
    }
    return out;
}

/* Of the samples of a record, in ns: the median and the deviation. NAN without any. */
static double median_of(const json_t *record, double *deviation)
{
    const json_t *samples = json_object_get(record, "samples");
    const size_t n = json_array_size(samples);
    double *values = malloc((n + 1) * sizeof *values);
    struct sm_summary summary;
    for (size_t i = 0; values && i < n; i++) values[i] = json_number_value(json_array_get(samples, i));
    sm_summarise(values ? values : &(double){0}, values ? n : 0, &summary);
    free(values);
    if (deviation) *deviation = summary.deviation;
    return summary.median;
}

/* The part of a case that all records of a session share. */
static size_t session_bytes(const json_t *record)
{
    const char *id = sm_cell_text(record, "case"), *end = strstr(id, "/turn=");
    return end ? (size_t)(end - id) : strlen(id);
}

static const json_t *find(json_t *const *list, size_t count, const json_t *like, double turn, const char *way)
{
    const size_t n = session_bytes(like);
    for (size_t i = 0; i < count; i++) {
        const json_t *t = json_object_get(list[i], "turn");
        if (session_bytes(list[i]) == n && !strncmp(sm_cell_text(list[i], "case"), sm_cell_text(like, "case"), n) &&
            sm_cell_number(t, "turn") == turn && !strcmp(sm_cell_text(t, "way"), way) &&
            !strcmp(sm_cell_text(list[i], "status"), "ok"))
            return list[i];
    }
    return NULL;
}

static void print_turn(json_t *const *list, size_t count, const json_t *own, FILE *out)
{
    const json_t *turn = json_object_get(own, "turn");
    const double t = sm_cell_number(turn, "turn"), tokens = sm_cell_number(own, "n_prompt");
    const json_t *exact = find(list, count, own, t, "exact"), *decode = find(list, count, own, t, "decode");
    double deviation;
    const double ns = median_of(own, &deviation);
    char calls[32], cell[7][32], ttft[48], rate[48] = "";
    snprintf(ttft, sizeof ttft, isfinite(deviation) ? "%.2f ± %.2f" : "%.2f", ns * 1e-6, deviation * 1e-6);
    if (decode)
        snprintf(rate, sizeof rate, "%.1f @ %.0f", 1e9 / median_of(decode, NULL), sm_cell_number(decode, "n_depth"));
    fprintf(
        out, "| %4.0f | %5.0f | %6.0f | %-14s | %*s | %8s | %10s | %7s | %11s | %10s | %15s |\n", t,
        sm_cell_number(turn, "past"), tokens, sm_rows_turns_calls(turn, calls, sizeof calls),
        16 + (strstr(ttft, "±") != NULL), ttft, sm_cell_shown(cell[0], sizeof *cell, "%.1f", tokens / ns * 1e9),
        sm_cell_shown(cell[1], sizeof *cell, "%.1f", sm_cell_number(own, "bucket") / ns * 1e9),
        sm_cell_shown(cell[2], sizeof *cell, "%.2f", ns / median_of(exact, NULL)),
        sm_cell_shown(cell[3], sizeof *cell, "%.2f", median_of(find(list, count, own, t, "decode-loop"), NULL) * 1e-6),
        sm_cell_shown(cell[4], sizeof *cell, "%.2f", median_of(find(list, count, own, t, "re-prefill"), NULL) * 1e-6),
        rate);
}

static void print_list(const char *name, const json_t *buckets, const char *none, FILE *out)
{
    const json_t *rows;
    size_t i;
    fprintf(out, "%s %s", name, json_array_size(buckets) ? "" : none);
    json_array_foreach(buckets, i, rows) fprintf(out, "%s%lld", i ? "," : "", (long long)json_integer_value(rows));
}

static void print_session(json_t *const *list, size_t count, const json_t *first, FILE *out)
{
    const json_t *turn = json_object_get(first, "turn");
    char recipe[64];
    const double of = sm_cell_number(turn, "of");
    fprintf(out, "\nSession of turns %s (recipe %s, kv %s, max_seq %.0f, %.0f threads;", sm_cell_text(turn, "turns"),
            sm_rows_recipe(first, recipe, sizeof recipe), sm_cell_text(first, "kv_type"),
            sm_cell_number(first, "max_seq"), sm_cell_number(first, "threads"));
    print_list(" prefill buckets", json_object_get(turn, "prefill_buckets"), "max_seq", out);
    print_list("; append buckets", json_object_get(turn, "append_buckets"), "none", out);
    fprintf(
        out,
        "; when full: %s):\n\n"
        "| turn |  past | tokens | calls' rows    |         TTFT, ms |      t/s | padded t/s | pad tax | decode loop | "
        "re-prefill | decode t/s @    |\n"
        "|-----:|------:|-------:|----------------|-----------------:|---------:|-----------:|--------:|------------:|-"
        "----------:|----------------:|\n",
        sm_cell_text(turn, "when_full"));
    int policy = 0;
    for (double t = 1; t <= of; t++) {
        const json_t *own = find(list, count, first, t, "buckets");
        if (!own) continue;
        policy |= json_is_true(json_object_get(json_object_get(own, "turn"), "policy"));
        print_turn(list, count, own, out);
    }
    fprintf(
        out,
        "\nTTFT: until the turn's first token is known; pad tax: over the same turn in a bucket made for it; decode "
        "loop, re-prefill: the turn by these ways, ms.\n%s",
        policy ? "* no bucket fitted: what --when-full says was done.\n" : "");
}

void sm_rows_turns_print(json_t *const *list, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        const size_t n = session_bytes(list[i]);
        while (k < i && (session_bytes(list[k]) != n ||
                         strncmp(sm_cell_text(list[k], "case"), sm_cell_text(list[i], "case"), n)))
            k++;
        if (k == i) print_session(list, count, list[i], out);
    }
}
