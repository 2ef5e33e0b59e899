#include "kernels_load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin_variants.h"

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

struct sm_extended {
    void *handle; /* of the plug-in */
    struct sm_kernels table;
    const struct sm_family **families; /* [table.family_count]; `own` of them are ours */
    struct sm_family *own;
    size_t own_count;
};

static void forget(struct sm_extended *e)
{
    if (!e) return;
    for (size_t i = 0; i < e->own_count; i++) {
        void *variants;
        memcpy(&variants, &e->own[i].variants, sizeof variants);
        free(variants);
    }
    if (e->handle) dlclose(e->handle);
    free(e->own);
    free(e->families);
    free(e);
}

/* The family at `place` with one more variant, behind its first, which is the reference. */
static int extend(struct sm_extended *e, size_t place, const struct sm_variant *v)
{
    const struct sm_family *family = e->families[place];
    struct sm_variant *variants = calloc(family->variant_count + 1, sizeof *variants);
    if (!variants) return -1;
    variants[0] = family->variants[0];
    variants[1] = *v;
    memcpy(variants + 2, family->variants + 1, (family->variant_count - 1) * sizeof *variants);
    struct sm_family *longer = &e->own[e->own_count++];
    *longer = *family;
    longer->variants = variants;
    longer->variant_count++;
    e->families[place] = longer;
    return 0;
}

static int add_plugin(struct sm_loaded *loaded, const char *path, char *why, size_t why_bytes)
{
    struct sm_extended *e = loaded->extended = calloc(1, sizeof *e);
    const struct sm_plugin *plugin = e ? sm_plugin_open(path, &e->handle, why, why_bytes) : NULL;
    if (!plugin) return -1;
    e->table = *loaded->kernels;
    e->families = calloc(e->table.family_count, sizeof *e->families);
    e->own = calloc(plugin->count + 1, sizeof *e->own);
    if (!e->families || !e->own) return -1;
    memcpy(e->families, e->table.families, e->table.family_count * sizeof *e->families);
    for (size_t i = 0; i < plugin->count; i++) {
        const struct sm_plugin_variant *v = &plugin->variants[i];
        struct sm_variant variant;
        size_t place = 0;
        while (v->family && place < e->table.family_count && strcmp(e->families[place]->name, v->family)) place++;
        const struct sm_family *family = v->family && place < e->table.family_count ? e->families[place] : NULL;
        if (!sm_plugin_variant(v, family, &variant) && extend(e, place, &variant)) return -1;
    }
    e->table.families = e->families;
    loaded->kernels = &e->table;
    return 0;
}

static int load(struct sm_loaded *loaded, const char *path, char *why, size_t why_bytes)
{
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
    loaded->handle = handle;
    loaded->kernels = kernels;
    return 0;
}

int sm_kernels_load(struct sm_loaded *loaded, const char *path, const char *plugin, char *why, size_t why_bytes)
{
    *loaded = (struct sm_loaded){0};
    if (load(loaded, path, why, why_bytes)) return -1;
    if (!plugin || !*plugin) return 0;
    snprintf(why, why_bytes, "loading the plug-in %s: out of memory", plugin);
    if (!add_plugin(loaded, plugin, why, why_bytes)) return 0;
    sm_kernels_unload(loaded);
    return -1;
}

void sm_kernels_unload(struct sm_loaded *loaded)
{
    forget(loaded->extended);
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
