/* safetensors.h - a safetensors file: its tensors, checked, and nothing believed (model-math: C.6).
 *
 * A file is refused unless its tensors fill its data exactly, with neither gaps nor overlaps, and each is as long as
 * its type and sizes say. Reading takes time and memory in proportion to the header. Data point into the file's
 * bytes and need not be aligned to their elements: read them with memcpy. Little-endian machines only. */
#ifndef SM_SAFETENSORS_H
#define SM_SAFETENSORS_H

#include <stddef.h>

#define SM_SAFETENSORS_MAX_RANK 8

enum sm_safetensors_type {
    SM_SAFETENSORS_F32,
    SM_SAFETENSORS_F16,
    SM_SAFETENSORS_BF16,
    SM_SAFETENSORS_F64,
    SM_SAFETENSORS_F8_E4M3,
    SM_SAFETENSORS_F8_E5M2,
    SM_SAFETENSORS_I64,
    SM_SAFETENSORS_I32,
    SM_SAFETENSORS_I16,
    SM_SAFETENSORS_I8,
    SM_SAFETENSORS_U64,
    SM_SAFETENSORS_U32,
    SM_SAFETENSORS_U16,
    SM_SAFETENSORS_U8,
    SM_SAFETENSORS_BOOL,
    SM_SAFETENSORS_TYPES
};

struct sm_safetensor {
    const char *name;
    enum sm_safetensors_type type;
    size_t rank, sizes[SM_SAFETENSORS_MAX_RANK]; /* row-major: the last axis is contiguous */
    size_t bytes;
    const void *data;
};

struct sm_safetensors {
    struct sm_safetensor *tensors; /* sorted by name */
    size_t count;
    void *header; /* private: the names */
    void *map;    /* private: the file, when it was opened */
    size_t map_bytes;
};

/* Maps a file and checks it. 0; or -1, a sentence, and nothing to close. */
int sm_safetensors_open(struct sm_safetensors *file, const char *path, char *why, size_t why_bytes);

/* The same of bytes in memory, which must outlive the struct; `where` names them in errors. */
int sm_safetensors_parse(struct sm_safetensors *file, const void *bytes, size_t count, const char *where, char *why,
                         size_t why_bytes);

/* Safe on a struct of zeros. */
void sm_safetensors_close(struct sm_safetensors *file);

/* NULL: there is none. */
const struct sm_safetensor *sm_safetensors_find(const struct sm_safetensors *file, const char *name);

/* "F32", "BF16", ... as files name them. */
const char *sm_safetensors_type_name(enum sm_safetensors_type type);

#endif
