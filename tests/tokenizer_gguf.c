/* Tokenizers of GGUF files, written here from the small vocabularies: the same answers as from tokenizer.json, merging
 * by scores against merging step by step, and files that mean no good. */
#include <math.h>
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
#include "tokenizer_write.h"

static char why[512];

static json_t *load(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "tokenizers/%s.json", name);
    json_t *root = json_load_file(golden_path(path), JSON_ALLOW_NUL, NULL);
    assert_non_null(root);
    return root;
}

static void write_vocabulary(struct gguf_writer *w, const char *name, const char *model, const char *pre)
{
    json_t *root = load(name);
    gguf_text(w, "tokenizer.ggml.model", model);
    if (pre) gguf_text(w, "tokenizer.ggml.pre", pre);
    gguf_vocabulary(w, root);
    json_decref(root);
}

static struct sm_tokenizer *open_written(struct gguf_writer *w)
{
    struct sm_tokenizer *t;
    gguf_finish(w);
    if (sm_tokenizer_open_memory(&t, w->bytes, w->count, why, sizeof why)) fail_msg("%s", why);
    free(w->bytes);
    return t;
}

/* The rows that a file without the package's own normalising and splitting answers as well. */
static json_t *rows_of(const char *name, bool (*wanted)(const char *text))
{
    char cases[64];
    json_t *row, *some = json_array();
    size_t i;
    snprintf(cases, sizeof cases, "%s.cases", name);
    json_t *all = load(cases);
    json_array_foreach(all, i, row)
    {
        if (wanted(json_string_value(json_object_get(row, "text")))) json_array_append(some, row);
    }
    json_decref(all);
    return some;
}

static bool no_mask(const char *text)
{
    return !strstr(text, "<mask>"); /* which takes the spaces beside it, and a GGUF file cannot say so */
}

static bool one_line(const char *text)
{
    return !strchr(text, '\n');
}

static bool few_spaces(const char *text)
{
    return *text && *text != ' ' && strncmp(text, "\xe2\x96\x81", 3) && !strstr(text, "   ") && !strchr(text, '<') &&
           !strstr(text, "\n\n\n"); /* which equal sums can spell in two orders, and a float is no double */
}

static void test_answers(void **state)
{
    (void)state;
    static const struct {
        const char *name, *model, *pre;
        bool (*wanted)(const char *text);
    } files[] = {{"digits", "gpt2", "smollm", no_mask},
                 {"llama3", "gpt2", "llama-bpe", no_mask},
                 {"gemma", "gemma4", "", one_line},
                 {"unigram-bytes", "t5", NULL, few_spaces}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct gguf_writer w = {0};
        write_vocabulary(&w, files[i].name, files[i].model, files[i].pre);
        gguf_truth(&w, "tokenizer.ggml.add_bos_token", 0);
        gguf_truth(&w, "tokenizer.ggml.add_eos_token", 0);
        struct sm_tokenizer *t = open_written(&w);
        json_t *rows = rows_of(files[i].name, files[i].wanted);
        /* t5 takes the first space of a text off again, and the package was not told to: with flags, ids alone. */
        const size_t checked = tokenizer_table_check(t, rows, "ids", files[i].pre ? 0 : SM_ENCODE_PLAIN);
        print_message("%s (%s): %zu texts equal\n", files[i].name, sm_tokenizer_kind(t), checked);
        assert_true(checked > 70);
        json_decref(rows);
        sm_tokenizer_close(t);
    }
}

/* --- merging by scores, as its definition says: the greatest score, the leftmost of equals, again and again --- */

#define MOST_PARTS 512

struct part {
    const char *at;
    size_t bytes;
};

static int find(const char *const *texts, size_t count, const char *text, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(texts[i]) == bytes && !memcmp(texts[i], text, bytes)) return (int)i;
    return -1;
}

static size_t merge_slowly(const char *const *texts, const float *scores, size_t count, const char *text, int32_t *ids)
{
    struct part parts[MOST_PARTS];
    size_t n = 0;
    for (const char *at = text; *at; n++) {
        const char *end = at + 1;
        while ((*end & 0xc0) == 0x80) end++;
        parts[n] = (struct part){at, (size_t)(end - at)};
        at = end;
    }
    for (;;) {
        size_t best = n;
        float score = -INFINITY;
        for (size_t i = 0; i + 1 < n; i++) {
            const int id = find(texts, count, parts[i].at, parts[i].bytes + parts[i + 1].bytes);
            if (id < 0 || !(scores[id] > score)) continue;
            best = i;
            score = scores[id];
        }
        if (best == n) break;
        parts[best].bytes += parts[best + 1].bytes;
        memmove(&parts[best + 1], &parts[best + 2], (n - best - 2) * sizeof *parts);
        n--;
    }
    for (size_t i = 0; i < n; i++) ids[i] = find(texts, count, parts[i].at, parts[i].bytes);
    return n;
}

static void test_scores(void **state)
{
    (void)state;
    static const char *const single[] = {"a", "b", "c", "\xc3\xa9", "\xe6\xb0\xb4", "\xe2\x96\x81"};
    struct sm_random random = {5};
    for (int trial = 0; trial < 40; trial++) {
        static char store[200][32];
        const char *texts[200];
        float scores[200];
        size_t count = 6;
        struct gguf_writer w = {0};
        for (size_t i = 0; i < 6; i++) texts[i] = single[i];
        for (size_t tries = 0; tries < 150 && count < 200; tries++) {
            const char *l = texts[sm_random_below(&random, (uint32_t)count)],
                       *r = texts[sm_random_below(&random, (uint32_t)count)];
            if (strlen(l) + strlen(r) >= sizeof store[count]) continue;
            strcpy(stpcpy(store[count], l), r);
            if (find(texts, count, store[count], strlen(store[count])) >= 0) continue;
            texts[count] = store[count];
            count++;
        }
        for (size_t i = 0; i < count; i++) scores[i] = -(float)sm_random_below(&random, 30); /* many are equal */
        gguf_text(&w, "tokenizer.ggml.model", "llama");
        gguf_texts(&w, "tokenizer.ggml.tokens", texts, count);
        gguf_floats(&w, "tokenizer.ggml.scores", scores, count);
        gguf_truth(&w, "tokenizer.ggml.add_bos_token", 0);
        gguf_truth(&w, "tokenizer.ggml.add_space_prefix", 0);
        struct sm_tokenizer *t = open_written(&w);
        for (int k = 0; k < 50; k++) {
            char text[400] = "";
            int32_t wanted[MOST_PARTS], *ids;
            size_t got;
            for (uint32_t n = 1 + sm_random_below(&random, 60); n--;) strcat(text, single[sm_random_below(&random, 6)]);
            const size_t expected = merge_slowly(texts, scores, count, text, wanted);
            if (sm_tokenizer_encode(t, text, strlen(text), 0, &ids, &got, why, sizeof why)) fail_msg("%s", why);
            if (got != expected || memcmp(ids, wanted, got * sizeof *ids)) fail_msg("'%s' merges otherwise", text);
            free(ids);
        }
        sm_tokenizer_close(t);
    }
}

/* --- what is refused --- */

static void refused(struct gguf_writer *w, const char *words)
{
    struct sm_tokenizer *t;
    gguf_finish(w);
    why[0] = 0;
    if (!sm_tokenizer_open_memory(&t, w->bytes, w->count, why, sizeof why)) fail_msg("not refused: %s", words);
    if (!strstr(why, words)) fail_msg("'%s' does not say '%s'", why, words);
    free(w->bytes);
    *w = (struct gguf_writer){0};
}

static const char *const texts[] = {"a", "b", "ab", "<s>"};
static const int32_t types[] = {1, 1, 1, 3};

static void test_refused_vocabularies(void **state)
{
    (void)state;
    const int32_t odd_types[] = {1, 1, 9, 3};
    struct gguf_writer w = {0};
    gguf_text(&w, "general.name", "x");
    refused(&w, "it has no tokenizer");
    gguf_text(&w, "tokenizer.ggml.model", "rwkv");
    refused(&w, "of the kind 'rwkv'");
    gguf_text(&w, "tokenizer.ggml.model", "gpt2");
    gguf_text(&w, "tokenizer.ggml.pre", "strange");
    refused(&w, "as 'strange' does");
    gguf_text(&w, "tokenizer.ggml.model", "gpt2");
    refused(&w, "it has no tokenizer.ggml.tokens");
    gguf_text(&w, "tokenizer.ggml.model", "gpt2");
    gguf_texts(&w, "tokenizer.ggml.tokens", texts, 0);
    refused(&w, "its vocabulary is empty");
    gguf_text(&w, "tokenizer.ggml.model", "gpt2");
    gguf_ints(&w, "tokenizer.ggml.tokens", types, 4);
    refused(&w, "not an array of the kind");
    gguf_text(&w, "tokenizer.ggml.model", "gpt2");
    gguf_texts(&w, "tokenizer.ggml.tokens", texts, 4);
    gguf_ints(&w, "tokenizer.ggml.token_type", types, 3);
    refused(&w, "not as many token_type");
    gguf_text(&w, "tokenizer.ggml.model", "gpt2");
    gguf_texts(&w, "tokenizer.ggml.tokens", texts, 4);
    gguf_ints(&w, "tokenizer.ggml.token_type", odd_types, 4);
    refused(&w, "the type of token 2");
    gguf_text(&w, "tokenizer.ggml.model", "gpt2");
    gguf_texts(&w, "tokenizer.ggml.tokens", texts, 4);
    refused(&w, "it has no tokenizer.ggml.merges");
}

static void test_refused_merges(void **state)
{
    (void)state;
    const int32_t bytes[] = {6, 1, 1, 3};
    const float scores[] = {0, -1, -2, 0}, odd_scores[] = {0, NAN, -2, 0};
    const char *const merges[] = {"a b"}, *const unknown[] = {"a c"}, *const no_space[] = {"ab"}, *const odd[] = {"a "};
    struct gguf_writer w = {0};
    const struct {
        const char *const *merges;
        const char *words;
    } wrong[] = {{unknown, "not all in the vocabulary"}, {no_space, "not two texts"}, {odd, "not two texts"}};
    for (size_t i = 0; i < 3; i++) {
        gguf_text(&w, "tokenizer.ggml.model", "gpt2");
        gguf_texts(&w, "tokenizer.ggml.tokens", texts, 4);
        gguf_texts(&w, "tokenizer.ggml.merges", wrong[i].merges, 1);
        refused(&w, wrong[i].words);
    }
    gguf_text(&w, "tokenizer.ggml.model", "gpt2");
    gguf_texts(&w, "tokenizer.ggml.tokens", texts, 4);
    gguf_texts(&w, "tokenizer.ggml.merges", merges, 1);
    gguf_number(&w, "tokenizer.ggml.bos_token_id", 4);
    refused(&w, "bos_token_id is not one of its 4 tokens");
    gguf_text(&w, "tokenizer.ggml.model", "gpt2");
    gguf_texts(&w, "tokenizer.ggml.tokens", texts, 4);
    gguf_texts(&w, "tokenizer.ggml.merges", merges, 1);
    gguf_truth(&w, "tokenizer.ggml.add_bos_token", 1);
    refused(&w, "does not say which");
    for (int i = 0; i < 2; i++) {
        gguf_text(&w, "tokenizer.ggml.model", "llama");
        gguf_texts(&w, "tokenizer.ggml.tokens", texts, 4);
        gguf_floats(&w, "tokenizer.ggml.scores", i ? odd_scores : scores, i ? 4 : 3);
        refused(&w, i ? "the score of token 1 is no number" : "4 tokens and 3 scores");
    }
    gguf_text(&w, "tokenizer.ggml.model", "llama");
    gguf_texts(&w, "tokenizer.ggml.tokens", texts, 4);
    gguf_ints(&w, "tokenizer.ggml.token_type", bytes, 4);
    gguf_floats(&w, "tokenizer.ggml.scores", scores, 4);
    refused(&w, "is said to be a byte");
    gguf_text(&w, "tokenizer.ggml.model", "t5");
    gguf_ints(&w, "tokenizer.ggml.precompiled_charsmap", types, 4);
    refused(&w, "precompiled_charsmap");
}

/* Any change of a byte, and any end: refused with a sentence, or a tokenizer that can be asked. */
static void test_mutations(void **state)
{
    (void)state;
    static const char text[] = "The mill's 37 \xe6\xb0\xb4 <s>\xff  x";
    struct sm_random random = {77};
    size_t opened = 0;
    for (int kind = 0; kind < 2; kind++) {
        struct gguf_writer w = {0};
        write_vocabulary(&w, kind ? "gemma" : "digits", kind ? "llama" : "gpt2", kind ? NULL : "smollm");
        gguf_truth(&w, "tokenizer.ggml.add_bos_token", 0);
        gguf_finish(&w);
        for (int trial = 0; trial < 1000; trial++) {
            const size_t count = trial % 4 ? w.count : sm_random_below(&random, (uint32_t)w.count);
            unsigned char *copy = malloc(count + 1);
            struct sm_tokenizer *t;
            assert_non_null(copy);
            memcpy(copy, w.bytes, count);
            for (uint32_t n = 1 + sm_random_below(&random, 4); n-- && count;)
                copy[sm_random_below(&random, (uint32_t)count)] = (unsigned char)sm_random_below(&random, 256);
            why[0] = 0;
            if (sm_tokenizer_open_memory(&t, copy, count, why, sizeof why)) {
                assert_true(why[0]);
            } else {
                int32_t *ids;
                size_t got;
                opened++;
                if (!sm_tokenizer_encode(t, text, sizeof text - 1, SM_ENCODE_ADD_SPECIAL, &ids, &got, why,
                                         sizeof why)) {
                    for (size_t i = 0; i < got; i++) assert_true(ids[i] >= 0 && (size_t)ids[i] < sm_tokenizer_size(t));
                    free(ids);
                }
                sm_tokenizer_close(t);
            }
            free(copy);
        }
        free(w.bytes);
    }
    print_message("%zu of 2000 changed files could still be read\n", opened);
    assert_true(opened > 50 && opened < 1950);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers), cmocka_unit_test(test_scores),
                                       cmocka_unit_test(test_refused_vocabularies),
                                       cmocka_unit_test(test_refused_merges), cmocka_unit_test(test_mutations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
