#include "cache.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "quant.h"

#define ALIGN 64

static const struct {
    const char *name;
    size_t bytes;
} types[SM_KV_TYPES] = {
    [SM_KV_F32] = {"f32", 4}, [SM_KV_F16] = {"f16", 2}, [SM_KV_I8] = {"i8", 1}, [SM_KV_I16] = {"i16", 2}};

const char *sm_kv_name(enum sm_kv_type type)
{
    return (unsigned)type < SM_KV_TYPES ? types[type].name : "?";
}

int sm_kv_named(const char *name, enum sm_kv_type *type)
{
    for (size_t i = 0; i < SM_KV_TYPES; i++)
        if (!strcmp(name, types[i].name)) {
            *type = (enum sm_kv_type)i;
            return 0;
        }
    return -1;
}

size_t sm_kv_element_bytes(enum sm_kv_type type)
{
    return types[type].bytes;
}

/* The next `bytes` of the memory that starts at base; only counted while base is NULL. */
static void *take(char *base, size_t *used, size_t bytes)
{
    void *at = base ? base + *used : NULL;
    *used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static size_t place(struct sm_cache *c, const struct sm_model_shape *shape, char *base)
{
    size_t used = 0;
    const size_t slots = c->max_seq - 1;
    for (size_t l = 0; l < c->layers; l++) {
        const struct sm_layer_shape *a = &shape->layer[l];
        struct sm_layer_cache *to = &c->layer[l];
        *to = (struct sm_layer_cache){.kv_heads = a->kv_heads, .head_dim = a->head_dim};
        if (a->kv_source != l) continue;
        const size_t bytes = a->kv_heads * slots * a->head_dim * types[c->type].bytes;
        const size_t scales = c->type == SM_KV_I8    ? a->kv_heads * slots * sizeof(float)
                              : c->type == SM_KV_I16 ? sizeof(float)
                                                     : 0;
        to->k = take(base, &used, bytes);
        to->v = take(base, &used, bytes);
        if (!scales) continue;
        to->k_scale = take(base, &used, scales);
        to->v_scale = take(base, &used, scales);
    }
    return used;
}

int sm_cache_create(struct sm_cache **cache, const struct sm_model_shape *shape, size_t max_seq, enum sm_kv_type type,
                    char *why, size_t why_bytes)
{
    struct sm_cache *c = NULL;
    if (max_seq < 2 || max_seq > SM_MAX_SEQ || (unsigned)type >= SM_KV_TYPES) {
        snprintf(why, why_bytes, "making a cache: max_seq is %zu; it must be 2 to %d", max_seq, SM_MAX_SEQ);
        return -1;
    }
    c = calloc(1, sizeof *c);
    if (c) c->layer = calloc(shape->layers, sizeof *c->layer);
    if (c && c->layer) {
        c->type = type;
        c->max_seq = max_seq;
        c->layers = shape->layers;
        c->bytes = place(c, shape, NULL);
        c->memory = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (c->memory == MAP_FAILED) c->memory = NULL;
    }
    if (!c || !c->layer || !c->memory) {
        snprintf(why, why_bytes, "making a cache of %zu slots in %s: there is no memory for it", max_seq - 1,
                 sm_kv_name(type));
        sm_cache_destroy(c);
        return -1;
    }
    (void)place(c, shape, c->memory);
    (void)madvise(c->memory, c->bytes, MADV_HUGEPAGE); /* read whole by every token */
    memset(c->memory, 0, c->bytes);                    /* the pages are there before anything is timed */
    for (size_t l = 0; type == SM_KV_I16 && l < c->layers; l++)
        if (c->layer[l].k) *c->layer[l].k_scale = *c->layer[l].v_scale = 1;
    *cache = c;
    return 0;
}

void sm_cache_destroy(struct sm_cache *c)
{
    if (!c) return;
    if (c->memory) munmap(c->memory, c->bytes);
    free(c->layer);
    free(c);
}

int sm_cache_set_scales(struct sm_cache *c, const float (*scale)[2], char *why, size_t why_bytes)
{
    for (size_t l = 0; l < c->layers; l++) {
        if (!c->layer[l].k) continue;
        for (int values = 0; values <= 1; values++)
            if (!(scale[l][values] >= 0x1p-100f && scale[l][values] <= 0x1p100f)) {
                snprintf(why, why_bytes, "scaling a cache in i16: the scale of the %s of layer %zu is %g",
                         values ? "values" : "keys", l, (double)scale[l][values]);
                return -1;
            }
        *c->layer[l].k_scale = scale[l][0];
        *c->layer[l].v_scale = scale[l][1];
    }
    return 0;
}

void sm_cache_clear(struct sm_cache *c, size_t from)
{
    const size_t slots = c->max_seq - 1, count = c->used > from ? c->used - from : 0;
    for (size_t l = 0; l < c->layers && count; l++) {
        const struct sm_layer_cache *a = &c->layer[l];
        const size_t row = a->head_dim * types[c->type].bytes;
        if (!a->k) continue;
        for (size_t g = 0; g < a->kv_heads; g++) {
            memset((char *)a->k + (g * slots + from) * row, 0, count * row);
            memset((char *)a->v + (g * slots + from) * row, 0, count * row);
            if (c->type != SM_KV_I8) continue;
            memset(a->k_scale + g * slots + from, 0, count * sizeof(float));
            memset(a->v_scale + g * slots + from, 0, count * sizeof(float));
        }
    }
    if (c->used > from) c->used = from;
}

void sm_cache_read(const struct sm_cache *c, size_t layer, int values, size_t slot, float *out)
{
    const struct sm_layer_cache *a = &c->layer[layer];
    const size_t slots = c->max_seq - 1;
    const void *data = values ? a->v : a->k;
    const float *scale = values ? a->v_scale : a->k_scale;
    for (size_t g = 0; g < a->kv_heads; g++)
        for (size_t i = 0; i < a->head_dim; i++) {
            const size_t at = (g * slots + slot) * a->head_dim + i;
            float *to = &out[g * a->head_dim + i];
            switch (c->type) {
            case SM_KV_F16: *to = sm_f16_to_f32(((const uint16_t *)data)[at]); break;
            case SM_KV_I16: *to = (float)((const int16_t *)data)[at] * *scale; break;
            case SM_KV_I8: *to = (float)((const int8_t *)data)[at] * scale[g * slots + slot]; break;
            default: *to = ((const float *)data)[at]; break;
            }
        }
}
