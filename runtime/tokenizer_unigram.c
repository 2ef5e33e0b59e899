/* The likeliest way to spell a piece: the path over its characters whose tokens' scores have the greatest sum. */
#include <stdlib.h>

#include "tokenizer_parts.h"

#define UNKNOWN (-1)
#define UNREACHED (-2)

static void reach(struct tok_work *w, size_t from, size_t to, double score, int32_t id)
{
    struct tok_step *step = &w->steps[to];
    const double total = w->steps[from].score + score;
    if (step->id != UNREACHED && !(total > step->score)) return;
    *step = (struct tok_step){.score = total, .from = from, .id = id};
}

int tok_unigram(struct tok_work *w, const char *text, size_t bytes)
{
    const struct sm_tokenizer *t = w->t;
    if (tok_room((void **)&w->steps, &w->step_room, bytes + 1, sizeof *w->steps, w->why)) return -1;
    for (size_t i = 0; i <= bytes; i++) w->steps[i] = (struct tok_step){.id = UNREACHED};
    for (size_t at = 0, length; at < bytes; at += length) {
        bool alone = false; /* whether a token is the single character here */
        uint32_t node = 0;
        length = tok_char(text + at, bytes - at);
        for (size_t end = at; end < bytes && (node = tok_trie_step(&t->pieces, node, (unsigned char)text[end]));) {
            end++;
            const int32_t id = t->pieces.id[node];
            if (id < 0) continue;
            reach(w, at, end, t->scores[id], id);
            alone |= end == at + length;
        }
        if (!alone) reach(w, at, at + length, t->unknown_score, UNKNOWN);
    }
    /* Turns the path round: `from` of a step becomes where it leads. */
    size_t next = bytes;
    for (size_t at = bytes; at;) {
        const size_t from = w->steps[at].from;
        w->steps[at].from = next;
        next = at;
        at = from;
    }
    for (size_t at = 0, end = next; at < bytes; at = end, end = w->steps[at].from) {
        const int32_t id = w->steps[end].id;
        if (id >= 0 ? tok_put(w, id) : tok_spell_bytes(w, text + at, end - at)) return -1;
    }
    return 0;
}
