#include "cache.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cache_write.h"
#include "quant.h"

#define ALIGN 64

static const struct {
    const char *name;
    size_t bytes, together; /* together: elements of a slot that keys16 keeps so */
} types[SM_KV_TYPES] = {[SM_KV_F32] = {"f32", 4, SM_CACHE_WRITE_TOGETHER_f32},
                        [SM_KV_F16] = {"f16", 2, SM_CACHE_WRITE_TOGETHER_f16},
                        [SM_KV_I8] = {"i8", 1, SM_CACHE_WRITE_TOGETHER_i8},
                        [SM_KV_I16] = {"i16", 2, SM_CACHE_WRITE_TOGETHER_i16}};

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

const char *sm_keys_name(enum sm_keys keys)
{
    static const char *const names[SM_KEY_LAYOUTS] = {"plain", "keys16"};
    return (unsigned)keys < SM_KEY_LAYOUTS ? names[keys] : "?";
}

size_t sm_keys_slots(enum sm_keys keys, size_t slots)
{
    const size_t block = keys == SM_KEYS_16 ? SM_CACHE_WRITE_BLOCK : 1;
    return (slots + block - 1) / block * block;
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
        const size_t row = a->kv_heads * a->head_dim * types[c->type].bytes;
        const size_t scales = c->type == SM_KV_I8    ? a->kv_heads * slots * sizeof(float)
                              : c->type == SM_KV_I16 ? sizeof(float)
                                                     : 0;
        to->k = take(base, &used, sm_keys_slots(c->keys, slots) * row);
        to->v = take(base, &used, slots * row);
        if (!scales) continue;
        to->k_scale = take(base, &used, scales);
        to->v_scale = take(base, &used, scales);
    }
    return used;
}

int sm_cache_create(struct sm_cache **cache, const struct sm_model_shape *shape, size_t max_seq, enum sm_kv_type type,
                    enum sm_keys keys, char *why, size_t why_bytes)
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
        c->keys = keys;
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

size_t sm_cache_at(const struct sm_cache *c, size_t layer, int values, size_t head, size_t slot, size_t element)
{
    const size_t head_dim = c->layer[layer].head_dim, slots = c->max_seq - 1;
    if (values || c->keys == SM_KEYS_PLAIN) return (head * slots + slot) * head_dim + element;
    return head * sm_keys_slots(c->keys, slots) * head_dim +
           sm_blocks16_at(slot, element, head_dim, types[c->type].together);
}

/* Elements of a slot that follow one another in k (or v). */
static size_t in_a_row(const struct sm_cache *c, const struct sm_layer_cache *a, int values)
{
    return values || c->keys == SM_KEYS_PLAIN ? a->head_dim : types[c->type].together;
}

/* Zeroes keys (or values) of slots [from, from + count) of one head. */
static void clear_slots(const struct sm_cache *c, size_t l, int values, size_t g, size_t from, size_t count)
{
    const struct sm_layer_cache *a = &c->layer[l];
    const size_t element = types[c->type].bytes, run = in_a_row(c, a, values);
    const size_t block = run == a->head_dim ? 1 : SM_CACHE_WRITE_BLOCK; /* slots that are one run of memory */
    char *const data = values ? a->v : a->k;
    for (size_t slot = from, done; slot < from + count; slot += done) {
        const size_t whole = slot % block ? 0 : (from + count - slot) / block * block;
        memset(data + sm_cache_at(c, l, values, g, slot, 0) * element, 0, whole * a->head_dim * element);
        for (size_t i = 0; !whole && i < a->head_dim; i += run)
            memset(data + sm_cache_at(c, l, values, g, slot, i) * element, 0, run * element);
        done = whole ? whole : 1;
    }
}

void sm_cache_clear(struct sm_cache *c, size_t from)
{
    const size_t slots = c->max_seq - 1, count = c->used > from ? c->used - from : 0;
    for (size_t l = 0; l < c->layers && count; l++) {
        const struct sm_layer_cache *a = &c->layer[l];
        if (!a->k) continue;
        for (size_t g = 0; g < a->kv_heads; g++) {
            for (int values = 0; values <= 1; values++) clear_slots(c, l, values, g, from, count);
            if (c->type != SM_KV_I8) continue;
            memset(a->k_scale + g * slots + from, 0, count * sizeof(float));
            memset(a->v_scale + g * slots + from, 0, count * sizeof(float));
        }
    }
    if (c->used > from) c->used = from;
}

/* Bytes of a slot from the cache to `bytes`, or back. Returns what follows them there. */
static char *move(char *bytes, void *in_cache, size_t count, bool back)
{
    memcpy(back ? in_cache : bytes, back ? bytes : in_cache, count);
    return bytes + count;
}

static void move_slot(const struct sm_cache *c, size_t slot, char *bytes, bool back)
{
    const size_t slots = c->max_seq - 1, element = types[c->type].bytes;
    for (size_t l = 0; l < c->layers; l++) {
        const struct sm_layer_cache *a = &c->layer[l];
        for (size_t g = 0; a->k && g < a->kv_heads; g++)
            for (int values = 0; values <= 1; values++) {
                char *const data = values ? a->v : a->k;
                const size_t run = in_a_row(c, a, values);
                for (size_t i = 0; i < a->head_dim; i += run)
                    bytes = move(bytes, data + sm_cache_at(c, l, values, g, slot, i) * element, run * element, back);
                float *const scale = values ? a->v_scale : a->k_scale;
                if (c->type == SM_KV_I8) bytes = move(bytes, scale + g * slots + slot, sizeof *scale, back);
            }
    }
}

size_t sm_cache_slot_bytes(const struct sm_cache *c)
{
    size_t bytes = 0;
    for (size_t l = 0; l < c->layers; l++) {
        const struct sm_layer_cache *a = &c->layer[l];
        const size_t scale = c->type == SM_KV_I8 ? sizeof(float) : 0;
        if (a->k) bytes += 2 * a->kv_heads * (a->head_dim * types[c->type].bytes + scale);
    }
    return bytes;
}

void sm_cache_save(const struct sm_cache *c, size_t slot, void *to)
{
    move_slot(c, slot, to, false);
}

void sm_cache_restore(struct sm_cache *c, size_t slot, const void *from)
{
    move_slot(c, slot, (char *)(uintptr_t)from, true); /* which is only read */
}

void sm_cache_read(const struct sm_cache *c, size_t layer, int values, size_t slot, float *out)
{
    const struct sm_layer_cache *a = &c->layer[layer];
    const size_t slots = c->max_seq - 1;
    const void *data = values ? a->v : a->k;
    const float *scale = values ? a->v_scale : a->k_scale;
    for (size_t g = 0; g < a->kv_heads; g++)
        for (size_t i = 0; i < a->head_dim; i++) {
            const size_t at = sm_cache_at(c, layer, values, g, slot, i);
            float *to = &out[g * a->head_dim + i];
            switch (c->type) {
            case SM_KV_F16: *to = sm_f16_to_f32(((const uint16_t *)data)[at]); break;
            case SM_KV_I16: *to = (float)((const int16_t *)data)[at] * *scale; break;
            case SM_KV_I8: *to = (float)((const int8_t *)data)[at] * scale[g * slots + slot]; break;
            default: *to = ((const float *)data)[at]; break;
            }
        }
}
