/* tokenizer_write.h - a GGUF file in memory that holds a tokenizer and no tensors. Tests only. */
#ifndef SM_TOKENIZER_WRITE_H
#define SM_TOKENIZER_WRITE_H

#include <jansson.h>
#include <stdint.h>

struct gguf_writer {
    unsigned char *bytes;
    size_t count, room;
    uint64_t values;
};

/* Start from {0}; gguf_finish makes the file, free(bytes) ends it. Keys are written as they come. */
void gguf_text(struct gguf_writer *w, const char *key, const char *text);
void gguf_number(struct gguf_writer *w, const char *key, uint32_t number);
void gguf_truth(struct gguf_writer *w, const char *key, int truth);
void gguf_texts(struct gguf_writer *w, const char *key, const char *const *texts, size_t count);
void gguf_ints(struct gguf_writer *w, const char *key, const int32_t *values, size_t count);
void gguf_floats(struct gguf_writer *w, const char *key, const float *values, size_t count);
void gguf_finish(struct gguf_writer *w);

/* tokens, token_type, scores (of unigram; else minus the id) and merges of a tokenizer.json. */
void gguf_vocabulary(struct gguf_writer *w, const json_t *tokenizer);

#endif
