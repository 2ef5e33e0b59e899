/* A config.json and a model.safetensors of any bytes: refused with a sentence, or loaded, packed, planned and run.
 * The input is the length of the config in 4 bytes, the config, and the tensors' file. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "hf_target.h"
#include "model_run.h"

/* A copy that ends where the bytes end, so that a sanitizer sees what reads on. */
static void *copy_of(const void *bytes, size_t count)
{
    void *copy = NULL;
    if (posix_memalign(&copy, 64, count ? count : 1)) abort();
    if (count) memcpy(copy, bytes, count);
    return copy;
}

int hf_target(const void *config, size_t config_bytes, const void *tensors, size_t tensor_bytes, char *why,
              size_t why_bytes)
{
    struct sm_model *model = NULL;
    void *text = copy_of(config, config_bytes), *file = copy_of(tensors, tensor_bytes);
    int ran = 0;
    why[0] = '\0';
    if (!sm_model_open_config(&model, text, config_bytes, file, tensor_bytes, why, why_bytes))
        ran = model_run(model, why, why_bytes);
    sm_model_close(model);
    free(text);
    free(file);
    if (!ran && !why[0]) abort(); /* refused without a sentence */
    return ran;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t length;
    char why[512];
    if (size < sizeof length) return 0;
    memcpy(&length, data, sizeof length);
    data += sizeof length;
    size -= sizeof length;
    if (length > size) length = (uint32_t)size;
    (void)hf_target(data, length, data + length, size - length, why, sizeof why);
    return 0;
}
