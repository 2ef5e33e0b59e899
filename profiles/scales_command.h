/* scales_command.h - the command slotmark scales. */
#ifndef SM_SCALES_COMMAND_H
#define SM_SCALES_COMMAND_H

/* The exit code: 0; 2 bad input, with a sentence on stderr; 130 interrupted. */
int scales_main(int argc, char **argv);

#endif
