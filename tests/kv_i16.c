/* Keys and values in int16 under static scales: sessions of the small models against the same with a float cache, at
 * every level of dispatch; what the slots hold; and what is refused where no scales are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "runtime_fixture.h"
#include "tiny.h"

#define MAX_SEQ 48
#define PEIR_KV_I16 0.0002 /* the share of the logits' interval that an int16 cache may move a logit */

static char why[512];
static float scales[SM_SHAPE_MAX_LAYERS][2];

/* The logits of each call's last token of a model's session [turns_count][vocab], zeros elsewhere. */
static float *session_logits(const struct tiny *t, struct sm_session *s)
{
    float *logits = calloc(t->turns_count * t->vocab, sizeof *logits);
    assert_non_null(logits);
    for (size_t i = 0, at; i < t->turn_count; i++) {
        const size_t start = t->turn[i].start, prompt = t->turn[i].prompt;
        if (i == 0 ? sm_session_prefill(s, t->turns, prompt, SM_PAD_LEFT, why, sizeof why)
                   : sm_session_append(s, t->turns + start, prompt, why, sizeof why))
            fail_msg("%s: %s", t->name, why);
        for (at = start + prompt - 1;; at++) {
            memcpy(logits + at * t->vocab, sm_session_logits(s), t->vocab * sizeof *logits);
            if (at + 1 == t->turn[i].end) break;
            if (sm_session_decode(s, t->turns[at + 1], why, sizeof why)) fail_msg("%s: %s", t->name, why);
        }
    }
    return logits;
}

static struct sm_session_options session_options(enum sm_kv_type kv, size_t threads)
{
    return (struct sm_session_options){.max_seq = MAX_SEQ,
                                       .kv = kv,
                                       .kv_scales = (const float(*)[2])scales,
                                       .threads = threads,
                                       .append_buckets = {1, 8},
                                       .append_bucket_count = 2};
}

struct opened {
    struct tiny t;
    struct tiny_model m;
    struct sm_weights *weights; /* "float" */
    struct sm_session *wide;    /* with a float cache, after the session of the reference results */
    float *logits;              /* of that */
};

/* Fills `scales` from what the float cache comes to hold: what a calibration on the same text would find. */
static void find_scales(const struct sm_cache *c)
{
    float slot[1024];
    for (size_t l = 0; l < c->layers; l++)
        for (int values = 0; values <= 1; values++) {
            float most = 0;
            for (size_t p = 0; p < MAX_SEQ - 1 && c->layer[l].k; p++) {
                sm_cache_read(c, l, values, p, slot);
                for (size_t i = 0; i < c->layer[l].kv_heads * c->layer[l].head_dim; i++)
                    most = fmaxf(most, fabsf(slot[i]));
            }
            scales[l][values] = most / 32767; /* 0 for a layer without keys: nobody looks at it */
        }
}

static void open_model(struct opened *o, const struct tiny_source *source)
{
    const struct sm_choice choice = {.features = sm_cpu_features()};
    const struct sm_session_options options = session_options(SM_KV_F32, 1);
    tiny_open(&o->t, source->model);
    tiny_load(&o->m, source);
    if (sm_weights_create(&o->weights, o->m.model, "float", &choice, why, sizeof why) ||
        sm_session_create(&o->wide, o->weights, &options, why, sizeof why))
        fail_msg("%s", why);
    o->logits = session_logits(&o->t, o->wide);
    find_scales(sm_session_cache(o->wide));
}

static void close_model(struct opened *o)
{
    sm_session_destroy(o->wide);
    sm_weights_destroy(o->weights);
    free(o->logits);
    tiny_unload(&o->m);
    tiny_close(&o->t);
}

/* A session in int16; the caller frees the logits. */
static float *i16_logits(const struct opened *o, const struct sm_choice *choice,
                         const struct sm_session_options *options)
{
    struct sm_weights *w = NULL;
    struct sm_session *s = NULL;
    if (sm_weights_create(&w, o->m.model, "float", choice, why, sizeof why) ||
        sm_session_create(&s, w, options, why, sizeof why))
        fail_msg("%s", why);
    float *logits = session_logits(&o->t, s);
    sm_session_destroy(s);
    sm_weights_destroy(w);
    return logits;
}

/* Every model, level and team (a third thread changes how attention cuts heads, and so roundings); and with the
 * attention scale in the keys, whose scales then shrink with them. */
static void test_against_float(void **state)
{
    (void)state;
    for (const struct tiny_source *s = tiny_sources; s->model; s++) {
        struct opened o;
        struct sm_choice choice = {0};
        double worst = 0;
        if (s->config || s->file) continue;
        open_model(&o, s);
        const size_t count = o.t.turns_count * o.t.vocab;
        for (size_t i = 0; sm_cpu_level(i, &choice.features); i++) {
            if (choice.features & ~sm_cpu_features()) continue;
            for (choice.scale_in = 0; choice.scale_in < SM_SCALE_INS; choice.scale_in++) {
                float *of_one = NULL;
                for (size_t threads = 1; threads <= 3; threads++) {
                    const struct sm_session_options options = session_options(SM_KV_I16, threads);
                    float *logits = i16_logits(&o, &choice, &options);
                    const double share = peir(o.logits, logits, count);
                    assert_true(share > 0); /* it did something */
                    worst = fmax(worst, share);
                    if (threads == 2) assert_memory_equal(of_one, logits, count * sizeof *logits);
                    if (threads == 1)
                        of_one = logits;
                    else
                        free(logits);
                }
                free(of_one);
            }
        }
        print_message("%s, KV in i16: PEIR %.6f\n", s->model, worst);
        if (!(worst <= PEIR_KV_I16)) fail_msg("%s: PEIR %g, bound %g", s->model, worst, PEIR_KV_I16);
        close_model(&o);
    }
}

/* Layers with a window read the slots it reaches, and attention one segment that both are copied to, under the same
 * scale: the same answers as all columns in two segments, but for what sums in another order tip over to the next
 * int16.
 */
static void test_other_layouts(void **state)
{
    (void)state;
    const struct tiny_source source = {.model = "gemma3-tiny"};
    struct sm_choice choice = {0};
    struct opened o;
    open_model(&o, &source);
    for (size_t i = 0; sm_cpu_level(i, &choice.features); i++) {
        if (choice.features & ~sm_cpu_features()) continue;
        struct sm_session_options options = session_options(SM_KV_I16, 1);
        float *usual = i16_logits(&o, &choice, &options);
        for (int layout = 1; layout < 4; layout++) {
            options.short_sliding = layout & 1;
            options.concatenated = layout & 2;
            float *other = i16_logits(&o, &choice, &options);
            const double share = peir(usual, other, o.t.turns_count * o.t.vocab);
            if (!(share <= PEIR_KV_I16)) fail_msg("layout %d: PEIR %g, bound %g", layout, share, PEIR_KV_I16);
            free(other);
        }
        free(usual);
    }
    close_model(&o);
}

/* Slots of the first layer, whose inputs are the same bits, are within half a step of the float ones. Under scales that
 * are too small they are clamped, finite, and elsewhere. */
static void test_slots(void **state)
{
    (void)state;
    const struct tiny_source source = {.model = "llama-tiny"};
    struct opened o;
    open_model(&o, &source);
    const size_t width = o.m.model->shape.layer[0].kv_heads * o.m.model->shape.layer[0].head_dim;
    for (int small = 0; small <= 1; small++) {
        struct sm_session *s;
        const struct sm_session_options options = session_options(SM_KV_I16, 1);
        const struct sm_cache *wide = sm_session_cache(o.wide);
        for (size_t l = 0; small && l < wide->layers; l++) scales[l][0] /= 2, scales[l][1] /= 2;
        if (sm_session_create(&s, o.weights, &options, why, sizeof why)) fail_msg("%s", why);
        free(session_logits(&o.t, s));
        const struct sm_cache *c = sm_session_cache(s);
        float x[256], y[256];
        size_t ends = 0;
        for (int values = 0; values <= 1; values++)
            for (size_t p = 0; p < MAX_SEQ - 1; p++) {
                const float step = scales[0][values];
                sm_cache_read(wide, 0, values, p, x);
                sm_cache_read(c, 0, values, p, y);
                for (size_t i = 0; i < width; i++) {
                    const float most = 32767 * step, in = x[i] > most            ? most
                                                          : x[i] < -32768 * step ? -32768 * step
                                                                                 : x[i];
                    ends += in != x[i];
                    if (!(fabsf(y[i] - in) <= 0.51f * step))
                        fail_msg("slot %zu element %zu is %g for %g, step %g", p, i, (double)y[i], (double)x[i],
                                 (double)step);
                }
            }
        assert_true(small ? ends > 0 : ends <= 2); /* the largest itself may round beyond 32767 */
        sm_session_reset(s);
        for (size_t p = 0; p < MAX_SEQ - 1; p++) {
            sm_cache_read(c, 1, 0, p, y);
            for (size_t i = 0; i < width; i++) assert_true(y[i] == 0);
        }
        sm_session_destroy(s);
    }
    close_model(&o);
}

static void refused(const struct opened *o, const struct sm_session_options *options, const char *sentence)
{
    struct sm_session *s = NULL;
    assert_int_equal(sm_session_create(&s, o->weights, options, why, sizeof why), -1);
    if (!strstr(why, sentence)) fail_msg("expected '%s' in: %s", sentence, why);
}

static void test_refusals(void **state)
{
    (void)state;
    const struct tiny_source source = {.model = "llama-tiny"};
    struct opened o;
    open_model(&o, &source);
    struct sm_session_options options = session_options(SM_KV_I16, 1);
    const float right = scales[1][1];
    for (int i = 0; i < 4; i++) {
        scales[1][1] = (float[]){0, -1, NAN, INFINITY}[i];
        refused(&o, &options, "the scale of the values of layer 1 is ");
    }
    scales[1][1] = right;
    options.kv_scales = NULL;
    refused(&o, &options, "slotmark scales");
    close_model(&o);
}

/* Synthetic weights need no scales from outside. */
static void test_synthetic(void **state)
{
    (void)state;
    static struct sm_model_shape shape;
    static const int32_t tokens[] = {3, 1, 4, 1, 5, 9, 2, 6};
    const struct sm_choice choice = {.features = sm_cpu_features()};
    struct fixture f = {0};
    float wide[128];
    assert_int_equal(sm_shape_load(&shape, "smollm2-135m", why, sizeof why), 0);
    shape.layers = 3;
    shape.vocab = 128;
    for (enum sm_kv_type kv = SM_KV_F32;; kv = SM_KV_I16) {
        const struct sm_session_options options = {.max_seq = 24, .kv = kv, .threads = 1};
        if (sm_model_synthetic(&f.model, &shape, &(struct sm_synthetic){.format = SM_FORMAT_F32, .seed = 3}, why,
                               sizeof why) ||
            sm_weights_create(&f.weights, f.model, "float", &choice, why, sizeof why) ||
            sm_session_create(&f.session, f.weights, &options, why, sizeof why) ||
            sm_session_prefill(f.session, tokens, 8, SM_PAD_RIGHT, why, sizeof why) ||
            sm_session_decode(f.session, 100, why, sizeof why))
            fail_msg("%s", why);
        if (kv == SM_KV_F32)
            memcpy(wide, sm_session_logits(f.session), sizeof wide);
        else
            assert_true(peir(wide, sm_session_logits(f.session), 128) <= 0.002);
        fixture_close(&f);
        if (kv == SM_KV_I16) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_float), cmocka_unit_test(test_other_layouts), cmocka_unit_test(test_slots),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_synthetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
