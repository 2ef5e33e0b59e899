/* Byte-pair encoding of one piece: the neighbours that merge first do, until none do.
 *
 * Symbols are a linked list over the piece, candidates a heap that holds the best one on top. A candidate is stale once
 * one of its two symbols has changed: the two are longer then than it says. Merges are found by the ids of neighbours
 * and tried in the order of their rank; in vocabularies with scores any two neighbours merge whose text is a token, the
 * greatest score first. In both, the leftmost of equals. */
#include <stdlib.h>

#include "tokenizer_parts.h"

static bool before(const struct tok_candidate *a, const struct tok_candidate *b)
{
    return a->key < b->key || (a->key == b->key && a->left < b->left);
}

static int heap_put(struct tok_work *w, struct tok_candidate candidate)
{
    if (tok_room((void **)&w->heap, &w->heap_room, w->heap_count + 1, sizeof *w->heap, w->why)) return -1;
    size_t i = w->heap_count++;
    for (; i && before(&candidate, &w->heap[(i - 1) / 2]); i = (i - 1) / 2) w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = candidate;
    return 0;
}

static struct tok_candidate heap_take(struct tok_work *w)
{
    const struct tok_candidate top = w->heap[0], last = w->heap[--w->heap_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < w->heap_count; i = child) {
        if (child + 1 < w->heap_count && before(&w->heap[child + 1], &w->heap[child])) child++;
        if (!before(&w->heap[child], &last)) break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = last;
    return top;
}

/* Puts the pair of a symbol and its right neighbour on the heap, when they merge. */
static int consider(struct tok_work *w, const char *text, int32_t left)
{
    const struct sm_tokenizer *t = w->t;
    const struct tok_symbol *l = &w->symbols[left], *r;
    struct tok_candidate c = {.left = left};
    if (left < 0 || l->next < 0) return 0;
    r = &w->symbols[l->next];
    c.bytes = l->bytes + r->bytes;
    if (t->model == TOK_SCORES) {
        c.id = tok_find(t, text + l->at, c.bytes);
        if (c.id < 0) return 0;
        c.key = -t->scores[c.id];
    } else {
        const struct tok_pair *pair = l->id < 0 || r->id < 0 ? NULL : tok_pairs_find(&t->pairs, l->id, r->id);
        if (!pair) return 0;
        c.id = pair->id;
        c.key = pair->rank;
    }
    return heap_put(w, c);
}

/* The piece as bytes or characters. Returns how many, or -1. */
static int64_t spread(struct tok_work *w, const char *text, size_t bytes)
{
    const struct sm_tokenizer *t = w->t;
    size_t n = 0;
    for (size_t at = 0, length; at < bytes; at += length, n++) {
        length = t->byte_level ? 1 : tok_char(text + at, bytes - at);
        if (tok_room((void **)&w->symbols, &w->symbol_room, n + 1, sizeof *w->symbols, w->why)) return -1;
        w->symbols[n] = (struct tok_symbol){
            .at = at,
            .bytes = (uint32_t)length,
            .id = t->byte_level ? t->byte_id[(unsigned char)text[at]] : tok_find(t, text + at, length),
            .prev = (int32_t)n - 1,
            .next = at + length < bytes ? (int32_t)n + 1 : -1,
        };
    }
    return (int64_t)n;
}

static int merge(struct tok_work *w, const char *text, const struct tok_candidate *c)
{
    struct tok_symbol *left = &w->symbols[c->left];
    if (!left->bytes || left->next < 0 || left->bytes + w->symbols[left->next].bytes != c->bytes) return 0;
    struct tok_symbol *right = &w->symbols[left->next];
    left->bytes = c->bytes;
    left->id = c->id;
    left->next = right->next;
    right->bytes = 0;
    if (left->next >= 0) w->symbols[left->next].prev = c->left;
    return consider(w, text, left->prev) || consider(w, text, c->left) ? -1 : 0;
}

static int bpe_part(struct tok_work *w, const char *text, size_t bytes)
{
    const int64_t count = spread(w, text, bytes);
    if (count < 0) return -1;
    w->heap_count = 0;
    for (int64_t i = 0; i + 1 < count; i++)
        if (consider(w, text, (int32_t)i)) return -1;
    while (w->heap_count) {
        const struct tok_candidate c = heap_take(w);
        if (merge(w, text, &c)) return -1;
    }
    for (int32_t i = count ? 0 : -1; i >= 0; i = w->symbols[i].next) {
        const struct tok_symbol *s = &w->symbols[i];
        if (s->id >= 0 ? tok_put(w, s->id) : tok_spell_bytes(w, text + s->at, s->bytes)) return -1;
    }
    return 0;
}

static bool newlines_only(const char *text, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && text[i] == '\n') i++;
    return i == bytes;
}

int tok_bpe(struct tok_work *w, const char *text, size_t bytes)
{
    const struct sm_tokenizer *t = w->t;
    if (t->whole_first || (t->whole_newlines && newlines_only(text, bytes))) {
        const int32_t whole = tok_find(t, text, bytes);
        if (whole >= 0) return tok_put(w, whole);
    }
    if (t->byte_level) return bpe_part(w, text, bytes);
    /* Between two characters that no token has side by side nothing merges: each part is merged alone. */
    size_t begin = 0;
    for (size_t at = 0, length, next; at < bytes; at += length) {
        length = tok_char(text + at, bytes - at);
        next = at + length;
        if (next < bytes && tok_may_join(t, text + at, length, text + next, tok_char(text + next, bytes - next)))
            continue;
        if (bpe_part(w, text + begin, next - begin)) return -1;
        begin = next;
    }
    return 0;
}
