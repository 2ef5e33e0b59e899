#include "shape.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Largest sizes that are believed; they also keep products of two of them inside 64 bits. */
#define MAX_HIDDEN ((size_t)1 << 17)
#define MAX_FFN ((size_t)1 << 20)
#define MAX_VOCAB ((size_t)1 << 22)
#define MAX_CONTEXT ((size_t)1 << 30)
#define MAX_HEADS 1024
#define MAX_HEAD_DIM 512

static int refuse(char *why, size_t why_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int refuse(char *why, size_t why_bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, why_bytes, format, args);
    va_end(args);
    return -1;
}

static int check_layer(const struct sm_model_shape *s, size_t l, char *why, size_t why_bytes)
{
    const struct sm_layer_shape *a = &s->layer[l];
    if (!a->heads || a->heads > MAX_HEADS || !a->kv_heads || a->heads % a->kv_heads)
        return refuse(why, why_bytes,
                      "%s: layer %zu has %zu heads and %zu KV heads: heads must be 1 to %d and a "
                      "multiple of KV heads",
                      s->name, l, a->heads, a->kv_heads, MAX_HEADS);
    if (!a->head_dim || a->head_dim % 8 || a->head_dim > MAX_HEAD_DIM)
        return refuse(why, why_bytes, "%s: layer %zu has heads of %zu elements: it must be a multiple of 8 up to %d",
                      s->name, l, a->head_dim, MAX_HEAD_DIM);
    if (!a->ffn || a->ffn > MAX_FFN)
        return refuse(why, why_bytes, "%s: layer %zu has an inner width of %zu", s->name, l, a->ffn);
    if (!(a->rope_theta > 0) || !isfinite(a->rope_theta) || a->rope_pairs > a->head_dim / 2)
        return refuse(why, why_bytes, "%s: layer %zu has a rotary base of %g over %zu pairs", s->name, l, a->rope_theta,
                      a->rope_pairs);
    if (!(a->rope_factor > 0) || !isfinite(a->rope_factor))
        return refuse(why, why_bytes, "%s: layer %zu divides its rotary frequencies by %g", s->name, l, a->rope_factor);
    if (!isfinite(a->attention_scale) || !isfinite(a->attention_softcap) || a->attention_softcap < 0)
        return refuse(why, why_bytes, "%s: layer %zu has an attention scale of %g and a softcap of %g", s->name, l,
                      (double)a->attention_scale, (double)a->attention_softcap);
    const struct sm_layer_shape *source = a->kv_source < s->layers ? &s->layer[a->kv_source] : NULL;
    if (!source || a->kv_source > l || source->kv_source != a->kv_source || source->kv_heads != a->kv_heads ||
        source->head_dim != a->head_dim)
        return refuse(why, why_bytes, "%s: layer %zu cannot use the keys and values of layer %zu", s->name, l,
                      a->kv_source);
    return 0;
}

int sm_shape_check(const struct sm_model_shape *s, char *why, size_t why_bytes)
{
    const struct {
        const char *name;
        size_t value, most;
    } sizes[] = {
        {"layers", s->layers, SM_SHAPE_MAX_LAYERS},
        {"hidden", s->hidden, MAX_HIDDEN},
        {"vocab", s->vocab, MAX_VOCAB},
        {"context", s->context, MAX_CONTEXT},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!sizes[i].value || sizes[i].value > sizes[i].most)
            return refuse(why, why_bytes, "%s: %s is %zu; it must be 1 to %zu", s->name, sizes[i].name, sizes[i].value,
                          sizes[i].most);
    if (!(s->eps >= 0 && s->eps < 1))
        return refuse(why, why_bytes, "%s: eps is %g; it must be 0 to 1", s->name, (double)s->eps);
    if (!isfinite(s->embedding_scale) || !isfinite(s->final_softcap) || s->final_softcap < 0)
        return refuse(why, why_bytes, "%s: the embedding scale is %g and the final softcap %g", s->name,
                      (double)s->embedding_scale, (double)s->final_softcap);
    if (s->per_layer_width > MAX_HIDDEN)
        return refuse(why, why_bytes, "%s: per-layer embeddings are %zu wide", s->name, s->per_layer_width);
    for (size_t l = 0; l < s->layers; l++)
        if (check_layer(s, l, why, why_bytes)) return -1;
    return 0;
}

static void add_matmul(struct sm_matmul_shape *list, size_t capacity, size_t *count, size_t out, size_t in,
                       const char *label)
{
    size_t i = 0;
    while (i < *count && (list[i].out != out || list[i].in != in)) i++;
    if (i == capacity) return;
    if (i == *count) {
        list[i] = (struct sm_matmul_shape){.out = out, .in = in};
        ++*count;
    }
    list[i].count++;
    char *have = list[i].label;
    const size_t used = strlen(have), more = strlen(label);
    for (const char *p = have; (p = strstr(p, label)); p += more) /* a whole word of the list? */
        if ((p == have || p[-1] == ' ') && (p[more] == '\0' || p[more] == ',')) return;
    if (used + more + 3 <= sizeof list[i].label) sprintf(have + used, "%s%s", used ? ", " : "", label);
}

size_t sm_shape_matmuls(const struct sm_model_shape *s, struct sm_matmul_shape *list, size_t capacity)
{
    size_t n = 0;
    const size_t p = s->per_layer_width;
    if (p) add_matmul(list, capacity, &n, s->layers * p, s->hidden, "per-layer context");
    for (size_t l = 0; l < s->layers; l++) {
        const struct sm_layer_shape *a = &s->layer[l];
        add_matmul(list, capacity, &n, a->heads * a->head_dim, s->hidden, "q");
        if (a->kv_source == l) {
            add_matmul(list, capacity, &n, a->kv_heads * a->head_dim, s->hidden, "k");
            if (!a->value_is_key) add_matmul(list, capacity, &n, a->kv_heads * a->head_dim, s->hidden, "v");
        }
        add_matmul(list, capacity, &n, s->hidden, a->heads * a->head_dim, "o");
        add_matmul(list, capacity, &n, a->ffn, s->hidden, "gate");
        add_matmul(list, capacity, &n, a->ffn, s->hidden, "up");
        add_matmul(list, capacity, &n, s->hidden, a->ffn, "down");
        if (p) {
            add_matmul(list, capacity, &n, p, s->hidden, "per-layer gate");
            add_matmul(list, capacity, &n, s->hidden, p, "per-layer out");
        }
    }
    add_matmul(list, capacity, &n, s->vocab, s->hidden, "head");
    return n;
}

size_t sm_shape_attentions(const struct sm_model_shape *s, struct sm_attention_shape *list, size_t capacity)
{
    size_t n = 0;
    for (size_t l = 0; l < s->layers; l++) {
        const struct sm_layer_shape *a = &s->layer[l];
        size_t i = 0;
        const size_t kept = n < capacity ? n : capacity;
        while (i < kept &&
               (list[i].heads != a->heads || list[i].kv_heads != a->kv_heads || list[i].head_dim != a->head_dim ||
                list[i].window != a->window || list[i].softcap != a->attention_softcap))
            i++;
        if (i == capacity) continue;
        if (i == n) {
            n++;
            list[i] = (struct sm_attention_shape){.heads = a->heads,
                                                  .kv_heads = a->kv_heads,
                                                  .head_dim = a->head_dim,
                                                  .window = a->window,
                                                  .softcap = a->attention_softcap};
        }
        list[i].count++;
    }
    return n;
}

/* Norm weights and other vectors of a layer, which no matrix list holds (model-math: A.1 to A.4). */
static double layer_vectors(const struct sm_model_shape *s, size_t l)
{
    const struct sm_layer_shape *a = &s->layer[l];
    size_t of_stream = s->post_norms ? 4 : 2, of_heads = s->qk_norm ? 1 : 0;
    if (s->per_layer_width) of_stream++;
    if (s->qk_norm && a->kv_source == l) of_heads++;
    return (double)(of_stream * s->hidden + of_heads * a->head_dim) + (s->layer_scalar ? 1 : 0);
}

double sm_shape_parameters(const struct sm_model_shape *s)
{
    struct sm_matmul_shape list[SM_SHAPE_MAX_MATMULS];
    const size_t n = sm_shape_matmuls(s, list, SM_SHAPE_MAX_MATMULS);
    double sum = (double)s->hidden; /* the final norm */
    for (size_t i = 0; i < n; i++) sum += (double)list[i].count * (double)list[i].out * (double)list[i].in;
    if (!s->tied) sum += (double)s->vocab * (double)s->hidden; /* the head is in the list, the embedding beside it */
    for (size_t l = 0; l < s->layers; l++) sum += layer_vectors(s, l);
    const double p = (double)s->per_layer_width;
    if (p > 0) sum += (double)s->vocab * (double)s->layers * p + p; /* the per-layer table and its norm */
    return sum;
}

size_t sm_shape_kv_elements(const struct sm_model_shape *s)
{
    size_t sum = 0;
    for (size_t l = 0; l < s->layers; l++)
        if (s->layer[l].kv_source == l) sum += 2 * s->layer[l].kv_heads * s->layer[l].head_dim;
    return sum;
}
