/* plugin_variants.h - what a plug-in (kernels/plugin.h) brings, read without trusting it. */
#ifndef SM_PLUGIN_VARIANTS_H
#define SM_PLUGIN_VARIANTS_H

#include <stddef.h>

#include "plugin.h"

/* 1: the shared object can be loaded and has the symbol; 0: not; -1: it crashes when it is loaded, or comes to no end.
 * Tried in a process of its own. */
int sm_object_has(const char *path, const char *symbol);

/* Opens a plug-in: once in a process of its own, since it may crash, then in this one. The handle is dlopen's. NULL and
 * a sentence: it is none, or of another version. */
const struct sm_plugin *sm_plugin_open(const char *path, void **handle, char *why, size_t why_bytes);

/* One of its variants as one of `family` (NULL: there is no such family). NULL, or why it cannot be one. */
const char *sm_plugin_variant(const struct sm_plugin_variant *v, const struct sm_family *family, struct sm_variant *to);

#endif
