/* A model file of any bytes: refused with a sentence, or loaded, packed, planned and run. */
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "fuzz.h"
#include "gguf_target.h"
#include "run.h"

/* 1 when it ran, 0 when it was refused. */
static int run_model(const struct sm_model *model, char *why, size_t why_bytes)
{
    const struct sm_choice choice = {.features = sm_cpu_features()};
    const struct sm_session_options options = {.max_seq = 6, .kv = SM_KV_I8, .threads = 1};
    const int32_t tokens[3] = {0, (int32_t)(model->shape.vocab - 1), 0};
    struct sm_weights *weights = NULL;
    struct sm_session *session = NULL;
    int ran = 0;
    if (!sm_weights_create(&weights, model, "native", &choice, why, why_bytes) &&
        !sm_session_create(&session, weights, &options, why, why_bytes))
        ran = !sm_session_prefill(session, tokens, 3, SM_PAD_LEFT, why, why_bytes) &&
              !sm_session_decode(session, tokens[1], why, why_bytes);
    if (ran && (sm_session_argmax(session) < 0 || (size_t)sm_session_argmax(session) >= model->shape.vocab)) abort();
    sm_session_destroy(session);
    sm_weights_destroy(weights);
    return ran;
}

int gguf_target(const void *bytes, size_t count, char *why, size_t why_bytes)
{
    struct sm_model *model = NULL;
    void *copy = NULL; /* ends where the bytes end, so that a sanitizer sees what reads on */
    int ran = 0;
    why[0] = '\0';
    if (posix_memalign(&copy, 64, count ? count : 1)) abort();
    memcpy(copy, bytes, count);
    if (!sm_model_open_memory(&model, copy, count, why, why_bytes)) ran = run_model(model, why, why_bytes);
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
