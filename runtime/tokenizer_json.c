/* A tokenizer from a tokenizer.json, as the Python package tokenizers writes it, and what the files beside it say. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tokenizer_parts.h"

static bool is(const json_t *value, const char *word)
{
    return json_is_string(value) && !strcmp(json_string_value(value), word);
}

static bool is_byte_token(const char *text)
{
    return strlen(text) == 6 && !strncmp(text, "<0x", 3) && text[5] == '>' && strspn(text + 3, "0123456789ABCDEF") == 2;
}

/* --- vocabulary --- */

/* An id in a vocabulary of that many texts: most files leave no gap, so a huge one is a mistake. */
static int check_id(const json_t *id, size_t texts, size_t *out, const struct tok_why *why)
{
    const json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
    if (value < 0 || (uint64_t)value >= 2 * (uint64_t)texts + 1024)
        return tok_refuse(why, "an id of its vocabulary is no number from 0 to the number of its tokens");
    *out = (size_t)value;
    return 0;
}

/* One more than the greatest id, in both places that give ids. */
static int count_ids(const json_t *vocab, const json_t *added, size_t *count, const struct tok_why *why)
{
    const size_t texts = json_object_size(vocab) + json_array_size(vocab) + json_array_size(added);
    const char *text;
    json_t *value;
    size_t i, id = 0;
    *count = json_array_size(vocab);
    json_object_foreach((json_t *)(uintptr_t)vocab, text, value)
    {
        if (check_id(value, texts, &id, why)) return -1;
        if (id >= *count) *count = id + 1;
    }
    json_array_foreach(added, i, value)
    {
        if (check_id(json_object_get(value, "id"), texts, &id, why)) return -1;
        if (id >= *count) *count = id + 1;
    }
    return 0;
}

static int set_normal(struct sm_tokenizer *t, size_t id, const char *text, size_t bytes, const struct tok_why *why)
{
    const bool byte = t->byte_fallback && bytes == 6 && is_byte_token(text);
    if (t->tokens[id].kind != TOK_ABSENT) return tok_refuse(why, "two tokens of its vocabulary have the id %zu", id);
    return tok_set(t, id, text, bytes, byte ? TOK_BYTE : TOK_NORMAL, why);
}

/* {"text": id} of BPE. */
static int read_texts(struct sm_tokenizer *t, const json_t *vocab, const struct tok_why *why)
{
    const char *text;
    json_t *id;
    json_object_foreach((json_t *)(uintptr_t)vocab, text, id)
    {
        if (set_normal(t, (size_t)json_integer_value(id), text, strlen(text), why)) return -1;
    }
    return 0;
}

/* [["text", score]] of unigram. */
static int read_scored(struct sm_tokenizer *t, const json_t *vocab, const struct tok_why *why)
{
    json_t *entry;
    size_t i;
    t->scores = calloc(t->count, sizeof *t->scores);
    if (!t->scores) return tok_refuse(why, "out of memory for %zu scores", t->count);
    json_array_foreach(vocab, i, entry)
    {
        const json_t *text = json_array_get(entry, 0), *score = json_array_get(entry, 1);
        if (!json_is_string(text) || !json_is_number(score) || !isfinite(json_number_value(score)))
            return tok_refuse(why, "entry %zu of its vocabulary is not a text and its score", i);
        if (set_normal(t, i, json_string_value(text), json_string_length(text), why)) return -1;
        t->scores[i] = json_number_value(score);
    }
    return 0;
}

static int read_added(struct sm_tokenizer *t, const json_t *added, const struct tok_why *why)
{
    json_t *entry;
    size_t i;
    json_array_foreach(added, i, entry)
    {
        const json_t *content = json_object_get(entry, "content");
        const bool special = json_is_true(json_object_get(entry, "special"));
        const size_t id = (size_t)json_integer_value(json_object_get(entry, "id"));
        if (!json_is_string(content) || !json_string_length(content))
            return tok_refuse(why, "added token %zu has no text", i);
        if (json_is_true(json_object_get(entry, "single_word")))
            return tok_refuse(why, "its token '%.40s' is to be found as a whole word only, which cannot be done here",
                              json_string_value(content));
        if (tok_set(t, id, json_string_value(content), json_string_length(content), special ? TOK_CONTROL : TOK_USER,
                    why))
            return -1;
        t->tokens[id].eats_left = json_is_true(json_object_get(entry, "lstrip"));
        t->tokens[id].eats_right = json_is_true(json_object_get(entry, "rstrip"));
    }
    return 0;
}

/* Where added tokens are looked for: in the text as it is, or normalised as the text will be. */
static int mark_added(struct sm_tokenizer *t, const json_t *added, const struct tok_why *why)
{
    json_t *entry;
    size_t i;
    json_array_foreach(added, i, entry)
    {
        const json_t *content = json_object_get(entry, "content");
        const int32_t id = (int32_t)json_integer_value(json_object_get(entry, "id"));
        const bool late = json_is_true(json_object_get(entry, "normalized"));
        if (late ? tok_add_late_mark(t, id, json_string_value(content), json_string_length(content), why)
                 : tok_add_mark(t, id, 0, json_string_value(content), json_string_length(content), why))
            return -1;
    }
    return 0;
}

static int read_merges(struct sm_tokenizer *t, const json_t *merges, const struct tok_why *why)
{
    json_t *entry;
    size_t i;
    if (!json_is_array(merges)) return tok_refuse(why, "its merges are no list");
    if (tok_pairs_create(&t->pairs, json_array_size(merges))) return tok_refuse(why, "out of memory for its merges");
    json_array_foreach(merges, i, entry)
    {
        const json_t *first = json_array_get(entry, 0), *second = json_array_get(entry, 1);
        const char *left = json_string_value(first ? first : entry), *right = json_string_value(second);
        size_t left_bytes = left ? strlen(left) : 0;
        if (json_is_string(entry)) {
            const char *space = strchr(left, ' ');
            left_bytes = space ? (size_t)(space - left) : left_bytes;
            right = space ? space + 1 : NULL;
        }
        if (!left || !right) return tok_refuse(why, "merge %zu is not two texts", i);
        if (tok_merge(t, i, left, left_bytes, right, strlen(right), why)) return -1;
    }
    return 0;
}

/* --- model --- */

static int read_bpe(struct sm_tokenizer *t, const json_t *model, const struct tok_why *why)
{
    static const char *const odd[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < 2; i++) {
        const json_t *value = json_object_get(model, odd[i]);
        if (json_is_string(value) && json_string_length(value))
            return tok_refuse(why, "its model has a %s, which cannot be done here", odd[i]);
    }
    if (json_number_value(json_object_get(model, "dropout")) != 0)
        return tok_refuse(why, "its model drops merges at random (dropout)");
    t->model = TOK_MERGES;
    t->whole_first = json_is_true(json_object_get(model, "ignore_merges"));
    t->fuse_unknown = json_is_true(json_object_get(model, "fuse_unk"));
    return read_texts(t, json_object_get(model, "vocab"), why);
}

static int read_unigram(struct sm_tokenizer *t, const json_t *model, const struct tok_why *why)
{
    const json_t *unknown = json_object_get(model, "unk_id");
    t->model = TOK_UNIGRAM;
    t->fuse_unknown = true;
    if (json_is_integer(unknown)) {
        if (json_integer_value(unknown) < 0 || (size_t)json_integer_value(unknown) >= t->count)
            return tok_refuse(why, "its unk_id is not one of its %zu tokens", t->count);
        t->mark[SM_MARK_UNKNOWN] = (int32_t)json_integer_value(unknown);
    }
    return read_scored(t, json_object_get(model, "vocab"), why);
}

/* The id of a token by its text, whatever its kind; -1: there is none, or it is no text. */
static int32_t id_of(const struct sm_tokenizer *t, const json_t *root, const json_t *text)
{
    const json_t *content = json_is_object(text) ? json_object_get(text, "content") : text;
    json_t *entry;
    size_t i;
    if (!json_is_string(content)) return -1;
    json_array_foreach(json_object_get(root, "added_tokens"), i, entry)
    {
        if (json_equal(json_object_get(entry, "content"), content))
            return (int32_t)json_integer_value(json_object_get(entry, "id"));
    }
    const json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    const json_t *id = json_object_get(vocab, json_string_value(content));
    return id ? (int32_t)json_integer_value(id) : tok_find(t, json_string_value(content), json_string_length(content));
}

/* The package finds a byte's name in a text of unigram, too. */
static int name_bytes(struct sm_tokenizer *t, const struct tok_why *why)
{
    for (int b = 0; b < 256; b++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        if (t->byte_id[b] >= 0 && tok_trie_put(&t->pieces, name, 6, t->byte_id[b]))
            return tok_refuse(why, "out of memory");
    }
    return 0;
}

int tok_from_json(struct sm_tokenizer *t, const json_t *root, const struct tok_why *why)
{
    const json_t *model = json_object_get(root, "model"), *added = json_object_get(root, "added_tokens");
    const json_t *vocab = json_object_get(model, "vocab"), *type = json_object_get(model, "type");
    const bool unigram = is(type, "Unigram"), bpe = is(type, "BPE") || (!type && json_object_get(model, "merges"));
    size_t count;
    if (!json_is_object(model)) return tok_refuse(why, "it is no tokenizer.json: it has no model");
    if (!unigram && !bpe)
        return tok_refuse(why, "its model is of the type '%.40s'; known are BPE and Unigram",
                          json_is_string(type) ? json_string_value(type) : "");
    if (!(unigram ? json_is_array(vocab) : json_is_object(vocab))) return tok_refuse(why, "it has no vocabulary");
    t->byte_fallback = json_is_true(json_object_get(model, "byte_fallback"));
    if (tok_json_steps(t, root, why) || count_ids(vocab, added, &count, why) || tok_reserve(t, count, why) ||
        (unigram ? read_unigram : read_bpe)(t, model, why) || read_added(t, added, why) || tok_index(t, why) ||
        (bpe ? read_merges(t, json_object_get(model, "merges"), why) : name_bytes(t, why)) || mark_added(t, added, why))
        return -1;
    for (size_t i = 0; i < TOK_MOST_AROUND; i++)
        if ((i < t->before_count && (size_t)t->before[i] >= t->count) ||
            (i < t->after_count && (size_t)t->after[i] >= t->count))
            return tok_refuse(why, "its post-processor adds a token that is not one of its %zu", t->count);
    if (bpe) t->mark[SM_MARK_UNKNOWN] = id_of(t, root, json_object_get(model, "unk_token"));
    if (t->before_count) t->mark[SM_MARK_BOS] = t->before[0];
    if (t->after_count) t->mark[SM_MARK_EOS] = t->after[t->after_count - 1];
    snprintf(t->kind, sizeof t->kind, "%s%s of a tokenizer.json%s",
             unigram         ? "unigram"
             : t->byte_level ? "byte-level BPE"
                             : "character BPE",
             t->whole_first ? " (whole pieces first)" : "", t->byte_fallback ? ", with byte fallback" : "");
    return tok_finish(t, why);
}

/* --- the files beside it --- */

static json_t *beside(const char *folder, const char *name)
{
    char path[4200];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path ? json_load_file(path, JSON_ALLOW_NUL, NULL) : NULL;
}

static void read_ids(struct sm_tokenizer *t, const json_t *config, const char *key, enum sm_mark mark)
{
    const json_t *value = json_object_get(config, key);
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < count; i++) {
        const json_t *id = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_integer(id) || json_integer_value(id) < 0 || (uint64_t)json_integer_value(id) >= t->count)
            continue;
        if (t->mark[mark] < 0) t->mark[mark] = (int32_t)json_integer_value(id);
        if (mark == SM_MARK_EOS) tok_add_end(t, (int32_t)json_integer_value(id));
    }
}

void tok_json_beside(struct sm_tokenizer *t, const json_t *root, const char *folder)
{
    static const struct {
        const char *text, *id;
        enum sm_mark mark;
    } keys[] = {{"bos_token", "bos_token_id", SM_MARK_BOS},
                {"eos_token", "eos_token_id", SM_MARK_EOS},
                {"pad_token", "pad_token_id", SM_MARK_PAD}};
    json_t *named = beside(folder, "tokenizer_config.json"), *generation = beside(folder, "generation_config.json"),
           *config = beside(folder, "config.json");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const int32_t id = id_of(t, root, json_object_get(named, keys[i].text));
        if (id >= 0 && (size_t)id < t->count) t->mark[keys[i].mark] = id;
        read_ids(t, generation, keys[i].id, keys[i].mark);
        read_ids(t, config, keys[i].id, keys[i].mark);
    }
    tok_add_end(t, t->mark[SM_MARK_EOS]);
    const json_t *chat = json_object_get(named, "chat_template");
    if (json_is_string(chat)) t->chat_template = strdup(json_string_value(chat));
    json_decref(named);
    json_decref(generation);
    json_decref(config);
}
