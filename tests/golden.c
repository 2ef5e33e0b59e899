#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "golden data: %s: %s\n", what, name);
    exit(1);
}

const char *golden_path(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/%s", SM_SOURCE_DIR, name);
    return path;
}

static void *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail("cannot read", path);
    const long size = ftell(file);
    void *data = size > 0 ? malloc((size_t)size) : NULL;
    rewind(file);
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) fail("cannot read", path);
    fclose(file);
    *bytes = (size_t)size;
    return data;
}

void golden_open(struct golden *golden, const char *name)
{
    char full[256];
    size_t bytes;
    uint64_t header;
    json_error_t error;
    snprintf(full, sizeof full, "%s.json", name);
    golden->facts = json_load_file(golden_path(full), 0, &error);
    snprintf(full, sizeof full, "%s.safetensors", name);
    golden->file = read_file(golden_path(full), &bytes);
    memcpy(&header, golden->file, sizeof header);
    if (header > bytes - sizeof header) fail("the header is longer than the file", name);
    golden->data = (const unsigned char *)golden->file + sizeof header + header;
    golden->header = json_loadb((const char *)golden->file + sizeof header, (size_t)header, 0, &error);
    if (!golden->facts || !golden->header) fail("no JSON", name);
}

void golden_close(struct golden *golden)
{
    json_decref(golden->facts);
    json_decref(golden->header);
    free(golden->file);
}

static const void *elements(const struct golden *golden, const char *tensor, const char *type, size_t rank,
                            size_t *sizes)
{
    const json_t *entry = json_object_get(golden->header, tensor);
    const json_t *shape = json_object_get(entry, "shape");
    const char *stored = json_string_value(json_object_get(entry, "dtype"));
    if (!stored || strcmp(stored, type) || json_array_size(shape) != rank)
        fail("no such tensor of that type and rank", tensor);
    for (size_t i = 0; sizes && i < rank; i++) sizes[i] = (size_t)json_integer_value(json_array_get(shape, i));
    return golden->data + json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), 0));
}

const float *golden_floats(const struct golden *golden, const char *tensor, size_t rank, size_t *sizes)
{
    return elements(golden, tensor, "F32", rank, sizes);
}

const int32_t *golden_ints(const struct golden *golden, const char *tensor, size_t rank, size_t *sizes)
{
    return elements(golden, tensor, "I32", rank, sizes);
}

const uint8_t *golden_bytes(const struct golden *golden, const char *tensor, size_t rank, size_t *sizes)
{
    return elements(golden, tensor, "U8", rank, sizes);
}

double golden_number(const struct golden *golden, const char *key)
{
    const json_t *value = json_object_get(golden->facts, key);
    if (!json_is_number(value)) fail("no such number", key);
    return json_number_value(value);
}
