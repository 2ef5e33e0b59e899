/* embedding.h - rows of an embedding table by token, dequantised and scaled: embedding_{f32,f16,q4_0,q4_1,q8_0}.
 *
 *     y[r][c] = table[token[r]][c] * scale
 *
 * table is [vocab][cols] as in the file (GGUF blocks: quant.h), read where it is mapped. A part is rows x all
 * columns (its column range is ignored). The caller promises: 0 <= token < vocab; cols a multiple of 32 for block
 * formats. Every variant gives the same bits: each dequantised value rounds at most once (n d and q d are exact in a
 * float), its product with scale once more. */
#ifndef SM_EMBEDDING_H
#define SM_EMBEDDING_H

#include "registry.h"

struct sm_embedding {
    float *y;
    size_t y_stride;
    const int32_t *token;
    const void *table;
    size_t rows, cols, vocab;
    float scale;
};

enum { SM_EMBEDDING_ROWS, SM_EMBEDDING_COLS, SM_EMBEDDING_VOCAB, SM_EMBEDDING_DIMS };

#endif
