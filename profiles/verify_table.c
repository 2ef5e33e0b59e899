#include "verify_table.h"

#include <math.h>
#include <string.h>

#include "cells.h"
#include "stats.h"

static double decode_ms(const json_t *record)
{
    const json_t *samples = json_object_get(record, "samples");
    double ns[4096];
    size_t count = 0, i;
    const json_t *v;
    json_array_foreach(samples, i, v) if (count < sizeof ns / sizeof *ns) ns[count++] = json_number_value(v);
    return sm_median(ns, count) * 1e-6;
}

/* The worst of the ways, a ratio; NAN: not walked. */
static double ways_peir(const json_t *quality)
{
    const json_t *ways = json_object_get(json_object_get(quality, "paths"), "ways"), *way;
    double worst = NAN;
    size_t i;
    json_array_foreach(ways, i, way) worst = fmax(worst, sm_cell_number(way, "peir"));
    return worst;
}

static void print_md_summary(const json_t *record, FILE *out)
{
    const json_t *q = json_object_get(record, "quality"), *text_of = json_object_get(q, "perplexity");
    char cell[9][32], agree[48];
    snprintf(agree, sizeof agree, "%.0f/%.0f", sm_cell_number(q, "agree"), sm_cell_number(q, "rows"));
    fprintf(out, "| %-9s | %-6s | %-3s | %8s | %8s | %8s | %8s | %7s | %8s | %8s | %8s | %9s | %-7s |\n",
            sm_cell_text(record, "recipe"), sm_cell_text(q, "scale_in"), sm_cell_text(record, "kv_type"),
            sm_cell_shown(cell[0], sizeof *cell, "%.4g", 100 * sm_cell_number(q, "peir")),
            sm_cell_shown(cell[1], sizeof *cell, "%.3g", sm_cell_number(q, "mean")),
            sm_cell_shown(cell[2], sizeof *cell, "%.3g", sm_cell_number(q, "max")),
            sm_cell_shown(cell[3], sizeof *cell, "%.3g", sm_cell_number(q, "kl")), agree,
            sm_cell_shown(cell[4], sizeof *cell, "%.2g", 100 * ways_peir(q)),
            sm_cell_shown(cell[5], sizeof *cell, "%.3f", sm_cell_number(text_of, "tested")),
            sm_cell_shown(cell[6], sizeof *cell, "%+.2f", sm_cell_number(text_of, "rise_percent")),
            sm_cell_shown(cell[7], sizeof *cell, "%.2f", decode_ms(record)), sm_cell_text(q, "verdict"));
}

static void print_md_step(size_t i, const char *turn, const char *phase, const json_t *s, FILE *out)
{
    char cell[6][32], argmax[48];
    if (sm_cell_number(s, "rows") > 1)
        snprintf(argmax, sizeof argmax, "%.0f/%.0f", sm_cell_number(s, "agree"), sm_cell_number(s, "rows"));
    else if (sm_cell_number(s, "agree") > 0)
        snprintf(argmax, sizeof argmax, "%.0f", sm_cell_number(s, "reference_argmax"));
    else
        snprintf(argmax, sizeof argmax, "%.0f, not %.0f", sm_cell_number(s, "tested_argmax"),
                 sm_cell_number(s, "reference_argmax"));
    fprintf(out, "| %4zu | %4s | %-7s | %5s | %6.0f | %-12s | %9s | %9s | %9s | %9s | %9s | %-14s |\n", i, turn, phase,
            sm_cell_shown(cell[0], sizeof *cell, "%.0f", sm_cell_number(s, "past")),
            json_object_get(s, "tokens") ? sm_cell_number(s, "tokens") : sm_cell_number(s, "rows"),
            sm_cell_text(s, "shapes"), sm_cell_shown(cell[1], sizeof *cell, "%.4g", 100 * sm_cell_number(s, "peir")),
            sm_cell_shown(cell[2], sizeof *cell, "%.3g", sm_cell_number(s, "mean")),
            sm_cell_shown(cell[3], sizeof *cell, "%.3g", sm_cell_number(s, "max")),
            sm_cell_shown(cell[4], sizeof *cell, "%.3g", sm_cell_number(s, "kl")),
            sm_cell_shown(cell[5], sizeof *cell, "%.3g", sm_cell_number(s, "margin")), argmax);
}

static void print_md_steps(const json_t *record, FILE *out)
{
    const json_t *q = json_object_get(record, "quality"), *full = json_object_get(q, "full"), *s;
    size_t i;
    fprintf(
        out,
        "\nrecipe %s, kv %s, call by call (rows: of the static shapes that took the tokens; margin: of the "
        "reference's greatest logit):\n\n"
        "| step | turn | phase   |  past | tokens | rows         |    PEIR %% |      mean |       max |  KL, nats |    "
        "margin | argmax         |\n"
        "|-----:|-----:|---------|------:|-------:|--------------|----------:|----------:|----------:|----------:|----"
        "------:|----------------|\n",
        sm_cell_text(record, "recipe"), sm_cell_text(record, "kv_type"));
    json_array_foreach(json_object_get(q, "steps"), i, s)
    {
        char turn[16];
        snprintf(turn, sizeof turn, "%.0f", sm_cell_number(s, "turn"));
        print_md_step(i + 1, turn, sm_cell_text(s, "phase"), s, out);
    }
    if (full) print_md_step(json_array_size(json_object_get(q, "steps")) + 1, "", "all rows", full, out);
}

static void print_md_paths(const json_t *record, FILE *out)
{
    const json_t *paths = json_object_get(json_object_get(record, "quality"), "paths"), *way;
    size_t i;
    if (!paths) return;
    fprintf(out, "\nthe same %.0f tokens by four ways, %.0f of them prefilled first; PEIR against the decode loop:",
            sm_cell_number(paths, "tokens"), sm_cell_number(paths, "first"));
    json_array_foreach(json_object_get(paths, "ways"), i, way) if (i) fprintf(
        out, " %s (%s) %.3g %%%s", sm_cell_text(way, "way"), sm_cell_text(way, "shapes"),
        100 * sm_cell_number(way, "peir"), i + 1 < json_array_size(json_object_get(paths, "ways")) ? "," : "\n");
}

static void print_md_layers(const json_t *record, int table, FILE *out)
{
    const json_t *q = json_object_get(record, "quality"), *layers = json_object_get(q, "layers"), *l;
    size_t i;
    if (!sm_cell_text(q, "departs")[0]) return;
    fprintf(out, "\nhidden states of a prefill, layer by layer: %s.\n", sm_cell_text(q, "departs"));
    if (!table) return;
    fprintf(out, "\n| output of      | off by (share) | PEIR %%   |\n|----------------|---------------:|---------:|\n");
    json_array_foreach(layers, i, l)
    {
        char cell[2][32];
        fprintf(out, "| %-14s | %14s | %8s |\n", sm_cell_text(l, "of"),
                sm_cell_shown(cell[0], sizeof *cell, "%.3g", sm_cell_number(l, "relative")),
                sm_cell_shown(cell[1], sizeof *cell, "%.3g", 100 * sm_cell_number(l, "peir")));
    }
}

static void print_md_text(const json_t *t, FILE *out)
{
    if (!t) return;
    fprintf(
        out,
        "\nppl: perplexity of %.0f tokens of %s in windows of %.0f, stride %.0f; the reference's is %.3f (mean -ln p "
        "%.4f, standard error %.4f).\n",
        sm_cell_number(t, "scored"), sm_cell_text(t, "file"), sm_cell_number(t, "window"), sm_cell_number(t, "stride"),
        sm_cell_number(t, "reference"), sm_cell_number(t, "reference_nll"), sm_cell_number(t, "reference_error"));
}

static void print_md(const json_t *records, FILE *out)
{
    size_t i;
    json_t *r;
    const json_t *first = json_array_get(records, 0), *q = json_object_get(first, "quality");
    fprintf(out,
            "%s against %s; max_seq %.0f; both sides are fed the %s side's tokens.\n"
            "PEIR = max|reference - tested| / (max - min of the reference): the reference gives the interval.\n"
            "ways: the same tokens in chunks, in one bucket, decoded and prefilled; their worst PEIR from the decode "
            "loop.\n\n"
            "| recipe    | scale  | kv  |   PEIR %% |     mean |      max | KL, nats |  argmax |   ways %% |      ppl "
            "|    ppl %% | "
            "decode ms | verdict |\n"
            "|-----------|--------|-----|---------:|---------:|---------:|---------:|--------:|---------:|---------:|--"
            "-------:|-"
            "---------:|---------|\n",
            sm_cell_text(json_object_get(first, "model"), "name"), sm_cell_text(q, "against"),
            sm_cell_number(first, "max_seq"), sm_cell_text(q, "fed"));
    json_array_foreach(records, i, r) print_md_summary(r, out);
    print_md_text(json_object_get(q, "perplexity"), out);
    json_array_foreach(records, i, r)
    {
        const json_t *quality = json_object_get(r, "quality");
        const int alone = json_array_size(records) == 1,
                  outside = strcmp(sm_cell_text(quality, "verdict"), "within") != 0;
        if (outside)
            fprintf(out, "\noutside: %s, scale in %s, kv %s: %s.\n", sm_cell_text(r, "recipe"),
                    sm_cell_text(quality, "scale_in"), sm_cell_text(r, "kv_type"), sm_cell_text(quality, "why"));
        if (alone) print_md_steps(r, out);
        if (alone) print_md_paths(r, out);
        if (outside) print_md_layers(r, alone, out);
    }
}

static void print_csv(const json_t *record, FILE *out)
{
    const json_t *q = json_object_get(record, "quality"), *s;
    static const char *const keys[] = {
        "peir", "mean", "max", "kl", "margin", "rows", "agree", "reference_argmax", "tested_argmax", "ns"};
    size_t i;
    json_array_foreach(json_object_get(q, "steps"), i, s)
    {
        fprintf(out, "\"%s\",\"%s\",\"%s\",%.0f,\"%s\",%zu,%.0f,%s,%.0f,%.0f,\"%s\"", sm_cell_text(record, "recipe"),
                sm_cell_text(q, "scale_in"), sm_cell_text(record, "kv_type"), sm_cell_number(record, "max_seq"),
                sm_cell_text(q, "verdict"), i + 1, sm_cell_number(s, "turn"), sm_cell_text(s, "phase"),
                sm_cell_number(s, "past"), sm_cell_number(s, "tokens"), sm_cell_text(s, "shapes"));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            char cell[32];
            fprintf(out, ",%s", sm_cell_shown(cell, sizeof cell, "%.9g", sm_cell_number(s, keys[k])));
        }
        fputc('\n', out);
    }
}

static void print_object(const json_t *record, FILE *out)
{
    static const char *const keys[] = {"case",    "model",   "recipe",  "kv_type",
                                       "max_seq", "threads", "variant", "quality"};
    json_t *o = json_object();
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        json_object_set(o, keys[k], json_object_get(record, keys[k]));
    json_object_set(o, "decode_ns", json_object_get(record, "samples"));
    json_dumpf(o, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(o);
}

void verify_table_print(const json_t *records, enum verify_format format, FILE *out)
{
    size_t i;
    json_t *r;
    if (!json_array_size(records)) return;
    if (format == VERIFY_MD) {
        print_md(records, out);
        return;
    }
    if (format == VERIFY_CSV)
        fputs("recipe,scale_in,kv_type,max_seq,verdict,step,turn,phase,past,tokens,shapes,peir,mean,max,kl,margin,rows,"
              "agree,"
              "reference_argmax,tested_argmax,ns\n",
              out);
    json_array_foreach(records, i, r)
    {
        if (format == VERIFY_CSV) {
            print_csv(r, out);
            continue;
        }
        if (format == VERIFY_JSON) fputs(i ? ",\n " : "[", out);
        print_object(r, out);
        if (format == VERIFY_JSONL) fputc('\n', out);
    }
    if (format == VERIFY_JSON) fputs("]\n", out);
}
