/* output.h - the command line of a command that only prints: the form of what it prints, and at most one flag of its
 * own. */
#ifndef SM_OUTPUT_H
#define SM_OUTPUT_H

#include <stdbool.h>

#include "arguments.h"

enum { SM_OUTPUT_TEXT, SM_OUTPUT_MARKDOWN, SM_OUTPUT_JSON };

/* What the help says of a command. */
struct sm_output_command {
    const char *name, *usage, *summary, *example;
    const char *flag, *flag_help; /* NULL: it has none */
    bool takes_time;              /* it shows progress, which --quiet leaves out */
    size_t operands_most;
};

struct sm_output {
    int format;
    bool flag, quiet;
    struct sm_arguments_rest rest;
};

/* False: there is nothing to print, because help was asked for and given, or because the command line was bad,
 * which stderr was told; *code is then the exit status. */
bool sm_output_parse(const struct sm_output_command *command, int argc, char **argv, struct sm_output *output,
                     int *code);

#endif
