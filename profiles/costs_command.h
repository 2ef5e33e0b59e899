/* costs_command.h - the command slotmark costs. */
#ifndef SM_COSTS_COMMAND_H
#define SM_COSTS_COMMAND_H

/* The exit code: 0; 1 literal and skipping attention disagreed; 2 bad input, with a sentence on stderr; 130
 * interrupted.
 */
int costs_main(int argc, char **argv);

#endif
