/* slotmark list: what there is to run, and what of it this CPU can run. */
#include <jansson.h>
#include <stdio.h>

#include "arguments.h"
#include "commands.h"
#include "cpu.h"
#include "registry.h"

int list_main(int argc, char **argv)
{
    char why[512];
    const struct sm_argument options[] = {SM_ARGUMENTS_END};
    const struct sm_arguments spec = {.command = "list",
                                      .usage = "[OPTION]...",
                                      .summary = "Lists the kernel families and their variants.",
                                      .options = options};
    switch (sm_arguments_parse(&spec, argc, argv, NULL, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 0;
    case SM_ARGUMENTS_BAD: fprintf(stderr, "slotmark list: %s\n", why); return 2;
    case SM_ARGUMENTS_OK: break;
    }
    for (size_t i = 0; i < sm_family_count(); i++) {
        const struct sm_family *f = sm_family_at(i);
        for (size_t v = 0; v < f->variant_count; v++)
            printf("%-24s %-16s %-12s %s\n", f->name, f->variants[v].name, f->variants[v].isa, f->variants[v].bet);
    }
    return 0;
}
