/* A shape file of any bytes: refused with a sentence, or a shape that passes its own check. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sm_model_shape shape;
    struct sm_matmul_shape matmuls[SM_SHAPE_MAX_MATMULS];
    struct sm_attention_shape attentions[8];
    char why[512] = "", *text = malloc(size + 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    const int refused = sm_shape_parse(&shape, text, "the input", why, sizeof why);
    free(text);
    if (refused && !why[0]) abort();
    if (refused) return 0;
    if (sm_shape_check(&shape, why, sizeof why)) abort();
    (void)sm_shape_matmuls(&shape, matmuls, SM_SHAPE_MAX_MATMULS);
    (void)sm_shape_attentions(&shape, attentions, 8);
    (void)sm_shape_parameters(&shape);
    return 0;
}
