/* tokenizer_parts.h - what the files of the tokenizer share: no one else includes it. */
#ifndef SM_TOKENIZER_PARTS_H
#define SM_TOKENIZER_PARTS_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <jansson.h>
#include <pcre2.h>
#include <string.h>

#include "gguf.h"
#include "tokenizer.h"

#define TOK_SPACE "\xe2\x96\x81" /* U+2581, which stands for a space in SentencePiece's vocabularies */
#define TOK_MOST_STEPS 16        /* of normalising, and of splitting */
#define TOK_MOST_AROUND 8        /* tokens that are added before or after a text */

/* Where errors go, and what was being done. */
struct tok_why {
    char *text;
    size_t bytes;
    const char *doing; /* "reading the tokenizer of" */
    const char *what;  /* the file, or what stands for it */
};

/* Writes the sentence and returns -1. */
int tok_refuse(const struct tok_why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- tables --- */

/* Text to id: open addressing over texts that lie elsewhere. */
struct tok_map {
    int32_t *slots; /* -1: free */
    size_t mask;
};

/* Two neighbours to what they become. */
struct tok_pair {
    int32_t left, right, id; /* left -1: free */
    uint32_t rank;
};
struct tok_pairs {
    struct tok_pair *slots;
    size_t mask, used;
};

/* A trie whose edges are a hash table: node 0 is the root. */
struct tok_edge {
    uint32_t node, child; /* child 0: free */
    unsigned char byte;
};
struct tok_trie {
    struct tok_edge *edges;
    size_t mask, used;
    int32_t *id; /* [nodes]: the text that ends there, or -1 */
    size_t nodes, room;
};

int tok_map_create(struct tok_map *map, size_t count);
int tok_pairs_create(struct tok_pairs *pairs, size_t count);
void tok_pairs_put(struct tok_pairs *pairs, struct tok_pair pair); /* the first of equal neighbours stays */
const struct tok_pair *tok_pairs_find(const struct tok_pairs *pairs, int32_t left, int32_t right);
int tok_trie_put(struct tok_trie *trie, const char *text, size_t bytes, int32_t id);
uint32_t tok_trie_step(const struct tok_trie *trie, uint32_t node, unsigned char byte); /* 0: there is none */
void tok_trie_free(struct tok_trie *trie);

/* --- vocabulary --- */

enum tok_kind { TOK_ABSENT, TOK_NORMAL, TOK_UNKNOWN, TOK_CONTROL, TOK_USER, TOK_UNUSED, TOK_BYTE };

struct tok_token {
    uint32_t at, bytes; /* in the pool */
    unsigned char kind;
    bool eats_left, eats_right; /* white space beside it in a text belongs to it */
};

enum tok_model { TOK_MERGES, TOK_SCORES, TOK_UNIGRAM };
enum tok_behaviour { TOK_ISOLATED, TOK_REMOVED, TOK_WITH_PREVIOUS, TOK_WITH_NEXT, TOK_CONTIGUOUS };

/* A step of splitting a text before merging. */
struct tok_split {
    pcre2_code *code;
    enum tok_behaviour behaviour;
    bool invert; /* what does not match is what was looked for */
};

/* A step of normalising: every `from` becomes `to`, or with neither from nor code, `to` comes first. */
struct tok_normal {
    pcre2_code *code;
    char *from, *to;
};

enum tok_prefix { TOK_PREFIX_NEVER, TOK_PREFIX_FIRST, TOK_PREFIX_ALWAYS };

struct sm_tokenizer {
    enum tok_model model;
    bool byte_level;     /* tokens are strings of bytes, else of characters */
    bool whole_first;    /* a piece that is a token is not merged from its parts */
    bool whole_newlines; /* the same, for pieces of line feeds only */
    bool byte_fallback;  /* what no token spells is spelt in bytes */
    bool fuse_unknown;   /* unknown characters side by side are one */
    bool unescape;       /* U+2581 is shown as a space */
    bool strip_first;    /* the first space of a decoded text was put there */

    struct tok_token *tokens;
    size_t count;
    char *pool;
    size_t pool_bytes, pool_room;
    double *scores; /* or NULL */
    double unknown_score;
    struct tok_map texts; /* but those of bytes */
    struct tok_pairs pairs;
    struct tok_trie pieces;   /* unigram only */
    struct tok_trie marks[2]; /* looked for before and after normalising */
    int32_t byte_id[256];     /* -1: none */
    uint64_t *neighbours;     /* a filter of the neighbouring characters that some token has */

    struct tok_normal normal[TOK_MOST_STEPS];
    struct tok_split split[TOK_MOST_STEPS];
    size_t normals, splits;
    enum tok_prefix prefix; /* what a piece of text gets before it is split, if it does not begin with it */
    const char *prefix_text;
    bool replace_spaces; /* at the same time, spaces become U+2581 */

    int32_t mark[SM_MARKS];
    int32_t ends[8];
    int32_t before[TOK_MOST_AROUND], after[TOK_MOST_AROUND];
    size_t end_count, before_count, after_count;
    char kind[96];
    char *chat_template;
};

static inline const char *tok_text(const struct sm_tokenizer *t, int32_t id)
{
    return t->pool + t->tokens[id].at;
}

/* Room for that many tokens, all absent. */
int tok_reserve(struct sm_tokenizer *t, size_t count, const struct tok_why *why);
/* Sets a token's text; in a byte-level vocabulary a normal one is spelt in GPT-2's alphabet. */
int tok_set(struct sm_tokenizer *t, size_t id, const char *text, size_t bytes, enum tok_kind kind,
            const struct tok_why *why);
/* Once all are set: texts can be found. */
int tok_index(struct sm_tokenizer *t, const struct tok_why *why);
/* -1: no token that a text can spell has it. */
int32_t tok_find(const struct sm_tokenizer *t, const char *text, size_t bytes);
/* A merge, as two texts in the file's spelling. */
int tok_merge(struct sm_tokenizer *t, size_t rank, const char *left, size_t left_bytes, const char *right,
              size_t right_bytes, const struct tok_why *why);
/* Marks, ends, the filter of neighbours: after merges. */
int tok_finish(struct sm_tokenizer *t, const struct tok_why *why);
/* Whether some token may have these two characters side by side: where none has, no merge crosses. */
bool tok_may_join(const struct sm_tokenizer *t, const char *left, size_t left_bytes, const char *right,
                  size_t right_bytes);
/* Has a marker looked for before (0) or after (1) normalising, as the text given. */
int tok_add_mark(struct sm_tokenizer *t, int32_t id, int stage, const char *text, size_t bytes,
                 const struct tok_why *why);
/* The same after normalising, the text normalised as well. */
int tok_add_late_mark(struct sm_tokenizer *t, int32_t id, const char *text, size_t bytes, const struct tok_why *why);
void tok_add_end(struct sm_tokenizer *t, int32_t id);

/* --- sources --- */

int tok_from_gguf(struct sm_tokenizer *t, const struct sm_gguf *gguf, const struct tok_why *why);

int tok_from_json(struct sm_tokenizer *t, const json_t *root, const struct tok_why *why);
/* Normaliser, splitter, decoder and what is added around a text, of a tokenizer.json. */
int tok_json_steps(struct sm_tokenizer *t, const json_t *root, const struct tok_why *why);
/* Marks and the chat template, from the files beside a tokenizer.json, where they are there. */
void tok_json_beside(struct sm_tokenizer *t, const json_t *root, const char *folder);

/* --- splitting --- */

struct tok_span {
    size_t at, bytes;
    bool raw; /* bytes that are no UTF-8: left as they are */
};

struct tok_spans {
    struct tok_span *list;
    size_t count, room;
};

int tok_spans_put(struct tok_spans *spans, struct tok_span span);

int tok_split_add(struct sm_tokenizer *t, const char *pattern, size_t bytes, enum tok_behaviour behaviour, bool invert,
                  const struct tok_why *why);
pcre2_code *tok_compile(const char *pattern, size_t bytes, const struct tok_why *why);
/* The expressions that a GGUF file names. */
int tok_split_named(struct sm_tokenizer *t, const char *name, size_t bytes, const struct tok_why *why);

/* --- encoding --- */

#define TOK_PATIENCE 20000000u

struct tok_symbol {
    size_t at;
    uint32_t bytes; /* 0: part of its left neighbour now */
    int32_t id, prev, next;
};

struct tok_candidate {
    double key; /* least first */
    int32_t left, id;
    uint32_t bytes;
};

struct tok_step { /* the best way to an offset of a text */
    double score;
    size_t from;
    int32_t id;
};

struct tok_buffer {
    char *at;
    size_t bytes, room;
};

int tok_append(struct tok_buffer *to, const char *text, size_t bytes, const struct tok_why *why);

/* One call of encode: its buffers and its result. */
struct tok_work {
    const struct sm_tokenizer *t;
    const struct tok_why *why;
    int32_t *ids;
    size_t count, room;
    struct tok_symbol *symbols;
    size_t symbol_room;
    struct tok_candidate *heap;
    size_t heap_count, heap_room;
    struct tok_step *steps;
    size_t step_room;
    struct tok_spans spans[2];
    pcre2_match_data *match;
    pcre2_match_context *context;
    uint64_t patience; /* steps of matching that are left */
    bool unknown_last; /* what was put last is an unknown character of this piece */
    struct tok_buffer buffer[2];
};

int tok_work_begin(struct tok_work *w);
void tok_work_end(struct tok_work *w);
int tok_put(struct tok_work *w, int32_t id);
/* Bytes of a character at the beginning of a text, 1 for a byte that begins none. */
size_t tok_char(const char *text, size_t bytes);
int tok_spell_bytes(struct tok_work *w, const char *text, size_t bytes);
/* Grows *list to hold `count` elements: 0 or a sentence. */
int tok_room(void **list, size_t *room, size_t count, size_t each, const struct tok_why *why);

/* Normalises a text into w->buffer[0]: 0 or a sentence. */
int tok_normalise(struct tok_work *w, const char *text, size_t bytes);
/* The pieces of a text, in w->spans[0], by all the steps of splitting. */
int tok_split_all(struct tok_work *w, const char *text, size_t bytes);
/* The next match at or after `from`: 1 and its place, 0: none, -1 and a sentence. */
int tok_match(struct tok_work *w, const pcre2_code *code, const char *text, size_t bytes, size_t from, size_t *begin,
              size_t *end);
int tok_bpe(struct tok_work *w, const char *text, size_t bytes);
int tok_unigram(struct tok_work *w, const char *text, size_t bytes);

#endif
