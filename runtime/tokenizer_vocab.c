/* The vocabulary of a tokenizer: texts, kinds, merges, markers. */
#include <math.h>
#include <stdlib.h>

#include "tokenizer_parts.h"

#define MOST_TOKENS ((size_t)1 << 24)
#define FILTER_BITS ((size_t)1 << 22)

static uint64_t hash_text(const char *text, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u ^ bytes;
    for (; bytes >= 8; text += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = (hash ^ word) * 0x9fb21c651e98df25u;
        hash ^= hash >> 32;
    }
    for (; bytes; text++, bytes--) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    hash *= 0x9fb21c651e98df25u;
    return hash ^ (hash >> 29);
}

int tok_reserve(struct sm_tokenizer *t, size_t count, const struct tok_why *why)
{
    if (!count) return tok_refuse(why, "its vocabulary is empty");
    if (count > MOST_TOKENS) return tok_refuse(why, "it claims %zu tokens, and %zu are the most", count, MOST_TOKENS);
    t->tokens = calloc(count, sizeof *t->tokens);
    if (!t->tokens) return tok_refuse(why, "out of memory for %zu tokens", count);
    t->count = count;
    return 0;
}

/* Bytes that GPT-2's alphabet leaves as they are: the printable ones of Latin-1. The others are U+0100 and on, in
 * order. */
static bool plain_byte(unsigned b)
{
    return (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
}

/* The byte that a character of the alphabet stands for, or -1. */
static int alphabet_byte(uint32_t code)
{
    if (code < 256) return plain_byte(code) ? (int)code : -1;
    for (unsigned b = 0, shifted = 256; b < 256; b++)
        if (!plain_byte(b) && shifted++ == code) return (int)b;
    return -1;
}

/* Spells `text` in bytes into `to`, which has its room; -1: a character is not of the alphabet. */
static int64_t from_alphabet(const char *text, size_t bytes, char *to)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes;) {
        const unsigned char c = (unsigned char)text[i];
        uint32_t code = c;
        if (c >= 0xc2 && c <= 0xc7 && i + 1 < bytes && ((unsigned char)text[i + 1] & 0xc0) == 0x80) {
            code = (c & 0x1fu) << 6 | ((unsigned char)text[i + 1] & 0x3fu);
            i++;
        } else if (c >= 0x80) {
            return -1;
        }
        const int byte = alphabet_byte(code);
        if (byte < 0) return -1;
        to[n++] = (char)byte;
        i++;
    }
    return (int64_t)n;
}

int tok_set(struct sm_tokenizer *t, size_t id, const char *text, size_t bytes, enum tok_kind kind,
            const struct tok_why *why)
{
    struct tok_token *token = &t->tokens[id];
    int64_t spelt = -1;
    if (bytes > UINT32_MAX / 2 || t->pool_bytes + bytes > UINT32_MAX - 1)
        return tok_refuse(why, "its tokens are longer than 4 GiB");
    if (tok_room((void **)&t->pool, &t->pool_room, t->pool_bytes + bytes + 1, 1, why)) return -1;
    char *to = t->pool + t->pool_bytes;
    if (t->byte_level && (kind == TOK_NORMAL || kind == TOK_UNUSED)) spelt = from_alphabet(text, bytes, to);
    if (spelt < 0) memcpy(to, text, bytes);
    token->at = (uint32_t)t->pool_bytes;
    token->bytes = (uint32_t)(spelt < 0 ? (int64_t)bytes : spelt);
    token->kind = (unsigned char)kind;
    to[token->bytes] = 0;
    t->pool_bytes += token->bytes + 1;
    return 0;
}

static bool spelt_by_text(const struct tok_token *token)
{
    return token->bytes && (token->kind == TOK_NORMAL || token->kind == TOK_USER);
}

static int32_t *text_slot(const struct sm_tokenizer *t, const char *text, size_t bytes)
{
    size_t i = hash_text(text, bytes) & t->texts.mask;
    for (; t->texts.slots[i] >= 0; i = (i + 1) & t->texts.mask) {
        const struct tok_token *token = &t->tokens[t->texts.slots[i]];
        if (token->bytes == bytes && !memcmp(t->pool + token->at, text, bytes)) break;
    }
    return &t->texts.slots[i];
}

int32_t tok_find(const struct sm_tokenizer *t, const char *text, size_t bytes)
{
    const int32_t id = *text_slot(t, text, bytes);
    return id >= 0 && spelt_by_text(&t->tokens[id]) ? id : -1;
}

/* The byte that a token <0xXX> stands for, or -1. */
static int named_byte(const char *text, size_t bytes)
{
    int value = 0;
    if (bytes != 6 || memcmp(text, "<0x", 3) || text[5] != '>') return -1;
    for (int i = 3; i < 5; i++) {
        const char c = text[i];
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

int tok_index(struct sm_tokenizer *t, const struct tok_why *why)
{
    if (tok_map_create(&t->texts, t->count)) return tok_refuse(why, "out of memory for %zu tokens", t->count);
    for (int b = 0; b < 256; b++) t->byte_id[b] = -1;
    for (int pass = 0; pass < 3; pass++) /* where a marker is spelt like a normal token, the text means the latter */
        for (size_t i = 0; i < t->count; i++) {
            const struct tok_token *token = &t->tokens[i];
            const int turn = token->kind == TOK_NORMAL ? 0 : token->kind == TOK_USER ? 1 : 2;
            if (turn != pass || !token->bytes || token->kind == TOK_BYTE) continue;
            int32_t *slot = text_slot(t, t->pool + token->at, token->bytes);
            if (*slot < 0) *slot = (int32_t)i;
        }
    for (size_t i = 0; i < t->count; i++) {
        struct tok_token *token = &t->tokens[i];
        char *text = t->pool + token->at;
        if (t->byte_level) {
            if (token->kind == TOK_NORMAL && token->bytes == 1) t->byte_id[(unsigned char)*text] = (int32_t)i;
        } else if (token->kind == TOK_BYTE) {
            const int byte = named_byte(text, token->bytes);
            if (byte < 0)
                return tok_refuse(why, "token %zu is said to be a byte, and its text '%.20s' is none (<0x41>)", i,
                                  text);
            text[0] = (char)byte;
            text[1] = 0;
            token->bytes = 1;
            t->byte_id[byte] = (int32_t)i;
        }
    }
    return 0;
}

int tok_merge(struct sm_tokenizer *t, size_t rank, const char *left, size_t left_bytes, const char *right,
              size_t right_bytes, const struct tok_why *why)
{
    char both[2048];
    int64_t l = (int64_t)left_bytes, r = (int64_t)right_bytes;
    if (!left_bytes || !right_bytes || left_bytes + right_bytes > sizeof both)
        return tok_refuse(why, "merge %zu is not two texts, or they are too long", rank);
    if (!t->byte_level || (l = from_alphabet(left, left_bytes, both)) < 0) {
        memcpy(both, left, left_bytes);
        l = (int64_t)left_bytes;
    }
    if (!t->byte_level || (r = from_alphabet(right, right_bytes, both + l)) < 0) {
        memcpy(both + l, right, right_bytes);
        r = (int64_t)right_bytes;
    }
    /* Any token may be a part, also one that a text cannot spell. */
    const struct tok_pair pair = {.left = *text_slot(t, both, (size_t)l),
                                  .right = *text_slot(t, both + l, (size_t)r),
                                  .id = *text_slot(t, both, (size_t)(l + r)),
                                  .rank = (uint32_t)rank};
    if (pair.left < 0 || pair.right < 0 || pair.id < 0)
        return tok_refuse(why, "merge %zu ('%.*s' and '%.*s') is of texts that are not all in the vocabulary", rank,
                          (int)(left_bytes < 40 ? left_bytes : 40), left, (int)(right_bytes < 40 ? right_bytes : 40),
                          right);
    tok_pairs_put(&t->pairs, pair);
    return 0;
}

int tok_add_mark(struct sm_tokenizer *t, int32_t id, int stage, const char *text, size_t bytes,
                 const struct tok_why *why)
{
    if (!bytes) return 0;
    return tok_trie_put(&t->marks[stage], text, bytes, id) ? tok_refuse(why, "out of memory") : 0;
}

int tok_add_late_mark(struct sm_tokenizer *t, int32_t id, const char *text, size_t bytes, const struct tok_why *why)
{
    struct tok_work w = {.t = t, .why = why, .patience = TOK_PATIENCE};
    int failed = tok_work_begin(&w);
    if (!failed && t->normals) {
        failed = tok_normalise(&w, text, bytes);
        text = w.buffer[0].at;
        bytes = w.buffer[0].bytes;
    }
    if (!failed) failed = tok_add_mark(t, id, 1, text, bytes, why);
    tok_work_end(&w);
    return failed;
}

int32_t sm_tokenizer_marker(const struct sm_tokenizer *t, const char *text)
{
    const size_t bytes = strlen(text);
    for (int stage = 0; stage < 2; stage++) {
        uint32_t node = 0;
        size_t i = 0;
        for (; i < bytes; i++)
            if (!(node = tok_trie_step(&t->marks[stage], node, (unsigned char)text[i]))) break;
        if (i == bytes && node && t->marks[stage].id[node] >= 0) return t->marks[stage].id[node];
    }
    return -1;
}

/* --- what follows from the whole vocabulary --- */

void tok_add_end(struct sm_tokenizer *t, int32_t id)
{
    if (id < 0 || sm_tokenizer_ends(t, id) || t->end_count == sizeof t->ends / sizeof *t->ends) return;
    t->ends[t->end_count++] = id;
}

/* Files seldom name the end of a turn; vocabularies do. */
static void find_ends(struct sm_tokenizer *t)
{
    static const char *const names[] = {"<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<turn|>", "<|end|>"};
    tok_add_end(t, t->mark[SM_MARK_EOS]);
    for (size_t i = 0; t->mark[SM_MARK_EOT] < 0 && i < sizeof names / sizeof *names; i++)
        t->mark[SM_MARK_EOT] = sm_tokenizer_marker(t, names[i]);
    tok_add_end(t, t->mark[SM_MARK_EOT]);
}

static uint64_t neighbour_bit(const char *left, size_t left_bytes, const char *right, size_t right_bytes)
{
    uint32_t l = 0, r = 0;
    memcpy(&l, left, left_bytes);
    memcpy(&r, right, right_bytes);
    const uint64_t x = ((uint64_t)l << 32 | r) * 0x9e3779b97f4a7c15u;
    return (x ^ (x >> 31)) % FILTER_BITS;
}

static int make_filter(struct sm_tokenizer *t, const struct tok_why *why)
{
    t->neighbours = calloc(FILTER_BITS / 64, sizeof *t->neighbours);
    if (!t->neighbours) return tok_refuse(why, "out of memory");
    for (size_t id = 0; id < t->count; id++) {
        if (!spelt_by_text(&t->tokens[id])) continue;
        const char *text = tok_text(t, (int32_t)id), *end = text + t->tokens[id].bytes;
        for (size_t n = tok_char(text, (size_t)(end - text)), next; text + n < end; text += n, n = next) {
            next = tok_char(text + n, (size_t)(end - text) - n);
            const uint64_t bit = neighbour_bit(text, n, text + n, next);
            t->neighbours[bit / 64] |= (uint64_t)1 << bit % 64;
        }
    }
    return 0;
}

bool tok_may_join(const struct sm_tokenizer *t, const char *left, size_t left_bytes, const char *right,
                  size_t right_bytes)
{
    const uint64_t bit = neighbour_bit(left, left_bytes, right, right_bytes);
    return t->neighbours[bit / 64] >> bit % 64 & 1;
}

static int make_pieces(struct sm_tokenizer *t, const struct tok_why *why)
{
    double least = INFINITY;
    for (size_t id = 0; id < t->count; id++) {
        if (t->tokens[id].kind == TOK_ABSENT) continue;
        if (t->scores[id] < least) least = t->scores[id];
        if (spelt_by_text(&t->tokens[id]) &&
            tok_trie_put(&t->pieces, tok_text(t, (int32_t)id), t->tokens[id].bytes, (int32_t)id))
            return tok_refuse(why, "out of memory");
    }
    t->unknown_score = least - 10; /* what SentencePiece charges for a character that no piece has */
    return 0;
}

int tok_finish(struct sm_tokenizer *t, const struct tok_why *why)
{
    find_ends(t);
    if (t->model == TOK_UNIGRAM) return make_pieces(t, why);
    return t->byte_level ? 0 : make_filter(t, why);
}
