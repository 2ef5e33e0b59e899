/* Tokenizers on small vocabularies: what the Python package tokenizers answers, properties of any text, and files and
 * texts that mean no good. */
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
#include "random.h"
#include "tokenizer_table.h"

static const char *const names[] = {"digits", "llama3", "gpt2", "llama2", "gemma", "split", "unigram", "unigram-bytes"};
#define NAMES (sizeof names / sizeof *names)

static char why[512];

static struct sm_tokenizer *open_named(const char *name)
{
    char path[128];
    struct sm_tokenizer *t;
    snprintf(path, sizeof path, "tokenizers/%s.json", name);
    if (sm_tokenizer_open(&t, golden_path(path), why, sizeof why)) fail_msg("%s", why);
    return t;
}

/* Every answer of the package. */
static void test_package(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        char path[128];
        struct sm_tokenizer *t = open_named(names[i]);
        snprintf(path, sizeof path, "tokenizers/%s.cases.json", names[i]);
        json_t *rows = json_load_file(golden_path(path), JSON_ALLOW_NUL, NULL);
        assert_non_null(rows);
        print_message("%s: %s\n", names[i], sm_tokenizer_kind(t));
        const size_t checked = tokenizer_table_check(t, rows, "ids", 0);
        assert_int_equal(tokenizer_table_check(t, rows, "ids_special", SM_ENCODE_ADD_SPECIAL), checked);
        print_message("  %zu texts equal\n", checked);
        assert_true(checked > 200);
        json_decref(rows);
        sm_tokenizer_close(t);
    }
}

/* --- properties of any text --- */

/* Bytes of all kinds: characters of every length, white space, digits, and what is no UTF-8. */
static size_t random_text(struct sm_random *r, char *text, size_t most, bool valid)
{
    static const char *const pieces[] = {"the ",
                                         " and",
                                         "ing",
                                         "1",
                                         "23",
                                         " ",
                                         "  ",
                                         "\n",
                                         "\r\n",
                                         "\t",
                                         "'s",
                                         "'LL",
                                         "\xc3\xa9",
                                         "e\xcc\x81",
                                         "\xe6\xb0\xb4",
                                         "\xd0\xb9",
                                         "\xf0\x9f\x98\x80",
                                         "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80",
                                         "\xc2\xa0",
                                         "\xe3\x80\x80",
                                         "<s>",
                                         "=+",
                                         "    ",
                                         "\n\n",
                                         "!?",
                                         "_-_",
                                         "<|im_start|>",
                                         "<0x0A>"};
    const size_t wanted = sm_random_below(r, (uint32_t)most - 40);
    size_t n = 0;
    while (n < wanted) {
        const uint32_t kind = sm_random_below(r, 10);
        if (kind < 6) {
            const char *piece = pieces[sm_random_below(r, sizeof pieces / sizeof *pieces)];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        } else if (kind < 9 || valid) {
            text[n++] = (char)sm_random_below(r, 128);
        } else {
            text[n++] = (char)sm_random_below(r, 256);
        }
    }
    return n;
}

/* What is shown of a text as it grows is UTF-8 whenever all of it is, and in the end it is all there. */
static void check_stream(const struct sm_tokenizer *t, const int32_t *ids, size_t count, const char *text, size_t bytes)
{
    struct sm_text grown = {0};
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        if (sm_text_add(&grown, t, ids[i], true, why, sizeof why)) fail_msg("%s", why);
        assert_true(grown.ready >= shown && grown.ready <= grown.bytes && grown.bytes - grown.ready < 4);
        shown = grown.ready;
        if (sm_utf8_valid(text, bytes) == bytes) assert_int_equal(sm_utf8_valid(grown.at, shown), shown);
    }
    if (grown.bytes != bytes || (bytes && memcmp(grown.at, text, bytes)))
        fail_msg("%s: %zu bytes came back as %zu", sm_tokenizer_kind(t), bytes, grown.bytes);
    sm_text_free(&grown);
}

/* decode(encode(x)) == x: of all bytes where tokens are bytes, and of all but U+2581 where characters fall back to
 * them. */
static void test_round_trip(void **state)
{
    (void)state;
    static const char *const whole[] = {"digits", "llama3", "gemma"};
    struct sm_random random = {20261130};
    for (size_t i = 0; i < 3; i++) {
        struct sm_tokenizer *t = open_named(whole[i]);
        for (int trial = 0; trial < 3000; trial++) {
            char text[400];
            int32_t *ids;
            size_t count;
            const size_t bytes = random_text(&random, text, sizeof text, trial % 2);
            if (sm_tokenizer_encode(t, text, bytes, trial % 3 ? 0 : SM_ENCODE_PLAIN, &ids, &count, why, sizeof why))
                fail_msg("%s", why);
            for (size_t k = 0; k < count; k++) assert_true(ids[k] >= 0 && (size_t)ids[k] < sm_tokenizer_size(t));
            check_stream(t, ids, count, text, bytes);
            free(ids);
        }
        sm_tokenizer_close(t);
    }
}

/* Markers in a text are tokens, unless it is plain. */
static void test_plain(void **state)
{
    (void)state;
    struct sm_tokenizer *t = open_named("digits");
    const int32_t start = sm_tokenizer_marker(t, "<|im_start|>");
    int32_t *ids;
    size_t count;
    assert_true(start >= 0);
    assert_int_equal(sm_tokenizer_encode(t, "<|im_start|>", 12, 0, &ids, &count, why, sizeof why), 0);
    assert_int_equal(count, 1);
    assert_int_equal(ids[0], start);
    free(ids);
    assert_int_equal(sm_tokenizer_encode(t, "<|im_start|>", 12, SM_ENCODE_PLAIN, &ids, &count, why, sizeof why), 0);
    assert_true(count > 4);
    for (size_t i = 0; i < count; i++) assert_int_not_equal(ids[i], start);
    free(ids);
    sm_tokenizer_close(t);
}

/* A character that no token spells costs 10 more than the dearest token; side by side such ones are one. The ids are
 * the package's. */
static void test_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *score, *text;
        int32_t ids[3];
        size_t count;
    } rows[] = {{"5.0", "ab", {1}, 1},     {"5.0", "aab", {0, 1}, 2},  {"5.0", "ccb", {0, 2}, 2},
                {"11.0", "ab", {0, 2}, 2}, {"11.0", "aab", {0, 2}, 2}, {"11.0", "ba", {2, 0}, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        struct sm_tokenizer *t;
        int32_t *ids = NULL;
        size_t count = 0;
        snprintf(text, sizeof text,
                 "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0.0], [\"ab\", -12.0], "
                 "[\"b\", %s]]}}",
                 rows[i].score);
        if (sm_tokenizer_open_memory(&t, text, strlen(text), why, sizeof why) ||
            sm_tokenizer_encode(t, rows[i].text, strlen(rows[i].text), 0, &ids, &count, why, sizeof why))
            fail_msg("%s", why);
        assert_int_equal(count, rows[i].count);
        assert_memory_equal(ids, rows[i].ids, count * sizeof *ids);
        free(ids);
        sm_tokenizer_close(t);
    }
}

/* Long runs without a place to split: a megabyte of one letter, of spaces, of line feeds, of one character. */
static void test_long(void **state)
{
    (void)state;
    static const char *const units[] = {"a", " ", "\n", "\xe6\xb0\xb4", "the ", "\xff"};
    const size_t bytes = 600000;
    char *text = malloc(bytes);
    assert_non_null(text);
    for (size_t i = 0; i < 3; i++) {
        struct sm_tokenizer *t = open_named(i == 0 ? "digits" : i == 1 ? "llama3" : "gemma");
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            const size_t unit = strlen(units[u]);
            int32_t *ids;
            size_t count, back_bytes = 0;
            char *back = NULL;
            for (size_t k = 0; k < bytes; k++) text[k] = units[u][k % unit];
            if (sm_tokenizer_encode(t, text, bytes, 0, &ids, &count, why, sizeof why) ||
                sm_tokenizer_decode(t, ids, count, true, &back, &back_bytes, why, sizeof why))
                fail_msg("%s", why);
            assert_true(back_bytes == bytes && !memcmp(back, text, bytes));
            free(back);
            free(ids);
        }
        sm_tokenizer_close(t);
    }
    free(text);
}

static void test_bad_ids(void **state)
{
    (void)state;
    struct sm_tokenizer *t = open_named("digits"); /* its last three tokens are markers */
    const size_t size = sm_tokenizer_size(t);
    assert_int_equal(sm_tokenizer_fits(t, size, why, sizeof why), 0);
    assert_int_equal(sm_tokenizer_fits(t, size - 3, why, sizeof why), 0);
    assert_int_equal(sm_tokenizer_fits(t, size - 4, why, sizeof why), -1);
    assert_non_null(strstr(why, "do not belong together"));
    const int32_t wrong[] = {-1, 1 << 30, (int32_t)sm_tokenizer_size(t)};
    char *text;
    size_t bytes;
    for (size_t i = 0; i < 3; i++) {
        why[0] = 0;
        assert_int_equal(sm_tokenizer_decode(t, &wrong[i], 1, true, &text, &bytes, why, sizeof why), -1);
        assert_non_null(strstr(why, "there is no token"));
    }
    sm_tokenizer_close(t);
}

/* --- files that mean no good --- */

static int open_json(struct sm_tokenizer **t, const json_t *root)
{
    char *text = json_dumps(root, JSON_COMPACT);
    assert_non_null(text);
    why[0] = 0;
    const int failed = sm_tokenizer_open_memory(t, text, strlen(text), why, sizeof why);
    if (failed) assert_true(why[0]);
    free(text);
    return failed;
}

/* A file with one thing changed: part of "model", or of the whole when the part is "". */
static void refused(const char *part, const char *key, const char *value, const char *words)
{
    json_t *root = json_load_file(golden_path("tokenizers/digits.json"), 0, NULL),
           *new = json_loads(value, JSON_DECODE_ANY, NULL);
    struct sm_tokenizer *t;
    assert_non_null(root);
    if (!new) fail_msg("the test's own JSON: %s", value);
    json_object_set_new(*part ? json_object_get(root, part) : root, key, new);
    if (!open_json(&t, root)) fail_msg("not refused: %s %s", key, value);
    if (!strstr(why, words)) fail_msg("'%s' does not say '%s'", why, words);
    json_decref(root);
}

static void test_refusals(void **state)
{
    (void)state;
    struct sm_tokenizer *t;
    refused("model", "type", "\"WordPiece\"", "WordPiece");
    refused("model", "vocab", "{}", "not all in the vocabulary");
    refused("model", "vocab", "[]", "it has no vocabulary");
    refused("model", "vocab", "{\"a\": 1000000000}", "no number");
    refused("model", "vocab", "{\"a\": -1}", "no number");
    refused("model", "vocab", "{\"a\": 1.5}", "no number");
    refused("model", "vocab", "{\"a\": 30, \"b\": 30}", "two tokens");
    refused("model", "merges", "null", "merges are no list");
    refused("model", "merges", "[[\"a\"]]", "merge 0 is not two texts");
    refused("model", "merges", "[\"ab\"]", "merge 0 is not two texts");
    refused("model", "merges", "[[\"\", \"a\"]]", "merge 0 is not two texts");
    refused("model", "merges", "[[\"a\", \"qqq\"]]", "not all in the vocabulary");
    refused("model", "dropout", "0.1", "dropout");
    refused("model", "end_of_word_suffix", "\"</w>\"", "end_of_word_suffix");
    refused("", "model", "7", "it has no model");
    refused("", "normalizer", "{\"type\": \"NFC\"}", "NFC");
    refused("", "normalizer", "{\"type\": \"Replace\", \"pattern\": {\"String\": \"\"}, \"content\": \"x\"}",
            "what becomes");
    refused("", "normalizer", "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"(\"}, \"content\": \"x\"}",
            "cannot be used");
    refused("", "pre_tokenizer", "{\"type\": \"BertPreTokenizer\"}", "BertPreTokenizer");
    refused("", "pre_tokenizer",
            "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"\\\\C\"}, \"behavior\": \"Isolated\"}", "cannot be used");
    refused("", "pre_tokenizer", "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"a\"}, \"behavior\": \"Odd\"}",
            "or how");
    refused("", "decoder", "{\"type\": \"WordPiece\"}", "WordPiece");
    refused("", "post_processor", "{\"type\": \"BertProcessing\"}", "BertProcessing");
    refused("", "added_tokens", "[{\"id\": 1, \"content\": \"\"}]", "has no text");
    refused("", "added_tokens", "[{\"id\": 9999999, \"content\": \"x\"}]", "no number");
    refused("", "added_tokens", "[{\"id\": 1, \"content\": \"x\", \"single_word\": true}]", "whole word");
    refused("", "post_processor",
            "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"s\"}}],"
            " \"special_tokens\": {\"s\": {\"ids\": [77777]}}}",
            "is not one of its");
    refused("model", "type", "\"\\u001b[2J\"", "type '?[2J'"); /* a terminal is told nothing */
    assert_int_equal(sm_tokenizer_open_memory(&t, "[1, 2", 5, why, sizeof why), -1);
    assert_non_null(strstr(why, "neither GGUF nor JSON"));
    assert_int_equal(sm_tokenizer_open(&t, "/nowhere", why, sizeof why), -1);
    assert_int_equal(sm_tokenizer_open(&t, golden_path("tokenizers"), why, sizeof why), -1);
    assert_non_null(strstr(why, "tokenizer.json"));
}

/* An expression that doubles its work with every letter ends in a sentence, and so does one that is merely slow at
 * every place. */
static void test_patience(void **state)
{
    (void)state;
    static const char *const slow[] = {"(a*)*b", "(?:a|aa)+$|(?:a?){20}b", "((((a+)+)+)+)+c"};
    char text[4000];
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 3, "dcb", 3); /* what the expressions end in is there, and too far away */
    for (size_t i = 0; i < 3; i++) {
        json_t *root = json_load_file(golden_path("tokenizers/digits.json"), 0, NULL);
        struct sm_tokenizer *t;
        int32_t *ids;
        size_t count;
        json_object_set_new(root, "pre_tokenizer",
                            json_pack("{s:s, s:[{s:s, s:{s:s}, s:s}, {s:s, s:b, s:b}]}", "type", "Sequence",
                                      "pretokenizers", "type", "Split", "pattern", "Regex", slow[i], "behavior",
                                      "Isolated", "type", "ByteLevel", "add_prefix_space", 0, "use_regex", 0));
        if (open_json(&t, root)) fail_msg("%s", why);
        assert_int_equal(sm_tokenizer_encode(t, text, sizeof text, 0, &ids, &count, why, sizeof why), -1);
        assert_non_null(strstr(why, "takes too long"));
        sm_tokenizer_close(t);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_package), cmocka_unit_test(test_round_trip), cmocka_unit_test(test_plain),
        cmocka_unit_test(test_long),    cmocka_unit_test(test_bad_ids),    cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_unknown), cmocka_unit_test(test_patience),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
