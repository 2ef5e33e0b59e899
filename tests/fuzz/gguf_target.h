/* gguf_target.h - the body of the fuzz target of model files, for the test that cuts and mutates real ones. */
#ifndef SM_GGUF_TARGET_H
#define SM_GGUF_TARGET_H

#include <stddef.h>

/* 1 when the bytes were a model and it ran; 0 and a sentence when they were refused. Aborts on anything else. */
int gguf_target(const void *bytes, size_t count, char *why, size_t why_bytes);

#endif
