#include "alias.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sm_alias_now(const struct sm_aliases *aliases, const char *name)
{
    for (size_t step = 0; aliases && step < aliases->count; step++) { /* a circle ends, too */
        size_t i = 0;
        while (i < aliases->count && strcmp(aliases->list[i].old, name)) i++;
        if (i == aliases->count) break;
        name = aliases->list[i].now;
    }
    return name;
}

void sm_alias_kernel(const struct sm_aliases *aliases, const char *kernel, char *to, size_t bytes)
{
    char name[SM_ALIAS_NAME];
    const char *family = strchr(kernel, '/'), *shape = family ? strchr(family + 1, '/') : NULL;
    const size_t length = shape ? (size_t)(shape - kernel) : strlen(kernel);
    if (length >= sizeof name) {
        snprintf(to, bytes, "%s", kernel);
        return;
    }
    memcpy(name, kernel, length);
    name[length] = '\0';
    snprintf(to, bytes, "%s%s", sm_alias_now(aliases, name), kernel + length);
}

void sm_aliases_free(struct sm_aliases *aliases)
{
    free(aliases->list);
    *aliases = (struct sm_aliases){0};
}
