/* costs_tile.h - a cache brought to any depth without running what would fill it: the keys and values of its first
 * slots, copied over and over. What they hold matters to no time but through its magnitude. */
#ifndef SM_COSTS_TILE_H
#define SM_COSTS_TILE_H

#include "run.h"

struct costs_tile {
    size_t slots;
    unsigned char *bytes; /* owned: all that those slots hold, slot by slot */
};

/* Copies the first `slots` slots, which are valid. 0, or -1 and a sentence. */
int costs_tile_save(struct costs_tile *tile, struct sm_session *session, size_t slots, char *why, size_t why_bytes);
void costs_tile_free(struct costs_tile *tile); /* safe on a zeroed struct */

/* Brings the session to `past` valid slots: slot i holds what slot i modulo tile->slots held, what is beyond is zero.
 * What the session holds must be such already; truncating it to nothing makes it so. 0, or -1 and a sentence. */
int costs_tile_fill(const struct costs_tile *tile, struct sm_session *session, size_t past, char *why,
                    size_t why_bytes);

#endif
