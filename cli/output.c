#include "output.h"

#include <stdio.h>

#include "arguments.h"

bool sm_output_parse(const struct sm_output_command *command, int argc, char **argv, int *output, int *code)
{
    static const char *const outputs[] = {"text", "md", "json", NULL};
    char why[512];
    *output = SM_OUTPUT_TEXT;
    const struct sm_argument options[] = {
        {"output", 'o', SM_ARGUMENT_CHOICE, output, outputs, "FORMAT", "text (default), md or json"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        .command = command->name,
        .usage = "[OPTION]...",
        .summary = command->summary,
        .options = options,
        .example = command->example,
    };
    switch (sm_arguments_parse(&spec, argc, argv, NULL, why, sizeof why)) {
    case SM_ARGUMENTS_HELP:
        sm_arguments_help(&spec, stdout);
        *code = 0;
        return false;
    case SM_ARGUMENTS_BAD:
        fprintf(stderr, "slotmark %s: %s\n", command->name, why);
        *code = 2;
        return false;
    case SM_ARGUMENTS_OK: break;
    }
    return true;
}
