/* tokenizer_table.h - a tokenizer against a table of texts and ids that other implementations made. Tests only. */
#ifndef SM_TOKENIZER_TABLE_H
#define SM_TOKENIZER_TABLE_H

#include <jansson.h>

#include "tokenizer.h"

/* Encodes every row {"text", "ids" and others, "decoded"} of an array, with the ids of `key` expected, and decodes what
 * came out; fails the cmocka test that calls it on the first one that differs. Returns the rows. */
size_t tokenizer_table_check(const struct sm_tokenizer *t, const json_t *rows, const char *key, unsigned flags);

#endif
