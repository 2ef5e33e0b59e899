#include "kernels_load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef const struct sm_kernels *table_fn(uint32_t version);

/* NULL, or what is wrong with the table. */
static const char *check(const struct sm_kernels *k)
{
    if (!k) return "it has another version of the table of kernels";
    if (k->version != SM_ABI_VERSION || k->family_bytes != sizeof(struct sm_family) ||
        k->variant_bytes != sizeof(struct sm_variant) || k->workload_bytes != sizeof(struct sm_workload))
        return "its table of kernels is laid out in another way";
    if (!k->families || !k->workloads || !k->cpu_features || !k->loosen_guards)
        return "its table of kernels is not complete";
    for (size_t i = 0; i < k->family_count; i++) {
        const struct sm_family *f = k->families[i];
        const struct sm_workload *w = k->workloads[i];
        if (!f || !w || !f->name || !f->variants || !f->variant_count || !f->split || f->dim_count > SM_MAX_DIMS)
            return "a family in it is not complete";
        if (!w->family || strcmp(w->family, f->name) || !w->create || !w->prepare || !w->error || !w->damage ||
            !w->destroy)
            return "a workload in it is not complete";
        for (size_t v = 0; v < f->variant_count; v++)
            if (!f->variants[v].name || !f->variants[v].fn || !f->variants[v].layout || !f->variants[v].isa)
                return "a variant in it is not complete";
    }
    return NULL;
}

int sm_kernels_load(struct sm_loaded *loaded, const char *path, char *why, size_t why_bytes)
{
    *loaded = (struct sm_loaded){0};
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(why, why_bytes, "loading %s: %s", path, dlerror());
        return -1;
    }
    void *symbol = dlsym(handle, "slotmark_kernels");
    table_fn *table;
    memcpy(&table, &symbol, sizeof table); /* POSIX's own way from an object to a function */
    const char *wrong = symbol ? NULL : "it has no symbol slotmark_kernels";
    const struct sm_kernels *kernels = symbol ? table(SM_ABI_VERSION) : NULL;
    if (!wrong) wrong = check(kernels);
    if (wrong) {
        snprintf(why, why_bytes, "loading %s: %s", path, wrong);
        dlclose(handle);
        return -1;
    }
    *loaded = (struct sm_loaded){handle, kernels};
    return 0;
}

void sm_kernels_unload(struct sm_loaded *loaded)
{
    if (loaded->handle) dlclose(loaded->handle);
    *loaded = (struct sm_loaded){0};
}

const struct sm_family *sm_loaded_family(const struct sm_loaded *loaded, const char *name)
{
    for (size_t i = 0; i < loaded->kernels->family_count; i++)
        if (!strcmp(loaded->kernels->families[i]->name, name)) return loaded->kernels->families[i];
    return NULL;
}

const struct sm_workload *sm_loaded_workload(const struct sm_loaded *loaded, const char *family)
{
    for (size_t i = 0; i < loaded->kernels->family_count; i++)
        if (!strcmp(loaded->kernels->families[i]->name, family)) return loaded->kernels->workloads[i];
    return NULL;
}

const struct sm_variant *sm_loaded_variant(const struct sm_family *family, const char *name)
{
    for (size_t i = 0; i < family->variant_count; i++)
        if (!strcmp(family->variants[i].name, name)) return &family->variants[i];
    return NULL;
}
