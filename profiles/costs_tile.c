#include "costs_tile.h"

#include <stdio.h>
#include <stdlib.h>

int costs_tile_save(struct costs_tile *tile, struct sm_session *session, size_t slots, char *why, size_t why_bytes)
{
    const struct sm_cache *c = sm_session_cache(session);
    const size_t bytes = sm_cache_slot_bytes(c);
    tile->bytes = malloc(slots * bytes + 1);
    if (!tile->bytes) {
        snprintf(why, why_bytes, "there is no memory for copies of %zu slots", slots);
        return -1;
    }
    tile->slots = slots;
    for (size_t slot = 0; slot < slots; slot++) sm_cache_save(c, slot, tile->bytes + slot * bytes);
    return 0;
}

int costs_tile_fill(const struct costs_tile *tile, struct sm_session *session, size_t past, char *why, size_t why_bytes)
{
    const size_t now = sm_session_past(session);
    struct sm_cache *c = sm_session_cache(session);
    const size_t bytes = sm_cache_slot_bytes(c);
    if (past < now) return sm_session_truncate(session, past, why, why_bytes);
    for (size_t slot = now; slot < past && past < c->max_seq; slot++)
        sm_cache_restore(c, slot, tile->bytes + slot % tile->slots * bytes);
    return sm_session_assume(session, past, why, why_bytes);
}

void costs_tile_free(struct costs_tile *tile)
{
    free(tile->bytes);
    *tile = (struct costs_tile){0};
}
