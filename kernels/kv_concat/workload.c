#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "kv_concat/kv_concat.h"
#include "random.h"
#include "workload.h"

enum operand { OUT, OUT_SCALE, PAST, NOW, PAST_SCALE, NOW_SCALE, OPERANDS };

struct work {
    struct sm_guarded operand[OPERANDS];
    uint64_t hash[OPERANDS];
    struct sm_kv_concat args;
};

static size_t past_of(const struct sm_shape *s)
{
    return (size_t)(s->dim[SM_KV_CONCAT_MAX_SEQ] - s->dim[SM_KV_CONCAT_ROWS]);
}

static const char *refuse(const struct sm_shape *s)
{
    if (s->dim[SM_KV_CONCAT_ROWS] > s->dim[SM_KV_CONCAT_MAX_SEQ]) return "rows is larger than max_seq";
    if (s->dim[SM_KV_CONCAT_ELEMENT_BYTES] == 3) return "there is no type of 3 bytes";
    return NULL;
}

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    for (size_t i = 0; i < OPERANDS; i++) sm_guarded_destroy(&k->operand[i]);
    free(k);
}

static void fill(struct work *k, enum operand operand, struct sm_random *r)
{
    unsigned char *bytes = k->operand[operand].data;
    for (size_t i = 0; i < k->operand[operand].bytes; i++) bytes[i] = (unsigned char)sm_random_below(r, 255);
    k->hash[operand] = sm_guarded_hash(&k->operand[operand]);
}

/* Bytes never are the poison's. The past has the slots of its cache, more of them than are read when its view is
 * short; outside the random regime there is room between heads as well. */
static void *create(const struct sm_shape *s, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    const size_t past = past_of(s), now = (size_t)s->dim[SM_KV_CONCAT_ROWS],
                 heads = (size_t)s->dim[SM_KV_CONCAT_KV_HEADS], head_dim = (size_t)s->dim[SM_KV_CONCAT_HEAD_DIM],
                 bytes = (size_t)s->dim[SM_KV_CONCAT_ELEMENT_BYTES];
    const size_t odd = regime == SM_REGIME_RANDOM ? 0 : (size_t)(seed % 4), slots = past + odd;
    const size_t scale = bytes == 1 ? sizeof(float) : 0;
    struct sm_kv_concat *a = &k->args;
    *a = (struct sm_kv_concat){.out_stride = (past + now) * head_dim + odd,
                               .out_scale_stride = past + now + odd,
                               .past = {NULL, NULL, slots * head_dim, slots},
                               .now = {NULL, NULL, now * head_dim + odd, now + odd},
                               .past_rows = past,
                               .now_rows = now,
                               .kv_heads = heads,
                               .head_dim = head_dim,
                               .element_bytes = bytes};
    const size_t sizes[OPERANDS] = {[OUT] = heads * a->out_stride * bytes,
                                    [OUT_SCALE] = heads * a->out_scale_stride * scale,
                                    [PAST] = heads * a->past.head_stride * bytes,
                                    [NOW] = heads * a->now.head_stride * bytes,
                                    [PAST_SCALE] = heads * a->past.scale_stride * scale,
                                    [NOW_SCALE] = heads * a->now.scale_stride * scale};
    for (size_t i = 0; i < OPERANDS; i++) {
        const size_t element = i == OUT_SCALE || i >= PAST_SCALE ? sizeof(float) : bytes;
        if (sm_guarded_create(&k->operand[i], sizes[i], regime == SM_REGIME_RANDOM ? 64 : element)) {
            destroy(k);
            return NULL;
        }
    }
    struct sm_random r = {seed};
    for (size_t i = PAST; i < OPERANDS; i++) fill(k, (enum operand)i, &r);
    a->out = k->operand[OUT].data;
    a->past.data = past ? k->operand[PAST].data : NULL;
    a->now.data = k->operand[NOW].data;
    if (scale) {
        a->out_scale = k->operand[OUT_SCALE].data;
        a->past.scale = past ? k->operand[PAST_SCALE].data : NULL;
        a->now.scale = k->operand[NOW_SCALE].data;
    }
    return k;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    sm_guarded_poison(&k->operand[OUT]);
    sm_guarded_poison(&k->operand[OUT_SCALE]);
    return &k->args;
}

/* Bytes of one head's columns: from the past, then from the rows of the call. */
static int differs(const void *out, const void *past, size_t past_bytes, const void *now, size_t now_bytes)
{
    return (past_bytes && memcmp(out, past, past_bytes)) || memcmp((const char *)out + past_bytes, now, now_bytes);
}

static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    const struct work *k = work;
    const struct sm_kv_concat *a = &k->args;
    const size_t e = a->element_bytes, slot = a->head_dim * e, f = sizeof(float);
    for (size_t g = 0; g < a->kv_heads; g++) {
        const size_t past = g * a->past.head_stride * e, now = g * a->now.head_stride * e;
        if (differs((char *)k->operand[OUT].data + g * a->out_stride * e, (char *)k->operand[PAST].data + past,
                    a->past_rows * slot, (char *)k->operand[NOW].data + now, a->now_rows * slot))
            return INFINITY;
        if (a->out_scale && differs(a->out_scale + g * a->out_scale_stride,
                                    (float *)k->operand[PAST_SCALE].data + g * a->past.scale_stride, a->past_rows * f,
                                    (float *)k->operand[NOW_SCALE].data + g * a->now.scale_stride, a->now_rows * f))
            return INFINITY;
    }
    return 0;
}

/* What lies between two heads must still be poison. */
static int between(const struct sm_guarded *g, size_t stride, size_t used, size_t count)
{
    const unsigned char *bytes = g->data;
    for (size_t i = 0; i < count; i++)
        for (size_t b = i * stride + used; b < (i + 1) * stride; b++)
            if (bytes[b] != 0xff) return 1;
    return 0;
}

static const char *damage(void *work)
{
    struct work *k = work;
    const struct sm_kv_concat *a = &k->args;
    const size_t columns = a->past_rows + a->now_rows, e = a->element_bytes;
    if (sm_guarded_intact(&k->operand[OUT]) || sm_guarded_intact(&k->operand[OUT_SCALE]))
        return "wrote outside the output";
    if (between(&k->operand[OUT], a->out_stride * e, columns * a->head_dim * e, a->kv_heads) ||
        (a->out_scale &&
         between(&k->operand[OUT_SCALE], a->out_scale_stride * sizeof(float), columns * sizeof(float), a->kv_heads)))
        return "wrote between the heads";
    for (size_t i = PAST; i < OPERANDS; i++)
        if (sm_guarded_intact(&k->operand[i]) || sm_guarded_hash(&k->operand[i]) != k->hash[i])
            return "changed an input";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_KV_CONCAT_MAX_SEQ] * (double)s->dim[SM_KV_CONCAT_KV_HEADS] *
           (double)s->dim[SM_KV_CONCAT_HEAD_DIM];
}

static double bytes(const struct sm_shape *s)
{
    const double scales = s->dim[SM_KV_CONCAT_ELEMENT_BYTES] == 1 ? (double)sizeof(float) : 0;
    const double slots = (double)s->dim[SM_KV_CONCAT_MAX_SEQ] * (double)s->dim[SM_KV_CONCAT_KV_HEADS];
    return 2 * (ops(s) * (double)s->dim[SM_KV_CONCAT_ELEMENT_BYTES] + slots * scales);
}

static size_t footprint(const struct sm_shape *s)
{
    return (size_t)bytes(s);
}

const struct sm_workload sm_workload_kv_concat = {
    .family = "kv_concat",
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
