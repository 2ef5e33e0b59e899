/* hf_fixture.h - folders of models for tests: links to the reference ones, and files that a test wrote. */
#ifndef SM_HF_FIXTURE_H
#define SM_HF_FIXTURE_H

#include <stddef.h>

struct folder {
    char path[128];
};

/* Fails the test when anything does not work. */
void folder_create(struct folder *folder);
void folder_destroy(const struct folder *folder); /* and what is in it */

/* The path of a file in it, in a buffer that the next call reuses. */
const char *folder_path(const struct folder *folder, const char *file);

void folder_write(const struct folder *folder, const char *file, const void *bytes, size_t count);
void folder_link(const struct folder *folder, const char *file, const char *target);

/* A whole file, one byte longer and ended by a 0; to be freed. */
char *file_read(const char *path, size_t *count);

/* The small models of the reference results, and how the files of their configs are called. */
#define SMALL_MODELS 6
extern const char *const small_models[SMALL_MODELS];
#define CONFIG_STYLES 2
extern const char *const config_styles[CONFIG_STYLES];

/* A safetensors file in the making. */
struct tensors_out {
    void *header; /* a json_t */
    unsigned char *data;
    size_t bytes;
};

void tensors_begin(struct tensors_out *out);
void tensors_add(struct tensors_out *out, const char *name, const char *type, size_t rank, const size_t *sizes,
                 const void *data, size_t bytes);

/* The file, with so many blanks after its header; to be freed. Ends `out`. */
char *tensors_end(struct tensors_out *out, size_t blanks, size_t *count);

/* A folder of small model m with the config of that style. */
void folder_of_model(struct folder *folder, size_t m, size_t style);

#endif
