/* Properties that hold for every model, prompt and configuration: what a session answers does not depend on how its
 * tokens were cut into calls, on K, buckets, padding, threads, instruction set or layout, nor on what unused slots
 * hold.
 *
 *     test_properties [shard shards [property]]      SM_SEED sets the seed; SM_CASES how many cases a shard tries
 *
 * A case is a random model, session and configuration; its answer for every token is held against one prefill of all
 * tokens. The last lines say the largest difference seen for each property, as a share of the largest logit. */
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
#include "random.h"
#include "random_model.h"
#include "runtime_fixture.h"

#define TOKENS_MOST 40
#define VOCAB_MOST 64
#define CASES 3300

/* How far an answer may be off, as a share of the largest logit. Float sums that are ordered otherwise differ by some
 * 2^-24 a term; where keys and values or rows are rounded to fewer bits, one that lies between two steps may go to
 * either. */
static const double tolerance_float[SM_KV_TYPES] = {
    [SM_KV_F32] = 3e-5, [SM_KV_F16] = 4e-3, [SM_KV_I8] = 0.03, [SM_KV_I16] = 4e-3};
#define TOLERANCE_NATIVE 0.3

enum property {
    CHUNKED,
    DECODE_LOOP,
    LEFT_PADDING,
    LONGER_K,
    POISONED,
    THREADS,
    LEVEL,
    SHORT_SLIDING,
    CONCATENATED,
    TRUNCATED,
    ONE_ROW,
    EVERYTHING,
    PROPERTIES
};

static const char *const names[PROPERTIES] = {
    "chunked any way", "decode loop",   "left padding", "another K",  "unused slots poisoned", "two threads",
    "level",           "short sliding", "concatenated", "going back", "one row at the end",    "all at once"};

static char why[512];
static double worst[PROPERTIES][SM_KV_TYPES + 1];
static size_t done_cases[PROPERTIES];

/* A model, the tokens of a session, and what one prefill says after each of them. */
struct subject {
    struct random_model random;
    const char *recipe;
    enum sm_kv_type kv;
    int32_t tokens[TOKENS_MOST];
    size_t count;
    float logits[TOKENS_MOST * VOCAB_MOST];
    double largest;
    uint64_t seed;
};

/* How a case goes about it. */
struct way {
    enum property property;
    struct sm_session_options options;
    uint32_t features;
    enum sm_padding padding;
    bool decode_all, poison, go_back, one_row;
    uint64_t seed; /* of the turns */
};

struct answer {
    float logits[TOKENS_MOST * VOCAB_MOST];
    size_t vocab, past;
    bool keep, one_row; /* only the last token of each call is answered for */
    const struct sm_session *session;
};

static void keep_logits(void *state, const struct sm_chunk *chunk)
{
    struct answer *a = state;
    if (!a->keep) return;
    assert_int_equal(chunk->past, chunk->phase == SM_PHASE_PREFILL ? 0 : a->past);
    for (size_t i = a->one_row ? chunk->count - 1 : 0; i < chunk->count; i++)
        memcpy(a->logits + (chunk->past + i) * a->vocab, sm_session_token_logits(a->session, i),
               a->vocab * sizeof(float));
    a->past = chunk->past + chunk->count;
}

/* Slots hold large finite numbers: keys that no logit makes up for a mask of -120 with, and values
 * that would show. */
static void poison_element(const struct sm_cache *c, size_t l, size_t head, size_t slot, size_t i, int sign)
{
    const struct sm_layer_cache *a = &c->layer[l];
    const size_t k = sm_cache_at(c, l, 0, head, slot, i), v = sm_cache_at(c, l, 1, head, slot, i);
    switch (c->type) {
    case SM_KV_F16:
        ((uint16_t *)a->k)[k] = sign > 0 ? 0x3c00 : 0xbc00; /* 1 */
        ((uint16_t *)a->v)[v] = sign > 0 ? 0x7bff : 0xfbff; /* 65504 */
        break;
    case SM_KV_I8:
        ((int8_t *)a->k)[k] = ((int8_t *)a->v)[v] = (int8_t)(127 * sign);
        a->k_scale[head * (c->max_seq - 1) + slot] = 1.0f / 127;
        a->v_scale[head * (c->max_seq - 1) + slot] = 1e4f;
        break;
    case SM_KV_I16: /* its scales are those of what was computed */
        ((int16_t *)a->k)[k] = (int16_t)(sign * (int)(1 / *a->k_scale));
        ((int16_t *)a->v)[v] = (int16_t)(32767 * sign);
        break;
    default:
        ((float *)a->k)[k] = (float)sign;
        ((float *)a->v)[v] = 1e6f * (float)sign;
        break;
    }
}

static void poison(const struct sm_cache *c, struct sm_random *r)
{
    for (size_t l = 0; l < c->layers; l++) {
        const struct sm_layer_cache *a = &c->layer[l];
        for (size_t head = 0; a->k && head < a->kv_heads; head++)
            for (size_t slot = 0; slot < c->max_seq - 1; slot++)
                for (size_t i = 0; i < a->head_dim; i++)
                    poison_element(c, l, head, slot, i, sm_random_below(r, 2) ? 1 : -1);
    }
}

/* The slots from `past` on, one after another. */
static char *slots_from(const struct sm_cache *c, size_t past)
{
    const size_t bytes = sm_cache_slot_bytes(c);
    char *all = calloc(c->max_seq, bytes);
    assert_non_null(all);
    for (size_t slot = past; slot < c->max_seq - 1; slot++) sm_cache_save(c, slot, all + (slot - past) * bytes);
    return all;
}

/* A turn that a policy refused is decoded; nothing may have changed. */
static void append(struct sm_session *s, const int32_t *tokens, size_t count)
{
    const size_t past = sm_session_past(s);
    if (!sm_session_append(s, tokens, count, why, sizeof why)) return;
    if (!strstr(why, "the policy is to refuse")) fail_msg("%s", why);
    assert_int_equal(sm_session_past(s), past);
    for (size_t i = 0; i < count; i++)
        if (sm_session_decode(s, tokens[i], why, sizeof why)) fail_msg("%s", why);
}

/* Other tokens than those that follow, and back again. */
static void go_astray(struct sm_session *s, struct answer *a, const struct subject *of, size_t at, struct sm_random *r)
{
    int32_t other[TOKENS_MOST];
    const size_t room = sm_session_cache(s)->max_seq - 1 - at;
    const size_t count = 1 + sm_random_below(r, (uint32_t)(room < TOKENS_MOST ? room : TOKENS_MOST));
    char *before = malloc(sm_session_cache(s)->bytes);
    assert_non_null(before);
    memcpy(before, sm_session_cache(s)->memory, sm_session_cache(s)->bytes);
    for (size_t i = 0; i < count; i++) other[i] = (int32_t)sm_random_below(r, (uint32_t)of->random.model.shape.vocab);
    a->keep = false;
    append(s, other, count);
    a->keep = true;
    if (sm_session_truncate(s, at, why, sizeof why)) fail_msg("%s", why);
    assert_memory_equal(sm_session_cache(s)->memory, before, sm_session_cache(s)->bytes);
    free(before);
}

static void talk(struct sm_session *s, struct answer *a, const struct subject *of, const struct way *way)
{
    struct sm_random r = {way->seed};
    struct sm_cache *cache = sm_session_cache(s);
    if (way->poison) poison(cache, &r);
    char *before = slots_from(cache, of->count);
    size_t at = 1 + sm_random_below(&r, (uint32_t)of->count);
    if (sm_session_prefill(s, of->tokens, at, way->padding, why, sizeof why)) {
        if (!strstr(why, "the policy is to refuse")) fail_msg("%s", why);
        at = way->options.prefill_buckets[0]; /* which fits one call: the buckets are in order */
        if (sm_session_prefill(s, of->tokens, at, way->padding, why, sizeof why)) fail_msg("%s", why);
    }
    while (at < of->count) {
        const size_t left = of->count - at, turn = 1 + sm_random_below(&r, (uint32_t)left);
        if (way->go_back) go_astray(s, a, of, at, &r);
        if (way->decode_all || sm_random_below(&r, 3) == 0) {
            if (sm_session_decode(s, of->tokens[at], why, sizeof why)) fail_msg("%s", why);
            at++;
        } else {
            append(s, of->tokens + at, turn);
            at += turn;
        }
        assert_int_equal(sm_session_past(s), at);
    }
    char *after = slots_from(cache, of->count);
    if (!way->go_back && memcmp(after, before, (cache->max_seq - of->count) * sm_cache_slot_bytes(cache)) != 0)
        fail_msg("slots beyond the last token were written");
    free(before);
    free(after);
}

static void answer(const struct subject *of, const struct way *way, struct answer *a)
{
    struct sm_weights *weights = NULL;
    struct sm_session *session = NULL;
    struct sm_session_options options = way->options;
    const struct sm_choice choice = {.features = way->features};
    *a = (struct answer){.vocab = of->random.model.shape.vocab, .keep = true, .one_row = way->one_row};
    memcpy(a->logits, of->logits, sizeof a->logits);
    options.kv = of->kv;
    options.all_rows = !way->one_row;
    options.hooks.done = keep_logits;
    options.hooks.state = a;
    if (sm_weights_create(&weights, &of->random.model, of->recipe, &choice, why, sizeof why) ||
        sm_session_create(&session, weights, &options, why, sizeof why))
        fail_msg("%s", why);
    a->session = session;
    talk(session, a, of, way);
    sm_session_destroy(session);
    sm_weights_destroy(weights);
}

static void subject_create(struct subject *s, uint64_t seed)
{
    struct sm_random r = {seed};
    struct sm_weights *weights = NULL;
    struct sm_session *session = NULL;
    const struct sm_choice choice = {.features = sm_cpu_features()};
    const bool native = sm_random_below(&r, 5) == 0;
    memset(s, 0, sizeof *s);
    s->seed = seed;
    s->recipe = native ? "native" : "float";
    s->kv = sm_random_below(&r, 3) ? SM_KV_F32 : (enum sm_kv_type)sm_random_below(&r, SM_KV_TYPES);
    random_model_create(&s->random, seed, native ? SM_FORMAT_Q8_0 : SM_FORMAT_F32);
    const size_t vocab = s->random.model.shape.vocab;
    assert_true(vocab <= VOCAB_MOST);
    s->count = 2 + sm_random_below(&r, TOKENS_MOST - 1);
    for (size_t i = 0; i < s->count; i++) s->tokens[i] = (int32_t)sm_random_below(&r, (uint32_t)vocab);
    const struct sm_session_options options = {.max_seq = s->count + 1, .kv = s->kv, .threads = 1, .all_rows = true};
    if (sm_weights_create(&weights, &s->random.model, s->recipe, &choice, why, sizeof why) ||
        sm_session_create(&session, weights, &options, why, sizeof why) ||
        sm_session_prefill(session, s->tokens, s->count, SM_PAD_RIGHT, why, sizeof why))
        fail_msg("%s", why);
    for (size_t i = 0; i < s->count; i++) {
        memcpy(s->logits + i * vocab, sm_session_token_logits(session, i), vocab * sizeof(float));
        for (size_t v = 0; v < vocab; v++)
            if (fabs((double)s->logits[i * vocab + v]) > s->largest)
                s->largest = fabs((double)s->logits[i * vocab + v]);
    }
    assert_true(s->largest > 0.1);
    sm_session_destroy(session);
    sm_weights_destroy(weights);
}

static void draw_buckets(size_t *rows, size_t *count, size_t most, size_t max_seq, struct sm_random *r)
{
    *count = sm_random_below(r, (uint32_t)most + 1);
    for (size_t i = 0; i < *count; i++) rows[i] = 1 + sm_random_below(r, (uint32_t)(max_seq < 20 ? max_seq : 20));
    for (size_t i = 1; i < *count; i++) /* ascending */
        for (size_t k = i; k && rows[k] < rows[k - 1]; k--) {
            const size_t kept = rows[k];
            rows[k] = rows[k - 1];
            rows[k - 1] = kept;
        }
}

/* Calls cut at random, and of all else only what the property is about. */
static struct way draw_way(const struct subject *s, enum property property, uint64_t seed)
{
    struct sm_random r = {seed};
    const bool all = property == EVERYTHING;
    struct way w = {.property = property, .features = sm_cpu_features(), .seed = sm_random_u64(&r)};
    struct sm_session_options *o = &w.options;
    o->threads = property == THREADS || (all && sm_random_below(&r, 2)) ? 2 : 1;
    o->max_seq = s->count + 1;
    if (property == LONGER_K || all) o->max_seq += sm_random_below(&r, 30);
    if (property == LEFT_PADDING || all) {
        o->max_seq += sm_random_below(&r, 6);
        w.padding = SM_PAD_LEFT;
    }
    if (property == POISONED || property == TRUNCATED) o->max_seq += sm_random_below(&r, 12);
    o->when_full = (enum sm_when_full)sm_random_below(&r, SM_WHEN_FULL_POLICIES);
    draw_buckets(o->append_buckets, &o->append_bucket_count, property == DECODE_LOOP ? 0 : 4, o->max_seq, &r);
    draw_buckets(o->prefill_buckets, &o->prefill_bucket_count, 3, o->max_seq, &r);
    w.decode_all = property == DECODE_LOOP;
    w.poison = property == POISONED || (all && sm_random_below(&r, 2));
    w.go_back = property == TRUNCATED || (all && !w.poison && sm_random_below(&r, 2));
    w.one_row = property == ONE_ROW || (all && sm_random_below(&r, 2));
    o->last_row = w.one_row && sm_random_below(&r, 4);
    o->short_sliding = property == SHORT_SLIDING || (all && sm_random_below(&r, 2));
    o->concatenated = property == CONCATENATED || (all && sm_random_below(&r, 2));
    if (property == LEVEL || all) {
        size_t levels = 0;
        uint32_t features;
        while (sm_cpu_level(levels, &features)) levels++;
        (void)sm_cpu_level(sm_random_below(&r, (uint32_t)levels), &features);
        w.features = features & sm_cpu_features();
    }
    return w;
}

static void describe(const struct subject *s, const struct way *w)
{
    print_message("seed %llu, %s: %s, %s, KV in %s, %zu tokens, max_seq %zu, threads %zu, %s padding, policy %s\n",
                  (unsigned long long)s->seed, names[w->property], random_model_text(&s->random), s->recipe,
                  sm_kv_name(s->kv), s->count, w->options.max_seq, w->options.threads,
                  w->padding == SM_PAD_LEFT ? "left" : "right", sm_when_full_name(w->options.when_full));
    print_message("prefill buckets");
    for (size_t i = 0; i < w->options.prefill_bucket_count; i++) print_message(" %zu", w->options.prefill_buckets[i]);
    print_message(", append buckets");
    for (size_t i = 0; i < w->options.append_bucket_count; i++) print_message(" %zu", w->options.append_buckets[i]);
    print_message(", short %d, concatenated %d, poison %d, back %d, one row %d %d, level %s\n",
                  w->options.short_sliding, w->options.concatenated, w->poison, w->go_back, w->one_row,
                  w->options.last_row, sm_cpu_level_name(w->features));
}

static void check(const struct subject *s, enum property property, uint64_t seed)
{
    static struct answer a;
    const struct way way = draw_way(s, property, seed);
    const size_t vocab = s->random.model.shape.vocab;
    const bool native = !strcmp(s->recipe, "native");
    const double most = native ? TOLERANCE_NATIVE : tolerance_float[s->kv];
    answer(s, &way, &a);
    assert_int_equal(a.past, s->count);
    const double off = difference(a.logits, s->logits, s->count * vocab) / s->largest;
    double *seen = &worst[property][native ? SM_KV_TYPES : s->kv];
    if (!(off <= *seen)) *seen = off;
    done_cases[property]++;
    if (off <= most) return;
    describe(s, &way);
    for (size_t i = 0; i < s->count; i++) {
        const double at = difference(a.logits + i * vocab, s->logits + i * vocab, vocab) / s->largest;
        if (!(at <= most)) fail_msg("token %zu is off by %g of the largest logit, tolerance %g", i, at, most);
    }
}

static uint64_t first_seed = 1;
static size_t shard, shards = 1, cases = CASES;
static const char *only; /* or NULL: every property */

static void test_properties(void **state)
{
    (void)state;
    size_t count = 0;
    for (uint64_t n = shard; count < cases; n += shards) {
        static struct subject s;
        subject_create(&s, first_seed * 1000003 + n);
        for (int p = 0; p < PROPERTIES; p++, count++)
            if (!only || !strcmp(only, names[p])) check(&s, (enum property)p, s.seed * 31 + (uint64_t)p);
        random_model_destroy(&s.random);
    }
    print_message("%zu cases with seed %llu; largest differences, KV in f32, f16, i8, i16, and int8 rows:\n", count,
                  (unsigned long long)first_seed);
    for (int p = 0; p < PROPERTIES; p++) {
        print_message("  %-22s %5zu cases ", names[p], done_cases[p]);
        for (size_t k = 0; k <= SM_KV_TYPES; k++) print_message(" %8.2g", worst[p][k]);
        print_message("\n");
    }
}

int main(int argc, char **argv)
{
    const char *seed = getenv("SM_SEED"), *count = getenv("SM_CASES");
    if (seed) first_seed = strtoull(seed, NULL, 0);
    if (count) cases = (size_t)strtoull(count, NULL, 0);
    if (argc > 3) only = argv[3];
    if (argc > 2) {
        shard = (size_t)strtoull(argv[1], NULL, 10);
        shards = (size_t)strtoull(argv[2], NULL, 10);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_properties)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
