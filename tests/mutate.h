/* mutate.h - records that mean harm: changes of a text of JSON, the same ones each time. */
#ifndef SM_MUTATE_H
#define SM_MUTATE_H

#include <stddef.h>

/* A number below n, the next of a fixed sequence. */
size_t mutate_below(size_t n);

/* One change of a few kinds to n bytes with room for more: a byte, a piece taken out or doubled, a value that becomes a
 * number or a text that means harm. The new length. */
size_t mutate(char *text, size_t n, size_t room);

#endif
