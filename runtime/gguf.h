/* gguf.h - a GGUF version 3 file in memory: its metadata and its tensors, checked, and nothing believed.
 *
 * Strings, arrays and tensors point into the bytes given, which must outlive the struct and stay as they are.
 * Every count and size is compared with the bytes that are left before it is used, so reading a file takes time and
 * memory in proportion to its size whatever is in it. Little-endian files on little-endian machines only. */
#ifndef SM_GGUF_H
#define SM_GGUF_H

#include <stddef.h>
#include <stdint.h>

enum sm_gguf_type {
    SM_GGUF_U8,
    SM_GGUF_I8,
    SM_GGUF_U16,
    SM_GGUF_I16,
    SM_GGUF_U32,
    SM_GGUF_I32,
    SM_GGUF_F32,
    SM_GGUF_BOOL,
    SM_GGUF_STRING,
    SM_GGUF_ARRAY,
    SM_GGUF_U64,
    SM_GGUF_I64,
    SM_GGUF_F64,
    SM_GGUF_TYPES
};

struct sm_gguf_string {
    const char *at; /* not terminated */
    size_t bytes;
};

struct sm_gguf_value {
    struct sm_gguf_string key;
    enum sm_gguf_type type;
    enum sm_gguf_type element; /* of an array; else its own type */
    size_t count;              /* of an array; else 1 */
    const unsigned char *data; /* unaligned; strings: u64 length and bytes, one after the other */
};

struct sm_gguf_tensor {
    struct sm_gguf_string name;
    uint32_t type;  /* ggml's number */
    size_t dims[4]; /* contiguous axis first; 1 where it has fewer */
    const void *data;
    size_t bytes;
};

struct sm_gguf {
    struct sm_gguf_value *values; /* sorted by key */
    size_t value_count;
    struct sm_gguf_tensor *tensors; /* sorted by name */
    size_t tensor_count;
};

/* `where` names the bytes in errors. 0 on success; -1 and a sentence. */
int sm_gguf_parse(struct sm_gguf *gguf, const void *bytes, size_t count, const char *where, char *why,
                  size_t why_bytes);
void sm_gguf_free(struct sm_gguf *gguf);

/* NULL: there is none. */
const struct sm_gguf_value *sm_gguf_value(const struct sm_gguf *gguf, const char *key);
const struct sm_gguf_tensor *sm_gguf_tensor(const struct sm_gguf *gguf, const char *name);

/* Element i of a value as a whole number or as a number: 0, or -1 when it is something else or out of range.
 * A value that is no array has the same element for every i. */
int sm_gguf_size(const struct sm_gguf_value *value, size_t i, size_t *out);
int sm_gguf_number(const struct sm_gguf_value *value, size_t i, double *out);

/* The string a value holds: 0 or -1. */
int sm_gguf_text(const struct sm_gguf_value *value, struct sm_gguf_string *out);

/* The name of a ggml tensor type, or NULL; its elements and bytes per block. */
const char *sm_ggml_type(uint32_t type, size_t *block_elements, size_t *block_bytes);

#endif
