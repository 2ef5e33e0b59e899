/* Folders whose files are missing, are not files, or point elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "golden.h"
#include "hf_fixture.h"
#include "model.h"

static char why[512];

static void expect(const struct folder *folder, const char *words)
{
    struct sm_model *model = NULL;
    why[0] = '\0';
    if (!sm_model_open(&model, folder->path, why, sizeof why)) fail_msg("it was read; expected: %s", words);
    assert_null(model);
    if (!strstr(why, words)) fail_msg("expected '%s' in: %s", words, why);
    if (!strstr(why, folder->path)) fail_msg("which folder? %s", why);
}

static void expect_read(const struct folder *folder)
{
    struct sm_model *model;
    if (sm_model_open(&model, folder->path, why, sizeof why)) fail_msg("%s", why);
    assert_int_equal(model->shape.layers, 3);
    sm_model_close(model);
}

/* What may stand in a file's place. */
enum { NOTHING, EMPTY, FOLDER, PIPE, LOOP, DANGLING, DEVICE, TEXT, KINDS };

static void place(const struct folder *folder, const char *file, int kind)
{
    const char *path = folder_path(folder, file);
    (void)unlink(path);
    switch (kind) {
    case EMPTY: folder_write(folder, file, "", 0); break;
    case FOLDER: assert_int_equal(mkdir(path, 0700), 0); break;
    case PIPE: assert_int_equal(mkfifo(path, 0600), 0); break;
    case LOOP: folder_link(folder, file, file); break;
    case DANGLING: folder_link(folder, file, "/nowhere/at/all"); break;
    case DEVICE: folder_link(folder, file, "/dev/zero"); break;
    case TEXT: folder_write(folder, file, "hello", 5); break;
    default: break;
    }
}

static void test_files(void **state)
{
    (void)state;
    static const struct {
        const char *file, *words[KINDS];
    } all[] = {
        {"config.json",
         {"No such file", "empty", "directory", "not a regular file", "symbolic links", "No such file",
          "not a regular file", "not JSON"}},
        {"model.safetensors",
         {"neither model.safetensors nor model.safetensors.index.json", "empty", "directory", "not a regular file",
          "neither model.safetensors nor", "neither model.safetensors nor", "not a regular file",
          "5 bytes are no safetensors file"}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            struct folder folder;
            folder_of_model(&folder, 0, 0);
            place(&folder, all[i].file, kind);
            expect(&folder, all[i].words[kind]);
            folder_destroy(&folder);
        }
    struct folder empty;
    folder_create(&empty);
    expect(&empty, "its config.json cannot be mapped (No such file");
    folder_destroy(&empty);
}

/* A config or an index larger than any real one is not read at all. */
static void test_large_texts(void **state)
{
    (void)state;
    struct folder folder;
    folder_of_model(&folder, 0, 0);
    folder_write(&folder, "config.json", "{", 1);
    assert_int_equal(truncate(folder_path(&folder, "config.json"), (16 << 20) + 1), 0);
    expect(&folder, "config.json has 16777217 bytes");
    folder_destroy(&folder);
    folder_of_model(&folder, 0, 0);
    (void)unlink(folder_path(&folder, "model.safetensors"));
    folder_write(&folder, "model.safetensors.index.json", "{", 1);
    assert_int_equal(truncate(folder_path(&folder, "model.safetensors.index.json"), (64 << 20) + 1), 0);
    expect(&folder, "index.json has 67108865 bytes");
    folder_destroy(&folder);
}

static void test_indexes(void **state)
{
    (void)state;
    static const struct {
        const char *index, *words;
    } all[] = {
        {"", "empty"},
        {"[", "its index is not JSON"},
        {"[]", "no weight_map"},
        {"{\"weight_map\": {}}", "no weight_map"},
        {"{\"weight_map\": [\"x\"]}", "no weight_map"},
        {"{\"weight_map\": {\"a\": 1}}", "puts a into (no text), which is not a file of the folder"},
        {"{\"weight_map\": {\"a\": null}}", "puts a into (no text)"},
        {"{\"weight_map\": {\"a\": \"\"}}", "is not a file of the folder"},
        {"{\"weight_map\": {\"a\": \".\"}}", "is not a file of the folder"},
        {"{\"weight_map\": {\"a\": \"..\"}}", "is not a file of the folder"},
        {"{\"weight_map\": {\"a\": \"../w.safetensors\"}}", "puts a into ../w.safetensors, which is not a file of"},
        {"{\"weight_map\": {\"a\": \"x/../w.safetensors\"}}", "is not a file of the folder"},
        {"{\"weight_map\": {\"a\": \"/etc/passwd\"}}", "is not a file of the folder"},
        {"{\"weight_map\": {\"a\": \".hidden\"}}", "is not a file of the folder"},
        {"{\"weight_map\": {\"a\": \"missing.safetensors\"}}",
         "missing.safetensors: it cannot be mapped (No such file"},
        {"{\"weight_map\": {\"a\": \"loop.safetensors\"}}", "symbolic links"},
        {"{\"weight_map\": {\"a\": \"pipe.safetensors\"}}", "not a regular file"},
        {"{\"weight_map\": {\"a\": \"w.safetensors\"}}", "puts a into w.safetensors, which does not have it"},
        {"{\"weight_map\": {\"model.norm.weight\": \"w.safetensors\"}}",
         "there is no tensor model.embed_tokens.weight"},
        {"{\"weight_map\": {\"model.embed_tokens.weight\": \"w.safetensors\"}}",
         "there is no tensor model.norm.weight"},
        {"{\"weight_map\": {\"a\": \"w.safetensors\", \"a\": \"w.safetensors\"}}", "duplicate"},
        {"{\"weight_map\": {\"a\": \"config.json\"}}", "config.json: its header claims"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct folder folder;
        folder_of_model(&folder, 0, 0);
        (void)unlink(folder_path(&folder, "model.safetensors"));
        folder_link(&folder, "w.safetensors", golden_path("llama-tiny/model.safetensors"));
        place(&folder, "loop.safetensors", LOOP);
        place(&folder, "pipe.safetensors", PIPE);
        folder_write(&folder, "model.safetensors.index.json", all[i].index, strlen(all[i].index));
        expect(&folder, all[i].words);
        folder_destroy(&folder);
    }
}

/* An index that names more files than a model has, each of them a good one. */
static void test_many_files(void **state)
{
    (void)state;
    struct folder folder;
    struct tensors_out out;
    const size_t sizes[1] = {1};
    size_t count;
    char name[32];
    json_t *map = json_object();
    folder_of_model(&folder, 0, 0);
    tensors_begin(&out);
    for (size_t i = 0; i <= 512; i++) {
        snprintf(name, sizeof name, "t%zu", i);
        tensors_add(&out, name, "U8", 1, sizes, "x", 1);
    }
    char *bytes = tensors_end(&out, 0, &count);
    folder_write(&folder, "w", bytes, count);
    (void)unlink(folder_path(&folder, "model.safetensors"));
    for (size_t i = 0; i <= 512; i++) {
        snprintf(name, sizeof name, "w%zu", i);
        folder_link(&folder, name, "w");
        json_t *file = json_string(name);
        snprintf(name, sizeof name, "t%zu", i);
        json_object_set_new(map, name, file);
    }
    json_t *index = json_pack("{s:o}", "weight_map", map);
    char *text = json_dumps(index, 0);
    folder_write(&folder, "model.safetensors.index.json", text, strlen(text));
    expect(&folder, "its index names more than 512 files");
    json_decref(index);
    free(text);
    free(bytes);
    folder_destroy(&folder);
}

/* One file of weights goes before an index. */
static void test_choice(void **state)
{
    (void)state;
    static const char index[] = "{\"weight_map\": {\"model.norm.weight\": \"missing\"}}";
    struct folder folder;
    folder_of_model(&folder, 0, 0);
    folder_write(&folder, "model.safetensors.index.json", index, strlen(index));
    expect_read(&folder);
    folder_destroy(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),      cmocka_unit_test(test_large_texts), cmocka_unit_test(test_indexes),
        cmocka_unit_test(test_many_files), cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
