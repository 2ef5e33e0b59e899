/* turn.h - one comparison at a time on a machine: two that run at once would measure each other. */
#ifndef SM_TURN_H
#define SM_TURN_H

#include <stdio.h>

/* A file whose lock is held by whoever measures; everybody's, so that it does not matter whose gate it is. */
#define SM_TURN_FILE "/tmp/slotmark-measuring.lock"

/* Waits until nobody else measures, and says so to `words` (NULL: nowhere). What sm_turn_end wants; -1: no lock can be
 * had here, and one measures all the same. A process that ends, however, gives its turn back. */
int sm_turn_begin(FILE *words);
void sm_turn_end(int turn);

#endif
