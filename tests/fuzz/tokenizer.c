/* A tokenizer of any bytes, GGUF or JSON: refused with a sentence, or asked for a text and for that text back. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tokenizer.h"

static void ask(const struct sm_tokenizer *t, const char *text, size_t bytes)
{
    char why[512] = "", *back;
    int32_t *ids;
    size_t count, back_bytes;
    for (unsigned flags = 0; flags < 4; flags++) {
        if (sm_tokenizer_encode(t, text, bytes, flags, &ids, &count, why, sizeof why)) {
            if (!why[0]) abort();
            continue;
        }
        for (size_t i = 0; i < count; i++)
            if (ids[i] < 0 || (size_t)ids[i] >= sm_tokenizer_size(t)) abort();
        if (!sm_tokenizer_decode(t, ids, count, flags & 1, &back, &back_bytes, why, sizeof why)) free(back);
        free(ids);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "The mill's 37 wheels, \xe6\xb0\xb4 \xc3\xa9\xff <s>  aaab\n\n\t<|im_start|>x";
    char why[512] = "";
    struct sm_tokenizer *t;
    void *copy = malloc(size ? size : 1); /* ends where the bytes end, so that a sanitizer sees what reads on */
    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    if (sm_tokenizer_open_memory(&t, copy, size, why, sizeof why)) {
        if (!why[0]) abort(); /* refused without a sentence */
    } else {
        ask(t, text, sizeof text - 1);
        ask(t, copy, size < 200 ? size : 200);
        sm_tokenizer_close(t);
    }
    free(copy);
    return 0;
}
