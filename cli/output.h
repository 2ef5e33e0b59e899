/* output.h - the command line of a command that only prints: its one option is the form of what it prints. */
#ifndef SM_OUTPUT_H
#define SM_OUTPUT_H

#include <stdbool.h>

enum { SM_OUTPUT_TEXT, SM_OUTPUT_MARKDOWN, SM_OUTPUT_JSON };

/* What the help says of a command. */
struct sm_output_command {
    const char *name, *summary, *example;
};

/* False: there is nothing to print, because help was asked for and given, or because the command line was bad,
 * which stderr was told; *code is then the exit status. */
bool sm_output_parse(const struct sm_output_command *command, int argc, char **argv, int *output, int *code);

#endif
