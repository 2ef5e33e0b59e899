/* Weights per output channel, made by rounding to nearest: the reference's own bytes for every matrix of a small model,
 * the check values of the scheme, and that a search for the range only ever helps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"
#include "model.h"
#include "quant.h"
#include "quantise_channel.h"
#include "random.h"
#include "scales.h"

#define MOST 160

static struct golden quant;
static struct sm_model *model;

/* One matrix of the model against its reference: the channel's scale to the bit, zero and quants. */
static size_t compare_matrix(const char *variant, int bits, const char *name, const struct sm_tensor *t)
{
    char key[128];
    size_t sizes[2];
    uint8_t row[sizeof(struct sm_channel) + MOST];
    snprintf(key, sizeof key, "%s.%s.scale", variant, name);
    const float *scale = golden_floats(&quant, key, 1, sizes);
    snprintf(key, sizeof key, "%s.%s.zp", variant, name);
    const int32_t *zero = golden_ints(&quant, key, 1, sizes);
    snprintf(key, sizeof key, "%s.%s.q", variant, name);
    const uint8_t *q = golden_bytes(&quant, key, 2, sizes);
    const float *x = t->data;
    assert_int_equal(t->format, SM_FORMAT_F32);
    assert_true(t->rows == sizes[0] && t->cols == sizes[1] && t->cols <= MOST);
    for (size_t o = 0; o < sizes[0]; o++) {
        struct sm_channel head;
        float back[MOST];
        sm_quantise_channel(row, bits, x + o * sizes[1], sizes[1], false);
        memcpy(&head, row, sizeof head);
        assert_memory_equal(&head.scale, &scale[o], sizeof head.scale);
        assert_int_equal(head.zero, zero[o]);
        sm_dequantise_channel(back, bits, row, sizes[1]);
        for (size_t i = 0; i < sizes[1]; i++) {
            const int n = bits == 8 ? row[8 + i] : row[8 + i / 2] >> i % 2 * 4 & 15;
            const float value = (float)(q[o * sizes[1] + i] - zero[o]) * scale[o];
            assert_int_equal(n, q[o * sizes[1] + i]);
            assert_memory_equal(&back[i], &value, sizeof value);
        }
    }
    return sizes[0] * sizes[1];
}

static void equals_the_reference(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum sm_layer_tensor tensor;
    } parts[] = {{"self_attn.q_proj", SM_TENSOR_Q}, {"self_attn.k_proj", SM_TENSOR_K},
                 {"self_attn.v_proj", SM_TENSOR_V}, {"self_attn.o_proj", SM_TENSOR_O},
                 {"mlp.gate_proj", SM_TENSOR_GATE}, {"mlp.up_proj", SM_TENSOR_UP},
                 {"mlp.down_proj", SM_TENSOR_DOWN}};
    size_t elements = 0;
    char name[64];
    for (size_t l = 0; l < 3; l++)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            const struct sm_tensor *t = &model->layer[l].tensor[parts[i].tensor];
            snprintf(name, sizeof name, "model.layers.%zu.%s", l, parts[i].name);
            elements += compare_matrix("w4c", 4, name, t);
            elements += compare_matrix("w8c", 8, name, t);
        }
    elements += compare_matrix("w8c", 8, "lm_head", &model->head);
    print_message("%zu elements\n", elements);
}

/* A row whose extremes are these, and nothing beyond them. */
static struct sm_channel head_of(int bits, float least, float most)
{
    uint8_t row[sizeof(struct sm_channel) + 32];
    struct sm_channel head;
    float x[32];
    for (size_t i = 0; i < 32; i++) x[i] = i % 2 ? least : most;
    sm_quantise_channel(row, bits, x, 32, false);
    memcpy(&head, row, sizeof head);
    return head;
}

static void check_head(int bits, float least, float most, float scale, int32_t zero)
{
    const struct sm_channel head = head_of(bits, least, most);
    assert_true(head.scale == scale);
    assert_int_equal(head.zero, zero);
}

static void has_the_check_values(void **state)
{
    (void)state;
    check_head(4, -1, 4, 5.0f / 15, 3);
    check_head(4, 1, 4, 4.0f / 15, 0);
    check_head(4, -4, -1, 4.0f / 15, 15);
    check_head(4, -8, 7, 1, 8);
    check_head(8, -120, 0, 120.0f / 255, 255);
    check_head(4, 0, 0, 1e-8f, 0); /* a range of nothing */
    check_head(8, -1e-12f, 0, 1e-8f, 0);
    assert_true(!isfinite(head_of(4, -3e38f, 3e38f).scale)); /* a range that no float holds */
    /* int16, symmetric: activations */
    assert_true(sm_scale_of(120) == 120.0f / 32767);
    assert_true(sm_scale_of(0) == 1e-8f);
}

static double cost(const float *x, int bits, const uint8_t *row, size_t cols)
{
    double sum = 0;
    float back[MOST];
    sm_dequantise_channel(back, bits, row, cols);
    for (size_t i = 0; i < cols; i++) sum += pow(fabs((double)x[i] - (double)back[i]), 2.4);
    return sum;
}

/* The search against one written plainly, in doubles and with pow: what it chose costs no more than a few parts in a
 * thousand above the least of the 80, and never more than no search. */
static void search_finds_the_least(void **state)
{
    (void)state;
    struct sm_random random = {7};
    double saved = 0;
    for (size_t n = 0; n < 60; n++) {
        uint8_t plain[sizeof(struct sm_channel) + MOST], clipped[sizeof plain];
        float x[MOST], shrunk[MOST];
        for (size_t i = 0; i < MOST; i++) x[i] = sm_random_normal(&random) * (n % 3 ? 1 : 0.01f);
        x[n] *= n % 2 ? 4 : 1;
        sm_quantise_channel(plain, 4, x, MOST, false);
        sm_quantise_channel(clipped, 4, x, MOST, true);
        const double without = cost(x, 4, plain, MOST), with = cost(x, 4, clipped, MOST);
        double least = without, smallest = 0, largest = 0;
        for (size_t i = 0; i < MOST; i++) {
            smallest = fmin(smallest, (double)x[i]);
            largest = fmax(largest, (double)x[i]);
        }
        for (int step = 1; step < 80; step++) {
            uint8_t row[sizeof plain];
            const double p = 1 - step / 100.0;
            for (size_t i = 0; i < MOST; i++) shrunk[i] = (float)fmin(fmax((double)x[i], p * smallest), p * largest);
            sm_quantise_channel(row, 4, shrunk, MOST, false);
            least = fmin(least, cost(x, 4, row, MOST));
        }
        assert_true(with <= without);
        assert_true(with <= least * 1.005);
        saved += 1 - with / without;
    }
    print_message("the search saves %.0f%% of the cost on average\n", 100 * saved / 60);
    assert_true(saved > 0);
}

int main(void)
{
    golden_open(&quant, "llama-tiny/quant");
    char why[256];
    if (sm_model_open(&model, golden_path("llama-tiny"), why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_the_reference), cmocka_unit_test(has_the_check_values),
                                       cmocka_unit_test(search_finds_the_least)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    golden_close(&quant);
    sm_model_close(model);
    return failed;
}
