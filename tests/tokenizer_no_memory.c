/* Opening a tokenizer and encoding a text when memory runs out: at each allocation of ours in turn it ends with a
 * sentence, and keeps nothing. (Those of the JSON parser and of PCRE2 are not among them.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"
#include "tokenizer.h"
#include "tokenizer_write.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t bytes);

static size_t allocations, failing = SIZE_MAX;

static bool fails(void)
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

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t bytes)
{
    return fails() ? NULL : __real_strndup(text, bytes);
}

static char why[512];

static void check_sentence(size_t at)
{
    if (!strstr(why, "memory")) fail_msg("allocation %zu failed: %s", at, why);
}

/* Returns the tokenizer, and how many allocations it took. */
static struct sm_tokenizer *open_all(const void *bytes, size_t count, size_t *took)
{
    struct sm_tokenizer *t = NULL;
    for (size_t at = 0;; at++) {
        why[0] = '\0';
        allocations = 0;
        failing = at;
        const int bad = sm_tokenizer_open_memory(&t, bytes, count, why, sizeof why);
        failing = SIZE_MAX;
        *took = allocations;
        if (!bad && at >= allocations) return t;
        if (!bad) fail_msg("allocation %zu failed, and the tokenizer was opened", at);
        assert_null(t);
        check_sentence(at);
    }
}

static size_t encode_all(const struct sm_tokenizer *t)
{
    static const char text[] =
        "The mill's  37 wheels \xe6\xb0\xb4\xff <s> turn, and a longer line\n\n\tstands below it: "
        "0123456789 0123456789 0123456789, which has more pieces than there is room for at first.";
    for (size_t at = 0;; at++) {
        int32_t *ids = NULL;
        size_t count, bytes;
        char *back = NULL;
        why[0] = '\0';
        allocations = 0;
        failing = at;
        const int bad = sm_tokenizer_encode(t, text, sizeof text - 1, 0, &ids, &count, why, sizeof why) ||
                        sm_tokenizer_decode(t, ids, count, true, &back, &bytes, why, sizeof why);
        failing = SIZE_MAX;
        free(ids);
        free(back);
        if (!bad && at >= allocations) return at;
        if (!bad) fail_msg("allocation %zu failed, and the text was encoded", at);
        check_sentence(at);
    }
}

static void check_all(const void *bytes, size_t count, const char *name)
{
    size_t opening;
    struct sm_tokenizer *t = open_all(bytes, count, &opening);
    const size_t encoding = encode_all(t);
    print_message("%s: %zu allocations to open, %zu to encode and decode\n", name, opening, encoding);
    assert_true(opening > 8 && encoding > 4);
    sm_tokenizer_close(t);
}

static void test_json(void **state)
{
    (void)state;
    static const char *const names[] = {"llama3", "gemma", "unigram"};
    for (size_t i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "tokenizers/%s.json", names[i]);
        json_t *root = json_load_file(golden_path(path), JSON_ALLOW_NUL, NULL);
        char *text = json_dumps(root, JSON_COMPACT);
        assert_non_null(text);
        check_all(text, strlen(text), names[i]);
        free(text);
        json_decref(root);
    }
}

static void test_gguf(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt2", "llama", "gemma4"};
    for (size_t i = 0; i < 3; i++) {
        struct gguf_writer w = {0};
        json_t *root =
            json_load_file(golden_path(i ? "tokenizers/gemma.json" : "tokenizers/digits.json"), JSON_ALLOW_NUL, NULL);
        assert_non_null(root);
        gguf_text(&w, "tokenizer.ggml.model", models[i]);
        gguf_text(&w, "tokenizer.chat_template", "{{ messages }}");
        gguf_truth(&w, "tokenizer.ggml.add_bos_token", 0);
        gguf_vocabulary(&w, root);
        gguf_finish(&w);
        check_all(w.bytes, w.count, models[i]);
        free(w.bytes);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_json), cmocka_unit_test(test_gguf)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
