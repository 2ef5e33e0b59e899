#include "scales.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "matmul_f16/matmul_f16.h"
#include "matmul_f32/matmul_f32.h"
#include "rmsnorm/rmsnorm.h"
#include "run.h"

const char *sm_site_name(enum sm_site site)
{
    static const char *const names[SM_LAYER_SITES] = {
        [SM_SITE_QKV] = "qkv",
        [SM_SITE_ATTENTION_OUT] = "attention_out",
        [SM_SITE_GATE_UP] = "gate_up",
        [SM_SITE_DOWN] = "down",
        [SM_SITE_PER_LAYER_GATE] = "per_layer_gate",
        [SM_SITE_PER_LAYER_PROJECTION] = "per_layer_projection",
        [SM_SITE_KEYS] = "keys",
        [SM_SITE_VALUES] = "values",
    };
    return (unsigned)site < SM_LAYER_SITES ? names[site] : "?";
}

const char *sm_model_site_name(enum sm_model_site site)
{
    return site == SM_SITE_HEAD ? "head" : site == SM_SITE_PER_LAYER_CONTEXT ? "per_layer_context" : "?";
}

float sm_scale_of(float largest)
{
    const float scale = largest / 32767;
    return scale > 1e-8f ? scale : 1e-8f;
}

struct sm_scales *sm_scales_create(size_t layers)
{
    struct sm_scales *s = calloc(1, sizeof *s);
    if (s) s->layer = calloc(layers, sizeof *s->layer);
    if (s && s->layer) {
        s->layers = layers;
        return s;
    }
    free(s);
    return NULL;
}

void sm_scales_destroy(struct sm_scales *s)
{
    if (!s) return;
    free(s->layer);
    free(s);
}

void sm_scales_kv(const struct sm_scales *s, float (*kv)[2])
{
    for (size_t l = 0; l < s->layers; l++) {
        kv[l][0] = sm_scale_of(s->layer[l][SM_SITE_KEYS]);
        kv[l][1] = sm_scale_of(s->layer[l][SM_SITE_VALUES]);
    }
}

/* A calibration under way: `now` is of the window that runs. */
struct calibration {
    const struct sm_weights *weights;
    struct sm_scales *now, *all;
    size_t rows; /* of a window's static shape */
    float *row;  /* [hidden] */
};

static void note(float *largest, const float *x, size_t count)
{
    float most = *largest;
    for (size_t i = 0; i < count; i++) most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    *largest = most;
}

/* Where a matrix's input is noted, or NULL: it is none of the model's. */
static float *place_of(const struct calibration *c, const struct sm_step *step, const void *matrix)
{
    const struct sm_weights *w = c->weights;
    if (matrix == w->head.data) return &c->now->model[SM_SITE_HEAD];
    if (matrix == w->per_layer_context.data) return &c->now->model[SM_SITE_PER_LAYER_CONTEXT];
    if (step->layer >= c->now->layers) return NULL;
    const struct sm_layer_weights *l = &w->layer[step->layer];
    const struct {
        const struct sm_weight *weight;
        enum sm_site site;
    } all[] = {{&l->q, SM_SITE_QKV},
               {&l->k, SM_SITE_QKV},
               {&l->v, SM_SITE_QKV},
               {&l->o, SM_SITE_ATTENTION_OUT},
               {&l->gate, SM_SITE_GATE_UP},
               {&l->up, SM_SITE_GATE_UP},
               {&l->down, SM_SITE_DOWN},
               {&l->per_layer_gate, SM_SITE_PER_LAYER_GATE},
               {&l->per_layer_projection, SM_SITE_PER_LAYER_PROJECTION}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (matrix == all[i].weight->data) return &c->now->layer[step->layer][all[i].site];
    return NULL;
}

/* The head runs on the last token alone, and may later run on any: the final norm is done here for all. */
static void note_head(struct calibration *c, const struct sm_step *step, size_t count)
{
    struct sm_rmsnorm a = *(const struct sm_rmsnorm *)step->args;
    const float *last = a.x;
    a.y = c->row;
    for (size_t r = 0; r < count && a.rows == 1; r++) {
        a.x = last - r * a.x_stride;
        step->fn(&a, sm_part_whole(1, a.cols));
        note(&c->now->model[SM_SITE_HEAD], c->row, a.cols);
    }
}

/* Padding counts for nothing. */
static void before_step(void *state, const struct sm_step *step, size_t begin, size_t count)
{
    struct calibration *c = state;
    if (step->family == &sm_family_rmsnorm && step->layer == SM_NO_LAYER) note_head(c, step, count);
    if (step->family != &sm_family_matmul_f32 && step->family != &sm_family_matmul_f16) return;
    const struct sm_matmul_f32 *a = step->args;
    float *place = place_of(c, step, a->w);
    const size_t first = a->rows == c->rows ? begin : 0, rows = a->rows == c->rows ? count : a->rows;
    for (size_t r = first; place && r < first + rows; r++) note(place, a->x + r * a->x_stride, a->in);
}

static int note_cache(struct calibration *c, struct sm_session *session, size_t slots)
{
    const struct sm_cache *cache = sm_session_cache(session);
    for (size_t l = 0; l < cache->layers; l++) {
        const struct sm_layer_cache *a = &cache->layer[l];
        if (!a->k) continue; /* another layer's */
        float *slot = malloc(a->kv_heads * a->head_dim * sizeof *slot);
        if (!slot) return -1;
        for (size_t p = 0; p < slots; p++)
            for (int values = 0; values <= 1; values++) {
                sm_cache_read(cache, l, values, p, slot);
                note(&c->now->layer[l][values ? SM_SITE_VALUES : SM_SITE_KEYS], slot, a->kv_heads * a->head_dim);
            }
        free(slot);
    }
    return 0;
}

static void merge(float *all, float *now, double momentum, bool first)
{
    if (momentum > 0)
        *all = first ? *now : (float)(momentum * (double)*all + (1 - momentum) * (double)*now);
    else if (*now > *all)
        *all = *now;
    *now = 0;
}

static void merge_window(struct calibration *c, double momentum, bool first)
{
    for (size_t l = 0; l < c->all->layers; l++)
        for (size_t s = 0; s < SM_LAYER_SITES; s++) merge(&c->all->layer[l][s], &c->now->layer[l][s], momentum, first);
    for (size_t s = 0; s < SM_MODEL_SITES; s++) merge(&c->all->model[s], &c->now->model[s], momentum, first);
}

static int run_windows(struct calibration *c, struct sm_session *session, const int32_t *tokens, size_t count,
                       const struct sm_calibration *how, char *why, size_t why_bytes)
{
    for (size_t at = 0; at < count;) {
        const size_t some = count - at < how->window ? count - at : how->window;
        if (sm_session_prefill(session, tokens + at, some, SM_PAD_RIGHT, why, why_bytes)) return -1;
        if (note_cache(c, session, some)) {
            snprintf(why, why_bytes, "calibrating: out of memory");
            return -1;
        }
        merge_window(c, how->momentum, at == 0);
        at += some;
        if (how->progress && how->progress(how->state, at)) {
            snprintf(why, why_bytes, "calibrating: stopped after %zu of %zu tokens", at, count);
            return -1;
        }
    }
    return 0;
}

int sm_scales_measure(struct sm_scales **scales, const struct sm_model *model, const char *recipe,
                      const struct sm_choice *choice, const int32_t *tokens, size_t count,
                      const struct sm_calibration *how, char *why, size_t why_bytes)
{
    struct sm_choice own = *choice;
    own.scale_in = SM_SCALE_IN_SCORES;
    own.weights_only = true;
    struct sm_weights *weights = NULL;
    struct sm_session *session = NULL;
    struct calibration c = {.now = sm_scales_create(model->shape.layers),
                            .all = sm_scales_create(model->shape.layers),
                            .rows = how->window + 1};
    const struct sm_session_options options = {.max_seq = how->window + 1,
                                               .kv = SM_KV_F32,
                                               .threads = how->threads,
                                               .hooks = {.step = before_step, .state = &c}};
    int bad = -1;
    c.row = malloc(model->shape.hidden * sizeof *c.row);
    if (!c.now || !c.all || !c.row)
        snprintf(why, why_bytes, "calibrating: out of memory");
    else if (!count || !how->window)
        snprintf(why, why_bytes, "calibrating: there is no token");
    else if (!sm_weights_create(&weights, model, recipe, &own, why, why_bytes)) {
        c.weights = weights;
        bad = sm_session_create(&session, weights, &options, why, why_bytes) ||
              run_windows(&c, session, tokens, count, how, why, why_bytes);
    }
    sm_session_destroy(session);
    sm_weights_destroy(weights);
    sm_scales_destroy(c.now);
    free(c.row);
    if (bad)
        sm_scales_destroy(c.all);
    else
        *scales = c.all;
    return bad ? -1 : 0;
}
