/* The shape of a model from the metadata of its GGUF file (model-math: C.2). Sizes that decide what is computed must
 * be there: a guess would give numbers that look right. What a file cannot say (how scores and embeddings are scaled,
 * which layers slide in Gemma 2 and 3) is here. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model_gguf.h"

static const struct arch {
    const char *name;
    bool gemma;       /* windows, GELU, norms of the branches, scaled embeddings */
    bool qk_norm;     /* queries and keys are normed, and full layers have a rotary base of their own */
    bool unscaled;    /* scores are not scaled, and values are normed */
    bool linear;      /* may say that its rotary frequencies are divided */
    size_t period;    /* every one of so many layers is full, where the file does not say; 0: the file must */
    size_t odd_depth; /* the depth of the one model that scales scores by its width over its heads (27B) */
} archs[] = {
    {.name = "llama", .linear = true},
    {.name = "gemma2", .gemma = true, .period = 2, .odd_depth = 46},
    {.name = "gemma3", .gemma = true, .qk_norm = true, .linear = true, .period = 6, .odd_depth = 62},
    {.name = "gemma4", .gemma = true, .qk_norm = true, .unscaled = true},
};

static const struct sm_gguf_value *value_of(const struct gguf_loader *l, const char *key)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", l->model->shape.arch, key);
    return sm_gguf_value(&l->gguf, full);
}

/* A size that the file must give; for layer i when it gives one for each. */
static int size_of(const struct gguf_loader *l, const char *key, size_t i, size_t *out)
{
    const struct sm_gguf_value *v = value_of(l, key);
    if (!v) return gguf_refuse(l, "the metadata lacks %s.%s", l->model->shape.arch, key);
    if (sm_gguf_size(v, i, out)) return gguf_refuse(l, "%s.%s is not a size", l->model->shape.arch, key);
    return 0;
}

/* A size that sliding layers may have of their own, under the key with _swa. Not given: `out` stays as it is. */
static int width_of(const struct gguf_loader *l, const char *key, bool sliding, size_t i, size_t *out)
{
    char own[96];
    snprintf(own, sizeof own, "%s_swa", key);
    if (sliding && value_of(l, own)) return size_of(l, own, i, out);
    return value_of(l, key) ? size_of(l, key, i, out) : 0;
}

static int number_of(const struct gguf_loader *l, const char *key, double standard, double *out)
{
    const struct sm_gguf_value *v = value_of(l, key);
    *out = standard;
    if (v && sm_gguf_number(v, 0, out)) return gguf_refuse(l, "%s.%s is not a number", l->model->shape.arch, key);
    return 0;
}

/* NULL: refused. */
static const struct arch *read_arch(const struct gguf_loader *l)
{
    struct sm_gguf_string name = {"", 0}, title = {"", 0};
    struct sm_model_shape *s = &l->model->shape;
    const struct sm_gguf_value *said = sm_gguf_value(&l->gguf, "general.architecture");
    const struct sm_gguf_value *named = sm_gguf_value(&l->gguf, "general.name");
    const struct arch *arch = NULL;
    if (!said || sm_gguf_text(said, &name)) {
        (void)gguf_refuse(l, "the metadata does not name an architecture");
        return NULL;
    }
    if (named) (void)sm_gguf_text(named, &title);
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strlen(archs[i].name) == name.bytes && !memcmp(name.at, archs[i].name, name.bytes)) arch = &archs[i];
    if (!arch) {
        (void)gguf_refuse(l, "its architecture is %.*s; llama, gemma2, gemma3 and gemma4 are read",
                          (int)(name.bytes < 40 ? name.bytes : 40), name.at);
        return NULL;
    }
    snprintf(s->arch, sizeof s->arch, "%s", arch->name);
    if (title.bytes >= sizeof s->name) title.bytes = sizeof s->name - 1;
    for (size_t i = 0; i < title.bytes; i++) s->name[i] = title.at[i] >= ' ' && title.at[i] <= '~' ? title.at[i] : '?';
    if (!title.bytes) snprintf(s->name, sizeof s->name, "%s", arch->name);
    return arch;
}

/* Kinds of files that look like a model that runs. */
static int refuse_kinds(const struct gguf_loader *l)
{
    const struct sm_gguf_value *parts = sm_gguf_value(&l->gguf, "split.count");
    size_t count = 1;
    if (parts && (sm_gguf_size(parts, 0, &count) || count > 1))
        return gguf_refuse(l, "it is one part of a split model");
    const struct sm_gguf_value *experts = value_of(l, "expert_count");
    if (experts && (sm_gguf_size(experts, 0, &count) || count))
        return gguf_refuse(l, "mixtures of experts are not run");
    return 0;
}

/* What the rotary frequencies are divided by: 1, or the factor of linear scaling. */
static int read_rope_factor(const struct gguf_loader *l, const struct arch *arch, double *factor)
{
    struct sm_gguf_string name = {"none", 4};
    const struct sm_gguf_value *scaling = value_of(l, "rope.scaling.type");
    *factor = 1;
    if (scaling && sm_gguf_text(scaling, &name)) name.bytes = 0;
    if (name.bytes == 4 && !memcmp(name.at, "none", 4)) return 0;
    if (!arch->linear || name.bytes != 6 || memcmp(name.at, "linear", 6))
        return gguf_refuse(l, "its rotary scaling is of a kind that is not run");
    if (number_of(l, "rope.scaling.factor", 0, factor)) return -1;
    if (!(*factor > 0) || !isfinite(*factor))
        return gguf_refuse(l, "its linear rotary scaling has a factor of %g", *factor);
    return 0;
}

/* Whether layer i sees a window: an array of the file says it for each layer, or a number says that every so many
 * layers are full. */
static int read_sliding(const struct gguf_loader *l, const struct arch *arch, size_t i, bool *sliding)
{
    static const char key[] = "attention.sliding_window_pattern";
    const struct sm_gguf_value *v = value_of(l, key);
    size_t value = arch->period;
    *sliding = false;
    if (!arch->gemma) return 0;
    if ((v || !value) && size_of(l, key, i, &value)) return -1;
    if (v && v->type == SM_GGUF_ARRAY)
        *sliding = value != 0;
    else if (value)
        *sliding = (i + 1) % value != 0;
    else
        return gguf_refuse(l, "%s.%s is 0", l->model->shape.arch, key);
    return 0;
}

static int read_heads(const struct gguf_loader *l, const struct arch *arch, size_t i, bool sliding)
{
    const struct sm_model_shape *s = &l->model->shape;
    struct sm_layer_shape *a = &l->model->shape.layer[i];
    if (size_of(l, "attention.head_count", i, &a->heads)) return -1;
    a->kv_heads = a->heads;
    if (value_of(l, "attention.head_count_kv") && size_of(l, "attention.head_count_kv", i, &a->kv_heads)) return -1;
    if (arch->gemma && !value_of(l, "attention.key_length"))
        return gguf_refuse(l, "the metadata lacks %s.attention.key_length", s->arch);
    a->head_dim = a->heads ? s->hidden / a->heads : 0;
    if (width_of(l, "attention.key_length", sliding, i, &a->head_dim)) return -1;
    size_t value_dim = a->head_dim, rotated = a->head_dim;
    if (width_of(l, "attention.value_length", sliding, i, &value_dim) ||
        width_of(l, "rope.dimension_count", sliding, i, &rotated))
        return -1;
    if (value_dim != a->head_dim || rotated != a->head_dim)
        return gguf_refuse(l, "keys of %zu elements with values of %zu and %zu rotated are not run", a->head_dim,
                           value_dim, rotated);
    return 0;
}

/* Layers before `first` own keys and values; the others use those of the last owner of their kind. */
static int find_source(const struct gguf_loader *l, size_t i, size_t first)
{
    struct sm_model_shape *s = &l->model->shape;
    s->layer[i].kv_source = i;
    if (i < first) return 0;
    for (size_t e = first; e-- > 0;)
        if (!s->layer[e].window == !s->layer[i].window) {
            s->layer[i].kv_source = e;
            return 0;
        }
    return gguf_refuse(l, "layer %zu shares keys and values, and no layer of its kind owns any", i);
}

static int read_layer(const struct gguf_loader *l, const struct arch *arch, size_t i)
{
    struct sm_model_shape *s = &l->model->shape;
    struct sm_layer_shape *a = &s->layer[i];
    double theta, factor, softcap;
    bool sliding;
    if (read_sliding(l, arch, i, &sliding) || read_heads(l, arch, i, sliding) ||
        size_of(l, "feed_forward_length", i, &a->ffn) ||
        (sliding && size_of(l, "attention.sliding_window", i, &a->window)))
        return -1;
    if (sliding && !a->window) return gguf_refuse(l, "%s.attention.sliding_window is 0", s->arch);
    if (arch->qk_norm && !value_of(l, "rope.freq_base"))
        return gguf_refuse(l, "the metadata lacks %s.rope.freq_base", s->arch);
    if (read_rope_factor(l, arch, &factor) || number_of(l, "rope.freq_base", 10000, &theta) ||
        (sliding && arch->qk_norm && number_of(l, "rope.freq_base_swa", 10000, &theta)) ||
        number_of(l, "attn_logit_softcapping", 0, &softcap))
        return -1;
    a->rope_theta = theta;
    a->rope_factor = sliding ? 1 : factor;
    a->rope_pairs = a->head_dim / 2;
    a->attention_softcap = (float)softcap;
    a->value_norm = arch->unscaled;
    const size_t scaled_by =
        arch->odd_depth && s->layers == arch->odd_depth && a->heads ? s->hidden / a->heads : a->head_dim;
    if (arch->unscaled)
        a->attention_scale = 1;
    else
        a->attention_scale = scaled_by ? (float)(1 / sqrt((double)scaled_by)) : 0;
    return 0;
}

static int read_layers(const struct gguf_loader *l, const struct arch *arch)
{
    struct sm_model_shape *s = &l->model->shape;
    size_t shared = 0;
    if (value_of(l, "attention.shared_kv_layers") && size_of(l, "attention.shared_kv_layers", 0, &shared)) return -1;
    if (shared > s->layers) return gguf_refuse(l, "%zu of its %zu layers share keys and values", shared, s->layers);
    for (size_t i = 0; i < s->layers; i++)
        if (read_layer(l, arch, i) || find_source(l, i, s->layers - shared)) return -1;
    return 0;
}

/* Gemma's own of what belongs to the whole model. */
static int read_gemma(const struct gguf_loader *l, const struct arch *arch)
{
    struct sm_model_shape *s = &l->model->shape;
    s->embedding_scale = (float)sqrt((double)s->hidden);
    s->activation = SM_ACTIVATION_GELU;
    s->qk_norm = arch->qk_norm;
    s->post_norms = true;
    if (!strcmp(s->arch, "gemma2") &&
        (!value_of(l, "attn_logit_softcapping") || !value_of(l, "final_logit_softcapping")))
        return gguf_refuse(l, "the metadata lacks one of gemma2's two softcaps");
    if (strcmp(s->arch, "gemma4")) return 0;
    s->layer_scalar = sm_gguf_tensor(&l->gguf, "blk.0.layer_output_scale.weight") != NULL;
    return value_of(l, "embedding_length_per_layer_input")
               ? size_of(l, "embedding_length_per_layer_input", 0, &s->per_layer_width)
               : 0;
}

int gguf_read_shape(struct gguf_loader *l)
{
    struct sm_model_shape *s = &l->model->shape;
    const struct arch *arch = read_arch(l);
    double eps, softcap;
    if (!arch || refuse_kinds(l)) return -1;
    if (size_of(l, "embedding_length", 0, &s->hidden) || size_of(l, "block_count", 0, &s->layers) ||
        size_of(l, "context_length", 0, &s->context) || number_of(l, "attention.layer_norm_rms_epsilon", -1, &eps) ||
        number_of(l, "final_logit_softcapping", 0, &softcap))
        return -1;
    if (s->layers > SM_SHAPE_MAX_LAYERS)
        return gguf_refuse(l, "it has %zu layers; up to %d are run", s->layers, SM_SHAPE_MAX_LAYERS);
    s->eps = (float)eps;
    s->final_softcap = (float)softcap;
    s->embedding_scale = 1;
    s->activation = SM_ACTIVATION_SILU;
    s->runs = true;
    if ((arch->gemma && read_gemma(l, arch)) || read_layers(l, arch)) return -1;
    const struct sm_gguf_tensor *embedding = sm_gguf_tensor(&l->gguf, "token_embd.weight");
    if (!embedding) return gguf_refuse(l, "there is no tensor token_embd.weight");
    s->vocab = embedding->dims[1];
    s->tied = !sm_gguf_tensor(&l->gguf, "output.weight");
    char why[256];
    return sm_shape_check(s, why, sizeof why) ? gguf_refuse(l, "%s", why) : 0;
}
