#include "positions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the divisors of the model, if it has any, are for a layer. */
static bool is_divided(const struct sm_model *m, const struct sm_layer_shape *a)
{
    if (a->window) return false;
    return m->rope_divisors.data ? m->rope_divisors.cols == a->head_dim / 2 : m->shape.rope_scaling.factor > 0;
}

static size_t rotation_of(struct sm_positions *p, const struct sm_model *m, const struct sm_layer_shape *a)
{
    const struct sm_rotation wanted = {.theta = a->rope_theta,
                                       .factor = a->rope_factor,
                                       .head_dim = a->head_dim,
                                       .pairs = a->rope_pairs,
                                       .divided = is_divided(m, a)};
    size_t i = 0;
    for (; i < p->count; i++) {
        const struct sm_rotation *r = &p->rotation[i];
        if (r->theta == wanted.theta && r->factor == wanted.factor && r->head_dim == wanted.head_dim &&
            r->pairs == wanted.pairs && r->divided == wanted.divided)
            break;
    }
    if (i == p->count && i < SM_MAX_ROTATIONS) p->rotation[p->count++] = wanted;
    return i;
}

/* The divisor of a frequency by the llama3 rule (model-math: 0.6): long waves are stretched, short ones are not. */
static double scaling_of(const struct sm_rope_scaling *s, double f)
{
    const double wavelength = 2 * 3.14159265358979323846 / f;
    if (wavelength < s->original / s->high) return 1;
    if (wavelength > s->original / s->low) return s->factor;
    const double t = (s->original / wavelength - s->low) / (s->high - s->low);
    return 1 / ((1 - t) / s->factor + t);
}

static int fill(struct sm_rotation *r, size_t max_seq, const float *divisors, const struct sm_rope_scaling *scaling)
{
    const size_t half = r->head_dim / 2;
    r->cos = malloc(max_seq * half * sizeof *r->cos);
    r->sin = malloc(max_seq * half * sizeof *r->sin);
    if (!r->cos || !r->sin) return -1;
    for (size_t i = 0; i < half; i++) {
        const double plain = pow(r->theta, -2.0 * (double)i / (double)r->head_dim);
        const double divisor = r->divided ? (divisors ? (double)divisors[i] : scaling_of(scaling, plain)) : 1;
        const float f = i < r->pairs ? (float)(plain / (r->factor * divisor)) : 0;
        if (!isfinite((float)max_seq * f)) return -1;
        for (size_t p = 0; p < max_seq; p++) {
            const float angle = (float)p * f;
            r->cos[p * half + i] = (float)cos((double)angle);
            r->sin[p * half + i] = (float)sin((double)angle);
        }
    }
    return 0;
}

/* The divisors as aligned floats that are finite and positive: NULL when the model has none, or they are bad. */
static float *divisors_of(const struct sm_model *model, int *bad)
{
    const struct sm_tensor *t = &model->rope_divisors;
    if (!t->data) return NULL;
    float *copy = malloc(t->bytes);
    *bad = !copy;
    if (copy) memcpy(copy, t->data, t->bytes);
    for (size_t i = 0; copy && i < t->cols; i++)
        if (!(copy[i] > 0) || !isfinite(copy[i])) *bad = 1;
    return copy;
}

int sm_positions_create(struct sm_positions **positions, const struct sm_model *model, size_t max_seq, char *why,
                        size_t why_bytes)
{
    const struct sm_model_shape *shape = &model->shape;
    struct sm_positions *p = calloc(1, sizeof *p);
    int bad = 0;
    float *divisors = divisors_of(model, &bad);
    if (bad) snprintf(why, why_bytes, "making rotary tables: the divisors in the model are not positive numbers");
    if (!p && !bad) snprintf(why, why_bytes, "making rotary tables: out of memory");
    bad |= !p;
    for (size_t l = 0; l < shape->layers && !bad; l++) {
        const size_t kind = rotation_of(p, model, &shape->layer[l]);
        if (kind == SM_MAX_ROTATIONS) snprintf(why, why_bytes, "making rotary tables: the layers have too many kinds");
        bad |= kind == SM_MAX_ROTATIONS;
        p->of_layer[l] = (unsigned char)kind;
    }
    for (size_t i = 0; !bad && i < p->count; i++) {
        bad |= fill(&p->rotation[i], max_seq, divisors, &shape->rope_scaling);
        p->bytes += 2 * max_seq * (p->rotation[i].head_dim / 2) * sizeof(float);
        if (bad)
            snprintf(why, why_bytes, "making rotary tables for %zu positions: out of memory, or an angle is infinite",
                     max_seq);
    }
    free(divisors);
    if (!bad) p->max_seq = max_seq;
    if (bad)
        sm_positions_destroy(p);
    else
        *positions = p;
    return bad ? -1 : 0;
}

void sm_positions_destroy(struct sm_positions *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->count; i++) {
        free(p->rotation[i].cos);
        free(p->rotation[i].sin);
    }
    free(p);
}
