#include "output.h"

#include <stdio.h>

bool sm_output_parse(const struct sm_output_command *command, int argc, char **argv, struct sm_output *output,
                     int *code)
{
    static const char *const formats[] = {"text", "md", "json", NULL};
    char why[512];
    *output = (struct sm_output){.format = SM_OUTPUT_TEXT};
    struct sm_argument options[] = {
        {"output", 'o', SM_ARGUMENT_CHOICE, &output->format, formats, "FORMAT", "text (default), md or json"},
        SM_ARGUMENTS_END,
        SM_ARGUMENTS_END,
        SM_ARGUMENTS_END,
    };
    size_t count = 1;
    if (command->flag)
        options[count++] =
            (struct sm_argument){command->flag, 0, SM_ARGUMENT_FLAG, &output->flag, NULL, NULL, command->flag_help};
    if (command->takes_time)
        options[count++] =
            (struct sm_argument){"quiet", 0, SM_ARGUMENT_FLAG, &output->quiet, NULL, NULL, "no progress"};
    const struct sm_arguments spec = {
        .command = command->name,
        .usage = command->usage,
        .summary = command->summary,
        .options = options,
        .example = command->example,
        .operands_most = command->operands_most,
    };
    switch (sm_arguments_parse(&spec, argc, argv, &output->rest, why, sizeof why)) {
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
