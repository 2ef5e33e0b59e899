/* Splitting a text into the pieces that are merged apart: steps of regular expressions, each on the pieces of the one
 * before it. */
#include <stdlib.h>

#include "tokenizer_parts.h"

#define MOST_PATTERN 8192
/* Steps of one match: few at first, since a match that needs few is the rule, then ten times as many until the patience
 * with the whole text is spent. */
#define FIRST_LIMIT 2000u
#define LAST_LIMIT 20000000u

int tok_spans_put(struct tok_spans *spans, struct tok_span span)
{
    if (spans->count == spans->room) {
        const size_t room = spans->room ? 2 * spans->room : 64;
        struct tok_span *list = realloc(spans->list, room * sizeof *list);
        if (!list) return -1;
        spans->list = list;
        spans->room = room;
    }
    spans->list[spans->count++] = span;
    return 0;
}

pcre2_code *tok_compile(const char *pattern, size_t bytes, const struct tok_why *why)
{
    int code;
    PCRE2_SIZE at;
    PCRE2_UCHAR reason[160];
    if (bytes > MOST_PATTERN) {
        tok_refuse(why, "its regular expression of %zu bytes is too long", bytes);
        return NULL;
    }
    pcre2_code *compiled =
        pcre2_compile((PCRE2_SPTR)pattern, bytes, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
    if (compiled) return compiled;
    pcre2_get_error_message(code, reason, sizeof reason);
    tok_refuse(why, "its regular expression cannot be used (%s, at byte %zu of '%.60s')", (const char *)reason,
               (size_t)at, pattern);
    return NULL;
}

int tok_split_add(struct sm_tokenizer *t, const char *pattern, size_t bytes, enum tok_behaviour behaviour, bool invert,
                  const struct tok_why *why)
{
    if (t->splits == TOK_MOST_STEPS) return tok_refuse(why, "it splits texts in more than %d steps", TOK_MOST_STEPS);
    pcre2_code *code = tok_compile(pattern, bytes, why);
    if (!code) return -1;
    t->split[t->splits++] = (struct tok_split){.code = code, .behaviour = behaviour, .invert = invert};
    return 0;
}

#define CONTRACTIONS "'(?i:[sdmt]|ll|ve|re)"
#define WORDS "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define CASED(end)                                                                                                     \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+" end                    \
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*" end
#define AFTER_LETTERS(digits, punctuation) digits "| ?[^\\s\\p{L}\\p{N}]+" punctuation "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define LETTERS CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"

/* What a GGUF file calls a splitter, and its expressions in order. */
static const struct {
    const char *names; /* separated by spaces */
    const char *pattern[4];
    bool whole_first;
} named[] = {
    {"gpt-2 phi-2 mpt olmo jais jina-es jina-de jina-v2-es jina-v2-de gigachat mellum trillion exaone4",
     {WORDS},
     false},
    {"smollm starcoder refact command-r codeshell exaone minerva-7b", {"\\p{N}", WORDS}, false},
    {"default", {"[\\p{P}\\$\\+<=>\\^~\\|]+", WORDS, "\\p{N}+", "[0-9][0-9][0-9]"}, false},
    {"falcon", {"[\\p{P}\\$\\+<=>\\^~\\|`]+", WORDS, "[0-9][0-9][0-9]"}, false},
    {"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2",
     {LETTERS AFTER_LETTERS("\\p{N}{1,3}", "[\\r\\n]*")},
     true},
    {"dbrx smaug-bpe chatglm-bpe glm4", {LETTERS AFTER_LETTERS("\\p{N}{1,3}", "[\\r\\n]*")}, false},
    {"qwen2 stablelm2 deepseek-r1-qwen megrez", {LETTERS AFTER_LETTERS("\\p{N}", "[\\r\\n]*")}, false},
    {"tekken", {CASED("") "|" AFTER_LETTERS("\\p{N}", "[\\r\\n/]*")}, true},
    {"gpt-4o llama4", {CASED("(?:" CONTRACTIONS ")?") "|" AFTER_LETTERS("\\p{N}{1,3}", "[\\r\\n/]*")}, false},
    {"gemma4", {"[^\\n]+|\\n+"}, false},
};

static bool among(const char *names, const char *name, size_t bytes)
{
    for (const char *at = names; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (length == bytes && !memcmp(at, name, bytes)) return true;
        at += length;
    }
    return false;
}

int tok_split_named(struct sm_tokenizer *t, const char *name, size_t bytes, const struct tok_why *why)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (!among(named[i].names, name, bytes)) continue;
        for (size_t p = 0; p < 4 && named[i].pattern[p]; p++)
            if (tok_split_add(t, named[i].pattern[p], strlen(named[i].pattern[p]), TOK_ISOLATED, false, why)) return -1;
        t->whole_first |= named[i].whole_first;
        return 0;
    }
    return tok_refuse(why, "it splits texts as '%.*s' does (tokenizer.ggml.pre), which is not known here",
                      (int)(bytes < 40 ? bytes : 40), name);
}

int tok_match(struct tok_work *w, const pcre2_code *code, const char *text, size_t bytes, size_t from, size_t *begin,
              size_t *end)
{
    for (uint32_t limit = FIRST_LIMIT;; limit *= 10) {
        pcre2_set_match_limit(w->context, limit);
        const int found =
            pcre2_match(code, (PCRE2_SPTR)text, bytes, from, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, w->match, w->context);
        if (found == PCRE2_ERROR_NOMATCH) return 0;
        if (found >= 0) {
            const PCRE2_SIZE *place = pcre2_get_ovector_pointer(w->match);
            *begin = place[0];
            *end = place[1];
            if (*begin < from || *end <= *begin || *end > bytes)
                return tok_refuse(w->why, "a regular expression of the tokenizer matches backwards");
            return 1;
        }
        if (found != PCRE2_ERROR_MATCHLIMIT)
            return tok_refuse(w->why, "a regular expression of the tokenizer failed (PCRE2 error %d)", found);
        if (limit > LAST_LIMIT || w->patience < limit)
            return tok_refuse(w->why, "a regular expression of the tokenizer takes too long on this text, at byte %zu",
                              from);
        w->patience -= limit;
    }
}

/* A piece that comes from a step, joined with the one before it where the step says so. */
static int put_piece(struct tok_work *w, const struct tok_split *step, struct tok_spans *to, bool *last_hit, bool fresh,
                     size_t at, size_t bytes, bool hit)
{
    if (!bytes) return 0;
    hit ^= step->invert;
    const bool was = *last_hit;
    bool join = false;
    *last_hit = hit;
    switch (step->behaviour) {
    case TOK_ISOLATED: break;
    case TOK_REMOVED:
        if (hit) return 0;
        break;
    case TOK_WITH_PREVIOUS: join = hit && !was; break;
    case TOK_WITH_NEXT: join = !hit && was; break;
    case TOK_CONTIGUOUS: join = hit == was; break;
    }
    if (join && !fresh) {
        to->list[to->count - 1].bytes += bytes;
        return 0;
    }
    return tok_spans_put(to, (struct tok_span){.at = at, .bytes = bytes}) ? tok_refuse(w->why, "out of memory") : 0;
}

static int split_span(struct tok_work *w, const struct tok_split *step, const char *text, const struct tok_span *span,
                      struct tok_spans *to)
{
    const char *at = text + span->at;
    const size_t first = to->count;
    size_t done = 0, begin, end;
    bool last_hit = false;
    for (int found; done < span->bytes; done = end) {
        found = tok_match(w, step->code, at, span->bytes, done, &begin, &end);
        if (found < 0) return -1;
        if (!found) break;
        if (put_piece(w, step, to, &last_hit, to->count == first, span->at + done, begin - done, false)) return -1;
        if (put_piece(w, step, to, &last_hit, to->count == first, span->at + begin, end - begin, true)) return -1;
    }
    return put_piece(w, step, to, &last_hit, to->count == first, span->at + done, span->bytes - done, false);
}

/* What is UTF-8 is split; what is not stands alone. */
static int split_by_validity(struct tok_work *w, const char *text, size_t bytes, struct tok_spans *to)
{
    for (size_t at = 0; at < bytes;) {
        size_t valid = sm_utf8_valid(text + at, bytes - at), wrong = 0;
        if (valid && tok_spans_put(to, (struct tok_span){.at = at, .bytes = valid}))
            return tok_refuse(w->why, "out of memory");
        at += valid;
        while (at + wrong < bytes && !sm_utf8_valid(text + at + wrong, bytes - at - wrong < 4 ? bytes - at - wrong : 4))
            wrong++;
        if (wrong && tok_spans_put(to, (struct tok_span){.at = at, .bytes = wrong, .raw = true}))
            return tok_refuse(w->why, "out of memory");
        at += wrong;
    }
    return 0;
}

int tok_split_all(struct tok_work *w, const char *text, size_t bytes)
{
    struct tok_spans *from = &w->spans[0], *to = &w->spans[1];
    from->count = 0;
    if (split_by_validity(w, text, bytes, from)) return -1;
    for (size_t i = 0; i < w->t->splits; i++) {
        to->count = 0;
        for (size_t s = 0; s < from->count; s++) {
            const struct tok_span span = from->list[s];
            if (!span.raw) {
                if (split_span(w, &w->t->split[i], text, &span, to)) return -1;
            } else if (tok_spans_put(to, span)) {
                return tok_refuse(w->why, "out of memory");
            }
        }
        const struct tok_spans swap = *from;
        *from = *to;
        *to = swap;
    }
    return 0;
}
