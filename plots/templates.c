#include "templates.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"

#define MOST_BYTES ((size_t)64 << 20)

int sm_templates_find(const char *asked, char found[PATH_MAX], char *why, size_t why_bytes)
{
    char beside[PATH_MAX] = "", program[PATH_MAX], file[PATH_MAX + 16];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 32);
    if (n > 0) {
        program[n] = 0;
        *strrchr(program, '/') = 0;
        snprintf(beside, sizeof beside, "%.4000s/plots", program);
    }
    const char *const places[] = {asked, asked ? NULL : beside, asked ? NULL : SM_PLOT_TEMPLATES};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i] || !realpath(places[i], found)) continue;
        snprintf(file, sizeof file, "%s/style.gp", found);
        if (!access(file, R_OK) && strlen(found) < SM_FOLDER_BYTES) return 0;
    }
    snprintf(why, why_bytes, "no gnuplot templates (style.gp) in %s",
             asked ? asked : "plots/ beside the program or in the source tree");
    return -1;
}

char *sm_templates_read(const char *folder, const char *name, char *why, size_t why_bytes)
{
    char path[PATH_MAX + 64];
    char *text = NULL;
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    errno = 0;
    FILE *file = fopen(path, "re");
    if (file && !fseek(file, 0, SEEK_END)) {
        const long end = ftell(file);
        rewind(file);
        if (end >= 0 && (size_t)end < MOST_BYTES) text = malloc((size_t)end + 1);
        if (text) bytes = fread(text, 1, (size_t)end, file);
        if (text && bytes != (size_t)end) {
            free(text);
            text = NULL;
        }
    }
    if (text)
        text[bytes] = 0;
    else
        snprintf(why, why_bytes, "cannot read %.300s: %s", path,
                 errno ? strerror(errno) : "it is cut short or too large");
    if (file) fclose(file);
    return text;
}
