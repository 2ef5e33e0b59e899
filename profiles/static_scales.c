#include "static_scales.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build.h"
#include "cache.h"
#include "clock.h"
#include "preparing.h"
#include "tokens.h"

#define KIND "static scales"
#define MOST_BYTES (16 << 20) /* of a file; 128 layers take 30 KB */
#define SEEDED_TOKENS 128
#define SEEDED_WINDOW 64

void sm_static_scales_path(const struct sm_source *source, const char *recipe, char *path, size_t bytes)
{
    snprintf(path, bytes, "results/scales/%s-%s.json", source->name, recipe);
}

void sm_static_scales_free(struct sm_static_scales *s)
{
    sm_scales_destroy(s->scales);
    json_decref(s->facts);
    *s = (struct sm_static_scales){0};
}

json_t *sm_static_scales_facts(const struct sm_source *source, const char *recipe, const char *text, size_t text_bytes,
                               size_t tokens, size_t window, double momentum)
{
    const char *slash = text ? strrchr(text, '/') : NULL;
    const struct sm_build *b = sm_build();
    return json_pack("{s:i, s:s, s:o, s:s, s:{s:s?, s:I, s:I}, s:I, s:f, s:s}", "schema", 1, "kind", KIND, "model",
                     sm_source_json(source), "recipe", recipe, "text", "file", slash ? slash + 1 : text, "bytes",
                     (json_int_t)text_bytes, "tokens", (json_int_t)tokens, "window", (json_int_t)window, "momentum",
                     momentum, "slotmark", b->version);
}

static json_t *layers_json(const struct sm_scales *s)
{
    json_t *list = json_array();
    for (size_t l = 0; l < s->layers; l++) {
        json_t *one = json_object();
        for (size_t site = 0; site < SM_LAYER_SITES; site++)
            if (s->layer[l][site] > 0)
                json_object_set_new(one, sm_site_name((enum sm_site)site), json_real((double)s->layer[l][site]));
        json_array_append_new(list, one);
    }
    return list;
}

/* Every folder of a path but the last part. */
static void make_folders(const char *path)
{
    char part[4096];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = 0;
        (void)mkdir(part, 0777); /* what matters is whether the file can be made */
    }
}

int sm_static_scales_save(const struct sm_static_scales *s, const char *path, bool overwrite, char *why,
                          size_t why_bytes)
{
    json_t *all = json_copy(s->facts);
    int bad = !all || json_object_set_new(all, "layers", layers_json(s->scales));
    for (size_t i = 0; i < SM_MODEL_SITES; i++)
        if (s->scales->model[i] > 0)
            bad |= json_object_set_new(all, sm_model_site_name((enum sm_model_site)i),
                                       json_real((double)s->scales->model[i]));
    char *text = bad ? NULL : json_dumps(all, JSON_INDENT(1));
    json_decref(all);
    if (!text) {
        snprintf(why, why_bytes, "writing scales to '%s': out of memory", path);
        return -1;
    }
    make_folders(path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? O_TRUNC : O_EXCL), 0666);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    bad = !out;
    if (out) {
        bad |= fputs(text, out) < 0 || fputc('\n', out) == EOF;
        bad |= fclose(out) != 0;
    }
    free(text);
    if (!bad) return 0;
    if (!out && errno == EEXIST)
        snprintf(why, why_bytes, "writing scales to '%s': there is such a file already; --overwrite replaces it", path);
    else
        snprintf(why, why_bytes, "writing scales to '%s': %s", path, strerror(errno));
    return -1;
}

/* A magnitude of the file: absent is 0. */
static int read_one(const json_t *object, const char *name, float *to)
{
    const json_t *value = json_object_get(object, name);
    *to = 0;
    if (!value) return 0;
    const double x = json_number_value(value);
    if (!json_is_number(value) || !(x > 0 && x <= 1e30)) return -1;
    *to = (float)x;
    return 0;
}

static struct sm_scales *read_scales(const json_t *all, size_t layers)
{
    const json_t *list = json_object_get(all, "layers");
    if (!json_is_array(list) || json_array_size(list) != layers) return NULL;
    struct sm_scales *s = sm_scales_create(layers);
    int bad = !s;
    for (size_t l = 0; !bad && l < layers; l++)
        for (size_t site = 0; site < SM_LAYER_SITES; site++)
            bad |= read_one(json_array_get(list, l), sm_site_name((enum sm_site)site), &s->layer[l][site]);
    for (size_t i = 0; !bad && i < SM_MODEL_SITES; i++)
        bad |= read_one(all, sm_model_site_name((enum sm_model_site)i), &s->model[i]);
    if (!bad) return s;
    sm_scales_destroy(s);
    return NULL;
}

/* Whether a file says that it is of this model: the same contents where both sides know them, else name and size. */
static bool same_model(const json_t *facts, const struct sm_source *source)
{
    const json_t *m = json_object_get(facts, "model");
    const char *name = json_string_value(json_object_get(m, "name")),
               *sum = json_string_value(json_object_get(m, "sha256"));
    if (sum && source->sha256[0]) return !strcmp(sum, source->sha256);
    return name && !strcmp(name, source->name) &&
           json_integer_value(json_object_get(m, "bytes")) == (json_int_t)source->model->bytes;
}

static json_t *read_object(const char *path, char *why, size_t why_bytes)
{
    struct stat facts;
    json_error_t error;
    if (stat(path, &facts)) {
        snprintf(why, why_bytes, "reading scales from '%s': %s", path, strerror(errno));
        return NULL;
    }
    if (!S_ISREG(facts.st_mode) || facts.st_size > MOST_BYTES) {
        snprintf(why, why_bytes, "reading scales from '%s': it is no file of at most %d MiB", path, MOST_BYTES >> 20);
        return NULL;
    }
    json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!all) snprintf(why, why_bytes, "reading scales from '%s': line %d: %s", path, error.line, error.text);
    return all;
}

int sm_static_scales_load(struct sm_static_scales *s, const char *path, const struct sm_source *source,
                          const char *recipe, char *why, size_t why_bytes)
{
    json_t *all = read_object(path, why, why_bytes);
    if (!all) return -1;
    const char *kind = json_string_value(json_object_get(all, "kind")),
               *made_for = json_string_value(json_object_get(all, "recipe"));
    s->scales = NULL;
    if (!kind || strcmp(kind, KIND) || json_integer_value(json_object_get(all, "schema")) != 1) {
        snprintf(why, why_bytes, "reading scales from '%s': it is no file of static scales of schema 1", path);
    } else if (!same_model(all, source)) {
        const char *name = json_string_value(json_object_get(json_object_get(all, "model"), "name"));
        snprintf(why, why_bytes, "reading scales from '%s': they are of another model, %.60s, not of this %s", path,
                 name ? name : "without a name", source->name);
    } else if (!made_for || strcmp(made_for, recipe)) {
        snprintf(why, why_bytes, "reading scales from '%s': they are for the recipe %.40s, not for %s", path,
                 made_for ? made_for : "of no name", recipe);
    } else {
        s->scales = read_scales(all, source->model->shape.layers);
        if (!s->scales)
            snprintf(why, why_bytes,
                     "reading scales from '%s': it does not hold %zu layers of numbers above 0 and up to 1e30", path,
                     source->model->shape.layers);
    }
    if (!s->scales) {
        json_decref(all);
        return -1;
    }
    json_object_del(all, "layers");
    for (size_t i = 0; i < SM_MODEL_SITES; i++) json_object_del(all, sm_model_site_name((enum sm_model_site)i));
    s->facts = all;
    const json_t *text = json_object_get(all, "text");
    const char *file = json_string_value(json_object_get(text, "file"));
    snprintf(s->scales->from, sizeof s->scales->from, "%.80s: %lld tokens of %.60s", path,
             (long long)json_integer_value(json_object_get(text, "tokens")), file ? file : "a seed");
    return 0;
}

/* A short run of seeded tokens, for weights that are of a seed themselves. */
static int measure_seeded(struct sm_static_scales *s, const struct sm_source *source, const char *recipe,
                          const struct sm_choice *choice, char *why, size_t why_bytes)
{
    const struct sm_calibration how = {.window = SEEDED_WINDOW, .threads = 1};
    int32_t *tokens = sm_tokens_random(SEEDED_TOKENS, source->model->shape.vocab, 1);
    s->facts = sm_static_scales_facts(source, recipe, NULL, 0, SEEDED_TOKENS, SEEDED_WINDOW, 0);
    int bad = -1;
    if (!tokens || !s->facts)
        snprintf(why, why_bytes, "calibrating: out of memory");
    else
        bad = sm_scales_measure(&s->scales, source->model, recipe, choice, tokens, SEEDED_TOKENS, &how, why, why_bytes);
    free(tokens);
    if (bad)
        sm_static_scales_free(s);
    else
        snprintf(s->scales->from, sizeof s->scales->from, "made for this run from %d tokens of a seed", SEEDED_TOKENS);
    return bad;
}

int sm_static_scales_find(struct sm_static_scales *s, const struct sm_source *source, const char *recipe,
                          const char *path, char *why, size_t why_bytes)
{
    char standard[512];
    *s = (struct sm_static_scales){0};
    sm_static_scales_path(source, recipe, standard, sizeof standard);
    if (!path && access(standard, F_OK)) return 0;
    return sm_static_scales_load(s, path ? path : standard, source, recipe, why, why_bytes);
}

int sm_static_scales_for(struct sm_static_scales *s, const struct sm_source *source, const char *recipe,
                         bool keys_and_values, const char *path, const struct sm_choice *choice, char *why,
                         size_t why_bytes)
{
    char standard[512];
    *s = (struct sm_static_scales){0};
    if (!sm_recipe_needs_scales(recipe) && !keys_and_values) return 0;
    if (sm_static_scales_find(s, source, recipe, path, why, why_bytes)) return -1;
    if (s->scales) return 0;
    if (source->model->synthetic) return measure_seeded(s, source, recipe, choice, why, why_bytes);
    sm_static_scales_path(source, recipe, standard, sizeof standard);
    snprintf(
        why, why_bytes,
        "%s %s needs static scales, and there is no %s; make them with: slotmark scales %s --recipe %s --text FILE",
        sm_recipe_needs_scales(recipe) ? "the recipe" : "a cache in i16 under the recipe", recipe, standard,
        source->model->file ? source->model->file : source->name, recipe);
    return -1;
}

int sm_static_scales_pack(struct sm_weights **weights, const struct sm_source *source, const char *recipe,
                          const struct sm_strings *kv, const char *path, const struct sm_choice *choice, FILE *progress,
                          char *why, size_t why_bytes)
{
    struct sm_preparing packing;
    struct sm_static_scales scales;
    struct sm_choice with = *choice;
    bool i16 = false;
    for (size_t i = 0; i < kv->count; i++) i16 |= !strcmp(kv->value[i], sm_kv_name(SM_KV_I16));
    sm_preparing_begin(&packing, progress, "packing weights");
    with.packed = sm_preparing_show;
    with.packed_state = &packing;
    int bad = sm_static_scales_for(&scales, source, recipe, i16, path, &with, why, why_bytes);
    const uint64_t begin = sm_clock_ns();
    with.scales = scales.scales;
    if (!bad) bad = sm_weights_create(weights, source->model, recipe, &with, why, why_bytes);
    sm_preparing_end(&packing);
    if (!bad) (*weights)->pack_s = (double)(sm_clock_ns() - begin) * 1e-9;
    sm_static_scales_free(&scales);
    return bad;
}
