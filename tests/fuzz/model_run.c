#include "model_run.h"

#include <stdlib.h>

#include "cpu.h"
#include "run.h"

int model_run(const struct sm_model *model, char *why, size_t why_bytes)
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
