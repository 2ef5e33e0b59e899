/* model_gguf.h - what the two halves of the GGUF loader share: model_gguf.c finds tensors, model_gguf_shape.c reads
 * the shape from the metadata. Nobody else includes it. */
#ifndef SM_MODEL_GGUF_H
#define SM_MODEL_GGUF_H

#include "gguf.h"
#include "model.h"

struct gguf_loader {
    struct sm_model *model;
    struct sm_gguf gguf;
    const char *where;
    char *why;
    size_t why_bytes;
};

/* Writes "loading WHERE: ..." and returns -1. */
int gguf_refuse(const struct gguf_loader *loader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fills in and checks the model's shape: 0, or -1 and a sentence. */
int gguf_read_shape(struct gguf_loader *loader);

#endif
