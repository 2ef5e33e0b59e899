#include "verify_layers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_BYTES (512u << 20) /* of one side's states and logits */

size_t verify_layers_rows(const struct sm_model_shape *shape, size_t wanted)
{
    const size_t row = (shape->vocab + (shape->layers + 2) * shape->hidden) * sizeof(float);
    const size_t most = MOST_BYTES / row;
    return wanted < 1 || most < 1 ? 1 : wanted < most ? wanted : most;
}

const char *verify_layer_name(size_t i, size_t count, char *text, size_t bytes)
{
    if (i == 0) return "the embedding";
    if (i + 1 == count) return "the final norm";
    snprintf(text, bytes, "layer %zu", i - 1);
    return text;
}

/* A session that has just processed the tokens, all rows kept; NULL and a sentence. */
static struct sm_session *prefilled(const struct verify_layers_setup *setup, const struct sm_weights *weights,
                                    enum sm_kv_type kv, char *why, size_t why_bytes)
{
    const struct sm_session_options options = {.max_seq = setup->rows + 1,
                                               .kv = kv,
                                               .kv_scales = setup->kv_scales,
                                               .threads = setup->threads,
                                               .all_rows = true};
    struct sm_session *s = NULL;
    if (sm_session_create(&s, weights, &options, why, why_bytes)) return NULL;
    if (!sm_session_prefill(s, setup->tokens, setup->rows, SM_PAD_RIGHT, why, why_bytes)) return s;
    sm_session_destroy(s);
    return NULL;
}

/* The i-th states of the reference, or NULL. */
static const float *reference_states(const struct verify_layers_setup *setup, const struct sm_plan *reference, size_t i)
{
    const struct sm_model_shape *shape = &setup->tested->model->shape;
    if (reference) return sm_plan_hidden(reference, i);
    if (i == shape->layers + 1) return setup->given.norm;
    return setup->given.states ? setup->given.states + i * setup->rows * shape->hidden : NULL;
}

static void compare(const struct verify_layers_setup *setup, const struct sm_plan *tested,
                    const struct sm_plan *reference, struct verify_layers *layers)
{
    const struct sm_model_shape *shape = &setup->tested->model->shape;
    const float *logits = reference ? sm_plan_logits(reference) : setup->given.logits;
    for (size_t i = 0; i < layers->count; i++) {
        const float *states = reference_states(setup, reference, i);
        struct sm_difference d;
        layers->relative[i] = layers->peir[i] = NAN;
        if (!states) continue;
        sm_difference_measure(states, sm_plan_hidden(tested, i), setup->rows, shape->hidden, &d);
        layers->relative[i] = d.finite ? sqrt(d.square / (d.power > 0 ? d.power : 1)) : INFINITY;
        layers->peir[i] = d.peir;
        if (layers->first == layers->count && layers->relative[i] > setup->limit) layers->first = i;
    }
    if (logits) sm_difference_measure(logits, sm_plan_logits(tested), setup->rows, shape->vocab, &layers->all);
}

int verify_layers_run(const struct verify_layers_setup *setup, struct verify_layers *layers, char *why,
                      size_t why_bytes)
{
    struct sm_session *tested = NULL, *reference = NULL;
    const size_t count = setup->tested->model->shape.layers + 2;
    int outcome = -1;
    *layers = (struct verify_layers){.count = count,
                                     .first = count,
                                     .relative = malloc(count * sizeof *layers->relative),
                                     .peir = malloc(count * sizeof *layers->peir)};
    if (!layers->relative || !layers->peir) {
        snprintf(why, why_bytes, "there is no memory to compare %zu layers", count);
        return -1;
    }
    tested = prefilled(setup, setup->tested, setup->kv, why, why_bytes);
    if (!tested) goto done;
    if (setup->reference && !(reference = prefilled(setup, setup->reference, SM_KV_F32, why, why_bytes))) goto done;
    compare(setup, sm_session_plan(tested, SM_PHASE_PREFILL),
            reference ? sm_session_plan(reference, SM_PHASE_PREFILL) : NULL, layers);
    outcome = 0;
done:
    sm_session_destroy(tested);
    sm_session_destroy(reference);
    return outcome;
}

void verify_layers_free(struct verify_layers *layers)
{
    free(layers->relative);
    free(layers->peir);
    *layers = (struct verify_layers){0};
}

void verify_layers_say(const struct verify_layers *layers, double limit, char *text, size_t bytes)
{
    char name[32];
    const size_t first = layers->first, count = layers->count;
    if (first < count && first)
        snprintf(
            text, bytes, "%s is the first that departs: its output is off by %.2g of its size, what enters it by %.2g",
            verify_layer_name(first, count, name, sizeof name), layers->relative[first], layers->relative[first - 1]);
    else if (first < count)
        snprintf(text, bytes, "the embedding is off by %.2g of its size already", layers->relative[0]);
    else if (isnan(layers->relative[count - 1]))
        snprintf(text, bytes, "the reference has no hidden states to say in which layer");
    else
        snprintf(text, bytes,
                 "no layer is off by more than %.2g of its size when these tokens are prefilled: the difference comes "
                 "from the head, or from a later call or its cache",
                 limit);
}
