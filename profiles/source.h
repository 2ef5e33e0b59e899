/* source.h - the model of a command line: a GGUF file, a folder of safetensors, or the name of a shape with
 * synthetic weights. */
#ifndef SM_SOURCE_H
#define SM_SOURCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "model.h"

struct sm_source {
    struct sm_model *model; /* owned */
    bool fallback;          /* the default model could not be had: these are synthetic weights of its shape */
    char name[64];          /* the file's name without its ending, the folder's, or the shape's */
    char sha256[65];        /* of the file, or of a folder's one file of weights; "": there is no such file */
};

/* name NULL: the default model from the cache folder (scripts/fetch-model), or its shape with synthetic weights.
 * The name of a shape of profiles/shapes is that shape; so is a file *.shape;
 * any other name with '/' or '.', or of something that is there, is a GGUF file or a folder. format: of synthetic
 * weights. progress: where it says how far it is when it takes seconds; NULL: nowhere. 0, or -1 and a sentence. */
int sm_source_open(struct sm_source *source, const char *name, enum sm_format format, uint64_t seed, FILE *progress,
                   char *why, size_t why_bytes);
/* The same for what needs names and shapes alone: a shape gets no weights, a file no sum. It takes milliseconds. */
int sm_source_outline(struct sm_source *source, const char *name, char *why, size_t why_bytes);

/* What a model's file is called: its name without folder and ending. */
void sm_source_stem(const char *path, char *stem, size_t bytes);
void sm_source_close(struct sm_source *source); /* safe on a zeroed struct */

/* The "model" object of a record, a new reference. */
json_t *sm_source_json(const struct sm_source *source);

/* One line for people: name, size, formats, and whether the weights are synthetic. */
void sm_source_describe(const struct sm_source *source, char *text, size_t bytes);

#endif
