/* plugin.h - variants from outside the tree: a shared object that exports slotmark_plugin.
 *
 *     #include "plugin.h"
 *     #include "rope/rope.h"
 *
 *     static void mine(const void *args, struct sm_part part) { ... }
 *     static const struct sm_plugin_variant variants[] = {{"rope", "mine", "avx2", "plain", mine, "why it is fast"}};
 *     static const struct sm_plugin plugin = {SM_PLUGIN_VERSION, 1, variants};
 *     const struct sm_plugin *slotmark_plugin(uint32_t version) { return version == SM_PLUGIN_VERSION ? &plugin : NULL;
 * }
 *
 * and then `slotmark --plugin ./mine.so bench --family rope --variant mine`. What a kernel may and must do is in
 * registry.h, its arguments in the header of its family. A variant of a plug-in is checked against the family's
 * reference when it is loaded, in a process of its own, and left out when it is wrong or crashes. */
#ifndef SM_PLUGIN_H
#define SM_PLUGIN_H

#include "registry.h"

#define SM_PLUGIN_VERSION 2u

struct sm_plugin_variant {
    const char *family; /* one of slotmark's */
    const char *name;   /* unique in that family: letters, digits, _ */
    const char *isa;    /* "any", "avx2", "avx512", "avx512vnni", "amx": what this CPU must have */
    const char *layout; /* of weights or cache, by name, as `slotmark list` shows it */
    sm_kernel_fn *fn;
    const char *bet; /* one line: why it should be fast */
};

struct sm_plugin {
    uint32_t version;
    size_t count;
    const struct sm_plugin_variant *variants;
};

/* What a plug-in exports. NULL: it cannot serve that version. */
__attribute__((visibility("default"))) const struct sm_plugin *slotmark_plugin(uint32_t version);

/* For the loader: from now on the family of that name is this one. -1: there is none of that name. Before anything else
 * reads the registry. */
int sm_registry_replace(const struct sm_family *family);

#endif
