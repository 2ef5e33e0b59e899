#include "model_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *model_file(const char *name)
{
    static char path[4096];
    const char *cache = getenv("SLOTMARK_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache)
        snprintf(path, sizeof path, "%s/%s", cache, name);
    else if (xdg && *xdg)
        snprintf(path, sizeof path, "%s/slotmark/%s", xdg, name);
    else
        snprintf(path, sizeof path, "%s/.cache/slotmark/%s", home ? home : ".", name);
    if (!access(path, R_OK)) return path;
    printf("skipped: there is no %s; scripts/fetch-model fetches it\n", path);
    return NULL;
}
