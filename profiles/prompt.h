/* prompt.h - prompts as text: a model's tokenizer, its usual turn markers, and what it says shown as text. */
#ifndef SM_PROMPT_H
#define SM_PROMPT_H

#include <stdio.h>

#include "model.h"
#include "tokenizer.h"

/* The tokenizer in a model's file or folder, with no more tokens than the model knows. Synthetic models have none.
 * 0; -1 and a sentence. */
int sm_prompt_tokenizer(struct sm_tokenizer **tokenizer, const struct sm_model *model, char *why, size_t why_bytes);

/* A whole file: *text [*bytes] and a NUL, the caller's to free. 0; -1 and a sentence. */
int sm_prompt_read(const char *path, char **text, size_t *bytes, char *why, size_t why_bytes);

/* A user's text as the one turn of a chat that the model is to answer, in the markers that its vocabulary has: ChatML
 * (<|im_start|>), Llama 3 (<|start_header_id|>), Gemma 2 and 3 (<start_of_turn>), Gemma 4 (<|turn>). In ChatML the
 * system message that the file's own chat template begins with by default goes before it; no other template is heeded.
 * The text ends where its trailing white space begins. *chat is the caller's to free. 0; -1 and a sentence. */
int sm_prompt_chat(const struct sm_tokenizer *tokenizer, const char *text, char **chat, char *why, size_t why_bytes);

/* The tokens of a text, at least one; flags as of sm_tokenizer_encode. *tokens is the caller's to free. */
int sm_prompt_tokens(const struct sm_tokenizer *tokenizer, const char *text, size_t bytes, unsigned flags,
                     int32_t **tokens, size_t *count, char *why, size_t why_bytes);

/* Writes tokens as text up to the one that ends it: no control characters but line feeds and tabs, and U+FFFD for what
 * is no UTF-8. 0; -1 and a sentence. */
int sm_prompt_show(FILE *out, const struct sm_tokenizer *tokenizer, const int32_t *tokens, size_t count, char *why,
                   size_t why_bytes);

#endif
