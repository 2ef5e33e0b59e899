#include "turn.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int sm_turn_begin(FILE *words)
{
    /* in a folder that all may write to, another's file can be opened but not with O_CREAT (fs.protected_regular) */
    int turn = open(SM_TURN_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (turn < 0) turn = open(SM_TURN_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0444);
    if (turn < 0) return -1;
    if (!flock(turn, LOCK_EX | LOCK_NB)) return turn;
    if (words) fprintf(words, "another slotmark compares on this machine: waiting for its end\n");
    if (!flock(turn, LOCK_EX)) return turn;
    close(turn);
    return -1;
}

void sm_turn_end(int turn)
{
    if (turn >= 0) close(turn);
}
