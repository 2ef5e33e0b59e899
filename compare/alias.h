/* alias.h - kernels that were renamed: what "rmsnorm/simd" of an old revision is called since. */
#ifndef SM_ALIAS_H
#define SM_ALIAS_H

#include <stddef.h>

#define SM_ALIAS_NAME 136

struct sm_alias {
    char old[SM_ALIAS_NAME], now[SM_ALIAS_NAME]; /* family/variant */
};

struct sm_aliases {
    struct sm_alias *list;
    size_t count;
};

/* The newest name of a kernel, through several renamings; itself when it has no other. */
const char *sm_alias_now(const struct sm_aliases *aliases, const char *name);

/* The same of a kernel at a shape, "family/variant/rows=1,cols=64": into `to`. */
void sm_alias_kernel(const struct sm_aliases *aliases, const char *kernel, char *to, size_t bytes);

void sm_aliases_free(struct sm_aliases *aliases);

#endif
