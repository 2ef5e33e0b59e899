/* commands.h - the commands that live in this room; each prints, and returns the exit code. */
#ifndef SM_COMMANDS_H
#define SM_COMMANDS_H

int list_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int ceilings_main(int argc, char **argv);

#endif
