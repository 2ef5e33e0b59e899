/* kernels_load.h - a build of the kernels as a shared object, loaded beside others. */
#ifndef SM_KERNELS_LOAD_H
#define SM_KERNELS_LOAD_H

#include "abi.h"

struct sm_loaded {
    void *handle;
    const struct sm_kernels *kernels;
    struct sm_extended *extended; /* with a plug-in: the families that it adds to */
};

/* Opens it with its symbols kept to itself and checks its table (abi.h). An object that was opened already under the
 * same path is the same one: to have two, copy the file. With a plug-in (NULL or "": none) its variants stand behind
 * the references of their families; those that cannot be variants are left out. 0, or -1 and a sentence. */
int sm_kernels_load(struct sm_loaded *loaded, const char *path, const char *plugin, char *why, size_t why_bytes);
void sm_kernels_unload(struct sm_loaded *loaded);

/* NULL: it has none of that name. */
const struct sm_family *sm_loaded_family(const struct sm_loaded *loaded, const char *name);
const struct sm_workload *sm_loaded_workload(const struct sm_loaded *loaded, const char *family);
const struct sm_variant *sm_loaded_variant(const struct sm_family *family, const char *name);

#endif
