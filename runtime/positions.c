#include "positions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t rotation_of(struct sm_positions *p, const struct sm_layer_shape *a)
{
    size_t i = 0;
    while (i < p->count && (p->rotation[i].theta != a->rope_theta || p->rotation[i].head_dim != a->head_dim ||
                            p->rotation[i].pairs != a->rope_pairs))
        i++;
    if (i == p->count && i < SM_MAX_ROTATIONS)
        p->rotation[p->count++] =
            (struct sm_rotation){.theta = a->rope_theta, .head_dim = a->head_dim, .pairs = a->rope_pairs};
    return i;
}

static int fill(struct sm_rotation *r, size_t max_seq, const float *divisors)
{
    const size_t half = r->head_dim / 2;
    r->cos = malloc(max_seq * half * sizeof *r->cos);
    r->sin = malloc(max_seq * half * sizeof *r->sin);
    if (!r->cos || !r->sin) return -1;
    for (size_t i = 0; i < half; i++) {
        float f = i < r->pairs ? (float)pow(r->theta, -2.0 * (double)i / (double)r->head_dim) : 0;
        if (divisors) f /= divisors[i];
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
        const size_t kind = rotation_of(p, &shape->layer[l]);
        if (kind == SM_MAX_ROTATIONS) snprintf(why, why_bytes, "making rotary tables: the layers have too many kinds");
        bad |= kind == SM_MAX_ROTATIONS;
        p->of_layer[l] = (unsigned char)kind;
    }
    for (size_t i = 0; !bad && i < p->count; i++) {
        bad |= fill(&p->rotation[i], max_seq, divisors);
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
