#include "verify_table.h"

#include <math.h>
#include <string.h>

#include "stats.h"

static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static const char *text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

/* "" for what is not known. */
static const char *shown(char *cell, size_t bytes, const char *format, double value)
{
    *cell = 0;
    if (isfinite(value)) snprintf(cell, bytes, format, value);
    return cell;
}

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
    json_array_foreach(ways, i, way) worst = fmax(worst, number(way, "peir"));
    return worst;
}

static void print_md_summary(const json_t *record, FILE *out)
{
    const json_t *q = json_object_get(record, "quality"), *text_of = json_object_get(q, "perplexity");
    char cell[9][32], agree[48];
    snprintf(agree, sizeof agree, "%.0f/%.0f", number(q, "agree"), number(q, "rows"));
    fprintf(out, "| %-9s | %-6s | %-3s | %8s | %8s | %8s | %8s | %7s | %8s | %8s | %8s | %9s | %-7s |\n",
            text(record, "recipe"), text(q, "scale_in"), text(record, "kv_type"),
            shown(cell[0], sizeof *cell, "%.4g", 100 * number(q, "peir")),
            shown(cell[1], sizeof *cell, "%.3g", number(q, "mean")),
            shown(cell[2], sizeof *cell, "%.3g", number(q, "max")),
            shown(cell[3], sizeof *cell, "%.3g", number(q, "kl")), agree,
            shown(cell[4], sizeof *cell, "%.2g", 100 * ways_peir(q)),
            shown(cell[5], sizeof *cell, "%.3f", number(text_of, "tested")),
            shown(cell[6], sizeof *cell, "%+.2f", number(text_of, "rise_percent")),
            shown(cell[7], sizeof *cell, "%.2f", decode_ms(record)), text(q, "verdict"));
}

static void print_md_step(size_t i, const char *turn, const char *phase, const json_t *s, FILE *out)
{
    char cell[6][32], argmax[48];
    if (number(s, "rows") > 1)
        snprintf(argmax, sizeof argmax, "%.0f/%.0f", number(s, "agree"), number(s, "rows"));
    else if (number(s, "agree") > 0)
        snprintf(argmax, sizeof argmax, "%.0f", number(s, "reference_argmax"));
    else
        snprintf(argmax, sizeof argmax, "%.0f, not %.0f", number(s, "tested_argmax"), number(s, "reference_argmax"));
    fprintf(out, "| %4zu | %4s | %-7s | %5s | %6.0f | %-12s | %9s | %9s | %9s | %9s | %9s | %-14s |\n", i, turn, phase,
            shown(cell[0], sizeof *cell, "%.0f", number(s, "past")),
            json_object_get(s, "tokens") ? number(s, "tokens") : number(s, "rows"), text(s, "shapes"),
            shown(cell[1], sizeof *cell, "%.4g", 100 * number(s, "peir")),
            shown(cell[2], sizeof *cell, "%.3g", number(s, "mean")),
            shown(cell[3], sizeof *cell, "%.3g", number(s, "max")),
            shown(cell[4], sizeof *cell, "%.3g", number(s, "kl")),
            shown(cell[5], sizeof *cell, "%.3g", number(s, "margin")), argmax);
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
        text(record, "recipe"), text(record, "kv_type"));
    json_array_foreach(json_object_get(q, "steps"), i, s)
    {
        char turn[16];
        snprintf(turn, sizeof turn, "%.0f", number(s, "turn"));
        print_md_step(i + 1, turn, text(s, "phase"), s, out);
    }
    if (full) print_md_step(json_array_size(json_object_get(q, "steps")) + 1, "", "all rows", full, out);
}

static void print_md_paths(const json_t *record, FILE *out)
{
    const json_t *paths = json_object_get(json_object_get(record, "quality"), "paths"), *way;
    size_t i;
    if (!paths) return;
    fprintf(out, "\nthe same %.0f tokens by four ways, %.0f of them prefilled first; PEIR against the decode loop:",
            number(paths, "tokens"), number(paths, "first"));
    json_array_foreach(json_object_get(paths, "ways"), i, way) if (i)
        fprintf(out, " %s (%s) %.3g %%%s", text(way, "way"), text(way, "shapes"), 100 * number(way, "peir"),
                i + 1 < json_array_size(json_object_get(paths, "ways")) ? "," : "\n");
}

static void print_md_layers(const json_t *record, int table, FILE *out)
{
    const json_t *q = json_object_get(record, "quality"), *layers = json_object_get(q, "layers"), *l;
    size_t i;
    if (!text(q, "departs")[0]) return;
    fprintf(out, "\nhidden states of a prefill, layer by layer: %s.\n", text(q, "departs"));
    if (!table) return;
    fprintf(out, "\n| output of      | off by (share) | PEIR %%   |\n|----------------|---------------:|---------:|\n");
    json_array_foreach(layers, i, l)
    {
        char cell[2][32];
        fprintf(out, "| %-14s | %14s | %8s |\n", text(l, "of"),
                shown(cell[0], sizeof *cell, "%.3g", number(l, "relative")),
                shown(cell[1], sizeof *cell, "%.3g", 100 * number(l, "peir")));
    }
}

static void print_md_text(const json_t *t, FILE *out)
{
    if (!t) return;
    fprintf(
        out,
        "\nppl: perplexity of %.0f tokens of %s in windows of %.0f, stride %.0f; the reference's is %.3f (mean -ln p "
        "%.4f, standard error %.4f).\n",
        number(t, "scored"), text(t, "file"), number(t, "window"), number(t, "stride"), number(t, "reference"),
        number(t, "reference_nll"), number(t, "reference_error"));
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
            text(json_object_get(first, "model"), "name"), text(q, "against"), number(first, "max_seq"),
            text(q, "fed"));
    json_array_foreach(records, i, r) print_md_summary(r, out);
    print_md_text(json_object_get(q, "perplexity"), out);
    json_array_foreach(records, i, r)
    {
        const json_t *quality = json_object_get(r, "quality");
        const int alone = json_array_size(records) == 1, outside = strcmp(text(quality, "verdict"), "within") != 0;
        if (outside)
            fprintf(out, "\noutside: %s, scale in %s, kv %s: %s.\n", text(r, "recipe"), text(quality, "scale_in"),
                    text(r, "kv_type"), text(quality, "why"));
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
        fprintf(out, "\"%s\",\"%s\",\"%s\",%.0f,\"%s\",%zu,%.0f,%s,%.0f,%.0f,\"%s\"", text(record, "recipe"),
                text(q, "scale_in"), text(record, "kv_type"), number(record, "max_seq"), text(q, "verdict"), i + 1,
                number(s, "turn"), text(s, "phase"), number(s, "past"), number(s, "tokens"), text(s, "shapes"));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            char cell[32];
            fprintf(out, ",%s", shown(cell, sizeof cell, "%.9g", number(s, keys[k])));
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
