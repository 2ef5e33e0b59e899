/* The hash tables of a tokenizer: pairs of tokens, tries, and lists that grow. */
#include <stdarg.h>
#include <stdlib.h>

#include "sentence.h"
#include "tokenizer_parts.h"

int tok_refuse(const struct tok_why *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sm_sentence(why->text, why->bytes, why->doing, why->what, format, args);
    va_end(args);
    return -1;
}

int tok_room(void **list, size_t *room, size_t count, size_t each, const struct tok_why *why)
{
    size_t more = *room ? *room : 64, bytes;
    if (count <= *room) return 0;
    while (more < count) more *= 2; /* counts are of bytes in memory, far from overflow */
    void *grown = __builtin_mul_overflow(more, each, &bytes) ? NULL : realloc(*list, bytes);
    if (!grown) return tok_refuse(why, "out of memory for %zu elements", count);
    *list = grown;
    *room = more;
    return 0;
}

/* Mixes all bits of a key into the low ones. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

/* Slots for `count` keys, at most half of them taken: a power of two. */
static size_t slots_for(size_t count)
{
    size_t slots = 16;
    while (slots < 2 * count) slots *= 2;
    return slots;
}

int tok_map_create(struct tok_map *map, size_t count)
{
    const size_t slots = slots_for(count);
    map->slots = malloc(slots * sizeof *map->slots);
    if (!map->slots) return -1;
    memset(map->slots, 0xff, slots * sizeof *map->slots);
    map->mask = slots - 1;
    return 0;
}

int tok_pairs_create(struct tok_pairs *pairs, size_t count)
{
    const size_t slots = slots_for(count);
    pairs->slots = malloc(slots * sizeof *pairs->slots);
    if (!pairs->slots) return -1;
    memset(pairs->slots, 0xff, slots * sizeof *pairs->slots);
    pairs->mask = slots - 1;
    return 0;
}

static struct tok_pair *pair_slot(const struct tok_pairs *pairs, int32_t left, int32_t right)
{
    size_t i = mix((uint64_t)(uint32_t)left << 32 | (uint32_t)right) & pairs->mask;
    while (pairs->slots[i].left >= 0 && (pairs->slots[i].left != left || pairs->slots[i].right != right))
        i = (i + 1) & pairs->mask;
    return &pairs->slots[i];
}

void tok_pairs_put(struct tok_pairs *pairs, struct tok_pair pair)
{
    struct tok_pair *slot = pair_slot(pairs, pair.left, pair.right);
    if (slot->left < 0) {
        *slot = pair;
        pairs->used++;
    }
}

const struct tok_pair *tok_pairs_find(const struct tok_pairs *pairs, int32_t left, int32_t right)
{
    const struct tok_pair *slot = pair_slot(pairs, left, right);
    return slot->left < 0 ? NULL : slot;
}

static struct tok_edge *edge_slot(const struct tok_trie *trie, uint32_t node, unsigned char byte)
{
    size_t i = mix((uint64_t)node << 8 | byte) & trie->mask;
    while (trie->edges[i].child && (trie->edges[i].node != node || trie->edges[i].byte != byte))
        i = (i + 1) & trie->mask;
    return &trie->edges[i];
}

uint32_t tok_trie_step(const struct tok_trie *trie, uint32_t node, unsigned char byte)
{
    return trie->nodes ? edge_slot(trie, node, byte)->child : 0;
}

/* Makes room for another node. */
static int trie_grow(struct tok_trie *trie)
{
    if (!trie->nodes || 2 * trie->used > trie->mask) {
        const struct tok_trie old = *trie;
        const size_t slots = trie->nodes ? 2 * (trie->mask + 1) : 64;
        trie->edges = calloc(slots, sizeof *trie->edges);
        if (!trie->edges) {
            *trie = old;
            return -1;
        }
        trie->mask = slots - 1;
        for (size_t i = 0; old.nodes && i <= old.mask; i++)
            if (old.edges[i].child) *edge_slot(trie, old.edges[i].node, old.edges[i].byte) = old.edges[i];
        free(old.edges);
    }
    if (trie->nodes == trie->room) {
        const size_t room = trie->room ? 2 * trie->room : 64;
        int32_t *id = room <= UINT32_MAX ? realloc(trie->id, room * sizeof *id) : NULL;
        if (!id) return -1;
        trie->id = id;
        trie->room = room;
    }
    if (!trie->nodes) trie->id[trie->nodes++] = -1;
    return 0;
}

int tok_trie_put(struct tok_trie *trie, const char *text, size_t bytes, int32_t id)
{
    uint32_t node = 0;
    if (!trie->nodes && trie_grow(trie)) return -1;
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char byte = (unsigned char)text[i];
        struct tok_edge *edge = edge_slot(trie, node, byte);
        if (!edge->child) {
            if (trie_grow(trie)) return -1;
            edge = edge_slot(trie, node, byte);
            *edge = (struct tok_edge){.node = node, .child = (uint32_t)trie->nodes, .byte = byte};
            trie->id[trie->nodes++] = -1;
            trie->used++;
        }
        node = edge->child;
    }
    if (node && trie->id[node] < 0) trie->id[node] = id;
    return 0;
}

void tok_trie_free(struct tok_trie *trie)
{
    free(trie->edges);
    free(trie->id);
    *trie = (struct tok_trie){0};
}
