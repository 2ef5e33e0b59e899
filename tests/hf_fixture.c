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

void folder_of_model(struct folder *folder, size_t m, size_t style)
{
    char name[128];
    folder_create(folder);
    snprintf(name, sizeof name, "%s/%s", small_models[m], config_styles[style]);
    folder_link(folder, "config.json", golden_path(name));
    snprintf(name, sizeof name, "%s/model.safetensors", small_models[m]);
    folder_link(folder, "model.safetensors", golden_path(name));
}
