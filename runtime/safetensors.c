#include "safetensors.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "map_file.h"
#include "sentence.h"

#define PREFIX sizeof(uint64_t)
#define MAX_HEADER 100000000 /* as the reference implementation has it */

static const struct {
    const char *name;
    size_t bytes;
} types[SM_SAFETENSORS_TYPES] = {
    [SM_SAFETENSORS_F32] = {"F32", 4},         [SM_SAFETENSORS_F16] = {"F16", 2},
    [SM_SAFETENSORS_BF16] = {"BF16", 2},       [SM_SAFETENSORS_F64] = {"F64", 8},
    [SM_SAFETENSORS_F8_E4M3] = {"F8_E4M3", 1}, [SM_SAFETENSORS_F8_E5M2] = {"F8_E5M2", 1},
    [SM_SAFETENSORS_I64] = {"I64", 8},         [SM_SAFETENSORS_I32] = {"I32", 4},
    [SM_SAFETENSORS_I16] = {"I16", 2},         [SM_SAFETENSORS_I8] = {"I8", 1},
    [SM_SAFETENSORS_U64] = {"U64", 8},         [SM_SAFETENSORS_U32] = {"U32", 4},
    [SM_SAFETENSORS_U16] = {"U16", 2},         [SM_SAFETENSORS_U8] = {"U8", 1},
    [SM_SAFETENSORS_BOOL] = {"BOOL", 1},
};

/* The reading of one file. */
struct reader {
    const unsigned char *data;
    size_t data_bytes;
    const char *where;
    char *why;
    size_t why_bytes;
};

static int refuse(const struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const struct reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)sm_sentence(r->why, r->why_bytes, "reading", r->where, format, args);
    va_end(args);
    return -1;
}

static int size_of(const json_t *value, size_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0) return -1;
    *out = (size_t)json_integer_value(value);
    return 0;
}

static int read_type(const struct reader *r, const json_t *value, struct sm_safetensor *t)
{
    const char *name = json_string_value(value);
    for (size_t i = 0; name && i < SM_SAFETENSORS_TYPES; i++)
        if (!strcmp(name, types[i].name)) {
            t->type = (enum sm_safetensors_type)i;
            return 0;
        }
    return name ? refuse(r, "tensor %.80s is of the type %.20s, which is not known", t->name, name)
                : refuse(r, "tensor %.80s has no dtype", t->name);
}

/* Its sizes, and in `bytes` what they come to. */
static int read_sizes(const struct reader *r, const json_t *value, struct sm_safetensor *t)
{
    t->rank = json_array_size(value);
    t->bytes = types[t->type].bytes;
    if (!json_is_array(value)) return refuse(r, "tensor %.80s has no shape", t->name);
    if (t->rank > SM_SAFETENSORS_MAX_RANK)
        return refuse(r, "tensor %.80s has %zu axes; up to %d are read", t->name, t->rank, SM_SAFETENSORS_MAX_RANK);
    for (size_t i = 0; i < t->rank; i++) {
        if (size_of(json_array_get(value, i), &t->sizes[i]))
            return refuse(r, "axis %zu of tensor %.80s is not a size", i, t->name);
        if (__builtin_mul_overflow(t->bytes, t->sizes[i], &t->bytes))
            return refuse(r, "tensor %.80s claims more elements than can be counted", t->name);
    }
    return 0;
}

static int read_tensor(const struct reader *r, const char *name, const json_t *entry, struct sm_safetensor *t)
{
    const json_t *offsets = json_object_get(entry, "data_offsets");
    size_t begin, end;
    t->name = name;
    if (read_type(r, json_object_get(entry, "dtype"), t) || read_sizes(r, json_object_get(entry, "shape"), t))
        return -1;
    if (json_object_size(entry) != 3 || json_array_size(offsets) != 2 || size_of(json_array_get(offsets, 0), &begin) ||
        size_of(json_array_get(offsets, 1), &end))
        return refuse(r, "the entry of tensor %.80s is not a dtype, a shape and two data_offsets", name);
    if (begin > end || end > r->data_bytes)
        return refuse(r, "tensor %.80s lies at offsets %zu to %zu of %zu bytes of data", name, begin, end,
                      r->data_bytes);
    if (end - begin != t->bytes)
        return refuse(r, "tensor %.80s has %zu bytes, and its type and shape need %zu", name, end - begin, t->bytes);
    t->data = r->data + begin;
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct sm_safetensor *x = a, *y = b;
    if (x->data != y->data) return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_name(const void *a, const void *b)
{
    const struct sm_safetensor *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Tensors follow one another from the first byte to the last. */
static int check_places(const struct reader *r, struct sm_safetensors *file)
{
    const unsigned char *at = r->data;
    qsort(file->tensors, file->count, sizeof *file->tensors, by_place);
    for (size_t i = 0; i < file->count; i++) {
        const struct sm_safetensor *t = &file->tensors[i];
        const unsigned char *begin = t->data;
        if (begin < at)
            return refuse(r, "tensor %.80s overlaps tensor %.80s", t->name, file->tensors[i ? i - 1 : 0].name);
        if (begin > at)
            return refuse(r, "%zu bytes before tensor %.80s belong to no tensor", (size_t)(begin - at), t->name);
        at = begin + t->bytes;
    }
    const size_t used = (size_t)(at - r->data);
    if (used != r->data_bytes) return refuse(r, "its last %zu bytes belong to no tensor", r->data_bytes - used);
    qsort(file->tensors, file->count, sizeof *file->tensors, by_name);
    return 0;
}

static int check_metadata(const struct reader *r, json_t *metadata)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata)) return refuse(r, "its __metadata__ is not an object");
    json_object_foreach(metadata, key, value) if (!json_is_string(value)) return refuse(
        r, "its __metadata__ holds %.80s, which is not a string", key);
    return 0;
}

static int read_header(const struct reader *r, struct sm_safetensors *file)
{
    json_t *header = file->header, *entry;
    const char *name;
    file->tensors = calloc(json_object_size(header) + 1, sizeof *file->tensors);
    if (!file->tensors) return refuse(r, "out of memory");
    json_object_foreach(header, name, entry)
    {
        if (!strcmp(name, "__metadata__")) {
            if (check_metadata(r, entry)) return -1;
        } else if (read_tensor(r, name, entry, &file->tensors[file->count++]))
            return -1;
    }
    return check_places(r, file);
}

int sm_safetensors_parse(struct sm_safetensors *file, const void *bytes, size_t count, const char *where, char *why,
                         size_t why_bytes)
{
    struct reader r = {.where = where, .why = why, .why_bytes = why_bytes};
    uint64_t length = 0;
    json_error_t error;
    memset(file, 0, sizeof *file);
    if (count < PREFIX) return refuse(&r, "%zu bytes are no safetensors file", count);
    memcpy(&length, bytes, sizeof length);
    if (length > MAX_HEADER || length > count - PREFIX)
        return refuse(&r, "its header claims %llu bytes, and the file has %zu (up to %d are read)",
                      (unsigned long long)length, count - PREFIX, MAX_HEADER);
    const char *text = (const char *)bytes + PREFIX;
    if (!length || *text != '{') return refuse(&r, "its header does not begin with '{'");
    file->header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    r.data = (const unsigned char *)text + length;
    r.data_bytes = count - PREFIX - (size_t)length;
    const int bad = file->header ? read_header(&r, file)
                                 : refuse(&r, "its header is not JSON: %s, at byte %d",
                                          *error.text ? error.text : "out of memory", error.position);
    if (bad) sm_safetensors_close(file);
    return bad;
}

int sm_safetensors_open(struct sm_safetensors *file, const char *path, char *why, size_t why_bytes)
{
    const char *problem;
    size_t bytes = 0;
    void *map = sm_map_file(path, &bytes, &problem);
    if (!map) {
        snprintf(why, why_bytes, "reading %s: it cannot be mapped (%s)", path, problem);
        return -1;
    }
    if (sm_safetensors_parse(file, map, bytes, path, why, why_bytes)) {
        munmap(map, bytes);
        return -1;
    }
    file->map = map;
    file->map_bytes = bytes;
    return 0;
}

void sm_safetensors_close(struct sm_safetensors *file)
{
    if (file->map) munmap(file->map, file->map_bytes);
    json_decref(file->header);
    free(file->tensors);
    memset(file, 0, sizeof *file);
}

const struct sm_safetensor *sm_safetensors_find(const struct sm_safetensors *file, const char *name)
{
    const struct sm_safetensor key = {.name = name};
    return file->count ? bsearch(&key, file->tensors, file->count, sizeof key, by_name) : NULL;
}

const char *sm_safetensors_type_name(enum sm_safetensors_type type)
{
    return (size_t)type < SM_SAFETENSORS_TYPES ? types[type].name : "?";
}
