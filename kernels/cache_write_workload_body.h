/* cache_write_workload_body.h - the workload of every cache_write_* family. workload.c of a family defines
 *
 *     CACHE_FAMILY         its name, as a string
 *     CACHE_WORKLOAD       the symbol of its workload
 *     CACHE_ELEMENT        the type of an element of the cache
 *     CACHE_TOGETHER       SM_CACHE_WRITE_TOGETHER_* of it
 *     CACHE_HAS_SCALE      1 when there is a scale a slot
 *     CACHE_TENSOR_SCALE   1 when there is one scale for all, else left undefined
 *     CACHE_POISON         byte b of memory that holds no likely element
 *     convert(x, size)     what an x has to become; size is max |x| of its head, or the scale of all
 *
 * and then includes this, once.
 *
 * Before a run the slots to be written hold poison, all others a pattern of their own that must survive. */
#include <stdlib.h>
#include <string.h>

#include "cache_write.h"
#include "rows_workload.h"

#ifndef CACHE_TENSOR_SCALE
#define CACHE_TENSOR_SCALE 0
#endif

struct work {
    enum sm_regime regime;
    enum { SLOT_MAJOR, TRANSPOSED, BLOCKS16 } layout; /* of the last prepare */
    size_t odd;                                       /* elements between the heads */
    struct sm_rows x;
    struct sm_guarded cache, scale;
    float tensor_scale; /* what `scale` holds where there is one for all */
    struct sm_cache_write args;
};

static const char *refuse(const struct sm_shape *shape)
{
    const int64_t slots = shape->dim[SM_CACHE_WRITE_MAX_SEQ] - 1, rows = shape->dim[SM_CACHE_WRITE_ROWS],
                  valid = shape->dim[SM_CACHE_WRITE_VALID];
    if (rows > slots) return "more rows than the max_seq - 1 slots of the cache";
    if (valid >= 0 && valid + rows > slots) return "valid + rows is past the max_seq - 1 slots of the cache";
    return NULL;
}

static float value(struct sm_random *r, enum sm_regime regime)
{
    switch (regime) {
    case SM_REGIME_EXACT: return (float)((int)sm_random_below(r, 255) - 127);
    case SM_REGIME_EXTREME: {
        /* ties of f16, its overflow, its smallest; ties of int8 against a largest of 127; ends of int16 */
        static const float odd[] = {2049,       2051, 65504, 65519.996f, 65520,    0x1p-24f, 0x1p-25f,
                                    0x1.8p-24f, 0.5f, 1.5f,  126.5f,     32766.5f, 32767.5f};
        const float x = odd[sm_random_below(r, sizeof odd / sizeof *odd)];
        return sm_random_below(r, 2) ? sm_random_extreme(r, 0x1.fffffep127f) : sm_random_below(r, 2) ? x : -x;
    }
    default: return sm_random_normal(r);
    }
}

/* Extreme rows are also all zero, all tiny, or within -127..127 with ties of int8. */
static void fill_head(float *x, size_t n, enum sm_regime regime, struct sm_random *r)
{
    const uint32_t kind = regime == SM_REGIME_EXTREME ? sm_random_below(r, 5) : 4;
    for (size_t c = 0; c < n; c++) {
        x[c] = value(r, regime);
        if (kind == 0) x[c] = copysignf(0, x[c]);
        if (kind == 1) x[c] = copysignf(sm_random_below(r, 2) ? 0x1p-130f : 0x1.fffffep-121f, x[c]);
        if (kind == 2) x[c] = copysignf((float)sm_random_below(r, 127) + 0.5f, x[c]);
    }
    if (kind == 2) x[sm_random_below(r, (uint32_t)n)] = 127;
}

/* In the random regime it suits the values; else a power of two more often than not, for ties. */
static inline float tensor_scale(struct sm_random *r, enum sm_regime regime)
{
    static const float scales[] = {1, 0.5f, 0x1p-10f, 3.1e-4f, 0x1p-100f, 0x1p100f};
    return regime == SM_REGIME_RANDOM ? 4.0f / 32767 : scales[sm_random_below(r, regime == SM_REGIME_EXACT ? 3 : 6)];
}

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_rows_destroy(&k->x);
    sm_guarded_destroy(&k->cache);
    sm_guarded_destroy(&k->scale);
    free(k);
}

static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    const size_t count = (size_t)shape->dim[SM_CACHE_WRITE_ROWS],
                 slots = (size_t)shape->dim[SM_CACHE_WRITE_MAX_SEQ] - 1,
                 head_dim = (size_t)shape->dim[SM_CACHE_WRITE_HEAD_DIM],
                 kv_heads = (size_t)shape->dim[SM_CACHE_WRITE_KV_HEADS];
    const int64_t valid = shape->dim[SM_CACHE_WRITE_VALID];
    /* outside the random regime: left padding, and room between the heads */
    const size_t odd = regime == SM_REGIME_RANDOM ? 0 : (size_t)(seed % 4);
    k->regime = regime;
    k->odd = odd;
    k->args = (struct sm_cache_write){.scale_stride = slots + odd,
                                      .slots = slots,
                                      .first = odd,
                                      .count = count,
                                      .slot = valid < 0 ? slots - count : (size_t)valid,
                                      .kv_heads = kv_heads,
                                      .head_dim = head_dim};
    const size_t align = regime == SM_REGIME_RANDOM ? 64 : sizeof(CACHE_ELEMENT);
    if (sm_rows_create(&k->x, odd + count, kv_heads * head_dim, regime, seed) ||
        sm_guarded_create(
            &k->cache, kv_heads * (sm_blocks16_elements(slots, head_dim, CACHE_TOGETHER) + odd) * sizeof(CACHE_ELEMENT),
            align) ||
        sm_guarded_create(&k->scale,
                          CACHE_TENSOR_SCALE ? sizeof(float)
                                             : CACHE_HAS_SCALE * kv_heads * k->args.scale_stride * sizeof(float),
                          4)) {
        destroy(k);
        return NULL;
    }
    struct sm_random random = {seed};
    for (size_t r = odd; r < k->x.rows; r++)
        for (size_t g = 0; g < kv_heads; g++) fill_head(sm_rows_at(&k->x, r) + g * head_dim, head_dim, regime, &random);
    sm_rows_seal(&k->x);
    k->args.x = sm_rows_at(&k->x, 0);
    k->args.x_stride = k->x.stride;
    k->args.cache = k->cache.data;
    k->args.scale = CACHE_HAS_SCALE || CACHE_TENSOR_SCALE ? k->scale.data : NULL;
    if (CACHE_TENSOR_SCALE) *k->args.scale = k->tensor_scale = tensor_scale(&random, regime);
    return k;
}

/* What untouched memory holds at byte i. */
static uint8_t pattern(size_t i)
{
    return (uint8_t)(i * 167 + (i >> 8) * 13 + 7);
}

/* Whether element e of a head belongs to a slot that is written. */
static int is_written(const struct work *k, size_t e)
{
    const struct sm_cache_write *a = &k->args;
    size_t slot, c = 0;
    if (k->layout == BLOCKS16) {
        const size_t of_group = SM_CACHE_WRITE_BLOCK * CACHE_TOGETHER, group = e / of_group;
        const size_t groups = (a->head_dim + CACHE_TOGETHER - 1) / CACHE_TOGETHER;
        slot = group / groups * SM_CACHE_WRITE_BLOCK + e % of_group / CACHE_TOGETHER;
        c = group % groups * CACHE_TOGETHER + e % CACHE_TOGETHER;
    } else {
        if (e >= a->slots * a->head_dim) return 0;
        slot = k->layout == TRANSPOSED ? e % a->slots : e / a->head_dim;
    }
    return slot >= a->slot && slot < a->slot + a->count && c < a->head_dim;
}

/* Where element c of a slot is. */
static size_t element_at(const struct work *k, size_t slot, size_t c)
{
    const struct sm_cache_write *a = &k->args;
    switch (k->layout) {
    case BLOCKS16: return sm_blocks16_at(slot, c, a->head_dim, CACHE_TOGETHER);
    case TRANSPOSED: return c * a->slots + slot;
    default: return slot * a->head_dim + c;
    }
}

/* Runs over all elements of a head array: written ones are poisoned, or nothing; the others get the pattern, or are
 * compared with it. 0 unless one differs. */
static int lay_or_check(struct work *k, struct sm_guarded *memory, size_t element_bytes, int check)
{
    const struct sm_cache_write *a = &k->args;
    const int scales = memory == &k->scale;
    const size_t stride = scales ? a->scale_stride : a->head_stride;
    uint8_t *bytes = memory->data;
    for (size_t i = 0; i < memory->bytes / element_bytes; i++) { /* layouts that need less leave some at the end */
        const size_t e = i % stride;
        const int written =
            i < a->kv_heads * stride && (scales ? e >= a->slot && e < a->slot + a->count : is_written(k, e));
        for (size_t b = i * element_bytes; b < (i + 1) * element_bytes; b++) {
            if (!check) bytes[b] = (uint8_t)(!written ? pattern(b) : scales ? 0xff : CACHE_POISON);
            if (check && !written && bytes[b] != pattern(b)) return -1;
        }
    }
    return 0;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    struct work *k = work;
    struct sm_cache_write *a = &k->args;
    k->layout = !strcmp(variant->layout->name, "transposed") ? TRANSPOSED
                : !strcmp(variant->layout->name, "blocks16") ? BLOCKS16
                                                             : SLOT_MAJOR;
    a->head_stride =
        (k->layout == BLOCKS16 ? sm_blocks16_elements(a->slots, a->head_dim, CACHE_TOGETHER) : a->slots * a->head_dim) +
        k->odd;
    lay_or_check(k, &k->cache, sizeof(CACHE_ELEMENT), 0);
    if (CACHE_HAS_SCALE) lay_or_check(k, &k->scale, sizeof(float), 0);
    return &k->args;
}

static int head_is_right(const struct work *k, size_t i, size_t g)
{
    const struct sm_cache_write *a = &k->args;
    const float *x = a->x + (a->first + i) * a->x_stride + g * a->head_dim;
    const CACHE_ELEMENT *cache = (const CACHE_ELEMENT *)k->cache.data + g * a->head_stride;
    float largest = 0;
    for (size_t c = 0; c < a->head_dim; c++) largest = fmaxf(largest, fabsf(x[c]));
    if (largest < SM_CACHE_WRITE_LEAST) largest = 0;
    const float size = CACHE_TENSOR_SCALE ? *a->scale : largest;
    if (CACHE_HAS_SCALE && a->scale[g * a->scale_stride + a->slot + i] != largest / 127) return 0;
    for (size_t c = 0; c < a->head_dim; c++) {
        const CACHE_ELEMENT right = convert(x[c], size);
        if (memcmp(&cache[element_at(k, a->slot + i, c)], &right, sizeof right)) return 0;
    }
    return 1;
}

/* Bit for bit. */
static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    for (size_t i = 0; i < k->args.count; i++)
        for (size_t g = 0; g < k->args.kv_heads; g++)
            if (!head_is_right(k, i, g)) return INFINITY;
    return 0;
}

static const char *damage(void *work)
{
    struct work *k = work;
    if (sm_guarded_intact(&k->cache)) return "wrote outside the cache";
    if (sm_guarded_intact(&k->scale)) return "wrote outside the scales";
    if (lay_or_check(k, &k->cache, sizeof(CACHE_ELEMENT), 1)) return "changed a slot that it was not to write";
    if (CACHE_HAS_SCALE && lay_or_check(k, &k->scale, sizeof(float), 1)) return "changed the scale of another slot";
    if (CACHE_TENSOR_SCALE && *k->args.scale != k->tensor_scale) return "changed the scale";
    if (sm_rows_changed(&k->x)) return "changed its input";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_CACHE_WRITE_ROWS] * (double)s->dim[SM_CACHE_WRITE_HEAD_DIM] *
           (double)s->dim[SM_CACHE_WRITE_KV_HEADS];
}

static double scale_bytes(const struct sm_shape *s, int64_t slots)
{
    return CACHE_TENSOR_SCALE ? 4 : CACHE_HAS_SCALE * 4 * (double)slots * (double)s->dim[SM_CACHE_WRITE_KV_HEADS];
}

static double bytes(const struct sm_shape *s)
{
    return (double)(4 + sizeof(CACHE_ELEMENT)) * ops(s) + scale_bytes(s, s->dim[SM_CACHE_WRITE_ROWS]);
}

static size_t footprint(const struct sm_shape *s)
{
    const int64_t slots = s->dim[SM_CACHE_WRITE_MAX_SEQ] - 1;
    const double head_elements = (double)s->dim[SM_CACHE_WRITE_HEAD_DIM] * (double)s->dim[SM_CACHE_WRITE_KV_HEADS];
    return (size_t)(4 * ops(s) + (double)slots * head_elements * (double)sizeof(CACHE_ELEMENT) + scale_bytes(s, slots));
}

const struct sm_workload CACHE_WORKLOAD = {
    .family = CACHE_FAMILY,
    .refuse = refuse,
    .create = create,
    .prepare = prepare,
    .error = error,
    .damage = damage,
    .ops = ops,
    .bytes = bytes,
    .ops_unit = "elements",
    .footprint = footprint,
    .destroy = destroy,
};
