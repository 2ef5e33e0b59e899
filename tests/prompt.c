/* Prompts as text: turn markers by vocabulary, files, and what is shown of what a model says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "golden.h"
#include "model_file.h"
#include "prompt.h"

static char why[512];

/* A byte-level vocabulary of all bytes, with the markers given. */
static struct sm_tokenizer *open_with(const char *const *markers, size_t count)
{
    json_t *root = json_load_file(golden_path("tokenizers/digits.json"), 0, NULL), *added = json_array(), *entry;
    struct sm_tokenizer *t;
    size_t i, id = 0;
    assert_non_null(root);
    json_array_foreach(json_object_get(root, "added_tokens"), i, entry)
    {
        if (strncmp(json_string_value(json_object_get(entry, "content")), "<|im_", 5)) json_array_append(added, entry);
        id = (size_t)json_integer_value(json_object_get(entry, "id"));
    }
    for (i = 0; i < count; i++)
        json_array_append_new(
            added, json_pack("{s:I, s:s, s:b}", "id", (json_int_t)(id + 1 + i), "content", markers[i], "special", 1));
    json_object_set_new(root, "added_tokens", added);
    char *text = json_dumps(root, 0);
    if (sm_tokenizer_open_memory(&t, text, strlen(text), why, sizeof why)) fail_msg("%s", why);
    free(text);
    json_decref(root);
    return t;
}

static void test_styles(void **state)
{
    (void)state;
    static const struct {
        const char *markers[4], *wanted;
    } styles[] = {
        {{"<|im_start|>", "<|im_end|>"}, "<|im_start|>user\nHi, you<|im_end|>\n<|im_start|>assistant\n"},
        {{"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
         "<|start_header_id|>user<|end_header_id|>\n\nHi, "
         "you<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
        {{"<start_of_turn>", "<end_of_turn>"}, "<start_of_turn>user\nHi, you<end_of_turn>\n<start_of_turn>model\n"},
        {{"<|turn>", "<turn|>"}, "<|turn>user\nHi, you<turn|>\n<|turn>model\n"}};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        size_t count = 0;
        while (count < 4 && styles[i].markers[count]) count++;
        struct sm_tokenizer *t = open_with(styles[i].markers, count);
        char *chat;
        if (sm_prompt_chat(t, "Hi, you \n", &chat, why, sizeof why)) fail_msg("%s", why);
        assert_string_equal(chat, styles[i].wanted);
        /* the end of a turn is the last of the markers, and ends what is shown */
        assert_true(sm_tokenizer_ends(t, sm_tokenizer_marker(t, styles[i].markers[count - 1])));
        free(chat);
        sm_tokenizer_close(t);
    }
    struct sm_tokenizer *t = open_with(NULL, 0);
    char *chat;
    assert_int_equal(sm_prompt_chat(t, "Hi", &chat, why, sizeof why), -1);
    assert_non_null(strstr(why, "turn markers"));
    sm_tokenizer_close(t);
}

/* The chat prompts of the reference, where the models are there. */
static void test_reference(void **state)
{
    (void)state;
    static const char *const files[] = {SMOLLM2_FILE, GEMMA3_FILE};
    static const char *const names[] = {"smollm2-135m/golden", "gemma3-270m/golden"};
    for (size_t i = 0; i < 2; i++) {
        const char *path = model_file(files[i]);
        struct sm_tokenizer *t;
        struct golden g;
        char *chat = NULL;
        int32_t *ids;
        size_t count, wanted_count;
        if (!path) continue;
        golden_open(&g, names[i]);
        if (sm_tokenizer_open(&t, path, why, sizeof why) ||
            sm_prompt_chat(t, "Name three rivers in Europe and say which is the longest.", &chat, why, sizeof why))
            fail_msg("%s", why);
        assert_string_equal(
            chat, json_string_value(json_object_get(json_array_get(json_object_get(g.facts, "prompts"), 2), "text")));
        if (sm_prompt_tokens(t, chat, strlen(chat), SM_ENCODE_ADD_SPECIAL, &ids, &count, why, sizeof why))
            fail_msg("%s", why);
        const int32_t *wanted = golden_ints(&g, "prompt.2.tokens", 1, &wanted_count);
        assert_int_equal(count, wanted_count);
        assert_memory_equal(ids, wanted, count * sizeof *ids);
        free(ids);
        free(chat);
        sm_tokenizer_close(t);
        golden_close(&g);
    }
}

static void shown(const struct sm_tokenizer *t, const char *said, size_t bytes, const char *wanted)
{
    int32_t *ids;
    size_t count;
    char got[256] = {0};
    FILE *out = fmemopen(got, sizeof got - 1, "w");
    assert_non_null(out);
    if (sm_tokenizer_encode(t, said, bytes, 0, &ids, &count, why, sizeof why) ||
        sm_prompt_show(out, t, ids, count, why, sizeof why))
        fail_msg("%s", why);
    fclose(out);
    assert_string_equal(got, wanted);
    free(ids);
}

static void test_shown(void **state)
{
    (void)state;
    static const char *const markers[] = {"<|im_start|>", "<|im_end|>"};
    struct sm_tokenizer *t = open_with(markers, 2);
    shown(t, "The mill.\n\tA line", 17, "The mill.\n\tA line");
    shown(t, "Yes.<|im_end|>\nNo.", 18, "Yes.");
    shown(t, "\x1b[2Jx\x07\x7f", 7, "?[2Jx??");
    shown(t, "a\xff\xfe\xe6\xb0", 5, "a\xef\xbf\xbd");
    shown(t, "\xe6\xb0\xb4", 3, "\xe6\xb0\xb4");
    const int32_t beyond[] = {300, 1 << 20, 301};
    char got[64] = {0};
    FILE *out = fmemopen(got, sizeof got - 1, "w");
    assert_int_equal(sm_prompt_show(out, t, beyond, 3, why, sizeof why), 0);
    fclose(out);
    sm_tokenizer_close(t);
}

static void test_files(void **state)
{
    (void)state;
    char path[] = "/tmp/prompt-XXXXXX", *text;
    size_t bytes;
    const int fd = mkstemp(path);
    const struct sm_model synthetic = {0};
    struct sm_tokenizer *t;
    int32_t *ids;
    assert_true(fd >= 0);
    for (size_t length = 0; length < 200001; length = length ? 200001 : 200000) {
        assert_int_equal(ftruncate(fd, (off_t)length), 0);
        if (sm_prompt_read(path, &text, &bytes, why, sizeof why)) fail_msg("%s", why);
        assert_int_equal(bytes, length);
        assert_int_equal(text[bytes], 0);
        free(text);
    }
    close(fd);
    unlink(path);
    assert_int_equal(sm_prompt_read(path, &text, &bytes, why, sizeof why), -1);
    assert_non_null(strstr(why, "cannot read the text"));
    assert_int_equal(sm_prompt_tokenizer(&t, &synthetic, why, sizeof why), -1);
    assert_non_null(strstr(why, "synthetic weights have none"));
    t = open_with(NULL, 0);
    assert_int_equal(sm_prompt_tokens(t, "", 0, 0, &ids, &bytes, why, sizeof why), -1);
    assert_non_null(strstr(why, "no token"));
    sm_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_styles), cmocka_unit_test(test_reference),
                                       cmocka_unit_test(test_shown), cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
