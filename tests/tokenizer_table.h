/* tokenizer_table.h - a tokenizer against a table of texts and ids that other implementations made. Tests only. */
#ifndef SM_TOKENIZER_TABLE_H
#define SM_TOKENIZER_TABLE_H

#include <jansson.h>

#include "tokenizer.h"

/* Encodes and decodes every row {"text" or "utf8_hex", "ids", "decoded"} of an array; fails the cmocka test that calls
 * it on the first one that differs. Returns the rows. */
size_t tokenizer_table_check(const struct sm_tokenizer *t, const json_t *rows, unsigned flags);

#endif
