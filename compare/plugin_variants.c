#include "plugin_variants.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu.h"

#define LOAD_SECONDS 20

typedef const struct sm_plugin *plugin_fn(uint32_t version);

/* What `look` returns in a process of its own; -1: it crashed, or came to no end. */
static int apart(int (*look)(const char *path, const char *symbol), const char *path, const char *symbol)
{
    int status;
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0) return -1;
    if (!child) {
        alarm(LOAD_SECONDS);
        _exit(look(path, symbol));
    }
    while (waitpid(child, &status, 0) < 0) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int has_symbol(const char *path, const char *symbol)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return handle && dlsym(handle, symbol);
}

int sm_object_has(const char *path, const char *symbol)
{
    return apart(has_symbol, path, symbol);
}

static const struct sm_plugin *open_here(const char *path, void **handle, char *why, size_t why_bytes)
{
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*handle) {
        snprintf(why, why_bytes, "loading the plug-in %s: %s", path, dlerror());
        return NULL;
    }
    void *symbol = dlsym(*handle, "slotmark_plugin");
    plugin_fn *entry;
    memcpy(&entry, &symbol, sizeof entry); /* POSIX's own way from an object to a function */
    const struct sm_plugin *plugin = symbol ? entry(SM_PLUGIN_VERSION) : NULL;
    if (plugin && plugin->version == SM_PLUGIN_VERSION && (!plugin->count || plugin->variants)) return plugin;
    snprintf(why, why_bytes, "loading the plug-in %s: %s", path,
             symbol ? "it was built for another version of plugin.h" : "it has no symbol slotmark_plugin");
    dlclose(*handle);
    *handle = NULL;
    return NULL;
}

/* Opens it and reads its table to the end. */
static int survives(const char *path, const char *unused)
{
    char why[16];
    void *handle;
    size_t length = 0;
    const struct sm_plugin *plugin = open_here(path, &handle, why, sizeof why);
    (void)unused;
    for (size_t i = 0; plugin && i < plugin->count; i++) {
        const struct sm_plugin_variant *v = &plugin->variants[i];
        const char *const words[] = {v->family, v->name, v->isa, v->layout, v->bet};
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) length += words[k] ? strlen(words[k]) : 0;
    }
    return length > 1u << 20;
}

const struct sm_plugin *sm_plugin_open(const char *path, void **handle, char *why, size_t why_bytes)
{
    *handle = NULL;
    switch (apart(survives, path, NULL)) {
    case 0: return open_here(path, handle, why, why_bytes);
    case 1: snprintf(why, why_bytes, "loading the plug-in %s: its table makes no sense", path); return NULL;
    default: snprintf(why, why_bytes, "loading the plug-in %s: it crashes, or comes to no end", path); return NULL;
    }
}

/* The features of an instruction set's name, or -1. */
static int needs_of(const char *isa, uint32_t *needs)
{
    const char *level;
    uint32_t features;
    for (size_t i = 0; (level = sm_cpu_level(i, &features)); i++)
        if (!strcmp(level, isa)) {
            *needs = features;
            return 0;
        }
    return -1;
}

const char *sm_plugin_variant(const struct sm_plugin_variant *v, const struct sm_family *family, struct sm_variant *to)
{
    if (!v->family || !v->name || !v->isa || !v->layout || !v->fn || !v->bet) return "it is not complete";
    if (!*v->name || strlen(v->name) > 60 ||
        strspn(v->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(v->name))
        return "its name is not made of a-z, 0-9 and _";
    if (!family) return "there is no such family";
    *to = (struct sm_variant){.name = v->name, .isa = v->isa, .fn = v->fn, .bet = v->bet};
    if (needs_of(v->isa, &to->needs)) return "there is no such instruction set";
    for (size_t i = 0; i < family->variant_count; i++) {
        if (!strcmp(family->variants[i].name, v->name)) return "the family has a variant of that name";
        if (!strcmp(family->variants[i].layout->name, v->layout)) to->layout = family->variants[i].layout;
    }
    return to->layout ? NULL : "the family has no such layout";
}
