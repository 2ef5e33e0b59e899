/* plugin_load.h - --plugin FILE.so, before the command. The contract of a plug-in is kernels/plugin.h. */
#ifndef SM_PLUGIN_LOAD_H
#define SM_PLUGIN_LOAD_H

#include <stddef.h>

/* Loads it and adds its variants to their families, behind the reference: dispatch never takes one unasked. Those that
 * are wrong or crash are left out, and stderr says so. -1 and a sentence: it is no plug-in. */
int sm_plugin_load(const char *path, char *why, size_t why_bytes);

#endif
