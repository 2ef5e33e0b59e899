/* golden.h - reference results in tests/golden: tensors of a .safetensors file and the JSON beside it. Tests only.
 *
 * Whatever is missing or of another kind than asked for ends the program with a message: these files are ours. */
#ifndef SM_GOLDEN_H
#define SM_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct golden {
    json_t *facts;  /* NAME.json */
    json_t *header; /* of NAME.safetensors */
    const unsigned char *data;
    void *file;
};

/* Reads tests/golden/NAME.safetensors and tests/golden/NAME.json: name is "llama-tiny/golden". */
void golden_open(struct golden *golden, const char *name);
void golden_close(struct golden *golden);

/* The elements of a tensor and, unless NULL, its sizes: `rank` of them are expected. */
const float *golden_floats(const struct golden *golden, const char *tensor, size_t rank, size_t *sizes);
const int32_t *golden_ints(const struct golden *golden, const char *tensor, size_t rank, size_t *sizes);

const uint8_t *golden_bytes(const struct golden *golden, const char *tensor, size_t rank, size_t *sizes);

/* A number of the JSON file. */
double golden_number(const struct golden *golden, const char *key);

/* tests/golden/NAME, in a buffer that the next call reuses. */
const char *golden_path(const char *name);

#endif
