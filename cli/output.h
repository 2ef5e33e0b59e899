/* output.h - the command line of a command that only prints: the form of what it prints, and at most one flag. */
#ifndef SM_OUTPUT_H
#define SM_OUTPUT_H

#include <stdbool.h>

#include "arguments.h"

enum { SM_OUTPUT_TEXT, SM_OUTPUT_MARKDOWN, SM_OUTPUT_JSON };

/* What the help says of a command. */
struct sm_output_command {
    const char *name, *usage, *summary, *example;
    const char *flag, *flag_help; /* NULL: it has none */
    size_t operands_most;
};

struct sm_output {
    int format;
    bool flag;
    struct sm_arguments_rest rest;
};

/* False: there is nothing to print, because help was asked for and given, or because the command line was bad,
 * which stderr was told; *code is then the exit status. */
bool sm_output_parse(const struct sm_output_command *command, int argc, char **argv, struct sm_output *output,
                     int *code);

#endif
