/* Steps are added twice by the same code: once to count bytes, with no arena, and once into the arena. */
#include "plan.h"

#include <stdio.h>

#include "plan_builder.h"

const char *sm_phase_name(enum sm_phase phase)
{
    static const char *const names[SM_PHASES] = {"prefill", "append", "decode"};
    return (unsigned)phase < SM_PHASES ? names[phase] : "?";
}

const char *sm_label_name(enum sm_label label)
{
    static const char *const names[SM_LABELS] = {"mask",
                                                 "embedding",
                                                 "norm",
                                                 "quantise",
                                                 "qkv",
                                                 "rope",
                                                 "cache write",
                                                 "attention",
                                                 "attention out",
                                                 "gate, up",
                                                 "activation",
                                                 "down",
                                                 "head",
                                                 "argmax",
                                                 "kv concat",
                                                 "head norm",
                                                 "post norm",
                                                 "per-layer embedding",
                                                 "per-layer block",
                                                 "last row"};
    return (unsigned)label < SM_LABELS ? names[label] : "?";
}

const char *sm_layer_kind_name(enum sm_layer_kind kind)
{
    static const char *const names[SM_LAYER_KINDS] = {"",        "full",          "full donor",      "full consumer",
                                                      "sliding", "sliding donor", "sliding consumer"};
    return (unsigned)kind < SM_LAYER_KINDS ? names[kind] : "?";
}

enum sm_layer_kind sm_layer_kind_of(const struct sm_model_shape *shape, size_t layer)
{
    const bool full = !shape->layer[layer].window;
    if (shape->layer[layer].kv_source != layer) return full ? SM_LAYER_FULL_CONSUMER : SM_LAYER_SLIDING_CONSUMER;
    for (size_t l = layer + 1; l < shape->layers; l++)
        if (shape->layer[l].kv_source == layer) return full ? SM_LAYER_FULL_DONOR : SM_LAYER_SLIDING_DONOR;
    return full ? SM_LAYER_FULL : SM_LAYER_SLIDING;
}

/* The name of a tensor that the steps of a layer need and that is not there, or NULL. */
static const char *lacking(const struct sm_model_shape *s, const struct sm_weights *weights, size_t l)
{
    const struct sm_layer_weights *w = &weights->layer[l];
    const struct sm_layer_shape *a = &s->layer[l];
    const struct {
        const char *name;
        bool needed, there;
    } all[] = {
        {"query", true, w->q.data},
        {"key", a->kv_source == l, w->k.data},
        {"value", a->kv_source == l && !a->value_is_key, w->v.data},
        {"output", true, w->o.data},
        {"gate", true, w->gate.data},
        {"up", true, w->up.data},
        {"down", true, w->down.data},
        {"attention norm", true, w->attn_norm},
        {"MLP norm", true, w->ffn_norm},
        {"per-layer gate", s->per_layer_width, w->per_layer_gate.data},
        {"per-layer projection", s->per_layer_width, w->per_layer_projection.data},
        {"per-layer table", s->per_layer_width, weights->per_layer_table.data},
        {"per-layer context", s->per_layer_width, weights->per_layer_context.data},
        {"per-layer norm", s->per_layer_width, weights->per_layer_norm},
        {"head", true, weights->head.data},
        {"final norm", true, weights->output_norm},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].needed && !all[i].there) return all[i].name;
    return NULL;
}

static int check(const struct sm_weights *w, const struct sm_cache *c, const struct sm_positions *positions,
                 const struct sm_plan_options *o, char *why, size_t why_bytes)
{
    const char *wrong = NULL;
    if (o->max_seq != c->max_seq || o->kv != c->type || c->layers != w->model->shape.layers)
        wrong = "the cache is of another kind";
    else if (o->concatenated && c->keys != SM_KEYS_PLAIN)
        wrong = "only plain keys are put together, and the cache has others";
    else if (positions->max_seq < o->max_seq)
        wrong = "the rotary tables are too short";
    else if (o->rows < 1 || o->rows > o->max_seq)
        wrong = "there must be 1 to max_seq rows";
    else if (o->threads < 1 || o->threads > PLAN_MAX_THREADS)
        wrong = "there must be 1 to 1024 threads";
    else if (!w->model->shape.runs)
        wrong = "models of its architecture are not run";
    if (wrong) snprintf(why, why_bytes, "planning %s: %s", sm_phase_name(o->phase), wrong);
    for (size_t l = 0; !wrong && l < w->model->shape.layers; l++) {
        wrong = lacking(&w->model->shape, w, l);
        if (wrong)
            snprintf(why, why_bytes, "planning %s: layer %zu needs a tensor that is not there: %s",
                     sm_phase_name(o->phase), l, wrong);
    }
    return wrong ? -1 : 0;
}

size_t sm_plan_bytes(const struct sm_weights *weights, struct sm_cache *cache, const struct sm_positions *positions,
                     const struct sm_plan_options *options, char *why, size_t why_bytes)
{
    struct plan_builder b = {.weights = weights,
                             .cache = cache,
                             .positions = positions,
                             .options = options,
                             .why = why,
                             .why_bytes = why_bytes};
    if (check(weights, cache, positions, options, why, why_bytes)) return 0;
    plan_add_steps(&b);
    return b.failed ? 0 : plan_counted_bytes(&b);
}

struct sm_plan *sm_plan_build(void *arena, size_t bytes, const struct sm_weights *weights, struct sm_cache *cache,
                              const struct sm_positions *positions, const struct sm_plan_options *options, char *why,
                              size_t why_bytes)
{
    struct plan_builder b = {.weights = weights,
                             .cache = cache,
                             .positions = positions,
                             .options = options,
                             .why = why,
                             .why_bytes = why_bytes};
    if (check(weights, cache, positions, options, why, why_bytes)) return NULL;
    plan_add_steps(&b);
    if (b.failed) return NULL;
    if (bytes < plan_counted_bytes(&b)) {
        snprintf(why, why_bytes, "planning %s: the arena has %zu bytes of the %zu it needs",
                 sm_phase_name(options->phase), bytes, plan_counted_bytes(&b));
        return NULL;
    }
    const struct plan_builder counted = b;
    b = (struct plan_builder){.weights = weights,
                              .cache = cache,
                              .positions = positions,
                              .options = options,
                              .why = why,
                              .why_bytes = why_bytes,
                              .arena = arena,
                              .step_room = counted.step_count,
                              .write_room = counted.plan.write_count,
                              .view_room = counted.plan.view_count,
                              .past_room = counted.plan.past_count};
    plan_add_steps(&b);
    return plan_end(&b);
}
