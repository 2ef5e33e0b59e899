/* model_file.h - the real models that some tests use, where they are there. Tests only. */
#ifndef SM_MODEL_FILE_H
#define SM_MODEL_FILE_H

/* The path of a file in the cache that scripts/fetch-model keeps, in a buffer that the next call reuses; or NULL and a
 * line on stdout that it is not there. */
const char *model_file(const char *name);

#define SMOLLM2_FILE "SmolLM2-135M-Instruct.Q4_1.gguf"
#define GEMMA3_FILE "gemma-3-270m-q4_k_m.gguf"

#endif
