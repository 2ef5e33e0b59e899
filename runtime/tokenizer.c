/* Text to tokens and back: markers first, then normalising, splitting and merging what lies between them. */
#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "map_file.h"
#include "tokenizer_parts.h"

#define MOST_TEXT ((size_t)1 << 30)

size_t tok_char(const char *text, size_t bytes)
{
    const unsigned char c = (unsigned char)*text;
    size_t length = c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1;
    if (length > bytes) return 1;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80) return 1;
    return length;
}

size_t sm_utf8_valid(const char *text, size_t bytes)
{
    size_t at = 0;
    while (at < bytes) {
        const unsigned char c = (unsigned char)text[at];
        const size_t length = tok_char(text + at, bytes - at);
        const unsigned char second = length > 1 ? (unsigned char)text[at + 1] : 0;
        if (length == 1 && c >= 0x80) break;
        if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) || (c == 0xf0 && second < 0x90) ||
            (c == 0xf4 && second > 0x8f))
            break; /* overlong, a surrogate, or past U+10FFFF */
        at += length;
    }
    return at;
}

int tok_append(struct tok_buffer *to, const char *text, size_t bytes, const struct tok_why *why)
{
    if (to->bytes + bytes > MOST_TEXT) return tok_refuse(why, "the text is longer than %zu bytes", MOST_TEXT);
    if (tok_room((void **)&to->at, &to->room, to->bytes + bytes + 1, 1, why)) return -1;
    memcpy(to->at + to->bytes, text, bytes);
    to->bytes += bytes;
    return 0;
}

int tok_put(struct tok_work *w, int32_t id)
{
    if (tok_room((void **)&w->ids, &w->room, w->count + 1, sizeof *w->ids, w->why)) return -1;
    w->ids[w->count++] = id;
    w->unknown_last = false;
    return 0;
}

int tok_spell_bytes(struct tok_work *w, const char *text, size_t bytes)
{
    const struct sm_tokenizer *t = w->t;
    const int32_t unknown = t->mark[SM_MARK_UNKNOWN];
    bool all = t->byte_fallback || unknown < 0;
    for (size_t i = 0; i < bytes && unknown >= 0; i++) all &= t->byte_id[(unsigned char)text[i]] >= 0;
    for (size_t i = 0; i < bytes && all; i++) { /* without an unknown token, a byte that has none is left out */
        const int32_t id = t->byte_id[(unsigned char)text[i]];
        if (id >= 0 && tok_put(w, id)) return -1;
    }
    if (all || (t->fuse_unknown && w->unknown_last)) return 0;
    if (tok_put(w, unknown)) return -1;
    w->unknown_last = true;
    return 0;
}

/* --- what lies between two markers --- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* What is put before a piece of text that is not split yet, and U+2581 for its spaces: into w->buffer[1]. */
static int prefixed(struct tok_work *w, const char **text, size_t *bytes, bool first)
{
    const struct sm_tokenizer *t = w->t;
    struct tok_buffer *to = &w->buffer[1];
    const size_t length = t->prefix_text ? strlen(t->prefix_text) : 0;
    const bool begins = length && *bytes >= length && !memcmp(*text, t->prefix_text, length);
    bool put = t->prefix == TOK_PREFIX_ALWAYS || (t->prefix == TOK_PREFIX_FIRST && first);
    if (begins || (t->replace_spaces && **text == ' ')) put = false;
    if (!put && !t->replace_spaces) return 0;
    to->bytes = 0;
    if (put && tok_append(to, t->prefix_text, length, w->why)) return -1;
    for (size_t at = 0, run; at < *bytes; at += run) {
        const char *space = t->replace_spaces ? memchr(*text + at, ' ', *bytes - at) : NULL;
        run = space ? (size_t)(space - *text) - at : *bytes - at;
        if (tok_append(to, *text + at, run, w->why)) return -1;
        if (space && tok_append(to, TOK_SPACE, 3, w->why)) return -1;
        run += space != NULL;
    }
    *text = to->at;
    *bytes = to->bytes;
    return 0;
}

static int encode_pieces(struct tok_work *w, const char *text, size_t bytes, bool first)
{
    if (!bytes) return 0;
    if (prefixed(w, &text, &bytes, first) || tok_split_all(w, text, bytes)) return -1;
    for (size_t i = 0; i < w->spans[0].count; i++) {
        const struct tok_span *span = &w->spans[0].list[i];
        w->unknown_last = false;
        if (w->t->model == TOK_UNIGRAM ? tok_unigram(w, text + span->at, span->bytes)
                                       : tok_bpe(w, text + span->at, span->bytes))
            return -1;
    }
    return 0;
}

/* The longest marker at the beginning of a text, or -1. */
static int32_t marker_at(const struct tok_work *w, int stage, const char *text, size_t bytes, unsigned flags,
                         size_t *length)
{
    const struct tok_trie *trie = &w->t->marks[stage];
    int32_t found = -1;
    uint32_t node = 0;
    for (size_t i = 0; i < bytes && (node = tok_trie_step(trie, node, (unsigned char)text[i])); i++) {
        const int32_t id = trie->id[node];
        if (id < 0 || ((flags & SM_ENCODE_PLAIN) && w->t->tokens[id].kind != TOK_USER)) continue;
        found = id;
        *length = i + 1;
    }
    return found;
}

/* Encodes what lies between the markers of a stage with the next one, which ends in encode_pieces. */
static int encode_stage(struct tok_work *w, int stage, const char *text, size_t bytes, bool first, unsigned flags)
{
    size_t begin = 0, at = 0, length = 0;
    if (stage == 1 && w->t->normals) {
        if (tok_normalise(w, text, bytes)) return -1;
        text = w->buffer[0].at;
        bytes = w->buffer[0].bytes;
    }
    while (at < bytes && w->t->marks[stage].nodes) {
        const int32_t id = marker_at(w, stage, text + at, bytes - at, flags, &length);
        if (id < 0) {
            at++;
            continue;
        }
        size_t end = at, after = at + length;
        while (w->t->tokens[id].eats_left && end > begin && is_space(text[end - 1])) end--;
        while (w->t->tokens[id].eats_right && after < bytes && is_space(text[after])) after++;
        if (end > begin && (stage ? encode_pieces(w, text + begin, end - begin, first && !begin)
                                  : encode_stage(w, 1, text + begin, end - begin, first && !begin, flags)))
            return -1;
        if (tok_put(w, id)) return -1;
        begin = at = after;
    }
    if (begin == bytes) return 0;
    return stage ? encode_pieces(w, text + begin, bytes - begin, first && !begin)
                 : encode_stage(w, 1, text + begin, bytes - begin, first && !begin, flags);
}

static int put_all(struct tok_work *w, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tok_put(w, ids[i])) return -1;
    return 0;
}

int tok_work_begin(struct tok_work *w)
{
    w->match = pcre2_match_data_create(1, NULL); /* one place: groups are not asked for */
    w->context = pcre2_match_context_create(NULL);
    if (!w->match || !w->context) return tok_refuse(w->why, "out of memory");
    pcre2_set_heap_limit(w->context, 64 * 1024);
    return 0;
}

void tok_work_end(struct tok_work *w)
{
    pcre2_match_data_free(w->match);
    pcre2_match_context_free(w->context);
    for (int i = 0; i < 2; i++) {
        free(w->spans[i].list);
        free(w->buffer[i].at);
    }
    free(w->symbols);
    free(w->heap);
    free(w->steps);
}

int sm_tokenizer_encode(const struct sm_tokenizer *t, const char *text, size_t bytes, unsigned flags, int32_t **ids,
                        size_t *count, char *why, size_t why_bytes)
{
    const struct tok_why sentence = {why, why_bytes, "splitting a text into", "tokens"};
    struct tok_work w = {.t = t, .why = &sentence, .patience = TOK_PATIENCE + 64 * (uint64_t)bytes};
    *ids = NULL;
    *count = 0;
    if (bytes > MOST_TEXT) return tok_refuse(&sentence, "it is longer than %zu bytes", MOST_TEXT);
    const int failed = tok_room((void **)&w.ids, &w.room, bytes / 4 + 16, sizeof *w.ids, &sentence) ||
                       tok_work_begin(&w) ||
                       ((flags & SM_ENCODE_ADD_SPECIAL) && put_all(&w, t->before, t->before_count)) ||
                       (bytes && encode_stage(&w, 0, text, bytes, true, flags)) ||
                       ((flags & SM_ENCODE_ADD_SPECIAL) && put_all(&w, t->after, t->after_count));
    tok_work_end(&w);
    if (failed) {
        free(w.ids);
        return -1;
    }
    *ids = w.ids;
    *count = w.count;
    return 0;
}

/* --- opening --- */

/* folder: where the file lies, or NULL. */
static int read_bytes(struct sm_tokenizer *t, const void *bytes, size_t count, const char *folder,
                      const struct tok_why *why)
{
    char reason[256];
    if (count >= 4 && !memcmp(bytes, "GGUF", 4)) {
        struct sm_gguf gguf;
        if (sm_gguf_parse(&gguf, bytes, count, "its metadata", reason, sizeof reason))
            return tok_refuse(why, "%s", reason);
        const int failed = tok_from_gguf(t, &gguf, why);
        sm_gguf_free(&gguf);
        return failed;
    }
    json_error_t error;
    json_t *root = json_loadb(bytes, count, JSON_ALLOW_NUL, &error);
    if (!root) return tok_refuse(why, "it is neither GGUF nor JSON: %s (line %d)", error.text, error.line);
    const int failed = tok_from_json(t, root, why);
    if (!failed && folder) tok_json_beside(t, root, folder);
    json_decref(root);
    return failed;
}

static int open_bytes(struct sm_tokenizer **tokenizer, const void *bytes, size_t count, const char *folder,
                      const struct tok_why *why)
{
    struct sm_tokenizer *t = calloc(1, sizeof *t);
    *tokenizer = NULL;
    if (!t) return tok_refuse(why, "out of memory");
    for (int i = 0; i < SM_MARKS; i++) t->mark[i] = -1;
    if (read_bytes(t, bytes, count, folder, why)) {
        sm_tokenizer_close(t);
        return -1;
    }
    *tokenizer = t;
    return 0;
}

int sm_tokenizer_open_memory(struct sm_tokenizer **tokenizer, const void *bytes, size_t count, char *why,
                             size_t why_bytes)
{
    const struct tok_why sentence = {why, why_bytes, "reading", "a tokenizer"};
    return open_bytes(tokenizer, bytes, count, NULL, &sentence);
}

int sm_tokenizer_open(struct sm_tokenizer **tokenizer, const char *path, char *why, size_t why_bytes)
{
    const struct tok_why sentence = {why, why_bytes, "reading the tokenizer of", path};
    char file[4096], folder[4096];
    const char *problem;
    struct stat facts;
    size_t bytes;
    *tokenizer = NULL;
    const bool inside = !stat(path, &facts) && S_ISDIR(facts.st_mode);
    const int n = snprintf(file, sizeof file, inside ? "%s/tokenizer.json" : "%s", path);
    if (n < 0 || (size_t)n >= sizeof file) return tok_refuse(&sentence, "its path is too long");
    const char *slash = strrchr(file, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - file) : 1, slash ? file : ".");
    void *map = sm_map_file(file, &bytes, &problem);
    if (!map) return tok_refuse(&sentence, inside ? "its tokenizer.json: %s" : "%s", problem);
    const int failed = open_bytes(tokenizer, map, bytes, folder, &sentence);
    munmap(map, bytes);
    return failed;
}

void sm_tokenizer_close(struct sm_tokenizer *t)
{
    if (!t) return;
    for (size_t i = 0; i < t->splits; i++) pcre2_code_free(t->split[i].code);
    for (size_t i = 0; i < t->normals; i++) {
        pcre2_code_free(t->normal[i].code);
        free(t->normal[i].from);
        free(t->normal[i].to);
    }
    free(t->tokens);
    free(t->pool);
    free(t->scores);
    free(t->texts.slots);
    free(t->pairs.slots);
    free(t->neighbours);
    free(t->chat_template);
    tok_trie_free(&t->pieces);
    tok_trie_free(&t->marks[0]);
    tok_trie_free(&t->marks[1]);
    free(t);
}
