#include "tiny.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime_fixture.h"

#define PUBLISHED "config.published-style.json"

const struct tiny_source tiny_sources[] = {
    {"llama-tiny", NULL, NULL, NULL},
    {"llama-tiny", NULL, PUBLISHED, NULL},
    {"llama-tiny", "llama-tiny-f32.gguf", NULL, "gguf.f32.logits"},
    {"llama-tiny", "llama-tiny-f16.gguf", NULL, "gguf.f16.logits"},
    {"llama-tiny", "llama-tiny-q8_0.gguf", NULL, "gguf.q8_0.logits"},
    {"llama-tiny", "llama-tiny-q4_0.gguf", NULL, "gguf.q4_0.logits"},
    {"llama3-rope-tiny", NULL, NULL, NULL},
    {"llama3-rope-tiny", NULL, PUBLISHED, NULL},
    {"llama3-rope-tiny", "llama3-rope-tiny-f32.gguf", NULL, "gguf.f32.logits"},
    {"gemma2-tiny", NULL, NULL, NULL},
    {"gemma2-tiny", NULL, PUBLISHED, NULL},
    {"gemma2-tiny", "gemma2-tiny-f16.gguf", NULL, "gguf.f16.logits"},
    {"gemma3-tiny", NULL, NULL, NULL},
    {"gemma3-tiny", NULL, PUBLISHED, NULL},
    {"gemma3-tiny", "gemma3-tiny-f16.gguf", NULL, "gguf.f16.logits"},
    {"gemma3-tiny", "gemma3-tiny-q8_0.gguf", NULL, "gguf.q8_0.logits"},
    {"gemma4-tiny", NULL, NULL, NULL},
    {"gemma4-tiny", NULL, PUBLISHED, NULL},
    {"gemma4-tiny", "gemma4-tiny-f16.gguf", NULL, "gguf.f16.logits"},
    {"gemma4-keqv-tiny", NULL, NULL, NULL},
    {"gemma4-keqv-tiny", NULL, PUBLISHED, NULL},
    {0},
};

static char why[512];

static size_t size_in(const json_t *of, const char *key)
{
    return (size_t)json_integer_value(json_object_get(of, key));
}

void tiny_open(struct tiny *t, const char *name)
{
    char path[128];
    size_t sizes[2];
    snprintf(path, sizeof path, "%s/golden", name);
    *t = (struct tiny){.name = name};
    golden_open(&t->golden, path);
    t->full = golden_ints(&t->golden, "full.tokens", 1, &t->full_count);
    t->turns = golden_ints(&t->golden, "turns.tokens", 1, &t->turns_count);
    t->full_logits = golden_floats(&t->golden, "full.logits", 2, sizes);
    t->vocab = sizes[1];
    t->turns_logits = golden_floats(&t->golden, "turns.logits", 2, NULL);
    t->tolerance = 4 * golden_number(&t->golden, "float32_vs_float64_max_abs");
    t->spread = tiny_spread(t->full_logits, t->full_count * t->vocab);
    const json_t *turns = json_object_get(t->golden.facts, "turns");
    t->turn_count = json_array_size(turns);
    assert_true(t->turn_count >= 1 && t->turn_count <= TINY_MAX_TURNS);
    for (size_t i = 0; i < t->turn_count; i++) {
        const json_t *turn = json_array_get(turns, i);
        t->turn[i].start = size_in(turn, "past_len");
        t->turn[i].prompt = size_in(turn, "n_tokens");
        t->turn[i].end = t->turn[i].start + t->turn[i].prompt + size_in(turn, "decode_steps");
    }
    assert_int_equal(t->turn[t->turn_count - 1].end, t->turns_count);
}

void tiny_close(struct tiny *t)
{
    golden_close(&t->golden);
}

const char *tiny_source_name(const struct tiny_source *s)
{
    static char name[128];
    snprintf(name, sizeof name, "%s/%s", s->model, s->file ? s->file : s->config ? s->config : "");
    return name;
}

static void *read_whole(const char *model, const char *file, size_t *bytes)
{
    char name[128];
    snprintf(name, sizeof name, "%s/%s", model, file);
    FILE *in = fopen(golden_path(name), "rb");
    if (!in || fseek(in, 0, SEEK_END)) fail_msg("cannot read %s", name);
    *bytes = (size_t)ftell(in);
    rewind(in);
    void *at = aligned_alloc(64, (*bytes + 64) / 64 * 64);
    if (!at || fread(at, 1, *bytes, in) != *bytes) fail_msg("cannot read %s", name);
    fclose(in);
    return at;
}

void tiny_load(struct tiny_model *l, const struct tiny_source *s)
{
    *l = (struct tiny_model){0};
    if (s->config) {
        size_t config_bytes, bytes;
        char *config = read_whole(s->model, s->config, &config_bytes);
        l->bytes = read_whole(s->model, "model.safetensors", &bytes);
        if (sm_model_open_config(&l->model, config, config_bytes, l->bytes, bytes, why, sizeof why))
            fail_msg("%s: %s", tiny_source_name(s), why);
        free(config);
    } else if (sm_model_open(&l->model, golden_path(s->file ? tiny_source_name(s) : s->model), why, sizeof why)) {
        fail_msg("%s: %s", tiny_source_name(s), why);
    }
}

void tiny_unload(struct tiny_model *l)
{
    sm_model_close(l->model);
    free(l->bytes);
}

void tiny_run_open(struct tiny_run *r, const struct sm_model *model, uint32_t features,
                   const struct sm_session_options *options)
{
    const struct sm_choice choice = {.features = features};
    *r = (struct tiny_run){0};
    if (sm_weights_create(&r->weights, model, "float", &choice, why, sizeof why) ||
        sm_session_create(&r->session, r->weights, options, why, sizeof why))
        fail_msg("%s: %s", model->shape.name, why);
}

void tiny_run_close(struct tiny_run *r)
{
    sm_session_destroy(r->session);
    sm_weights_destroy(r->weights);
}

double tiny_spread(const float *x, size_t count)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, (double)x[i]);
        high = fmax(high, (double)x[i]);
    }
    return high - low;
}

double tiny_full_difference(const struct tiny *t, const struct sm_model *model, uint32_t features,
                            const struct sm_session_options *options, enum sm_padding padding, const float *logits)
{
    struct tiny_run r;
    double most = 0;
    struct sm_session_options all = *options;
    all.all_rows = true;
    tiny_run_open(&r, model, features, &all);
    if (sm_session_prefill(r.session, t->full, t->full_count, padding, why, sizeof why)) fail_msg("%s", why);
    for (size_t i = 0; i < t->full_count; i++) {
        const double off = difference(sm_session_token_logits(r.session, i), logits + i * t->vocab, t->vocab);
        if (!(off <= most)) most = off; /* a NaN stays */
    }
    tiny_run_close(&r);
    return most;
}
