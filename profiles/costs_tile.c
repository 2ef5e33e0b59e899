#include "costs_tile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Walks the bytes of slots [from, from + count): calls `visit` with each run of them. */
static void each_run(const struct sm_cache *c, size_t from, size_t count,
                     void (*visit)(void *context, unsigned char *bytes, size_t n), void *context)
{
    const size_t slots = c->max_seq - 1, element = sm_kv_element_bytes(c->type);
    for (size_t l = 0; l < c->layers; l++) {
        const struct sm_layer_cache *a = &c->layer[l];
        if (!a->k) continue;
        unsigned char *const both[] = {a->k, a->v};
        float *const scales[] = {a->k_scale, a->v_scale};
        const size_t row = a->head_dim * element;
        for (size_t i = 0; i < 2; i++)
            for (size_t h = 0; h < a->kv_heads; h++) {
                visit(context, both[i] + (h * slots + from) * row, count * row);
                if (c->type == SM_KV_I8)
                    visit(context, (unsigned char *)(scales[i] + h * slots + from), count * sizeof(float));
            }
    }
}

static void measure_run(void *context, unsigned char *bytes, size_t n)
{
    (void)bytes;
    *(size_t *)context += n;
}

static void save_run(void *context, unsigned char *bytes, size_t n)
{
    unsigned char **to = context;
    memcpy(*to, bytes, n);
    *to += n;
}

/* Slots [place, place + count) of each run of a tile, whose runs are of `slots`. */
struct restoring {
    const unsigned char *from;
    size_t slots, place, count;
};

static void restore_run(void *context, unsigned char *bytes, size_t n)
{
    struct restoring *r = context;
    const size_t slot = n / r->count;
    memcpy(bytes, r->from + r->place * slot, n);
    r->from += r->slots * slot;
}

int costs_tile_save(struct costs_tile *tile, struct sm_session *session, size_t slots, char *why, size_t why_bytes)
{
    const struct sm_cache *c = sm_session_cache(session);
    size_t bytes = 0;
    each_run(c, 0, slots, measure_run, &bytes);
    unsigned char *at = tile->bytes = malloc(bytes + 1);
    if (!at) {
        snprintf(why, why_bytes, "there is no memory for copies of %zu slots", slots);
        return -1;
    }
    tile->slots = slots;
    each_run(c, 0, slots, save_run, &at);
    return 0;
}

int costs_tile_fill(const struct costs_tile *tile, struct sm_session *session, size_t past, char *why, size_t why_bytes)
{
    const size_t now = sm_session_past(session);
    if (past < now) return sm_session_truncate(session, past, why, why_bytes);
    for (size_t from = now, count; from < past && past < sm_session_cache(session)->max_seq; from += count) {
        const size_t place = from % tile->slots, left = tile->slots - place;
        count = past - from < left ? past - from : left;
        struct restoring r = {tile->bytes, tile->slots, place, count};
        each_run(sm_session_cache(session), from, count, restore_run, &r);
    }
    return sm_session_assume(session, past, why, why_bytes);
}

void costs_tile_free(struct costs_tile *tile)
{
    free(tile->bytes);
    *tile = (struct costs_tile){0};
}
