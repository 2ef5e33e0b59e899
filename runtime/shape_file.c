/* Reading a shape from `key = value` lines. Every key is used, known and given once; what is missing is an error,
 * never a default, except where the table says so. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shape.h"

#ifndef SM_SHAPE_FOLDER
#define SM_SHAPE_FOLDER "profiles/shapes"
#endif
#define MAX_FILE 65536

/* A value as text, cut out of the file's line. */
struct text {
    const char *at;
    size_t bytes;
};

enum key {
    NAME,
    ARCH,
    RUNS,
    HIDDEN,
    LAYERS,
    HEADS,
    KV_HEADS,
    HEAD_DIM,
    FFN,
    VOCAB,
    CONTEXT,
    ROPE_THETA,
    EPS,
    TIED,
    ACTIVATION,
    ROPE_SCALING,
    EMBEDDING_SCALE,
    ATTENTION_SCALE,
    ATTENTION_SOFTCAP,
    FINAL_SOFTCAP,
    WINDOW,
    FULL_LAYERS,
    FULL_HEAD_DIM,
    FULL_ROPE_THETA,
    FULL_ROPE_PART,
    KV_SHARED_LAYERS,
    KV_SHARED_FFN,
    PER_LAYER_WIDTH,
    QK_NORM,
    POST_NORMS,
    VALUE_NORM,
    VALUE_IS_KEY,
    LAYER_SCALAR,
    FULL_KV_HEADS,
    FULL_ROPE_FACTOR,
    KEYS
};

static const struct {
    const char *name, *standard; /* NULL: must be given */
} keys[KEYS] = {
    [NAME] = {"name", NULL},
    [ARCH] = {"arch", NULL},
    [RUNS] = {"runs", NULL},
    [HIDDEN] = {"hidden", NULL},
    [LAYERS] = {"layers", NULL},
    [HEADS] = {"heads", NULL},
    [KV_HEADS] = {"kv_heads", NULL},
    [HEAD_DIM] = {"head_dim", NULL},
    [FFN] = {"ffn", NULL},
    [VOCAB] = {"vocab", NULL},
    [CONTEXT] = {"context", NULL},
    [ROPE_THETA] = {"rope_theta", NULL},
    [EPS] = {"eps", NULL},
    [TIED] = {"tied", NULL},
    [ACTIVATION] = {"activation", "silu"},
    [ROPE_SCALING] = {"rope_scaling", "0 0 0 0"}, /* factor, low, high, original context */
    [EMBEDDING_SCALE] = {"embedding_scale", "1"},
    [ATTENTION_SCALE] = {"attention_scale", "0"}, /* 0: 1 / sqrt(head_dim) */
    [ATTENTION_SOFTCAP] = {"attention_softcap", "0"},
    [FINAL_SOFTCAP] = {"final_softcap", "0"},
    [WINDOW] = {"window", "0"},                     /* of the layers that are not full */
    [FULL_LAYERS] = {"full_layers", ""},            /* indices; only where there is a window */
    [FULL_HEAD_DIM] = {"full_head_dim", "0"},       /* of full layers; 0: head_dim */
    [FULL_ROPE_THETA] = {"full_rope_theta", "0"},   /* 0: rope_theta */
    [FULL_ROPE_PART] = {"full_rope_part", "1"},     /* of the pairs of full layers, how many rotate */
    [KV_SHARED_LAYERS] = {"kv_shared_layers", "0"}, /* the last ones, which use earlier keys and values */
    [KV_SHARED_FFN] = {"kv_shared_ffn", "0"},       /* their inner width; 0: ffn */
    [PER_LAYER_WIDTH] = {"per_layer_width", "0"},
    [QK_NORM] = {"qk_norm", "no"},
    [POST_NORMS] = {"post_norms", "no"},
    [VALUE_NORM] = {"value_norm", "no"},
    [VALUE_IS_KEY] = {"value_is_key", "no"}, /* on full layers that own keys: they have no values of their own */
    [LAYER_SCALAR] = {"layer_scalar", "no"},
    [FULL_KV_HEADS] = {"full_kv_heads", "0"},       /* of full layers; 0: kv_heads */
    [FULL_ROPE_FACTOR] = {"full_rope_factor", "1"}, /* divides the rotary frequencies of full layers */
};

/* The reading of one file. The first error is kept. */
struct reader {
    struct text value[KEYS];
    const char *where;
    char *why;
    size_t why_bytes;
    int failed;
};

static void fail(struct reader *r, const char *what, struct text t)
{
    if (!r->failed)
        snprintf(r->why, r->why_bytes, "reading the shape %s: %s '%.*s'", r->where, what,
                 t.bytes < 60 ? (int)t.bytes : 60, t.at);
    r->failed = 1;
}

static struct text trimmed(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t' || *from == '\r')) from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r')) to--;
    return (struct text){from, (size_t)(to - from)};
}

static int equal(struct text t, const char *word)
{
    return strlen(word) == t.bytes && !memcmp(t.at, word, t.bytes);
}

static void split_lines(struct reader *r, const char *at)
{
    while (*at && !r->failed) {
        const size_t line = strcspn(at, "\n"), part = strcspn(at, "#\n");
        const struct text whole = trimmed(at, at + part);
        const char *sign = memchr(whole.at, '=', whole.bytes);
        if (whole.bytes && !sign) fail(r, "this line is not `key = value`:", whole);
        if (sign) {
            const struct text key = trimmed(whole.at, sign);
            size_t k = 0;
            while (k < KEYS && !equal(key, keys[k].name)) k++;
            if (k == KEYS)
                fail(r, "there is no key", key);
            else if (r->value[k].at)
                fail(r, "given twice:", key);
            else
                r->value[k] = trimmed(sign + 1, whole.at + whole.bytes);
        }
        at += line + (at[line] == '\n');
    }
    for (size_t k = 0; k < KEYS && !r->failed; k++) {
        if (r->value[k].at) continue;
        if (!keys[k].standard)
            fail(r, "it lacks", (struct text){keys[k].name, strlen(keys[k].name)});
        else
            r->value[k] = (struct text){keys[k].standard, strlen(keys[k].standard)};
    }
}

/* The next number of a list separated by blanks or commas; 0 when there is none left. */
static int next_number(struct reader *r, struct text *list, double *number)
{
    while (list->bytes && (*list->at == ' ' || *list->at == ',')) list->at++, list->bytes--;
    if (!list->bytes) return 0;
    char copy[40];
    size_t n = 0;
    while (n < list->bytes && list->at[n] != ' ' && list->at[n] != ',') n++;
    const struct text word = {list->at, n};
    list->at += n;
    list->bytes -= n;
    if (n >= sizeof copy) {
        fail(r, "not a number:", word);
        return 0;
    }
    memcpy(copy, word.at, n);
    copy[n] = '\0';
    char *end;
    *number = strtod(copy, &end);
    if (*end || !isfinite(*number)) fail(r, "not a number:", word);
    return !r->failed;
}

static double number_of(struct reader *r, enum key k)
{
    struct text list = r->value[k];
    double x = 0, more;
    if (!next_number(r, &list, &x)) fail(r, "it needs a number for", (struct text){keys[k].name, strlen(keys[k].name)});
    if (next_number(r, &list, &more)) fail(r, "more than one number:", r->value[k]);
    return x;
}

static size_t size_of(struct reader *r, enum key k)
{
    const double x = number_of(r, k);
    if (x >= 0 && x <= 0x1p40 && x == floor(x)) return (size_t)x;
    fail(r, "not a whole number of at least 0:", r->value[k]);
    return 0;
}

static bool yes_of(struct reader *r, enum key k)
{
    if (!equal(r->value[k], "yes") && !equal(r->value[k], "no")) fail(r, "neither yes nor no:", r->value[k]);
    return equal(r->value[k], "yes");
}

static void word_of(struct reader *r, enum key k, char *to, size_t bytes)
{
    const struct text t = r->value[k];
    if (!t.bytes || t.bytes >= bytes) {
        fail(r, "not a name of fitting length:", t);
        return;
    }
    memcpy(to, t.at, t.bytes);
    to[t.bytes] = '\0';
}

static void read_model(struct reader *r, struct sm_model_shape *s)
{
    word_of(r, NAME, s->name, sizeof s->name);
    word_of(r, ARCH, s->arch, sizeof s->arch);
    s->runs = yes_of(r, RUNS);
    s->tied = yes_of(r, TIED);
    s->hidden = size_of(r, HIDDEN);
    s->vocab = size_of(r, VOCAB);
    s->context = size_of(r, CONTEXT);
    s->layers = size_of(r, LAYERS);
    s->eps = (float)number_of(r, EPS);
    s->embedding_scale = (float)number_of(r, EMBEDDING_SCALE);
    s->final_softcap = (float)number_of(r, FINAL_SOFTCAP);
    s->per_layer_width = size_of(r, PER_LAYER_WIDTH);
    s->qk_norm = yes_of(r, QK_NORM);
    s->post_norms = yes_of(r, POST_NORMS);
    s->layer_scalar = yes_of(r, LAYER_SCALAR);
    s->activation = equal(r->value[ACTIVATION], "gelu") ? SM_ACTIVATION_GELU : SM_ACTIVATION_SILU;
    if (!equal(r->value[ACTIVATION], "gelu") && !equal(r->value[ACTIVATION], "silu"))
        fail(r, "neither silu nor gelu:", r->value[ACTIVATION]);
    struct text scaling = r->value[ROPE_SCALING];
    struct sm_rope_scaling *f = &s->rope_scaling;
    if (!next_number(r, &scaling, &f->factor) || !next_number(r, &scaling, &f->low) ||
        !next_number(r, &scaling, &f->high) || !next_number(r, &scaling, &f->original) || scaling.bytes)
        fail(r, "not four numbers:", r->value[ROPE_SCALING]);
    if (s->layers > SM_SHAPE_MAX_LAYERS) fail(r, "too many layers:", r->value[LAYERS]);
}

/* Layers before `first` own keys and values; the others use those of the last owner of their kind. */
static void find_sources(struct reader *r, struct sm_model_shape *s, const bool *full, size_t first)
{
    for (size_t l = 0; l < s->layers; l++) {
        size_t owner = l < first ? l : first;
        while (l >= first && owner > 0 && full[owner - 1] != full[l]) owner--;
        if (l >= first && !owner) {
            fail(r, "no layer owns the keys and values that a layer needs, with", r->value[KV_SHARED_LAYERS]);
            return;
        }
        s->layer[l].kv_source = l < first ? l : owner - 1;
    }
}

static void read_layers(struct reader *r, struct sm_model_shape *s)
{
    bool full[SM_SHAPE_MAX_LAYERS] = {false};
    const size_t window = size_of(r, WINDOW), shared = size_of(r, KV_SHARED_LAYERS);
    struct text list = r->value[FULL_LAYERS];
    for (double index; next_number(r, &list, &index);) {
        if (index >= 0 && index < (double)s->layers)
            full[(size_t)index] = true;
        else
            fail(r, "a layer that the model does not have, in", r->value[FULL_LAYERS]);
    }
    const size_t head_dim = size_of(r, HEAD_DIM), full_head_dim = size_of(r, FULL_HEAD_DIM);
    const size_t ffn = size_of(r, FFN), shared_ffn = size_of(r, KV_SHARED_FFN);
    const double theta = number_of(r, ROPE_THETA), full_theta = number_of(r, FULL_ROPE_THETA);
    const double part = number_of(r, FULL_ROPE_PART), scale = number_of(r, ATTENTION_SCALE);
    if (shared > s->layers) fail(r, "more than the layers of the model:", r->value[KV_SHARED_LAYERS]);
    if (!(part >= 0 && part <= 1)) fail(r, "not between 0 and 1:", r->value[FULL_ROPE_PART]);
    if (r->failed) return;
    for (size_t l = 0; l < s->layers; l++) {
        struct sm_layer_shape *a = &s->layer[l];
        const bool is_full = full[l] || !window;
        a->heads = size_of(r, HEADS);
        a->kv_heads = size_of(r, is_full && size_of(r, FULL_KV_HEADS) ? FULL_KV_HEADS : KV_HEADS);
        a->head_dim = is_full && full_head_dim ? full_head_dim : head_dim;
        a->ffn = l >= s->layers - shared && shared_ffn ? shared_ffn : ffn;
        a->window = is_full ? 0 : window;
        a->rope_theta = is_full && full_theta > 0 ? full_theta : theta;
        a->rope_pairs = is_full ? (size_t)(part * (double)a->head_dim / 2) : a->head_dim / 2;
        a->rope_factor = is_full ? number_of(r, FULL_ROPE_FACTOR) : 1;
        a->attention_scale = (float)(scale > 0 ? scale : 1 / sqrt((double)a->head_dim));
        a->attention_softcap = (float)number_of(r, ATTENTION_SOFTCAP);
        a->value_norm = yes_of(r, VALUE_NORM);
    }
    find_sources(r, s, full, s->layers - shared);
    for (size_t l = 0; l < s->layers; l++)
        s->layer[l].value_is_key = yes_of(r, VALUE_IS_KEY) && full[l] && s->layer[l].kv_source == l;
}

int sm_shape_parse(struct sm_model_shape *shape, const char *text, const char *where, char *why, size_t why_bytes)
{
    struct reader r = {.where = where, .why = why, .why_bytes = why_bytes};
    memset(shape, 0, sizeof *shape);
    split_lines(&r, text);
    if (!r.failed) read_model(&r, shape);
    if (!r.failed) read_layers(&r, shape);
    return r.failed ? -1 : sm_shape_check(shape, why, why_bytes);
}

const char *sm_shape_folder(void)
{
    const char *set = getenv("SLOTMARK_SHAPES");
    return set && *set ? set : SM_SHAPE_FOLDER;
}

static int path_of(char *path, size_t bytes, const char *name)
{
    const int plain = !strchr(name, '/') && !strstr(name, ".shape");
    const int n =
        plain ? snprintf(path, bytes, "%s/%s.shape", sm_shape_folder(), name) : snprintf(path, bytes, "%s", name);
    return n < 0 || (size_t)n >= bytes ? -1 : 0;
}

int sm_shape_load(struct sm_model_shape *shape, const char *name, char *why, size_t why_bytes)
{
    char path[4096], text[MAX_FILE];
    FILE *file = path_of(path, sizeof path, name) ? NULL : fopen(path, "rb");
    if (!file) {
        snprintf(why, why_bytes, "there is no shape '%s': %s could not be read (%s)", name, path, strerror(errno));
        return -1;
    }
    const size_t n = fread(text, 1, sizeof text, file);
    const int bad = ferror(file);
    fclose(file);
    if (bad || n == sizeof text || memchr(text, '\0', n)) {
        snprintf(why, why_bytes, "reading the shape %s: %s", path,
                 bad ? "the file could not be read" : "it is not a text of less than 64 KiB");
        return -1;
    }
    text[n] = '\0';
    return sm_shape_parse(shape, text, path, why, why_bytes);
}

bool sm_shape_exists(const char *name)
{
    char path[4096];
    FILE *file = path_of(path, sizeof path, name) ? NULL : fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}
