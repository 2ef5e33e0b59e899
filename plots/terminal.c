#include "terminal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Terminals that draw sixels as they come. Others can be built or set to (xterm): those are asked for by name. */
static int draws_sixels(void)
{
    static const char *const variables[] = {"TERM", "TERM_PROGRAM"};
    static const char *const names[] = {"sixel", "mlterm", "foot", "contour", "yaft", "WezTerm"};
    for (size_t v = 0; v < sizeof variables / sizeof *variables; v++) {
        const char *value = getenv(variables[v]);
        for (size_t i = 0; value && i < sizeof names / sizeof *names; i++)
            if (strstr(value, names[i])) return 1;
    }
    return 0;
}

static int shows_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"}; /* the first that is set counts */
    for (size_t v = 0; v < sizeof variables / sizeof *variables; v++) {
        const char *value = getenv(variables[v]);
        if (value && *value) return strstr(value, "UTF-8") || strstr(value, "utf8");
    }
    return 0;
}

const char *sm_terminal_choose(int *columns, int *lines)
{
    struct winsize size;
    *columns = *lines = 0;
    if (!isatty(STDOUT_FILENO)) return "dumb";
    if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col && size.ws_row > 1) {
        *columns = size.ws_col;
        *lines = size.ws_row - 1; /* the prompt's */
    }
    return draws_sixels() ? "sixel" : shows_utf8() ? "block" : "dumb";
}
