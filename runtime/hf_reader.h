/* hf_reader.h - reading keys of a config.json: what hf_config.c and hf_rope.c share. Nobody else includes it.
 *
 * The first failure is kept as the sentence, and all that is read after it is of no account: callers look at
 * `failed` where it matters, and once at the end. */
#ifndef SM_HF_READER_H
#define SM_HF_READER_H

#include <jansson.h>

#include "hf_config.h"

struct hf_reader {
    const json_t *top, *text; /* the file's object, and the one that describes the text decoder */
    const char *where;
    char *why;
    size_t why_bytes;
    bool failed;
};

void hf_fail(struct hf_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A member of an object; NULL when it is not there, or null. */
const json_t *hf_get(const json_t *object, const char *key);

/* A member that must be there, as a size or a finite number. 0 when it is not. */
size_t hf_size(struct hf_reader *r, const json_t *object, const char *key);
double hf_number(struct hf_reader *r, const json_t *object, const char *key);

/* The rotary embedding of a kind of layer. */
struct hf_rope {
    double theta, factor;
    double part; /* of the pairs, how many rotate */
    struct sm_rope_scaling llama3;
};

/* Of all layers; or of one kind where they differ. `scaled`: it is the kind that an older rope_scaling is about. */
struct hf_rope hf_rope_of_all(struct hf_reader *r);
struct hf_rope hf_rope_of_kind(struct hf_reader *r, const char *kind, const char *theta_key, bool scaled);

#endif
