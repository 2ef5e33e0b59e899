#include "hf_fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "golden.h"

const char *const small_models[SMALL_MODELS] = {"llama-tiny",  "llama3-rope-tiny", "gemma2-tiny",
                                                "gemma3-tiny", "gemma4-tiny",      "gemma4-keqv-tiny"};
const char *const config_styles[CONFIG_STYLES] = {"config.json", "config.published-style.json"};

void folder_create(struct folder *folder)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder->path, sizeof folder->path, "%s/slotmark-test-XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(folder->path));
}

void folder_destroy(const struct folder *folder)
{
    DIR *inside = opendir(folder->path);
    assert_non_null(inside);
    for (const struct dirent *entry; (entry = readdir(inside));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            const char *path = folder_path(folder, entry->d_name);
            if (unlink(path)) assert_int_equal(rmdir(path), 0);
        }
    closedir(inside);
    assert_int_equal(rmdir(folder->path), 0);
}

const char *folder_path(const struct folder *folder, const char *file)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder->path, file);
    return path;
}

void folder_write(const struct folder *folder, const char *file, const void *bytes, size_t count)
{
    (void)unlink(folder_path(folder, file)); /* it may be a link to a reference file */
    FILE *to = fopen(folder_path(folder, file), "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(bytes, 1, count, to), count);
    assert_int_equal(fclose(to), 0);
}

void folder_link(const struct folder *folder, const char *file, const char *target)
{
    assert_int_equal(symlink(target, folder_path(folder, file)), 0);
}

char *file_read(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail_msg("cannot read %s", path);
    *count = (size_t)ftell(file);
    char *bytes = malloc(*count + 1);
    assert_non_null(bytes);
    rewind(file);
    assert_int_equal(fread(bytes, 1, *count, file), *count);
    bytes[*count] = '\0';
    fclose(file);
    return bytes;
}

void tensors_begin(struct tensors_out *out)
{
    *out = (struct tensors_out){.header = json_object()};
    assert_non_null(out->header);
}

void tensors_add(struct tensors_out *out, const char *name, const char *type, size_t rank, const size_t *sizes,
                 const void *data, size_t bytes)
{
    json_t *shape = json_array();
    for (size_t i = 0; i < rank; i++) json_array_append_new(shape, json_integer((json_int_t)sizes[i]));
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", type, "shape", shape, "data_offsets",
                              (json_int_t)out->bytes, (json_int_t)(out->bytes + bytes));
    assert_int_equal(json_object_set_new(out->header, name, entry), 0);
    out->data = realloc(out->data, out->bytes + bytes + 1);
    assert_non_null(out->data);
    if (bytes) memcpy(out->data + out->bytes, data, bytes);
    out->bytes += bytes;
}

char *tensors_end(struct tensors_out *out, size_t blanks, size_t *count)
{
    char *text = json_dumps(out->header, 0);
    assert_non_null(text);
    const uint64_t length = strlen(text) + blanks;
    *count = sizeof length + (size_t)length + out->bytes;
    char *file = malloc(*count);
    assert_non_null(file);
    memcpy(file, &length, sizeof length);
    memset(file + sizeof length, ' ', (size_t)length);
    memcpy(file + sizeof length, text, strlen(text));
    if (out->bytes) memcpy(file + sizeof length + (size_t)length, out->data, out->bytes);
    free(text);
    free(out->data);
    json_decref(out->header);
    return file;
}

void folder_of_model(struct folder *folder, size_t m, size_t style)
{
    char name[128];
    folder_create(folder);
    snprintf(name, sizeof name, "%s/%s", small_models[m], config_styles[style]);
    folder_link(folder, "config.json", golden_path(name));
    snprintf(name, sizeof name, "%s/model.safetensors", small_models[m]);
    folder_link(folder, "model.safetensors", golden_path(name));
}
