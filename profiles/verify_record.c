#include "verify_record.h"

#include <math.h>

#include "record.h"

static json_t *difference_json(const struct sm_difference *d)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "peir", sm_record_number(d->peir), "mean",
                     sm_record_number(d->mean), "max", sm_record_number(d->max), "kl", sm_record_number(d->kl),
                     "margin", sm_record_number(d->margin), "rows", (json_int_t)d->rows, "agree", (json_int_t)d->agree,
                     "ties", (json_int_t)d->ties, "reference_argmax", (json_int_t)d->reference_argmax, "tested_argmax",
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
        json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "of",
                                              verify_layer_name(i, l->count, name, sizeof name), "relative",
                                              sm_record_number(l->relative[i]), "peir", sm_record_number(l->peir[i])));
    }
    return list;
}

static json_t *paths_json(const struct verify_paths *p)
{
    json_t *list = json_array();
    for (enum verify_way w = 0; w < VERIFY_WAYS; w++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o, s:b}", "way", verify_way_name(w), "shapes",
                                              p->shapes[w], "peir", sm_record_number(p->d[w].peir), "max",
                                              sm_record_number(p->d[w].max), "agree", p->d[w].agree == 1));
    return json_pack("{s:I, s:I, s:o}", "first", (json_int_t)p->first, "tokens", (json_int_t)p->tokens, "ways", list);
}

static json_t *limits_json(const struct verify_limits *l)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "peir_percent", sm_record_number(l->peir), "mean",
                     sm_record_number(l->mean), "max", sm_record_number(l->max), "kl", sm_record_number(l->kl),
                     "argmax_percent", sm_record_number(l->argmax), "perplexity_percent",
                     sm_record_number(l->perplexity));
}

static json_t *text_json(const struct verify_findings *f)
{
    const struct sm_perplexity *r = &f->text[0], *t = &f->text[1];
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "file", f->text_name, "tokens",
                     (json_int_t)t->tokens, "scored", (json_int_t)t->scored, "window", (json_int_t)t->window, "stride",
                     (json_int_t)t->stride, "reference", sm_record_number(r->perplexity), "tested",
                     sm_record_number(t->perplexity), "rise_percent",
                     sm_record_number(100 * f->summary.perplexity_rise), "reference_nll", sm_record_number(r->nll),
                     "tested_nll", sm_record_number(t->nll), "reference_error", sm_record_number(r->error),
                     "tested_error", sm_record_number(t->error));
}

json_t *verify_findings_json(const struct verify_findings *f)
{
    const struct verify_summary *s = &f->summary;
    json_t *steps = json_array();
    for (size_t i = 0; i < f->result.count; i++) json_array_append_new(steps, step_json(&f->result.steps[i]));
    json_t *o = json_pack(
        "{s:s, s:s, s:s, s:s, s:s?, s:s?, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "against",
        f->against, "fed", f->fed, "scale_in", f->scale_in, "verdict", f->verdict[0] ? "outside" : "within", "why",
        f->verdict[0] ? f->verdict : NULL, "departs", f->departs[0] ? f->departs : NULL, "calls", (json_int_t)s->steps,
        "rows", (json_int_t)s->rows, "agree", (json_int_t)s->agree, "ties", (json_int_t)s->ties, "peir",
        sm_record_number(s->finite ? s->peir : NAN), "mean", sm_record_number(s->finite ? s->mean : NAN), "max",
        sm_record_number(s->finite ? s->max : NAN), "kl", sm_record_number(s->finite ? s->kl : NAN), "worst_step",
        (json_int_t)s->worst + 1, "limits", limits_json(&f->limits), "steps", steps);
    if (f->layers.all.rows) json_object_set_new(o, "full", difference_json(&f->layers.all));
    if (f->layers.count) json_object_set_new(o, "layers", layers_json(&f->layers));
    if (f->text[1].scored) json_object_set_new(o, "perplexity", text_json(f));
    if (f->paths.tokens) json_object_set_new(o, "paths", paths_json(&f->paths));
    return o;
}
