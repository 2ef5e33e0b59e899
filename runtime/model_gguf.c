/* A model from a GGUF file: the shape from its metadata, the tensors by their names. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gguf.h"
#include "model.h"

struct loader {
    struct sm_model *model;
    struct sm_gguf gguf;
    const char *where;
    char *why;
    size_t why_bytes;
};

static int refuse(const struct loader *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const struct loader *l, const char *format, ...)
{
    const int n = snprintf(l->why, l->why_bytes, "loading %s: ", l->where);
    if (n >= 0 && (size_t)n < l->why_bytes) {
        va_list args;
        va_start(args, format);
        vsnprintf(l->why + n, l->why_bytes - (size_t)n, format, args);
        va_end(args);
    }
    return -1;
}

static const struct sm_gguf_value *value_of(const struct loader *l, const char *key)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", l->model->shape.arch, key);
    return sm_gguf_value(&l->gguf, full);
}

/* A size that the file must give; for layer i when it gives one for each. */
static int size_of(const struct loader *l, const char *key, size_t i, size_t *out)
{
    const struct sm_gguf_value *v = value_of(l, key);
    if (!v) return refuse(l, "the metadata lacks %s.%s", l->model->shape.arch, key);
    if (sm_gguf_size(v, i, out)) return refuse(l, "%s.%s is not a size", l->model->shape.arch, key);
    return 0;
}

static int number_of(const struct loader *l, const char *key, double standard, double *out)
{
    const struct sm_gguf_value *v = value_of(l, key);
    *out = standard;
    if (v && sm_gguf_number(v, 0, out)) return refuse(l, "%s.%s is not a number", l->model->shape.arch, key);
    return 0;
}

static int read_arch(struct loader *l)
{
    struct sm_gguf_string name = {"", 0}, title = {"", 0};
    struct sm_model_shape *s = &l->model->shape;
    const struct sm_gguf_value *arch = sm_gguf_value(&l->gguf, "general.architecture");
    const struct sm_gguf_value *named = sm_gguf_value(&l->gguf, "general.name");
    if (!arch || sm_gguf_text(arch, &name)) return refuse(l, "the metadata does not name an architecture");
    if (named) (void)sm_gguf_text(named, &title);
    if (name.bytes != 5 || memcmp(name.at, "llama", 5))
        return refuse(l, "its architecture is %.*s; only llama is run", (int)(name.bytes < 40 ? name.bytes : 40),
                      name.at);
    memcpy(s->arch, "llama", 6);
    if (title.bytes >= sizeof s->name) title.bytes = sizeof s->name - 1;
    for (size_t i = 0; i < title.bytes; i++) s->name[i] = title.at[i] >= ' ' && title.at[i] <= '~' ? title.at[i] : '?';
    if (!title.bytes) memcpy(s->name, "llama", 6);
    const struct sm_gguf_value *parts = sm_gguf_value(&l->gguf, "split.count");
    size_t count = 1;
    if (parts && (sm_gguf_size(parts, 0, &count) || count > 1)) return refuse(l, "it is one part of a split model");
    const struct sm_gguf_value *experts = value_of(l, "expert_count");
    if (experts && (sm_gguf_size(experts, 0, &count) || count)) return refuse(l, "mixtures of experts are not run");
    const struct sm_gguf_value *scaling = value_of(l, "rope.scaling.type");
    if (scaling && (sm_gguf_text(scaling, &name) || name.bytes != 4 || memcmp(name.at, "none", 4)))
        return refuse(l, "its rotary scaling is of a kind that is not run");
    return 0;
}

static int read_layer_shape(struct loader *l, size_t i)
{
    struct sm_model_shape *s = &l->model->shape;
    struct sm_layer_shape *a = &s->layer[i];
    if (size_of(l, "attention.head_count", i, &a->heads)) return -1;
    a->kv_heads = a->heads;
    if (value_of(l, "attention.head_count_kv") && size_of(l, "attention.head_count_kv", i, &a->kv_heads)) return -1;
    if (size_of(l, "feed_forward_length", i, &a->ffn)) return -1;
    a->head_dim = a->heads ? s->hidden / a->heads : 0;
    size_t value_dim = 0;
    if (value_of(l, "attention.key_length") && size_of(l, "attention.key_length", i, &a->head_dim)) return -1;
    value_dim = a->head_dim;
    if (value_of(l, "attention.value_length") && size_of(l, "attention.value_length", i, &value_dim)) return -1;
    size_t rotated = a->head_dim;
    if (value_of(l, "rope.dimension_count") && size_of(l, "rope.dimension_count", i, &rotated)) return -1;
    if (value_dim != a->head_dim || rotated != a->head_dim)
        return refuse(l, "keys of %zu elements with values of %zu and %zu rotated are not run", a->head_dim, value_dim,
                      rotated);
    if (number_of(l, "rope.freq_base", 10000, &a->rope_theta)) return -1;
    a->rope_pairs = a->head_dim / 2;
    a->rope_factor = 1;
    a->kv_source = i;
    a->attention_scale = a->head_dim ? (float)(1 / sqrt((double)a->head_dim)) : 0;
    return 0;
}

static int read_shape(struct loader *l)
{
    struct sm_model_shape *s = &l->model->shape;
    double eps;
    if (read_arch(l)) return -1;
    if (size_of(l, "embedding_length", 0, &s->hidden) || size_of(l, "block_count", 0, &s->layers) ||
        size_of(l, "context_length", 0, &s->context) || number_of(l, "attention.layer_norm_rms_epsilon", -1, &eps))
        return -1;
    if (s->layers > SM_SHAPE_MAX_LAYERS)
        return refuse(l, "it has %zu layers; up to %d are run", s->layers, SM_SHAPE_MAX_LAYERS);
    s->eps = (float)eps;
    s->embedding_scale = 1;
    s->activation = SM_ACTIVATION_SILU;
    s->runs = true;
    for (size_t i = 0; i < s->layers; i++)
        if (read_layer_shape(l, i)) return -1;
    const struct sm_gguf_tensor *embedding = sm_gguf_tensor(&l->gguf, "token_embd.weight");
    if (!embedding) return refuse(l, "there is no tensor token_embd.weight");
    s->vocab = embedding->dims[1];
    s->tied = !sm_gguf_tensor(&l->gguf, "output.weight");
    char why[256];
    return sm_shape_check(s, why, sizeof why) ? refuse(l, "%s", why) : 0;
}

/* The tensor of that name and shape. Absent ones are an error when they are needed. */
static int find(struct loader *l, const char *name, size_t rows, size_t cols, bool needed, struct sm_tensor *to)
{
    static const struct {
        uint32_t type;
        enum sm_format format;
    } run[] = {{0, SM_FORMAT_F32}, {1, SM_FORMAT_F16}, {2, SM_FORMAT_Q4_0}, {3, SM_FORMAT_Q4_1}, {8, SM_FORMAT_Q8_0}};
    const struct sm_gguf_tensor *t = sm_gguf_tensor(&l->gguf, name);
    if (!t) return needed ? refuse(l, "there is no tensor %s", name) : 0;
    if (t->dims[0] != cols || t->dims[1] != rows || t->dims[2] != 1 || t->dims[3] != 1)
        return refuse(l, "tensor %s is %zu x %zu, not %zu x %zu", name, t->dims[1], t->dims[0], rows, cols);
    size_t elements, bytes;
    for (size_t i = 0; i < sizeof run / sizeof *run; i++)
        if (run[i].type == t->type) {
            *to = (struct sm_tensor){t->data, run[i].format, rows, cols, t->bytes};
            l->model->parameters += (double)rows * (double)cols;
            return 0;
        }
    return refuse(l, "tensor %s is stored as %s; F32, F16, Q4_0, Q4_1 and Q8_0 are run", name,
                  sm_ggml_type(t->type, &elements, &bytes));
}

static int find_layer(struct loader *l, size_t i)
{
    const struct sm_model_shape *s = &l->model->shape;
    const struct sm_layer_shape *a = &s->layer[i];
    const size_t q = a->heads * a->head_dim, kv = a->kv_heads * a->head_dim, d = s->hidden;
    const struct {
        const char *suffix;
        size_t rows, cols;
        bool needed;
    } names[SM_LAYER_TENSORS] = {
        [SM_TENSOR_ATTN_NORM] = {"attn_norm.weight", 1, d, true},
        [SM_TENSOR_Q] = {"attn_q.weight", q, d, true},
        [SM_TENSOR_K] = {"attn_k.weight", kv, d, true},
        [SM_TENSOR_V] = {"attn_v.weight", kv, d, true},
        [SM_TENSOR_O] = {"attn_output.weight", d, q, true},
        [SM_TENSOR_Q_BIAS] = {"attn_q.bias", 1, q, false},
        [SM_TENSOR_K_BIAS] = {"attn_k.bias", 1, kv, false},
        [SM_TENSOR_V_BIAS] = {"attn_v.bias", 1, kv, false},
        [SM_TENSOR_O_BIAS] = {"attn_output.bias", 1, d, false},
        [SM_TENSOR_FFN_NORM] = {"ffn_norm.weight", 1, d, true},
        [SM_TENSOR_GATE] = {"ffn_gate.weight", a->ffn, d, true},
        [SM_TENSOR_UP] = {"ffn_up.weight", a->ffn, d, true},
        [SM_TENSOR_DOWN] = {"ffn_down.weight", d, a->ffn, true},
    };
    /* Tensors that would change the result and that no plan reads. */
    static const char *const unread[] = {"ffn_gate.bias",      "ffn_up.bias",    "ffn_down.bias", "attn_q_norm.weight",
                                         "attn_k_norm.weight", "attn_norm.bias", "ffn_norm.bias"};
    char name[64];
    for (size_t t = 0; t < SM_LAYER_TENSORS; t++) {
        snprintf(name, sizeof name, "blk.%zu.%s", i, names[t].suffix);
        if (find(l, name, names[t].rows, names[t].cols, names[t].needed, &l->model->layer[i].tensor[t])) return -1;
    }
    for (size_t t = 0; t < sizeof unread / sizeof *unread; t++) {
        snprintf(name, sizeof name, "blk.%zu.%s", i, unread[t]);
        if (sm_gguf_tensor(&l->gguf, name)) return refuse(l, "it has a tensor %s, which is not run", name);
    }
    return 0;
}

static int find_tensors(struct loader *l)
{
    struct sm_model *m = l->model;
    const struct sm_model_shape *s = &m->shape;
    if (find(l, "token_embd.weight", s->vocab, s->hidden, true, &m->embedding) ||
        find(l, "output_norm.weight", 1, s->hidden, true, &m->output_norm) ||
        find(l, "output.weight", s->vocab, s->hidden, !s->tied, &m->head))
        return -1;
    if (s->tied) m->head = m->embedding;
    const struct sm_gguf_tensor *freqs = sm_gguf_tensor(&l->gguf, "rope_freqs.weight");
    if (freqs) {
        for (size_t i = 0; i < s->layers; i++)
            if (s->layer[i].head_dim != s->layer[0].head_dim)
                return refuse(l, "rope_freqs fits only some of its layers");
        if (freqs->type != 0) return refuse(l, "tensor rope_freqs.weight is not F32");
        if (find(l, "rope_freqs.weight", 1, s->layer[0].head_dim / 2, true, &m->rope_divisors)) return -1;
    }
    m->layer = calloc(s->layers, sizeof *m->layer);
    if (!m->layer) return refuse(l, "out of memory");
    for (size_t i = 0; i < s->layers; i++)
        if (find_layer(l, i)) return -1;
    m->paired_rows = true;
    return 0;
}

static void count_formats(struct loader *l)
{
    size_t counts[64] = {0}, elements, bytes, used = 0;
    for (size_t i = 0; i < l->gguf.tensor_count; i++) counts[l->gguf.tensors[i].type % 64]++;
    for (uint32_t t = 0; t < 64; t++) {
        if (!counts[t] || used >= sizeof l->model->formats) continue;
        const int n = snprintf(l->model->formats + used, sizeof l->model->formats - used, "%s%s %zu", used ? ", " : "",
                               sm_ggml_type(t, &elements, &bytes), counts[t]);
        if (n > 0) used += (size_t)n;
    }
}

static int load(struct sm_model **to, struct sm_model *model, const void *bytes, size_t count, const char *where,
                char *why, size_t why_bytes)
{
    struct loader l = {.model = model, .where = where, .why = why, .why_bytes = why_bytes};
    if (sm_gguf_parse(&l.gguf, bytes, count, where, why, why_bytes)) return -1;
    model->bytes = count;
    const int bad = read_shape(&l) || find_tensors(&l);
    if (!bad) count_formats(&l);
    sm_gguf_free(&l.gguf);
    if (bad) return -1;
    *to = model;
    return 0;
}

int sm_model_open_memory(struct sm_model **model, const void *bytes, size_t count, char *why, size_t why_bytes)
{
    struct sm_model *m = calloc(1, sizeof *m);
    if (!m) {
        snprintf(why, why_bytes, "loading a model from memory: out of memory");
        return -1;
    }
    if (!load(model, m, bytes, count, "a model in memory", why, why_bytes)) return 0;
    sm_model_close(m);
    return -1;
}

/* Maps a whole regular file. NULL and errno on failure. */
static void *map_file(const char *path, size_t *bytes)
{
    struct stat facts;
    void *map = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    if (!fstat(fd, &facts)) {
        if (!S_ISREG(facts.st_mode) || facts.st_size <= 0)
            errno = S_ISDIR(facts.st_mode) ? EISDIR : EINVAL;
        else
            map = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        *bytes = (size_t)facts.st_size;
    }
    const int saved = errno;
    close(fd);
    errno = saved;
    return map == MAP_FAILED ? NULL : map;
}

int sm_model_open(struct sm_model **model, const char *path, char *why, size_t why_bytes)
{
    struct sm_model *m = calloc(1, sizeof *m);
    if (m) m->file_owned = strdup(path);
    if (!m || !m->file_owned) {
        snprintf(why, why_bytes, "loading %s: out of memory", path);
        sm_model_close(m);
        return -1;
    }
    m->file = m->file_owned;
    m->map = map_file(path, &m->map_bytes);
    if (!m->map)
        snprintf(why, why_bytes, "loading %s: the file cannot be mapped (%s)", path, strerror(errno));
    else if (!load(model, m, m->map, m->map_bytes, path, why, why_bytes))
        return 0;
    sm_model_close(m);
    return -1;
}
