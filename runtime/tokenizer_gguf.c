/* A tokenizer from the metadata of a GGUF file: tokenizer.ggml.*. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tokenizer_parts.h"

#define KEY(name) "tokenizer.ggml." name

/* The strings of an array, one after the other. */
struct strings {
    const unsigned char *at;
};

static struct sm_gguf_string next_string(struct strings *s)
{
    uint64_t bytes;
    memcpy(&bytes, s->at, sizeof bytes);
    const struct sm_gguf_string string = {(const char *)s->at + sizeof bytes, (size_t)bytes};
    s->at += sizeof bytes + bytes;
    return string;
}

static const struct sm_gguf_value *array(const struct sm_gguf *gguf, const char *key, enum sm_gguf_type element,
                                         const struct tok_why *why)
{
    const struct sm_gguf_value *v = sm_gguf_value(gguf, key);
    if (v && v->type == SM_GGUF_ARRAY && v->element == element) return v;
    tok_refuse(why, v ? "%s is not an array of the kind it must be" : "it has no %s", key);
    return NULL;
}

static bool truth(const struct sm_gguf *gguf, const char *key, bool otherwise)
{
    const struct sm_gguf_value *v = sm_gguf_value(gguf, key);
    double number;
    return v && !sm_gguf_number(v, 0, &number) ? number != 0 : otherwise;
}

/* In a vocabulary of characters, what a user defined may hold real spaces, and texts hold U+2581. */
static int set_user(struct sm_tokenizer *t, size_t id, const struct sm_gguf_string *text, const struct tok_why *why)
{
    struct tok_buffer spelt = {0};
    int failed = 0;
    for (size_t i = 0; i < text->bytes && !failed; i++)
        failed = text->at[i] == ' ' ? tok_append(&spelt, TOK_SPACE, 3, why) : tok_append(&spelt, text->at + i, 1, why);
    if (!failed) failed = tok_set(t, id, spelt.at ? spelt.at : "", spelt.bytes, TOK_USER, why);
    free(spelt.at);
    return failed;
}

static int read_tokens(struct sm_tokenizer *t, const struct sm_gguf *gguf, const struct tok_why *why)
{
    static const enum tok_kind kinds[] = {TOK_NORMAL, TOK_NORMAL, TOK_UNKNOWN, TOK_CONTROL,
                                          TOK_USER,   TOK_UNUSED, TOK_BYTE};
    const struct sm_gguf_value *tokens = array(gguf, KEY("tokens"), SM_GGUF_STRING, why);
    const struct sm_gguf_value *types = sm_gguf_value(gguf, KEY("token_type"));
    if (!tokens || tok_reserve(t, tokens->count, why)) return -1;
    if (types && (types->type != SM_GGUF_ARRAY || types->count != tokens->count))
        return tok_refuse(why, "it has %zu tokens, and not as many token_type", tokens->count);
    struct strings s = {tokens->data};
    for (size_t i = 0; i < tokens->count; i++) {
        const struct sm_gguf_string text = next_string(&s);
        size_t type = 1;
        if (types && (sm_gguf_size(types, i, &type) || type >= sizeof kinds / sizeof *kinds))
            return tok_refuse(why, "the type of token %zu is not known", i);
        const bool user = kinds[type] == TOK_USER && !t->byte_level;
        if (user ? set_user(t, i, &text, why) : tok_set(t, i, text.at, text.bytes, kinds[type], why)) return -1;
    }
    return 0;
}

static int read_scores(struct sm_tokenizer *t, const struct sm_gguf *gguf, const struct tok_why *why)
{
    const struct sm_gguf_value *scores = array(gguf, KEY("scores"), SM_GGUF_F32, why);
    if (!scores) return -1;
    if (scores->count != t->count) return tok_refuse(why, "it has %zu tokens and %zu scores", t->count, scores->count);
    t->scores = malloc(t->count * sizeof *t->scores);
    if (!t->scores) return tok_refuse(why, "out of memory for %zu scores", t->count);
    for (size_t i = 0; i < t->count; i++)
        if (sm_gguf_number(scores, i, &t->scores[i]) || !isfinite(t->scores[i]))
            return tok_refuse(why, "the score of token %zu is no number", i);
    return 0;
}

static int read_merges(struct sm_tokenizer *t, const struct sm_gguf *gguf, const struct tok_why *why)
{
    const struct sm_gguf_value *merges = array(gguf, KEY("merges"), SM_GGUF_STRING, why);
    if (!merges) return -1;
    if (merges->count > UINT32_MAX) return tok_refuse(why, "it claims %zu merges", merges->count);
    if (tok_pairs_create(&t->pairs, merges->count))
        return tok_refuse(why, "out of memory for %zu merges", merges->count);
    struct strings s = {merges->data};
    for (size_t i = 0; i < merges->count; i++) {
        const struct sm_gguf_string text = next_string(&s);
        const char *space = text.bytes > 2 ? memchr(text.at + 1, ' ', text.bytes - 2) : NULL;
        const size_t left = space ? (size_t)(space - text.at) : text.bytes;
        if (tok_merge(t, i, text.at, left, text.at + left + 1, space ? text.bytes - left - 1 : 0, why)) return -1;
    }
    return 0;
}

static int read_marks(struct sm_tokenizer *t, const struct sm_gguf *gguf, const struct tok_why *why)
{
    static const struct {
        const char *key;
        enum sm_mark mark;
    } keys[] = {{KEY("bos_token_id"), SM_MARK_BOS},
                {KEY("eos_token_id"), SM_MARK_EOS},
                {KEY("eot_token_id"), SM_MARK_EOT},
                {KEY("unknown_token_id"), SM_MARK_UNKNOWN},
                {KEY("padding_token_id"), SM_MARK_PAD}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct sm_gguf_value *v = sm_gguf_value(gguf, keys[i].key);
        size_t id;
        if (!v || v->type == SM_GGUF_ARRAY) continue;
        if (!sm_gguf_size(v, 0, &id) && id == UINT32_MAX) continue; /* how some files write: none */
        if (sm_gguf_size(v, 0, &id) || id >= t->count)
            return tok_refuse(why, "%s is not one of its %zu tokens", keys[i].key, t->count);
        t->mark[keys[i].mark] = (int32_t)id;
    }
    for (size_t i = 0; i < t->count; i++) {
        const unsigned char kind = t->tokens[i].kind;
        if (kind != TOK_CONTROL && kind != TOK_USER && kind != TOK_UNKNOWN) continue;
        /* What a user defined is found in the text as the model sees it, so after spaces have become U+2581. */
        if (tok_add_mark(t, (int32_t)i, kind == TOK_USER && !t->byte_level, tok_text(t, (int32_t)i), t->tokens[i].bytes,
                         why))
            return -1;
    }
    return 0;
}

static int around(struct sm_tokenizer *t, const struct sm_gguf *gguf, bool bos, bool eos, const struct tok_why *why)
{
    bos = truth(gguf, KEY("add_bos_token"), bos);
    eos = truth(gguf, KEY("add_eos_token"), eos);
    if ((bos && t->mark[SM_MARK_BOS] < 0) || (eos && t->mark[SM_MARK_EOS] < 0))
        return tok_refuse(why, "it adds a token before or after a text, and does not say which");
    if (bos) t->before[t->before_count++] = t->mark[SM_MARK_BOS];
    if (eos) t->after[t->after_count++] = t->mark[SM_MARK_EOS];
    return 0;
}

static int add_normal(struct sm_tokenizer *t, const char *pattern, const char *from, const char *to,
                      const struct tok_why *why)
{
    struct tok_normal *step = &t->normal[t->normals++];
    if (pattern && !(step->code = tok_compile(pattern, strlen(pattern), why))) return -1;
    if (from) step->from = strdup(from);
    step->to = strdup(to);
    return (from && !step->from) || !step->to ? tok_refuse(why, "out of memory") : 0;
}

/* The spaces of SentencePiece: fewer of them where it says so, one before a text where it says so, then U+2581. */
static int spaces(struct sm_tokenizer *t, const struct sm_gguf *gguf, bool prefix, const struct tok_why *why)
{
    if (truth(gguf, KEY("remove_extra_whitespaces"), false) &&
        (add_normal(t, "^ +| +$", NULL, "", why) || add_normal(t, " {2,}", NULL, " ", why)))
        return -1;
    t->unescape = true;
    t->strip_first = truth(gguf, KEY("add_space_prefix"), prefix);
    if (t->strip_first && add_normal(t, NULL, NULL, " ", why)) return -1;
    return add_normal(t, NULL, " ", TOK_SPACE, why);
}

static int read_scored(struct sm_tokenizer *t, const struct sm_gguf *gguf, const struct tok_why *why)
{
    const bool unigram = t->model == TOK_UNIGRAM;
    const struct sm_gguf_value *map = sm_gguf_value(gguf, KEY("precompiled_charsmap"));
    if (map && map->count)
        return tok_refuse(why, "it normalises by a table of its own (precompiled_charsmap), which cannot be done here");
    t->byte_fallback = t->fuse_unknown = true;
    snprintf(t->kind, sizeof t->kind, unigram ? "unigram, with byte fallback" : "BPE by scores, with byte fallback");
    return read_tokens(t, gguf, why) || read_scores(t, gguf, why) || tok_index(t, why) || read_marks(t, gguf, why) ||
                   around(t, gguf, !unigram, unigram, why) || spaces(t, gguf, true, why)
               ? -1
               : 0;
}

static int read_merged(struct sm_tokenizer *t, const struct sm_gguf *gguf, const struct sm_gguf_string *pre,
                       const struct tok_why *why)
{
    snprintf(t->kind, sizeof t->kind, "%s BPE, split as %.*s", t->byte_level ? "byte-level" : "character",
             pre->bytes < 40 ? (int)pre->bytes : 40, pre->at);
    t->byte_fallback = !t->byte_level;
    t->whole_newlines = !t->byte_level;
    if (tok_split_named(t, pre->at, pre->bytes, why) || read_tokens(t, gguf, why) || tok_index(t, why) ||
        read_merges(t, gguf, why) || read_marks(t, gguf, why))
        return -1;
    if (!t->byte_level) return around(t, gguf, true, false, why) || spaces(t, gguf, false, why) ? -1 : 0;
    if (truth(gguf, KEY("add_space_prefix"), false)) {
        t->prefix = TOK_PREFIX_ALWAYS;
        t->prefix_text = " ";
    }
    return around(t, gguf, t->whole_first, false, why);
}

static bool is(const struct sm_gguf_string *text, const char *word)
{
    return text->bytes == strlen(word) && !memcmp(text->at, word, text->bytes);
}

int tok_from_gguf(struct sm_tokenizer *t, const struct sm_gguf *gguf, const struct tok_why *why)
{
    struct sm_gguf_string model, pre = {"default", 7}, chat;
    const struct sm_gguf_value *v = sm_gguf_value(gguf, KEY("model"));
    int failed;
    if (!v || sm_gguf_text(v, &model)) return tok_refuse(why, "it has no tokenizer (tokenizer.ggml.model)");
    v = sm_gguf_value(gguf, KEY("pre"));
    if (v && sm_gguf_text(v, &pre)) return tok_refuse(why, "tokenizer.ggml.pre is no text");
    if (is(&model, "gpt2")) {
        t->model = TOK_MERGES;
        t->byte_level = true;
        failed = read_merged(t, gguf, &pre, why);
    } else if (is(&model, "gemma4")) {
        pre = (struct sm_gguf_string){"gemma4", 6};
        t->model = TOK_MERGES;
        failed = read_merged(t, gguf, &pre, why);
    } else if (is(&model, "llama") || is(&model, "t5")) {
        t->model = is(&model, "t5") ? TOK_UNIGRAM : TOK_SCORES;
        failed = read_scored(t, gguf, why);
    } else {
        return tok_refuse(why, "its tokenizer is of the kind '%.*s'; known are gpt2, llama, gemma4 and t5",
                          model.bytes < 40 ? (int)model.bytes : 40, model.at);
    }
    if (failed) return -1;
    v = sm_gguf_value(gguf, "tokenizer.chat_template");
    if (v && !sm_gguf_text(v, &chat)) {
        t->chat_template = strndup(chat.at, chat.bytes);
        if (!t->chat_template) return tok_refuse(why, "out of memory");
    }
    return tok_finish(t, why);
}
