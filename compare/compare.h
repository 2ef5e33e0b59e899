/* compare.h - the commands of this room. */
#ifndef SM_COMPARE_H
#define SM_COMPARE_H

int compare_main(int argc, char **argv);
int gate_main(int argc, char **argv);
int variants_main(int argc, char **argv);
int record_main(int argc, char **argv);
int bisect_main(int argc, char **argv);
int history_main(int argc, char **argv);
int trend_main(int argc, char **argv);

#endif
