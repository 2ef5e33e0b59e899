/* tokens.h - the tokens of a prompt: from a file of numbers, or from a seed. */
#ifndef SM_TOKENS_H
#define SM_TOKENS_H

#include <stddef.h>
#include <stdint.h>

/* Reads whole numbers in [0, vocab) separated by white space or commas. *tokens is the caller's to free. */
int sm_tokens_read(const char *path, size_t vocab, int32_t **tokens, size_t *count, char *why, size_t why_bytes);

/* `count` tokens in [0, vocab), the same for the same seed; NULL: no memory. The caller frees them. */
int32_t *sm_tokens_random(size_t count, size_t vocab, uint64_t seed);

#endif
