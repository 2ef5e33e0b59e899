/* history_replay.h - a stored session in memory again, its launches looked at as they were. Private to history*.c. */
#ifndef SM_HISTORY_REPLAY_H
#define SM_HISTORY_REPLAY_H

#include <sqlite3.h>

#include "history.h"

struct sm_stored {
    struct sm_pairing pairing; /* ids, controls and reasons; launches once they were replayed */
    char (*verdict)[24];       /* [pairing.count], as stored */
    struct sm_rounds_options options;
    size_t compared;
};

/* 0, or -1 and a sentence: there is no such session, or it was not finished. Free it either way. */
int sm_stored_read(struct sm_history *history, const char *session, struct sm_stored *stored, char *why,
                   size_t why_bytes);
void sm_stored_free(struct sm_stored *stored);

/* The launches of one comparison, by a statement of these words: as built first, then with the code placed anew. `look`
 * (or NULL) is told after each look. 0, or -1: more launches than there can be, or what
 * is none. */
extern const char sm_stored_launches[];
typedef void sm_stored_look(void *state, const struct sm_comparison *c);
int sm_stored_replay(sqlite3_stmt *launches, const char *session, struct sm_comparison *c,
                     const struct sm_stored *stored, sm_stored_look *look, void *state);

#endif
