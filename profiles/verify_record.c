#include "verify_record.h"

#include <math.h>

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *difference_json(const struct sm_difference *d)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "peir", number(d->peir), "mean",
                     number(d->mean), "max", number(d->max), "kl", number(d->kl), "margin", number(d->margin), "rows",
                     (json_int_t)d->rows, "agree", (json_int_t)d->agree, "ties", (json_int_t)d->ties,
                     "reference_argmax", (json_int_t)d->reference_argmax, "tested_argmax",
                     (json_int_t)d->tested_argmax);
}

static json_t *step_json(const struct verify_step *s)
{
    json_t *o =
        json_pack("{s:I, s:s, s:I, s:I, s:s, s:f}", "turn", (json_int_t)s->turn, "phase", sm_phase_name(s->phase),
                  "past", (json_int_t)s->past, "tokens", (json_int_t)s->tokens, "shapes", s->shapes, "ns", s->ns);
    json_t *d = difference_json(&s->d);
    json_object_update_missing(o, d);
    json_decref(d);
    return o;
}

static json_t *layers_json(const struct verify_layers *l)
{
    json_t *list = json_array();
    for (size_t i = 0; i < l->count; i++) {
        char name[32];
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:o}", "of", verify_layer_name(i, l->count, name, sizeof name),
                                        "relative", number(l->relative[i]), "peir", number(l->peir[i])));
    }
    return list;
}

static json_t *paths_json(const struct verify_paths *p)
{
    json_t *list = json_array();
    for (enum verify_way w = 0; w < VERIFY_WAYS; w++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o, s:b}", "way", verify_way_name(w), "shapes",
                                              p->shapes[w], "peir", number(p->d[w].peir), "max", number(p->d[w].max),
                                              "agree", p->d[w].agree == 1));
    return json_pack("{s:I, s:I, s:o}", "first", (json_int_t)p->first, "tokens", (json_int_t)p->tokens, "ways", list);
}

static json_t *limits_json(const struct verify_limits *l)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "peir_percent", number(l->peir), "mean", number(l->mean), "max",
                     number(l->max), "kl", number(l->kl), "argmax_percent", number(l->argmax), "perplexity_percent",
                     number(l->perplexity));
}

static json_t *text_json(const struct verify_findings *f)
{
    const struct sm_perplexity *r = &f->text[0], *t = &f->text[1];
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "file", f->text_name, "tokens",
                     (json_int_t)t->tokens, "scored", (json_int_t)t->scored, "window", (json_int_t)t->window, "stride",
                     (json_int_t)t->stride, "reference", number(r->perplexity), "tested", number(t->perplexity),
                     "rise_percent", number(100 * f->summary.perplexity_rise), "reference_nll", number(r->nll),
                     "tested_nll", number(t->nll), "reference_error", number(r->error), "tested_error",
                     number(t->error));
}

json_t *verify_findings_json(const struct verify_findings *f)
{
    const struct verify_summary *s = &f->summary;
    json_t *steps = json_array();
    for (size_t i = 0; i < f->result.count; i++) json_array_append_new(steps, step_json(&f->result.steps[i]));
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:o, s:o}",
                          "against", f->against, "fed", f->fed, "scale_in", f->scale_in, "verdict",
                          f->verdict[0] ? "outside" : "within", "why", f->verdict[0] ? f->verdict : NULL, "departs",
                          f->departs[0] ? f->departs : NULL, "calls", (json_int_t)s->steps, "rows", (json_int_t)s->rows,
                          "agree", (json_int_t)s->agree, "ties", (json_int_t)s->ties, "peir",
                          number(s->finite ? s->peir : NAN), "mean", number(s->finite ? s->mean : NAN), "max",
                          number(s->finite ? s->max : NAN), "kl", number(s->finite ? s->kl : NAN), "worst_step",
                          (json_int_t)s->worst + 1, "limits", limits_json(&f->limits), "steps", steps);
    if (f->layers.all.rows) json_object_set_new(o, "full", difference_json(&f->layers.all));
    if (f->layers.count) json_object_set_new(o, "layers", layers_json(&f->layers));
    if (f->text[1].scored) json_object_set_new(o, "perplexity", text_json(f));
    if (f->paths.tokens) json_object_set_new(o, "paths", paths_json(&f->paths));
    return o;
}
