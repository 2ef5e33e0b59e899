/* A model file of any bytes: refused with a sentence, or loaded, packed, planned and run. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gguf_target.h"
#include "model_run.h"

int gguf_target(const void *bytes, size_t count, char *why, size_t why_bytes)
{
    struct sm_model *model = NULL;
    void *copy = NULL; /* ends where the bytes end, so that a sanitizer sees what reads on */
    int ran = 0;
    why[0] = '\0';
    if (posix_memalign(&copy, 64, count ? count : 1)) abort();
    memcpy(copy, bytes, count);
    if (!sm_model_open_memory(&model, copy, count, why, why_bytes)) ran = model_run(model, why, why_bytes);
    sm_model_close(model);
    free(copy);
    if (!ran && !why[0]) abort(); /* refused without a sentence */
    return ran;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[512];
    static const uint8_t nothing[1];
    (void)gguf_target(data ? data : nothing, size, why, sizeof why);
    return 0;
}
