/* A model from an HF folder: config.json, and model.safetensors or the files that model.safetensors.index.json names.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hf_tensors.h"
#include "map_file.h"
#include "model_open.h"

#define MAX_CONFIG ((size_t)16 << 20)
#define MAX_INDEX ((size_t)64 << 20)
#define MAX_SHARDS 512

struct shard {
    const char *file; /* in the index */
    struct sm_safetensors tensors;
};

/* A folder while it is read. */
struct folder {
    struct hf_loader loader;
    struct sm_hf_config config;
    struct shard *shards;
    size_t shard_count;
    json_t *index;
};

static int path_of(const struct folder *f, const char *file, char *path, size_t bytes)
{
    const int n = snprintf(path, bytes, "%s/%s", f->loader.where, file);
    return n < 0 || (size_t)n >= bytes ? hf_refuse(&f->loader, "the path of %.40s is too long", file) : 0;
}

/* The text of a small file; NULL and a sentence. */
static char *map_text(const struct folder *f, const char *file, size_t most, size_t *bytes)
{
    char path[4096];
    const char *problem;
    if (path_of(f, file, path, sizeof path)) return NULL;
    char *text = sm_map_file(path, bytes, &problem);
    if (!text) (void)hf_refuse(&f->loader, "its %s cannot be mapped (%s)", file, problem);
    if (text && *bytes > most) {
        (void)hf_refuse(&f->loader, "its %s has %zu bytes; up to %zu are read", file, *bytes, most);
        munmap(text, *bytes);
        return NULL;
    }
    return text;
}

static int read_config(struct folder *f)
{
    struct hf_loader *l = &f->loader;
    char path[4096];
    size_t bytes = 0;
    char *text = map_text(f, "config.json", MAX_CONFIG, &bytes);
    if (!text || path_of(f, "config.json", path, sizeof path)) return -1;
    const int bad = sm_hf_config_parse(&f->config, text, bytes, path, l->why, l->why_bytes);
    munmap(text, bytes);
    return bad;
}

static int open_shard(struct folder *f, struct shard *shard, const char *file)
{
    char path[4096];
    shard->file = file;
    return path_of(f, file, path, sizeof path) ||
           sm_safetensors_open(&shard->tensors, path, f->loader.why, f->loader.why_bytes);
}

static int make_room(struct folder *f, size_t shards, size_t tensors)
{
    if (!f->shards) f->shards = calloc(shards, sizeof *f->shards);
    if (tensors) f->loader.tensors = calloc(tensors, sizeof *f->loader.tensors);
    return f->shards && (!tensors || f->loader.tensors) ? 0 : hf_refuse(&f->loader, "out of memory");
}

static int list_single(struct folder *f, const struct sm_safetensors *file)
{
    if (make_room(f, 1, file->count + 1)) return -1;
    for (size_t i = 0; i < file->count; i++) f->loader.tensors[f->loader.count++] = &file->tensors[i];
    return 0;
}

/* The shard of that name, opened when it is met first. */
static struct shard *shard_of(struct folder *f, const char *tensor, const char *file)
{
    for (size_t i = f->shard_count; file && i-- > 0;)
        if (!strcmp(f->shards[i].file, file)) return &f->shards[i];
    if (!file || !*file || *file == '.' || strchr(file, '/'))
        (void)hf_refuse(&f->loader, "its index puts %.80s into %.80s, which is not a file of the folder", tensor,
                        file ? file : "(no text)");
    else if (f->shard_count == MAX_SHARDS)
        (void)hf_refuse(&f->loader, "its index names more than %d files", MAX_SHARDS);
    else if (!open_shard(f, &f->shards[f->shard_count], file))
        return &f->shards[f->shard_count++];
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct sm_safetensor *const *)a)->name, (*(const struct sm_safetensor *const *)b)->name);
}

static int list_index(struct folder *f)
{
    struct hf_loader *l = &f->loader;
    size_t bytes = 0;
    json_error_t error;
    const char *name;
    json_t *file;
    char *text = map_text(f, "model.safetensors.index.json", MAX_INDEX, &bytes);
    if (!text) return -1;
    f->index = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    munmap(text, bytes);
    if (!f->index)
        return hf_refuse(l, "its index is not JSON: %s, in line %d", *error.text ? error.text : "out of memory",
                         error.line);
    json_t *map = json_object_get(f->index, "weight_map");
    if (!json_object_size(map)) return hf_refuse(l, "its index has no weight_map");
    if (make_room(f, MAX_SHARDS, json_object_size(map))) return -1;
    json_object_foreach(map, name, file)
    {
        const struct shard *shard = shard_of(f, name, json_string_value(file));
        if (!shard) return -1;
        const struct sm_safetensor *t = sm_safetensors_find(&shard->tensors, name);
        if (!t) return hf_refuse(l, "its index puts %.80s into %.80s, which does not have it", name, shard->file);
        l->tensors[l->count++] = t;
    }
    qsort(l->tensors, l->count, sizeof *l->tensors, by_name);
    return 0;
}

static int list_tensors(struct folder *f)
{
    static const char single[] = "model.safetensors";
    char path[4096];
    if (path_of(f, single, path, sizeof path)) return -1;
    if (access(path, F_OK)) {
        if (path_of(f, "model.safetensors.index.json", path, sizeof path)) return -1;
        if (access(path, F_OK))
            return hf_refuse(&f->loader, "it has neither model.safetensors nor model.safetensors.index.json");
        return list_index(f);
    }
    if (make_room(f, 1, 0) || open_shard(f, f->shards, single)) return -1;
    f->shard_count = 1;
    return list_single(f, &f->shards->tensors);
}

/* Moves a tensor that is not aligned to its elements; with `to` NULL it only says how much room that takes. */
static size_t align_tensor(struct sm_tensor *t, unsigned char *to)
{
    const size_t element = t->format == SM_FORMAT_F32 ? sizeof(float) : sizeof(uint16_t);
    if (!t->data || (uintptr_t)t->data % element == 0) return 0;
    if (to) t->data = memcpy(to, t->data, t->bytes);
    return (t->bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

static size_t align_all(struct sm_model *m, unsigned char *to)
{
    struct sm_tensor *const own[] = {&m->embedding,         &m->output_norm,    &m->per_layer_table,
                                     &m->per_layer_context, &m->per_layer_norm, &m->head};
    const size_t count = sizeof own / sizeof *own - m->shape.tied; /* a tied head is the embedding */
    size_t used = 0;
    for (size_t i = 0; i < count; i++) used += align_tensor(own[i], to ? to + used : NULL);
    for (size_t i = 0; i < m->shape.layers; i++)
        for (size_t t = 0; t < SM_LAYER_TENSORS; t++)
            used += align_tensor(&m->layer[i].tensor[t], to ? to + used : NULL);
    if (m->shape.tied) m->head = m->embedding;
    return used;
}

/* The files' bytes, and those of the tensors that had to be moved, become the model's. */
static int keep_parts(struct folder *f)
{
    struct sm_model *m = f->loader.model;
    const size_t moved = align_all(m, NULL);
    m->parts = calloc(f->shard_count + 1, sizeof *m->parts);
    if (!m->parts) return hf_refuse(&f->loader, "out of memory");
    if (moved) {
        void *room = mmap(NULL, moved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED) return hf_refuse(&f->loader, "no memory for %zu bytes", moved);
        m->parts[m->part_count++] = (struct sm_model_part){room, moved};
        (void)align_all(m, room);
    }
    for (size_t i = 0; i < f->shard_count; i++) {
        struct sm_safetensors *file = &f->shards[i].tensors;
        if (!file->map) continue; /* bytes that the caller keeps */
        m->parts[m->part_count++] = (struct sm_model_part){file->map, file->map_bytes};
        m->bytes += file->map_bytes;
        file->map = NULL;
    }
    return 0;
}

static void write_facts(struct folder *f)
{
    struct sm_model *m = f->loader.model;
    size_t counts[SM_SAFETENSORS_TYPES] = {0}, used = 0;
    for (size_t i = 0; i < f->loader.count; i++) counts[f->loader.tensors[i]->type]++;
    for (size_t t = 0; t < SM_SAFETENSORS_TYPES; t++) {
        if (!counts[t] || used >= sizeof m->formats) continue;
        const int n = snprintf(m->formats + used, sizeof m->formats - used, "%s%s %zu", used ? ", " : "",
                               sm_safetensors_type_name((enum sm_safetensors_type)t), counts[t]);
        if (n > 0) used += (size_t)n;
    }
}

/* The model is called what its folder is called. */
static void name_model(struct sm_model *m)
{
    size_t end = m->file ? strlen(m->file) : 0;
    while (end > 1 && m->file[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && m->file[begin - 1] != '/') begin--;
    if (end - begin >= sizeof m->shape.name) end = begin + sizeof m->shape.name - 1;
    if (end == begin || m->file[begin] == '.') return;
    for (size_t i = begin; i < end; i++)
        m->shape.name[i - begin] = m->file[i] >= ' ' && m->file[i] <= '~' ? m->file[i] : '?';
    m->shape.name[end - begin] = '\0';
}

/* From the config and the list of tensors to the model. */
static int build_model(struct folder *f)
{
    struct sm_model *m = f->loader.model;
    f->loader.config = &f->config;
    m->shape = f->config.shape;
    m->norm_plus_one = f->config.norm_plus_one;
    name_model(m);
    if (hf_find_tensors(&f->loader) || keep_parts(f)) return -1;
    write_facts(f);
    return 0;
}

static void close_folder(struct folder *f)
{
    for (size_t i = 0; i < f->shard_count; i++) sm_safetensors_close(&f->shards[i].tensors);
    json_decref(f->index);
    free(f->shards);
    free(f->loader.tensors);
}

int sm_model_open_folder(struct sm_model *model, char *why, size_t why_bytes)
{
    struct folder f = {.loader = {.model = model, .where = model->file, .why = why, .why_bytes = why_bytes}};
    const int bad = read_config(&f) || list_tensors(&f) || build_model(&f);
    close_folder(&f);
    return bad ? -1 : 0;
}

int sm_model_open_config(struct sm_model **model, const char *config, size_t config_bytes, const void *tensors,
                         size_t tensor_bytes, char *why, size_t why_bytes)
{
    struct sm_model *m = calloc(1, sizeof *m);
    struct folder f = {.loader = {.model = m, .where = "a model in memory", .why = why, .why_bytes = why_bytes}};
    int bad = m ? make_room(&f, 1, 0) : hf_refuse(&f.loader, "out of memory");
    if (!bad) bad = sm_hf_config_parse(&f.config, config, config_bytes, "a config in memory", why, why_bytes);
    if (!bad) {
        bad = sm_safetensors_parse(&f.shards->tensors, tensors, tensor_bytes, "tensors in memory", why, why_bytes);
        f.shard_count = !bad;
    }
    if (!bad) bad = list_single(&f, &f.shards->tensors) || build_model(&f);
    close_folder(&f);
    if (bad)
        sm_model_close(m);
    else
        m->bytes = tensor_bytes, *model = m;
    return bad ? -1 : 0;
}
