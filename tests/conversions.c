/* Formats that no kernel multiplies: what becomes of them, what it costs, and that models made of them run. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "convert.h"
#include "cpu.h"
#include "dequantise.h"
#include "quant.h"
#include "random.h"
#include "runtime_fixture.h"

#define COLS 512 /* elements of the rows that are converted one by one */

/* Random blocks of a format: any bytes, but for scales that give values of about 0.06, as weights of 256 inputs have.
 * What each becomes in `native`, and the most it may lose of its RMS. */
static const struct kind {
    enum sm_format from;
    float d, m;
    int d_at, m_at; /* -1: it has no such half */
    enum sm_format to;
    double loss;
} kinds[] = {
    {SM_FORMAT_BF16, 0, 0, -1, -1, SM_FORMAT_F32, 0},
    {SM_FORMAT_Q5_0, 6.5e-3f, 0, 0, -1, SM_FORMAT_Q8_0, 0},
    {SM_FORMAT_Q5_1, 6.5e-3f, -0.1f, 0, 2, SM_FORMAT_Q8_0, 0.01},
    {SM_FORMAT_Q2_K, 2e-3f, 3e-3f, 80, 82, SM_FORMAT_Q8_0, 0.01},
    {SM_FORMAT_Q3_K, 1.4e-3f, 0, 108, -1, SM_FORMAT_Q8_0, 0.01},
    {SM_FORMAT_Q4_K, 2.4e-4f, 1.8e-3f, 0, 2, SM_FORMAT_Q4_1, 0.001},
    {SM_FORMAT_Q5_K, 1.2e-4f, 1.9e-3f, 0, 2, SM_FORMAT_Q8_0, 0.01},
    {SM_FORMAT_Q6_K, 4.4e-5f, 0, 208, -1, SM_FORMAT_Q8_0, 0.01},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static const struct kind halves = {SM_FORMAT_F16, 0, 0, -1, -1, SM_FORMAT_F16, 0};

static char why[512];

static void put_half(unsigned char *at, float value)
{
    const uint16_t half = sm_f32_to_f16(value);
    memcpy(at, &half, sizeof half);
}

static void fill(const struct kind *k, unsigned char *to, size_t count, struct sm_random *random)
{
    const size_t block = sm_row_bytes(k->from, 256) ? sm_row_bytes(k->from, 256) : 0;
    const size_t each = k->d_at < 0 ? 2 : k->from >= SM_FORMAT_Q2_K ? block : block / 8;
    for (size_t i = 0; i < sm_row_bytes(k->from, count); i += each) {
        for (size_t b = 0; b < each; b++) to[i + b] = (unsigned char)sm_random_below(random, 256);
        const float value = 0.1f * sm_random_unit(random);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (k->from == SM_FORMAT_F16) put_half(to + i, value);
        if (k->from == SM_FORMAT_BF16) memcpy(to + i, (const char *)&bits + 2, 2);
        if (k->d_at >= 0) put_half(to + i + k->d_at, k->d * (1 + 0.5f * sm_random_unit(random)));
        if (k->m_at >= 0) put_half(to + i + k->m_at, k->m * (1 + 0.5f * sm_random_unit(random)));
    }
}

/* Each element is off by no more than what rounding its group's scale, and itself, allows. */
static double allowed(const struct kind *k, const float *group)
{
    double most = 0;
    if (k->loss == 0) return 0;
    for (size_t i = 0; i < SM_GROUP; i++)
        if (fabs((double)group[i]) > most) most = fabs((double)group[i]);
    if (k->to == SM_FORMAT_Q8_0) return most / 127 / 2 + most * 0x1p-11 + 127 * 0x1p-25 + 1e-9;
    /* Q4_1 of Q4_K: n * step - low, each rounded to a half; at most 15 * 63 * 1.5 d and 63 * 1.5 dmin. */
    return (15 * 63 * 1.5 * (double)k->d + 63 * 1.5 * (double)k->m) * 0x1p-11 + 16 * 0x1p-25;
}

static void test_rows(void **state)
{
    (void)state;
    static unsigned char from[4 * COLS], to[4 * COLS];
    static float x[COLS], y[COLS], scratch[2 * COLS];
    for (size_t i = 0; i < KINDS; i++) {
        struct sm_random random = {i + 1};
        struct sm_error_sums sums = {0};
        double most = 0;
        for (size_t row = 0; row < 200; row++) {
            fill(&kinds[i], from, COLS, &random);
            sm_dequantise(x, kinds[i].from, from, COLS);
            sm_convert(to, kinds[i].to, from, kinds[i].from, COLS, false, scratch, &sums);
            sm_dequantise(y, kinds[i].to, to, COLS);
            assert_true(sm_blocks_finite(kinds[i].to, to, COLS));
            for (size_t c = 0; c < COLS; c++) {
                const double off = fabs((double)x[c] - (double)y[c]);
                if (off > most) most = off;
                if (!(off <= allowed(&kinds[i], x + c / SM_GROUP * SM_GROUP)))
                    fail_msg("%s as %s: element %zu of row %zu is off by %g", sm_format_name(kinds[i].from),
                             sm_format_name(kinds[i].to), c, row, off);
            }
        }
        const double loss = sums.squares > 0 ? sqrt(sums.error_squares / sums.squares) : 0;
        assert_true(loss <= kinds[i].loss && sums.most_error == (kinds[i].to == SM_FORMAT_F32 ? 0 : most));
        print_message("%s as %s: relative RMS %.2g\n", sm_format_name(kinds[i].from), sm_format_name(kinds[i].to),
                      loss);
    }
}

/* What a kernel multiplies stays as it is; what none does becomes what one does. */
static void test_nearest(void **state)
{
    (void)state;
    const enum sm_format native[] = {SM_FORMAT_F32, SM_FORMAT_F16, SM_FORMAT_Q4_0, SM_FORMAT_Q4_1, SM_FORMAT_Q8_0};
    for (size_t i = 0; i < sizeof native / sizeof *native; i++)
        assert_int_equal(sm_nearest_format(native[i]), native[i]);
    for (size_t i = 0; i < KINDS; i++) assert_int_equal(sm_nearest_format(kinds[i].from), kinds[i].to);
}

/* A model whose matrices, and embedding, are random blocks of one format, and its twin in floats. */
struct twins {
    struct sm_model *model, *twin;
    unsigned char *blocks;
    size_t matrices;
};

static void replace(struct twins *t, const struct kind *k, struct sm_tensor *a, struct sm_tensor *b, size_t *used,
                    struct sm_random *random)
{
    if (a->rows < 2) return;
    unsigned char *to = t->blocks + *used;
    fill(k, to, a->rows * a->cols, random);
    sm_dequantise((float *)(uintptr_t)b->data, k->from, to, a->rows * a->cols);
    *a = (struct sm_tensor){to, k->from, a->rows, a->cols, a->rows * sm_row_bytes(k->from, a->cols)};
    *used += (a->bytes + 63) / 64 * 64;
    t->matrices++;
}

static struct twins make_twins(const struct kind *k, const char *arch)
{
    static struct sm_model_shape shape;
    char text[512];
    struct twins t = {0};
    size_t used = 0;
    struct sm_random random = {k->from};
    snprintf(text, sizeof text,
             "name = x\narch = %s\nruns = yes\nhidden = 256\nlayers = 2\nheads = 4\nkv_heads = 2\nhead_dim = 64\n"
             "ffn = 512\nvocab = 100\ncontext = 64\nrope_theta = 1e4\neps = 1e-5\ntied = yes\n%s",
             arch, strcmp(arch, "llama") ? "per_layer_width = 256\npost_norms = yes\n" : "");
    if (sm_shape_parse(&shape, text, "here", why, sizeof why) ||
        sm_model_synthetic(&t.model, &shape, &(struct sm_synthetic){.format = SM_FORMAT_F32, .seed = 3}, why,
                           sizeof why) ||
        sm_model_synthetic(&t.twin, &shape, &(struct sm_synthetic){.format = SM_FORMAT_F32, .seed = 3}, why,
                           sizeof why))
        fail_msg("%s", why);
    t.blocks = aligned_alloc(64, t.model->map_bytes / 64 * 64 + 64);
    assert_non_null(t.blocks);
    t.model->paired_rows = t.twin->paired_rows = !strcmp(arch, "llama");
    replace(&t, k, &t.model->embedding, &t.twin->embedding, &used, &random);
    t.model->head = t.model->embedding;
    for (size_t l = 0; l < shape.layers; l++)
        for (size_t i = 0; i < SM_LAYER_TENSORS; i++)
            replace(&t, k, &t.model->layer[l].tensor[i], &t.twin->layer[l].tensor[i], &used, &random);
    replace(&t, k, &t.model->per_layer_table, &t.twin->per_layer_table, &used, &random);
    replace(&t, k, &t.model->per_layer_context, &t.twin->per_layer_context, &used, &random);
    return t;
}

static void close_twins(struct twins *t)
{
    sm_model_close(t->model);
    sm_model_close(t->twin);
    free(t->blocks);
}

/* Logits after a prefill and a decode; and, unless NULL, the conversions that the weights note. */
static void run(struct sm_model *model, const char *recipe, float *logits, struct sm_weights *noted)
{
    static const int32_t tokens[7] = {3, 14, 15, 92, 65, 35, 89};
    struct fixture f = {.model = model};
    const struct sm_choice choice = {.features = sm_cpu_features()};
    const struct sm_session_options options = {.max_seq = 12, .kv = SM_KV_F32, .threads = 2};
    if (sm_weights_create(&f.weights, model, recipe, &choice, why, sizeof why) ||
        sm_session_create(&f.session, f.weights, &options, why, sizeof why) ||
        sm_session_prefill(f.session, tokens, 7, SM_PAD_RIGHT, why, sizeof why) ||
        sm_session_decode(f.session, 42, why, sizeof why))
        fail_msg("%s", why);
    memcpy(logits, sm_session_logits(f.session), model->shape.vocab * sizeof *logits);
    if (noted) *noted = *f.weights;
    sm_session_destroy(f.session);
    sm_weights_destroy(f.weights);
}

/* In `float` a model gives the very bits of its twin in floats. In `native` every matrix, and each table that no kernel
 * reads, is noted with an error that is bounded, and the answer is near. */
static void test_models(void **state)
{
    (void)state;
    static const char *const archs[] = {"llama", "gemma4"};
    float right[100], answer[100];
    for (size_t i = 0; i < 2 * KINDS; i++) {
        const struct kind *k = &kinds[i / 2];
        const char *arch = archs[i % 2];
        struct twins t = make_twins(k, arch);
        struct sm_weights noted;
        const size_t tables = i % 2 ? 2 : 1;
        /* The embedding is a matrix as well, and so is not the per-layer table. */
        const size_t expected = t.matrices - i % 2 + tables;
        run(t.twin, "float", right, NULL);
        run(t.model, "float", answer, &noted);
        assert_memory_equal(answer, right, sizeof right);
        assert_int_equal(noted.conversion_count, 1);
        assert_int_equal(noted.conversion[0].to, SM_FORMAT_F32);
        assert_true(noted.conversion[0].tensors == expected && noted.conversion[0].relative_rms == 0);
        run(t.model, "native", answer, &noted);
        assert_int_equal(noted.conversion_count, 1);
        const struct sm_conversion *c = noted.conversion;
        assert_true(c->from == k->from && c->to == k->to && c->tensors == expected);
        assert_true(c->relative_rms <= k->loss && c->max_error <= k->loss && (c->relative_rms > 0) == (k->loss > 0));
        const double off = peir(right, answer, 100);
        print_message("%s %s as %s: relative RMS %.2g, largest %.2g, PEIR %.4f\n", arch, sm_format_name(c->from),
                      sm_format_name(c->to), c->relative_rms, c->max_error, off);
        assert_true(off <= (k->to == SM_FORMAT_F32 ? 1e-6 : 0.05));
        close_twins(&t);
    }
}

/* Halves are multiplied as they are, with the very bits of their twin in floats, and are made into floats where a scale
 * is folded into them. */
static void test_halves(void **state)
{
    (void)state;
    static const char *const archs[] = {"llama", "gemma4"};
    const struct sm_choice folded = {.features = sm_cpu_features(), .scale_in = SM_SCALE_IN_Q};
    float right[100], answer[100];
    for (size_t i = 0; i < 4; i++) {
        const char *recipe = i / 2 ? "native" : "float";
        struct twins t = make_twins(&halves, archs[i % 2]);
        struct sm_weights noted, *w = NULL;
        run(t.twin, "float", right, NULL);
        run(t.model, recipe, answer, &noted);
        assert_memory_equal(answer, right, sizeof right);
        assert_int_equal(noted.conversion_count, 0);
        assert_int_equal(sm_weights_create(&w, t.model, recipe, &folded, why, sizeof why), 0);
        assert_int_equal(w->conversion_count, 1);
        assert_true(w->conversion[0].to == SM_FORMAT_F32 && w->conversion[0].relative_rms == 0);
        sm_weights_destroy(w);
        close_twins(&t);
    }
}

/* A scale that no half holds is refused, with a sentence; so is a number that is not finite, in any format. */
static void test_refusals(void **state)
{
    (void)state;
    const struct sm_choice choice = {.features = sm_cpu_features()};
    for (size_t i = 0; i < KINDS; i++) {
        struct twins t = make_twins(&kinds[i], "gemma4");
        struct sm_weights *w = NULL;
        const struct sm_tensor *hit[] = {&t.model->layer[1].tensor[SM_TENSOR_UP], &t.model->embedding,
                                         &t.model->per_layer_table};
        for (size_t h = 0; h < 3; h++) {
            unsigned char *at = (unsigned char *)(uintptr_t)hit[h]->data + (kinds[i].d_at > 0 ? kinds[i].d_at : 0),
                          kept[2];
            memcpy(kept, at, 2);
            memcpy(at, kinds[i].from == SM_FORMAT_BF16 ? "\x80\x7f" : "\x00\x7c", 2);
            assert_int_equal(sm_weights_create(&w, t.model, "native", &choice, why, sizeof why), -1);
            if (!strstr(why, "not finite")) fail_msg("%s: %s", sm_format_name(kinds[i].from), why);
            memcpy(at, kept, 2);
        }
        close_twins(&t);
    }
    struct twins t = make_twins(&kinds[KINDS - 1], "llama"); /* Q6_K: a scale of 65504 times eight bits, over 127 */
    struct sm_weights *w = NULL;
    put_half((unsigned char *)(uintptr_t)t.model->layer[0].tensor[SM_TENSOR_DOWN].data + 208, 65504);
    assert_int_equal(sm_weights_create(&w, t.model, "native", &choice, why, sizeof why), -1);
    if (!strstr(why, "does not fit the format")) fail_msg("%s", why);
    close_twins(&t);
}

struct told {
    pthread_t caller;
    size_t times;
    double last;
    int wrong;
};

static void tell(void *state, double share)
{
    struct told *told = state;
    told->wrong |= !(share > told->last && share <= 1) || !pthread_equal(told->caller, pthread_self());
    told->last = share;
    told->times++;
}

/* Who packs is told how far it is, in shares that grow to 1; by one thread, so that none of it needs a lock. */
static void test_packed(void **state)
{
    (void)state;
    struct told told = {.caller = pthread_self()};
    const struct sm_choice choice = {.features = sm_cpu_features(), .packed = tell, .packed_state = &told};
    struct twins t = make_twins(&kinds[0], "gemma4");
    struct sm_weights *w = NULL;
    if (sm_weights_create(&w, t.model, "native", &choice, why, sizeof why)) fail_msg("%s", why);
    assert_true(told.times > 1 && told.last > 0.1 && !told.wrong);
    assert_null(w->choice.packed); /* whose state may be gone */
    sm_weights_destroy(w);
    close_twins(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),     cmocka_unit_test(test_nearest),
                                       cmocka_unit_test(test_models),   cmocka_unit_test(test_halves),
                                       cmocka_unit_test(test_refusals), cmocka_unit_test(test_packed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
