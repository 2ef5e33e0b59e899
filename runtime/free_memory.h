/* free_memory.h - whether what is about to be filled with weights fits the machine: a mapping is granted when it does
 * not, and the program is killed while it fills it. */
#ifndef SM_FREE_MEMORY_H
#define SM_FREE_MEMORY_H

#include <stddef.h>

/* Bytes that can be used without paging: the kernel's own estimate, or less where a control group allows less.
 * SIZE_MAX: unknown. */
size_t sm_free_memory(void);

#endif
