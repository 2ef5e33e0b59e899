/* play_pmu.h - a PMU that is played: perf_event_open answers hardware events as a test wants, for PAPI too.
 *
 * Linked into a test, or preloaded into the program (LD_PRELOAD=libplay_pmu.so), where the environment says what is
 * played: SLOTMARK_PLAY is usable, usable-bare (PAPI's own requests are refused), one-slot (one hardware counter, which
 * more than one share), multiplexed, busy, denied, filtered, absent, zero or implausible; SLOTMARK_PLAY_SYS is a folder
 * that stands before /sys for the kernel's lists of units and for control groups. Software events that count exactly
 * stand in for hardware: CPU time for instructions and cycles, page faults for the rest, each of the thread that opened
 * them. CPU time passes without work as well (interrupts, a host that runs others), so each call of libm's exp adds a
 * tenth of a second to it: what is counted of a kernel that works exponentials out so comes from its shape. */
#ifndef PLAY_PMU_H
#define PLAY_PMU_H

enum { PLAY_REAL = -1, PLAY_BY_EVENT = -2 };

struct play {
    int refuse_with;    /* errno for hardware events; 0: none */
    int refuse_papi;    /* the same for requests as PAPI makes them */
    int substitute;     /* the software event that stands in for all hardware events, or one of the two above */
    double count_share; /* of what is counted, that shows */
    double time_share;  /* of the time that counters claim to have run; below 0: as it was */
    int slots;          /* counters that a thread has; more of them share; 0: enough */
    const char *sys;    /* NULL, or the folder before /sys */
};
extern struct play play;

/* As a word of SLOTMARK_PLAY says. 0, or -1: no such word. */
int play_as(const char *word);

#endif
