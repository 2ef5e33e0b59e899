#include "hf_config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hf_reader.h"
#include "sentence.h"

#define DEFAULT_GLOBAL_HEAD_DIM 512 /* the one size a Gemma 4 config may leave out; its tensors confirm it */

/* What the architectures do not share. */
static const struct family {
    const char *arch;
    bool gemma;         /* GELU, scaled embeddings, windows */
    bool plus_one;      /* norm weights are stored less one */
    bool qk_norm;       /* queries and keys are normed */
    bool kinds;         /* full and sliding layers have rotary embeddings of their own */
    bool query_scale;   /* scores are scaled by query_pre_attn_scalar */
    bool needs_softcap; /* the final softcap must be given, if only as null */
    bool alternates;    /* even layers slide, unless the file says otherwise */
    bool fourth;        /* Gemma 4: shared keys and values, per-layer embeddings, sizes by kind of layer */
} families[] = {
    {.arch = "llama"},
    {.arch = "gemma2", .gemma = true, .plus_one = true, .query_scale = true, .needs_softcap = true, .alternates = true},
    {.arch = "gemma3", .gemma = true, .plus_one = true, .qk_norm = true, .kinds = true, .query_scale = true},
    {.arch = "gemma4", .gemma = true, .qk_norm = true, .kinds = true, .needs_softcap = true, .fourth = true},
};

static const struct {
    const char *type, *arch;
    bool nested; /* a text decoder among other parts: its own keys are under text_config */
} model_types[] = {
    {"llama", "llama", false},  {"gemma2", "gemma2", false},      {"gemma3_text", "gemma3", false},
    {"gemma3", "gemma3", true}, {"gemma4_text", "gemma4", false}, {"gemma4", "gemma4", true},
};

void hf_fail(struct hf_reader *r, const char *format, ...)
{
    if (r->failed) return;
    r->failed = true;
    va_list args;
    va_start(args, format);
    (void)sm_sentence(r->why, r->why_bytes, "reading", r->where, format, args);
    va_end(args);
}

const json_t *hf_get(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

size_t hf_size(struct hf_reader *r, const json_t *object, const char *key)
{
    const json_t *value = hf_get(object, key);
    const json_int_t x = json_integer_value(value);
    if (!value)
        hf_fail(r, "it lacks %s", key);
    else if (!json_is_integer(value) || x < 0 || x > (json_int_t)1 << 40)
        hf_fail(r, "its %s is not a size", key);
    return r->failed ? 0 : (size_t)x;
}

double hf_number(struct hf_reader *r, const json_t *object, const char *key)
{
    const json_t *value = hf_get(object, key);
    if (!value)
        hf_fail(r, "it lacks %s", key);
    else if (!json_is_number(value))
        hf_fail(r, "its %s is not a number", key);
    return r->failed ? 0 : json_number_value(value);
}

static size_t size_or(struct hf_reader *r, const char *key, size_t standard)
{
    return hf_get(r->text, key) ? hf_size(r, r->text, key) : standard;
}

/* Not given means no: the answer to a question that older files do not ask. */
static bool flag(struct hf_reader *r, const json_t *object, const char *key)
{
    const json_t *value = hf_get(object, key);
    if (value && !json_is_boolean(value)) hf_fail(r, "its %s is neither true nor false", key);
    return json_is_true(value);
}

/* 0 when it is null. */
static float softcap_of(struct hf_reader *r, const char *key, bool needed)
{
    if (needed && !json_object_get(r->text, key)) hf_fail(r, "it lacks %s", key);
    if (!hf_get(r->text, key)) return 0;
    const double cap = hf_number(r, r->text, key);
    if (!((float)cap > 0)) hf_fail(r, "its %s is %g; it must be greater than 0, or null", key, cap);
    return (float)cap;
}

static const struct family *family_of(struct hf_reader *r)
{
    const char *type = json_string_value(hf_get(r->top, "model_type"));
    const json_t *nested = hf_get(r->top, "text_config");
    if (!type) hf_fail(r, "it lacks model_type");
    for (size_t i = 0; type && i < sizeof model_types / sizeof *model_types; i++) {
        if (strcmp(type, model_types[i].type)) continue;
        if (model_types[i].nested && !json_is_object(nested)) hf_fail(r, "it lacks text_config");
        if (model_types[i].nested) r->text = nested;
        for (size_t f = 0; f < sizeof families / sizeof *families; f++)
            if (!strcmp(families[f].arch, model_types[i].arch)) return &families[f];
    }
    hf_fail(r, "models of the type %.40s are not run; llama, gemma2, gemma3, gemma3_text, gemma4 and gemma4_text are",
            type ? type : "");
    return NULL;
}

/* Keys that change the answer in ways that nothing here runs. */
static void refuse_others(struct hf_reader *r, const struct family *f)
{
    static const char *const experts[] = {"num_experts", "num_local_experts"};
    if (flag(r, r->text, "enable_moe_block"))
        hf_fail(r, "mixtures of experts are not run, and its enable_moe_block is true");
    for (size_t i = 0; i < sizeof experts / sizeof *experts && !hf_get(r->text, "enable_moe_block"); i++)
        if (hf_get(r->text, experts[i]) && hf_size(r, r->text, experts[i]))
            hf_fail(r, "mixtures of experts are not run, and it has a %s", experts[i]);
    if (!f->fourth && hf_get(r->text, "per_layer_config"))
        hf_fail(r, "a %s with a per_layer_config is not run", f->arch);
    if (hf_get(r->text, "quantization_config") || hf_get(r->top, "quantization_config"))
        hf_fail(r, "its weights are quantised (quantization_config), which is not read from folders");
    const json_t *both = hf_get(r->text, "use_bidirectional_attention");
    const char *where = json_string_value(both);
    if (both && !json_is_false(both) && !(where && !strcmp(where, "vision"))) /* text is causal in such models */
        hf_fail(r, "attention to later tokens is not run (use_bidirectional_attention)");
    if (hf_get(r->text, "partial_rotary_factor") && hf_number(r, r->text, "partial_rotary_factor") != 1)
        hf_fail(r, "its partial_rotary_factor is not in rope_parameters");
    if (!f->gemma && hf_get(r->text, "layer_types")) {
        const json_t *list = hf_get(r->text, "layer_types");
        for (size_t i = 0; i < json_array_size(list); i++) {
            const char *kind = json_string_value(json_array_get(list, i));
            if (!kind || strcmp(kind, "full_attention")) hf_fail(r, "layers of windows are not run in a %s", f->arch);
        }
    }
}

static void read_model(struct hf_reader *r, const struct family *f, struct sm_hf_config *to)
{
    struct sm_model_shape *s = &to->shape;
    snprintf(s->arch, sizeof s->arch, "%s", f->arch);
    snprintf(s->name, sizeof s->name, "%s", f->arch);
    s->runs = true;
    s->hidden = hf_size(r, r->text, "hidden_size");
    s->layers = hf_size(r, r->text, "num_hidden_layers");
    s->vocab = hf_size(r, r->text, "vocab_size");
    s->context = hf_size(r, r->text, "max_position_embeddings");
    s->eps = (float)hf_number(r, r->text, "rms_norm_eps");
    s->final_softcap = f->gemma ? softcap_of(r, "final_logit_softcapping", f->needs_softcap) : 0;
    s->embedding_scale = f->gemma ? (float)sqrt((double)s->hidden) : 1;
    s->activation = f->gemma ? SM_ACTIVATION_GELU : SM_ACTIVATION_SILU;
    s->qk_norm = f->qk_norm;
    s->post_norms = f->gemma;
    s->layer_scalar = f->fourth;
    to->norm_plus_one = f->plus_one;
    to->attention_bias = flag(r, r->text, "attention_bias");
    to->mlp_bias = flag(r, r->text, "mlp_bias");
    if (to->mlp_bias && f->gemma) hf_fail(r, "a %s with mlp_bias is not run", f->arch);
    if (s->layers > SM_SHAPE_MAX_LAYERS)
        hf_fail(r, "it has %zu layers; up to %d are run", s->layers, SM_SHAPE_MAX_LAYERS);
    const char *tie = "tie_word_embeddings";
    const json_t *owner = hf_get(r->text, tie) ? r->text : r->top;
    s->tied = hf_get(owner, tie) ? flag(r, owner, tie) : f->gemma; /* not given: as the architecture's class has it */
    const json_t *named = hf_get(r->text, "hidden_activation"), *older = hf_get(r->text, "hidden_act");
    const char *wanted = f->gemma ? "gelu_pytorch_tanh" : "silu";
    const char *activation = json_string_value(f->gemma && named ? named : older);
    if (!activation)
        hf_fail(r, "it lacks %s", f->gemma ? "hidden_activation" : "hidden_act");
    else if (strcmp(activation, wanted))
        hf_fail(r, "a %s with the activation %.40s is not run; with %s it is", f->arch, activation, wanted);
}

/* Which layers are full: every (pattern)th one, or as the file lists them. */
static void read_kinds(struct hf_reader *r, const struct family *f, size_t layers, bool *full)
{
    const json_t *list = hf_get(r->text, "layer_types");
    for (size_t l = 0; l < layers; l++) full[l] = true;
    if (!f->gemma || r->failed) return;
    if (list) {
        if (json_array_size(list) != layers)
            hf_fail(r, "its layer_types are %zu, and its layers %zu", json_array_size(list), layers);
        for (size_t l = 0; l < layers && !r->failed; l++) {
            const char *kind = json_string_value(json_array_get(list, l));
            full[l] = kind && !strcmp(kind, "full_attention");
            if (!kind || (!full[l] && strcmp(kind, "sliding_attention")))
                hf_fail(r, "layer %zu is of the type %.40s, which is not run", l, kind ? kind : "(no text)");
        }
        if (!r->failed && f->fourth && layers && !full[layers - 1])
            hf_fail(r, "its last layer is a sliding one, and that of a %s is full", f->arch);
        return;
    }
    const char *key = hf_get(r->text, "sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
    size_t pattern = 2;
    if (f->fourth || (!f->alternates && !hf_get(r->text, key)))
        hf_fail(r, "it lacks layer_types");
    else if (!f->alternates)
        pattern = hf_size(r, r->text, key);
    if (!pattern) hf_fail(r, "its %s is 0", key);
    for (size_t l = 0; l < layers && !r->failed; l++) full[l] = (l + 1) % pattern == 0;
}

/* Head sizes that differ from layer to layer: per_layer_config where there is one, else keys for full layers. */
static void read_own_sizes(struct hf_reader *r, const bool *full, struct sm_model_shape *s)
{
    const json_t *own = hf_get(r->text, "per_layer_config");
    const bool keys_are_values = flag(r, r->text, "attention_k_eq_v");
    if (own && !json_is_object(own)) hf_fail(r, "its per_layer_config is not an object");
    const size_t head_dim = own ? 0 : size_or(r, "global_head_dim", DEFAULT_GLOBAL_HEAD_DIM);
    for (size_t l = 0; l < s->layers && !r->failed && !own; l++) {
        if (full[l]) s->layer[l].head_dim = head_dim;
        if (full[l] && keys_are_values)
            s->layer[l].kv_heads = size_or(r, "num_global_key_value_heads", s->layer[l].kv_heads);
    }
    size_t found = 0;
    for (size_t l = 0; l < s->layers && !r->failed && own; l++) {
        char index[24];
        snprintf(index, sizeof index, "%zu", l);
        const json_t *entry = json_object_get(own, index);
        const bool width = hf_get(entry, "head_dim"), heads = hf_get(entry, "num_key_value_heads");
        if (!entry) continue;
        found++;
        if (width) s->layer[l].head_dim = hf_size(r, entry, "head_dim");
        if (heads) s->layer[l].kv_heads = hf_size(r, entry, "num_key_value_heads");
        if (!json_is_object(entry) || json_object_size(entry) != (size_t)width + (size_t)heads)
            hf_fail(r, "its per_layer_config of layer %zu says more than head_dim and num_key_value_heads", l);
    }
    if (own && found != json_object_size(own)) hf_fail(r, "its per_layer_config has a layer that is not there");
}

/* Layers from `first` on own no keys and values: they use those of the last owner of their kind. */
static void read_sharing(struct hf_reader *r, const bool *full, struct sm_model_shape *s)
{
    const size_t shared = hf_size(r, r->text, "num_kv_shared_layers");
    const json_t *wide = hf_get(r->text, "use_double_wide_mlp");
    if (!wide) hf_fail(r, "it lacks use_double_wide_mlp");
    const bool twice = flag(r, r->text, "use_double_wide_mlp");
    if (shared > s->layers) hf_fail(r, "%zu of its %zu layers share keys and values", shared, s->layers);
    if (r->failed || shared == s->layers) return; /* all of them: the reference then shares none */
    const size_t first = s->layers - shared;
    for (size_t l = first; l < s->layers; l++) {
        size_t source = first;
        while (source > 0 && full[source - 1] != full[l]) source--;
        if (!source) {
            hf_fail(r, "layer %zu shares keys and values, and no layer of its kind owns any", l);
            return;
        }
        s->layer[l].kv_source = source - 1;
        s->layer[l].value_is_key = false;
        if (twice) s->layer[l].ffn *= 2;
    }
}

static void read_gemma4(struct hf_reader *r, const bool *full, struct sm_model_shape *s)
{
    read_own_sizes(r, full, s);
    const bool keys_are_values = flag(r, r->text, "attention_k_eq_v");
    for (size_t l = 0; l < s->layers && !r->failed; l++) s->layer[l].value_is_key = keys_are_values && full[l];
    read_sharing(r, full, s);
    if (!json_object_get(r->text, "hidden_size_per_layer_input")) hf_fail(r, "it lacks hidden_size_per_layer_input");
    s->per_layer_width = size_or(r, "hidden_size_per_layer_input", 0);
    if (s->per_layer_width && hf_size(r, r->text, "vocab_size_per_layer_input") != s->vocab)
        hf_fail(r, "its vocab_size_per_layer_input is not its vocab_size");
}

/* rope[0] of sliding layers, rope[1] of full ones. */
static void read_ropes(struct hf_reader *r, const struct family *f, const bool *full, struct sm_model_shape *s,
                       struct hf_rope rope[2])
{
    bool slides = false, fills = false;
    for (size_t l = 0; l < s->layers && !r->failed; l++) {
        fills |= full[l];
        slides |= !full[l];
    }
    if (!f->kinds) {
        rope[0] = rope[1] = hf_rope_of_all(r);
        s->rope_scaling = rope[0].llama3;
        if (f->gemma && s->rope_scaling.factor > 0) hf_fail(r, "a %s with llama3 rotary scaling is not run", f->arch);
        return;
    }
    if (f->fourth && !hf_get(r->text, "rope_parameters")) hf_fail(r, "it lacks rope_parameters");
    if (slides) rope[0] = hf_rope_of_kind(r, "sliding_attention", "rope_local_base_freq", false);
    if (fills) rope[1] = hf_rope_of_kind(r, "full_attention", "rope_theta", true);
    if (rope[0].llama3.factor > 0 || rope[1].llama3.factor > 0)
        hf_fail(r, "a %s with llama3 rotary scaling is not run", f->arch);
}

/* What is the same in all layers, but for windows and rotary embeddings. */
static struct sm_layer_shape read_common_layer(struct hf_reader *r, const struct family *f, size_t hidden)
{
    struct sm_layer_shape a = {.heads = hf_size(r, r->text, "num_attention_heads"),
                               .kv_heads = hf_size(r, r->text, "num_key_value_heads"),
                               .ffn = hf_size(r, r->text, "intermediate_size"),
                               .value_norm = f->fourth,
                               .attention_scale = 1};
    if (f->gemma || hf_get(r->text, "head_dim"))
        a.head_dim = hf_size(r, r->text, "head_dim");
    else if (!a.heads || hidden % a.heads)
        hf_fail(r, "it lacks head_dim, and %zu heads do not divide its width of %zu", a.heads, hidden);
    else
        a.head_dim = hidden / a.heads;
    if (!f->fourth) {
        const double by = f->query_scale ? hf_number(r, r->text, "query_pre_attn_scalar") : (double)a.head_dim;
        if (!(by > 0)) hf_fail(r, "its %s is %g", f->query_scale ? "query_pre_attn_scalar" : "head_dim", by);
        a.attention_scale = (float)(1 / sqrt(by));
    }
    if (f->query_scale) a.attention_softcap = softcap_of(r, "attn_logit_softcapping", f->alternates);
    return a;
}

static void read_layers(struct hf_reader *r, const struct family *f, struct sm_model_shape *s)
{
    bool full[SM_SHAPE_MAX_LAYERS];
    struct hf_rope rope[2] = {{0}};
    read_kinds(r, f, s->layers, full);
    const struct sm_layer_shape common = read_common_layer(r, f, s->hidden);
    read_ropes(r, f, full, s, rope);
    for (size_t l = 0; l < s->layers && !r->failed; l++) {
        struct sm_layer_shape *a = &s->layer[l];
        *a = common;
        a->kv_source = l;
        a->rope_theta = rope[full[l]].theta;
        a->rope_factor = rope[full[l]].factor;
        if (!full[l]) a->window = hf_size(r, r->text, "sliding_window");
        if (!full[l] && !a->window) hf_fail(r, "its sliding_window is 0");
    }
    if (f->fourth) read_gemma4(r, full, s);
    for (size_t l = 0; l < s->layers && !r->failed; l++)
        s->layer[l].rope_pairs = (size_t)(rope[full[l]].part * (double)s->layer[l].head_dim / 2);
}

static void read_config(struct hf_reader *r, struct sm_hf_config *to)
{
    const struct family *f = json_is_object(r->top) ? family_of(r) : NULL;
    char why[256];
    if (!json_is_object(r->top)) hf_fail(r, "it is not a JSON object");
    if (!r->failed) refuse_others(r, f);
    if (!r->failed) read_model(r, f, to);
    if (!r->failed) read_layers(r, f, &to->shape);
    if (!r->failed && sm_shape_check(&to->shape, why, sizeof why)) hf_fail(r, "%s", why);
}

int sm_hf_config_parse(struct sm_hf_config *config, const char *text, size_t bytes, const char *where, char *why,
                       size_t why_bytes)
{
    json_error_t error;
    json_t *top = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    struct hf_reader r = {.top = top, .text = top, .where = where, .why = why, .why_bytes = why_bytes};
    memset(config, 0, sizeof *config);
    if (top)
        read_config(&r, config);
    else
        hf_fail(&r, "it is not JSON: %s, in line %d", *error.text ? error.text : "out of memory", error.line);
    json_decref(top);
    return r.failed ? -1 : 0;
}
