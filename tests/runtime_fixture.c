#include "runtime_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"

void fixture_open(struct fixture *f, const struct fixture_options *o)
{
    char why[512] = "no sentence was written";
    const struct sm_choice choice = {.features = o->features};
    const struct sm_session_options options = {
        .max_seq = o->max_seq, .kv = o->kv, .threads = o->threads, .all_rows = o->all_rows};
    memset(f, 0, sizeof *f);
    if (sm_model_open(&f->model, o->file, why, sizeof why) ||
        sm_weights_create(&f->weights, f->model, o->recipe, &choice, why, sizeof why) ||
        sm_session_create(&f->session, f->weights, &options, why, sizeof why))
        fail_msg("%s", why);
}

struct sm_scales *fixture_scales(const struct sm_model *model, const char *recipe)
{
    char why[512];
    int32_t tokens[24];
    struct sm_scales *scales = NULL;
    const struct sm_choice choice = {.features = sm_cpu_features()};
    const struct sm_calibration how = {.window = 12, .threads = 1};
    if (!sm_recipe_needs_scales(recipe)) return NULL;
    for (size_t i = 0; i < 24; i++) tokens[i] = (int32_t)(i * 7 % model->shape.vocab);
    if (sm_scales_measure(&scales, model, recipe, &choice, tokens, 24, &how, why, sizeof why)) fail_msg("%s", why);
    return scales;
}

bool fixture_holds(const struct sm_model *model, const char *recipe)
{
    char why[512];
    struct sm_weights *weights = NULL;
    const struct sm_choice choice = {.features = sm_cpu_features(), .weights_only = true};
    if (sm_weights_create(&weights, model, recipe, &choice, why, sizeof why) && !strstr(why, "cannot hold rows of"))
        fail_msg("%s", why);
    sm_weights_destroy(weights);
    return weights != NULL;
}

void fixture_close(struct fixture *f)
{
    sm_session_destroy(f->session);
    sm_weights_destroy(f->weights);
    sm_model_close(f->model);
}

double difference(const float *a, const float *b, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        const double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= most)) most = d; /* a NaN stays */
    }
    return most;
}

double peir(const float *base, const float *target, size_t count)
{
    double low = (double)base[0], high = low;
    for (size_t i = 0; i < count; i++) {
        if ((double)base[i] < low) low = (double)base[i];
        if ((double)base[i] > high) high = (double)base[i];
    }
    return difference(base, target, count) / (high > low ? high - low : 1);
}
