/* bench.h - the command `slotmark bench`. */
#ifndef SM_BENCH_H
#define SM_BENCH_H

/* Returns 0, 1 (a wrong answer), 2 (bad input) or 130 (interrupted). */
int bench_main(int argc, char **argv);

#endif
