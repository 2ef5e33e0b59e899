/* stop.h - SIGINT and SIGTERM while launches run: what was measured is kept and judged. */
#ifndef SM_STOP_H
#define SM_STOP_H

#include <stdbool.h>

void sm_stop_catch(void);
void sm_stop_release(void); /* what they did before, they do again */
bool sm_stopped(void);      /* since the last catch */

#endif
