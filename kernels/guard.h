/* guard.h - operand buffers that show what a kernel touched outside them.
 *
 * The buffer ends against an inaccessible page (its end is rounded up to `align`), so that reading or writing
 * past it faults; before it and in the rounding lie guard bytes. For workloads only. */
#ifndef SM_GUARD_H
#define SM_GUARD_H

#include <stddef.h>
#include <stdint.h>

struct sm_guarded {
    void *data; /* `bytes` bytes, aligned to the `align` asked for */
    size_t bytes;
    void *map;
    size_t map_bytes;
};

/* From here on, buffers end `SM_GUARD_SLACK` guard bytes before the inaccessible page instead of against it: for
 * timing. A masked load that reaches into such a page is legal and right, and takes hundreds of cycles, which no caller
 * whose arrays lie in the middle of memory would ever pay. Large ones lie in huge pages, where they are granted, as a
 * model's weights and cache do. Not for several threads at once. */
#define SM_GUARD_SLACK 128
void sm_guarded_loosen(void);

/* align is a power of two up to 4096. Contents are zero. 0 on success, -1 when there is no memory. */
int sm_guarded_create(struct sm_guarded *g, size_t bytes, size_t align);

/* 0 when no guard byte was changed, else -1. */
int sm_guarded_intact(const struct sm_guarded *g);

/* A hash of the contents, to see that an input stayed as it was. */
uint64_t sm_guarded_hash(const struct sm_guarded *g);

/* Fills with the poison: 0xff bytes are a NaN as float and -1 as integer. */
void sm_guarded_poison(struct sm_guarded *g);

/* Safe on a zeroed struct. */
void sm_guarded_destroy(struct sm_guarded *g);

#endif
