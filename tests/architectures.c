/* Every small model, from every file of it, against the reference results of its architecture: logits of one pass and
 * of a session of three turns, hidden states, per-layer embeddings, caches, rotary tables, greedy tokens, and what
 * TICO's static runtime made of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "runtime_fixture.h"
#include "tiny.h"

static char why[512];

/* The levels that this CPU has and the environment allows. */
static const char *level(size_t i, uint32_t *features)
{
    const char *name = sm_cpu_level(i, features);
    return name && (*features & ~sm_cpu_features()) == 0 ? name : NULL;
}

/* How many ways to run a source: an older config.json gives the very same model. */
static size_t ways(const struct tiny_source *s)
{
    return s->config ? 1 : 4;
}

/* Fails unless the difference is within the tolerance of logits, scaled by the spread of what is compared. */
static void within(const struct tiny *t, const char *what, size_t which, const float *got, const float *wanted,
                   size_t count)
{
    const double tolerance = t->tolerance * tiny_spread(wanted, count) / t->spread;
    const double off = difference(got, wanted, count);
    if (!(off <= tolerance)) fail_msg("%s: %s %zu is off by %g, tolerance %g", t->name, what, which, off, tolerance);
}

static void test_full(void **state)
{
    (void)state;
    for (const struct tiny_source *s = tiny_sources; s->model; s++) {
        struct tiny t;
        struct tiny_model l;
        struct golden gguf;
        uint32_t features;
        double most = 0;
        tiny_open(&t, s->model);
        tiny_load(&l, s);
        const float *logits = t.full_logits;
        if (s->logits) {
            char name[64];
            snprintf(name, sizeof name, "%s/gguf", s->model);
            golden_open(&gguf, name);
            logits = golden_floats(&gguf, s->logits, 2, NULL);
        }
        for (size_t i = 0; level(i, &features); i++)
            for (size_t way = 0; way < ways(s); way++) {
                const struct sm_session_options o = {
                    .max_seq = way & 2 ? 100 : t.full_count + 1, .kv = SM_KV_F32, .threads = 1 + way % 2};
                const double off =
                    tiny_full_difference(&t, l.model, features, &o, way & 1 ? SM_PAD_LEFT : SM_PAD_RIGHT, logits);
                if (!(off <= t.tolerance))
                    fail_msg("%s is off by %g, tolerance %g", tiny_source_name(s), off, t.tolerance);
                if (off > most) most = off;
            }
        print_message("%-46s off by %.2g of %.2g\n", tiny_source_name(s), most, t.tolerance);
        if (s->logits) golden_close(&gguf);
        tiny_unload(&l);
        tiny_close(&t);
    }
}

/* The sources whose weights are those of the reference results. */
static bool exact(const struct tiny_source *s)
{
    return !s->file || strstr(s->file, "-f32.gguf");
}

static void check_hidden(const struct tiny *t, const struct tiny_run *r)
{
    size_t sizes[3];
    const float *hidden = golden_floats(&t->golden, "hidden.full", 3, sizes);
    const float *normed = golden_floats(&t->golden, "hidden.final_norm", 2, NULL);
    const struct sm_plan *plan = sm_session_plan(r->session, SM_PHASE_PREFILL);
    const size_t each = sizes[1] * sizes[2];
    for (size_t l = 0; l < sizes[0]; l++)
        within(t, "what enters layer", l, sm_plan_hidden(plan, l), hidden + l * each, each);
    within(t, "the final norm", 0, sm_plan_hidden(plan, sizes[0]), normed, each);
    assert_null(sm_plan_hidden(plan, sizes[0] + 1));
    if (!json_object_get(t->golden.header, "hidden.per_layer_inputs")) {
        assert_null(sm_plan_per_layer(plan));
        return;
    }
    const float *inputs = golden_floats(&t->golden, "hidden.per_layer_inputs", 3, sizes);
    within(t, "per-layer embeddings", 0, sm_plan_per_layer(plan), inputs, sizes[0] * sizes[1] * sizes[2]);
}

static void test_hidden(void **state)
{
    (void)state;
    for (const struct tiny_source *s = tiny_sources; s->model; s++) {
        struct tiny t;
        struct tiny_model l;
        struct tiny_run r;
        uint32_t features;
        if (!exact(s)) continue;
        tiny_open(&t, s->model);
        tiny_load(&l, s);
        const struct sm_session_options o = {.max_seq = 48, .kv = SM_KV_F32, .threads = 2, .all_rows = true};
        for (size_t i = 0; level(i, &features); i++) {
            tiny_run_open(&r, l.model, features, &o);
            if (sm_session_prefill(r.session, t.full, t.full_count, SM_PAD_RIGHT, why, sizeof why)) fail_msg("%s", why);
            check_hidden(&t, &r);
            tiny_run_close(&r);
        }
        tiny_unload(&l);
        tiny_close(&t);
    }
}

/* The cache after a session: of golden tensors PREFIX.k.LAYER and PREFIX.v.LAYER. */
static void check_cache(const struct tiny *t, const struct golden *golden, const char *prefix, struct sm_session *s)
{
    const struct sm_cache *cache = sm_session_cache(s);
    static float slot[1024], all[47 * 1024];
    const json_t *kinds = json_object_get(t->golden.facts, "kv_layers");
    for (size_t l = 0; l < cache->layers; l++) {
        const json_t *kind = json_array_get(kinds, l);
        if (kind) assert_int_equal(json_is_true(json_object_get(kind, "owns_kv")), cache->layer[l].k != NULL);
        for (int values = 0; values <= 1 && cache->layer[l].k; values++) {
            char name[64];
            size_t sizes[3];
            snprintf(name, sizeof name, "%s.%s.%zu", prefix, values ? "v" : "k", l);
            const float *stored = golden_floats(golden, name, 3, sizes);
            const size_t rows = sizes[1], width = sizes[2];
            assert_true(sizes[0] == cache->layer[l].kv_heads && width == cache->layer[l].head_dim && rows <= 47);
            for (size_t p = 0; p < rows; p++) {
                sm_cache_read(cache, l, values, p, slot);
                for (size_t g = 0; g < sizes[0]; g++)
                    memcpy(all + (g * rows + p) * width, slot + g * width, width * sizeof *all);
            }
            within(t, name, l, all, stored, sizes[0] * rows * width);
        }
    }
}

static void check_row(const struct tiny *t, const struct sm_session *s, size_t position)
{
    const double off = difference(sm_session_logits(s), t->turns_logits + position * t->vocab, t->vocab);
    if (!(off <= t->tolerance))
        fail_msg("%s: position %zu is off by %g, tolerance %g", t->name, position, off, t->tolerance);
}

/* The session of three turns: prefill, decode, append, decode, append, decode. */
static void run_turns(const struct tiny *t, struct sm_session *s, enum sm_padding padding)
{
    for (size_t turn = 0; turn < t->turn_count; turn++) {
        const int32_t *tokens = t->turns + t->turn[turn].start;
        const size_t count = t->turn[turn].prompt;
        if (turn == 0 ? sm_session_prefill(s, tokens, count, padding, why, sizeof why)
                      : sm_session_append(s, tokens, count, why, sizeof why))
            fail_msg("%s: %s", t->name, why);
        for (size_t at = t->turn[turn].start + count;; at++) {
            check_row(t, s, at - 1);
            if (at == t->turn[turn].end) break;
            assert_int_equal(sm_session_argmax(s), t->turns[at]); /* greedy */
            if (sm_session_decode(s, t->turns[at], why, sizeof why)) fail_msg("%s: %s", t->name, why);
        }
    }
    assert_int_equal(sm_session_argmax(s), (int)golden_number(&t->golden, "next_token_after_session"));
}

static void test_turns(void **state)
{
    (void)state;
    for (const struct tiny_source *s = tiny_sources; s->model; s++) {
        struct tiny t;
        struct tiny_model l;
        uint32_t features;
        if (!exact(s)) continue;
        tiny_open(&t, s->model);
        tiny_load(&l, s);
        for (size_t i = 0; level(i, &features); i++)
            for (size_t way = 0; way < ways(s); way++) {
                struct tiny_run r;
                const struct sm_session_options o = {.max_seq = way & 2 ? 99 : 48,
                                                     .kv = SM_KV_F32,
                                                     .threads = 1 + way % 2,
                                                     .append_buckets = {way == 1 ? 7 : 17, 1},
                                                     .append_bucket_count = way == 3 ? 0 : 2,
                                                     .short_sliding = (way + i) % 3 == 1};
                tiny_run_open(&r, l.model, features, &o);
                run_turns(&t, r.session, way & 1 ? SM_PAD_LEFT : SM_PAD_RIGHT);
                check_cache(&t, &t.golden, "cache", r.session);
                tiny_run_close(&r);
            }
        tiny_unload(&l);
        tiny_close(&t);
    }
}

/* Consumers on the last row alone: what is left of prefill and append for them, with the same answers. */
static void test_last_row(void **state)
{
    (void)state;
    struct tiny t;
    struct tiny_model l;
    uint32_t features;
    tiny_open(&t, "gemma4-tiny");
    tiny_load(&l, &(struct tiny_source){.model = t.name});
    for (size_t i = 0; level(i, &features); i++)
        for (size_t way = 0; way < 8; way++) {
            struct tiny_run r;
            const struct sm_session_options o = {.max_seq = way & 2 ? 99 : 48,
                                                 .kv = SM_KV_F32,
                                                 .threads = 1 + way % 2,
                                                 .append_buckets = {7, 1},
                                                 .append_bucket_count = 2,
                                                 .concatenated = way % 3 == 1,
                                                 .short_sliding = way & 4,
                                                 .last_row = true};
            tiny_run_open(&r, l.model, features, &o);
            run_turns(&t, r.session, way & 1 ? SM_PAD_LEFT : SM_PAD_RIGHT);
            check_cache(&t, &t.golden, "cache", r.session);
            const struct sm_plan *plan = sm_session_plan(r.session, SM_PHASE_PREFILL);
            const struct sm_step *steps = sm_plan_steps(plan);
            size_t rows[SM_LAYER_KINDS] = {0}, copies = 0;
            for (size_t at = 0; at < sm_plan_step_count(plan); at++) {
                copies += steps[at].label == SM_LABEL_LAST_ROW;
                for (size_t share = 0; share < o.threads * steps[at].each && steps[at].label == SM_LABEL_ATTENTION;
                     share++)
                    if (steps[at].parts[share].row_end > rows[steps[at].kind])
                        rows[steps[at].kind] = steps[at].parts[share].row_end;
            }
            assert_int_equal(rows[SM_LAYER_SLIDING_DONOR], o.max_seq);
            assert_int_equal(rows[SM_LAYER_SLIDING_CONSUMER], 1);
            assert_int_equal(rows[SM_LAYER_FULL_CONSUMER], 1);
            assert_int_equal(copies, 4); /* the stream, per-layer embeddings, two masks */
            tiny_run_close(&r);
        }
    tiny_unload(&l);
    tiny_close(&t);
}

/* TICO's runtime of Gemma 4, which appends by single decodes. */
static void test_tico(void **state)
{
    (void)state;
    static const char *const models[] = {"gemma4-tiny", "gemma4-keqv-tiny"};
    for (size_t m = 0; m < 2; m++) {
        struct tiny t;
        struct tiny_model l;
        struct tiny_run r;
        struct golden tico;
        char name[64];
        size_t sizes[2];
        tiny_open(&t, models[m]);
        tiny_load(&l, &(struct tiny_source){.model = models[m]});
        snprintf(name, sizeof name, "%s/tico", models[m]);
        golden_open(&tico, name);
        const float *logits = golden_floats(&tico, "tico.decode_loop.logits", 2, sizes);
        const struct sm_session_options o = {.max_seq = 48, .kv = SM_KV_F32, .threads = 2};
        tiny_run_open(&r, l.model, sm_cpu_features(), &o);
        for (size_t at = t.turn[0].prompt;; at++) {
            if (at == t.turn[0].prompt ? sm_session_prefill(r.session, t.turns, at, SM_PAD_RIGHT, why, sizeof why)
                                       : sm_session_decode(r.session, t.turns[at - 1], why, sizeof why))
                fail_msg("%s", why);
            const double off =
                difference(sm_session_logits(r.session), logits + (at - t.turn[0].prompt) * t.vocab, t.vocab);
            if (!(off <= t.tolerance)) fail_msg("%s: TICO's position %zu is off by %g", models[m], at - 1, off);
            if (at == t.turns_count) break;
        }
        assert_int_equal(sizes[0], t.turns_count - t.turn[0].prompt + 1);
        check_cache(&t, &tico, "tico.decode_loop.cache", r.session);
        tiny_run_close(&r);
        golden_close(&tico);
        tiny_unload(&l);
        tiny_close(&t);
    }
}

/* The rotary rows of a kind of layer: the golden tables have each half twice. */
static void check_table(const struct golden *golden, const char *name, const float *ours, size_t half)
{
    size_t sizes[2];
    const float *table = golden_floats(golden, name, 2, sizes);
    assert_int_equal(sizes[1], 2 * half);
    for (size_t p = 0; p < sizes[0]; p++)
        for (size_t i = 0; i < 2 * half; i++) {
            const double off = fabs((double)table[p * 2 * half + i] - (double)ours[p * half + i % half]);
            /* one rounding of a frequency moves an angle by p 2^-24, and so does one of the angle itself */
            if (!(off <= ((double)p + 2) * 0x1p-23)) fail_msg("%s: position %zu, %zu is off by %g", name, p, i, off);
        }
}

static void test_rotary_tables(void **state)
{
    (void)state;
    for (const struct tiny_source *s = tiny_sources; s->model; s++) {
        struct tiny t;
        struct tiny_model l;
        struct sm_positions *positions;
        tiny_open(&t, s->model);
        tiny_load(&l, s);
        if (sm_positions_create(&positions, l.model, 48, why, sizeof why)) fail_msg("%s", why);
        const bool by_kind = json_object_get(t.golden.header, "rope.full.cos");
        for (size_t i = 0; i < l.model->shape.layers; i++) {
            const struct sm_rotation *r = &positions->rotation[positions->of_layer[i]];
            const char *kind = !by_kind ? "" : l.model->shape.layer[i].window ? ".sliding" : ".full";
            char name[64];
            snprintf(name, sizeof name, "rope%s.cos", kind);
            check_table(&t.golden, name, r->cos, r->head_dim / 2);
            snprintf(name, sizeof name, "rope%s.sin", kind);
            check_table(&t.golden, name, r->sin, r->head_dim / 2);
        }
        sm_positions_destroy(positions);
        tiny_unload(&l);
        tiny_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rotary_tables), cmocka_unit_test(test_full),
                                       cmocka_unit_test(test_hidden),        cmocka_unit_test(test_turns),
                                       cmocka_unit_test(test_last_row),      cmocka_unit_test(test_tico)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
