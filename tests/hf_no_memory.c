/* Opening a folder when memory runs out: at each allocation of ours in turn it ends with a sentence, and
 * keeps nothing. (Those of the JSON parser are not among them: it may go on when one fails.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "golden.h"
#include "hf_fixture.h"
#include "model.h"
#include "safetensors.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
char *__wrap_strdup(const char *text);

static size_t allocations, failing = SIZE_MAX;

static int fails(void)
{
    return allocations++ == failing;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

/* How many allocations opening it takes. */
static size_t try_all(const char *path)
{
    struct sm_model *model = NULL;
    char why[512];
    size_t at = 0;
    int bad = -1;
    for (; bad; at++) {
        why[0] = '\0';
        allocations = 0;
        failing = at;
        bad = sm_model_open(&model, path, why, sizeof why);
        failing = SIZE_MAX;
        if (!bad && at >= allocations) break; /* none failed */
        if (!bad) fail_msg("allocation %zu failed, and the model was opened", at);
        assert_null(model);
        if (!strstr(why, "out of memory")) fail_msg("allocation %zu failed: %s", at, why);
    }
    sm_model_close(model);
    return at;
}

static void test_single(void **state)
{
    (void)state;
    assert_true(try_all(golden_path("llama-tiny")) >= 6);
}

/* The same of several files, with tensors that have to be moved. */
static void test_index(void **state)
{
    (void)state;
    struct folder folder;
    struct sm_safetensors file;
    char why[512];
    if (sm_safetensors_open(&file, golden_path("llama-tiny/model.safetensors"), why, sizeof why)) fail_msg("%s", why);
    folder_of_model(&folder, 0, 1);
    (void)unlink(folder_path(&folder, "model.safetensors"));
    json_t *map = json_object();
    for (size_t s = 0; s < 2; s++) {
        struct tensors_out out;
        size_t count;
        tensors_begin(&out);
        for (size_t i = s; i < file.count; i += 2) {
            const struct sm_safetensor *t = &file.tensors[i];
            tensors_add(&out, t->name, "F32", t->rank, t->sizes, t->data, t->bytes);
            json_object_set_new(map, t->name, json_string(s ? "b" : "a"));
        }
        char *bytes = tensors_end(&out, s, &count); /* one of them is not aligned */
        folder_write(&folder, s ? "b" : "a", bytes, count);
        free(bytes);
    }
    json_t *index = json_pack("{s:o}", "weight_map", map);
    char *text = json_dumps(index, 0);
    folder_write(&folder, "model.safetensors.index.json", text, strlen(text));
    free(text);
    json_decref(index);
    assert_true(try_all(folder.path) >= 6);
    sm_safetensors_close(&file);
    folder_destroy(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_single), cmocka_unit_test(test_index)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
