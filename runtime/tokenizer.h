/* tokenizer.h - text into the tokens of a model, and back.
 *
 * Byte-level BPE (GPT-2's alphabet and a regular expression that splits first), BPE over characters with byte
 * fallback (merges, or the scores of SentencePiece), and unigram (the likeliest path), from the metadata of a GGUF file
 * or a tokenizer.json. What a file asks for and this cannot do is refused by name, never left out.
 *
 *     sm_tokenizer_open(&t, model->file, why, sizeof why);
 *     sm_tokenizer_fits(t, model->shape.vocab, why, sizeof why);
 *     sm_tokenizer_encode(t, text, strlen(text), SM_ENCODE_ADD_SPECIAL, &ids, &count, why, sizeof why);
 *
 * A tokenizer is read-only once it is open: any number of threads may use it. Files and texts are hostile: sizes are
 * checked, text may be any bytes (in byte-level BPE decode(encode(x)) == x for all of them), and an expression that
 * takes too long ends in a sentence. */
#ifndef SM_TOKENIZER_H
#define SM_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sm_tokenizer;

/* path: a GGUF file, a tokenizer.json, or a folder with one. The file is not needed any more afterwards.
 * 0; -1 and a sentence. */
int sm_tokenizer_open(struct sm_tokenizer **tokenizer, const char *path, char *why, size_t why_bytes);

/* The same from bytes of a GGUF file or of a tokenizer.json (told apart by their first four). */
int sm_tokenizer_open_memory(struct sm_tokenizer **tokenizer, const void *bytes, size_t count, char *why,
                             size_t why_bytes);
void sm_tokenizer_close(struct sm_tokenizer *tokenizer); /* safe on NULL */

/* 0 when every token is one of the model's `vocab` rows, else -1 and a sentence. Markers beyond them are let be: some
 * files have more than their model (of images, say), and a model refuses one that it is given. */
int sm_tokenizer_fits(const struct sm_tokenizer *tokenizer, size_t vocab, char *why, size_t why_bytes);

size_t sm_tokenizer_size(const struct sm_tokenizer *tokenizer);          /* tokens: ids are smaller */
const char *sm_tokenizer_kind(const struct sm_tokenizer *tokenizer);     /* "byte-level BPE, split as smollm" */
const char *sm_tokenizer_template(const struct sm_tokenizer *tokenizer); /* the chat template of the file; "": none */

enum sm_mark { SM_MARK_BOS, SM_MARK_EOS, SM_MARK_EOT, SM_MARK_UNKNOWN, SM_MARK_PAD, SM_MARKS };

/* The token that marks the beginning of a text, its end, the end of a turn ...; -1: there is none. */
int32_t sm_tokenizer_mark(const struct sm_tokenizer *tokenizer, enum sm_mark mark);

/* Whether a model that says this has ended its text or its turn. */
bool sm_tokenizer_ends(const struct sm_tokenizer *tokenizer, int32_t id);

/* The marker (a control or user-defined token) of that text, or -1. */
int32_t sm_tokenizer_marker(const struct sm_tokenizer *tokenizer, const char *text);

enum {
    SM_ENCODE_ADD_SPECIAL = 1, /* what the model wants around every text: bos, as a rule */
    SM_ENCODE_PLAIN = 2        /* control markers in the text are text */
};

/* *ids [*count] is the caller's to free; never NULL on success. 0; -1 and a sentence. */
int sm_tokenizer_encode(const struct sm_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags,
                        int32_t **ids, size_t *count, char *why, size_t why_bytes);

/* Text that grows by a token at a time. Start from {0}; release with sm_text_free. */
struct sm_text {
    char *at; /* [bytes], and a NUL after them; NULL: nothing yet */
    size_t bytes;
    size_t ready; /* of them may be shown: the rest is a character that has begun and not ended */
    size_t room;
    bool begun;
};

/* Appends a token's bytes; control tokens only with `markers`. 0; -1 and a sentence: there is no such token, or
 * no memory. */
int sm_text_add(struct sm_text *text, const struct sm_tokenizer *tokenizer, int32_t id, bool markers, char *why,
                size_t why_bytes);
void sm_text_free(struct sm_text *text);

/* All of them: *text (NUL-ended, [*bytes]) is the caller's to free. */
int sm_tokenizer_decode(const struct sm_tokenizer *tokenizer, const int32_t *ids, size_t count, bool markers,
                        char **text, size_t *bytes, char *why, size_t why_bytes);

/* Bytes of the longest beginning of a text that is UTF-8. */
size_t sm_utf8_valid(const char *text, size_t bytes);

#endif
