/* The tokenizers of two real models, from their GGUF files, against tables of the reference implementations: every row,
 * to tokens and back. Skipped (77) where neither file is in the cache that scripts/fetch-model keeps. */
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
#include "model_file.h"
#include "tokenizer_table.h"

static const struct {
    const char *file, *golden;
    size_t tokens;
} models[] = {{SMOLLM2_FILE, "smollm2-135m", 49152}, {GEMMA3_FILE, "gemma3-270m", 262144}};
#define MODELS (sizeof models / sizeof *models)

static char path[MODELS][4096];
static bool there[MODELS];

static void find_models(void)
{
    for (size_t i = 0; i < MODELS; i++) {
        const char *found = model_file(models[i].file);
        there[i] = found;
        if (found) snprintf(path[i], sizeof path[i], "%s", found);
    }
}

static json_t *load(size_t model, const char *file)
{
    char name[128];
    json_error_t error;
    snprintf(name, sizeof name, "%s/%s", models[model].golden, file);
    json_t *root = json_load_file(golden_path(name), JSON_ALLOW_NUL, &error);
    if (!root) fail_msg("%s: %s", name, error.text);
    return root;
}

static struct sm_tokenizer *open_model(size_t model)
{
    char why[512];
    struct sm_tokenizer *t;
    if (sm_tokenizer_open(&t, path[model], why, sizeof why)) fail_msg("%s", why);
    assert_int_equal(sm_tokenizer_size(t), models[model].tokens);
    assert_int_equal(sm_tokenizer_fits(t, models[model].tokens, why, sizeof why), 0);
    assert_int_equal(sm_tokenizer_fits(t, models[model].tokens / 2, why, sizeof why), -1);
    return t;
}

/* Every row of the table. */
static void test_tables(void **state)
{
    (void)state;
    for (size_t m = 0; m < MODELS; m++) {
        if (!there[m]) continue;
        json_t *table = load(m, "tokenizer-table.json");
        struct sm_tokenizer *t = open_model(m);
        const json_t *rows = json_object_get(table, "cases");
        const size_t checked = tokenizer_table_check(t, rows, "ids", 0);
        print_message("%s (%s): %zu rows equal\n", models[m].golden, sm_tokenizer_kind(t), checked);
        assert_int_equal(checked, 74);
        sm_tokenizer_close(t);
        json_decref(table);
    }
}

/* The prompts and the passage, with what the model wants around a text. */
static void test_prompts(void **state)
{
    (void)state;
    for (size_t m = 0; m < MODELS; m++) {
        if (!there[m]) continue;
        json_t *facts = load(m, "golden.json");
        struct sm_tokenizer *t = open_model(m);
        const json_t *prompts = json_object_get(facts, "prompts"), *passage = json_object_get(facts, "passage");
        for (size_t p = 0; p <= json_array_size(prompts); p++) {
            const json_t *prompt = p < json_array_size(prompts) ? json_array_get(prompts, p) : passage;
            const json_t *text = json_object_get(prompt, "text");
            char why[512];
            int32_t *ids;
            size_t count;
            if (sm_tokenizer_encode(t, json_string_value(text), json_string_length(text), SM_ENCODE_ADD_SPECIAL, &ids,
                                    &count, why, sizeof why))
                fail_msg("%s", why);
            assert_int_equal(count, json_integer_value(json_object_get(prompt, "n_tokens")));
            free(ids);
        }
        sm_tokenizer_close(t);
        json_decref(facts);
    }
}

/* What a chat needs to know. */
static void test_marks(void **state)
{
    (void)state;
    static const int32_t wanted[MODELS][SM_MARKS] = {{1, 2, 2, 0, 2}, {2, 1, 106, 3, 0}};
    for (size_t m = 0; m < MODELS; m++) {
        if (!there[m]) continue;
        struct sm_tokenizer *t = open_model(m);
        for (int i = 0; i < SM_MARKS; i++) assert_int_equal(sm_tokenizer_mark(t, (enum sm_mark)i), wanted[m][i]);
        assert_true(sm_tokenizer_ends(t, m ? 106 : 2));
        assert_false(sm_tokenizer_ends(t, 400));
        assert_int_equal(sm_tokenizer_marker(t, "<start_of_turn>"), m ? 105 : -1);
        assert_int_equal(sm_tokenizer_marker(t, "<|im_start|>"), m ? -1 : 1);
        assert_int_equal(sm_tokenizer_marker(t, "the"), -1);
        sm_tokenizer_close(t);
    }
}

int main(void)
{
    find_models();
    if (!there[0] && !there[1]) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables), cmocka_unit_test(test_prompts),
                                       cmocka_unit_test(test_marks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
