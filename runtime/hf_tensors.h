/* hf_tensors.h - the tensors of an HF folder by name, and what a model takes of them: model_hf.c collects the files,
 * hf_tensors.c fills in the model. Nobody else includes it. */
#ifndef SM_HF_TENSORS_H
#define SM_HF_TENSORS_H

#include "hf_config.h"
#include "model.h"
#include "safetensors.h"

struct hf_loader {
    struct sm_model *model;
    struct sm_hf_config *config;
    const struct sm_safetensor **tensors; /* of all files, sorted by name */
    size_t count;
    const char *where;
    char *why;
    size_t why_bytes;
};

/* Writes "loading WHERE: ..." and returns -1. */
int hf_refuse(const struct hf_loader *loader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Points the model's tensors at those of the files, each of the name, type and sizes that the config asks for: 0, or
 * -1 and a sentence. Refused is also a tensor of a layer that no plan reads and that would change the answer. */
int hf_find_tensors(struct hf_loader *loader);

#endif
