/* Every block format of a file against the gguf package's own reading and writing: bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dequantise.h"
#include "golden.h"
#include "model.h"
#include "quant.h"
#include "quantise.h"

static struct golden golden;

static const enum sm_format all[] = {SM_FORMAT_F16,  SM_FORMAT_BF16, SM_FORMAT_Q4_0, SM_FORMAT_Q4_1,
                                     SM_FORMAT_Q5_0, SM_FORMAT_Q5_1, SM_FORMAT_Q8_0, SM_FORMAT_Q2_K,
                                     SM_FORMAT_Q3_K, SM_FORMAT_Q4_K, SM_FORMAT_Q5_K, SM_FORMAT_Q6_K};
#define COUNT (sizeof all / sizeof *all)

static bool long_blocks(enum sm_format format)
{
    return format >= SM_FORMAT_Q2_K && format <= SM_FORMAT_Q6_K;
}

/* Returns how many elements were compared. */
static size_t compare(const char *set, enum sm_format format)
{
    char name[64];
    size_t bytes[2], floats[2];
    snprintf(name, sizeof name, "%s.%s.bytes", set, sm_format_name(format));
    const uint8_t *blocks = golden_bytes(&golden, name, 2, bytes);
    snprintf(name, sizeof name, "%s.%s.float", set, sm_format_name(format));
    const float *right = golden_floats(&golden, name, 2, floats);
    const size_t count = floats[0] * floats[1];
    assert_int_equal(sm_row_bytes(format, floats[1]), bytes[1]);
    /* One byte off any alignment, in an array that ends where the blocks end. */
    unsigned char *moved = malloc(bytes[0] * bytes[1] + 1);
    float *to = malloc(count * sizeof *to);
    assert_non_null(moved);
    assert_non_null(to);
    memcpy(moved + 1, blocks, bytes[0] * bytes[1]);
    sm_dequantise(to, format, moved + 1, count);
    for (size_t i = 0; i < count; i++)
        if (memcmp(&to[i], &right[i], sizeof *to))
            fail_msg("%s.%s: element %zu is %.9g, not %.9g", set, sm_format_name(format), i, (double)to[i],
                     (double)right[i]);
    assert_true(sm_blocks_finite(format, moved + 1, count));
    free(moved);
    free(to);
    return count;
}

static void test_reading(void **state)
{
    (void)state;
    size_t elements = 0;
    for (size_t i = 0; i < COUNT; i++) {
        elements += compare("rand", all[i]);
        if (!long_blocks(all[i])) elements += compare("odd", all[i]);
    }
    print_message("%zu elements of %zu formats\n", elements, COUNT);
}

static void test_writing(void **state)
{
    (void)state;
    static const enum sm_format written[] = {SM_FORMAT_Q4_0, SM_FORMAT_Q4_1, SM_FORMAT_Q8_0};
    size_t sizes[2], bytes[2];
    const float *x = golden_floats(&golden, "odd.x", 2, sizes);
    for (size_t i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "odd.%s.bytes", sm_format_name(written[i]));
        const uint8_t *right = golden_bytes(&golden, name, 2, bytes);
        uint8_t *to = malloc(bytes[0] * bytes[1]);
        assert_non_null(to);
        sm_quantise(to, written[i], x, sizes[0] * sizes[1]);
        for (size_t b = 0; b < bytes[0] * bytes[1]; b++)
            if (to[b] != right[b])
                fail_msg("%s: byte %zu of row %zu is %02x, not %02x", sm_format_name(written[i]), b % bytes[1],
                         b / bytes[1], to[b], right[b]);
        free(to);
    }
}

/* Five bits and bfloat16, which nothing of slotmark's writes, as the reference writes them: a check of our reading of
 * its rules, on which tests that need such blocks may stand. */
static void write_q5(uint8_t *to, const float *x, bool offset)
{
    float least = x[0], most = x[0], largest = x[0];
    uint32_t high = 0;
    for (size_t i = 1; i < 32; i++) {
        if (x[i] < least) least = x[i];
        if (x[i] > most) most = x[i];
        if (fabsf(x[i]) > fabsf(largest)) largest = x[i];
    }
    const float d = offset ? (most - least) / 31 : largest / -16, inverse = d != 0 && isfinite(1 / d) ? 1 / d : 0;
    const uint16_t halves[2] = {sm_f32_to_f16(d), sm_f32_to_f16(least)};
    uint8_t *nibbles = to + (offset ? 8 : 6);
    memset(nibbles, 0, 16);
    for (size_t i = 0; i < 32; i++) {
        const double n =
            offset ? (double)truncf((x[i] - least) * inverse + 0.5f) : trunc((double)x[i] * (double)inverse + 16.5);
        const unsigned q = (unsigned)(n < 31 ? n : 31);
        nibbles[i % 16] |= (uint8_t)((q & 15) << (i < 16 ? 0 : 4));
        high |= (q >> 4) << i;
    }
    memcpy(to, halves, offset ? 4 : 2);
    memcpy(to + (offset ? 4 : 2), &high, 4);
}

static void write_bf16(uint8_t *to, const float *x)
{
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    bits += 0x7fff + (bits >> 16 & 1); /* to nearest, ties to even; these are finite */
    memcpy(to, (const char *)&bits + 2, 2);
}

static void test_other_writing(void **state)
{
    (void)state;
    static const char *const names[] = {"odd.Q5_0.bytes", "odd.Q5_1.bytes", "odd.BF16.bytes"};
    static const size_t block[] = {22, 24, 2}, elements[] = {32, 32, 1};
    size_t sizes[2], bytes[2];
    const float *x = golden_floats(&golden, "odd.x", 2, sizes);
    for (size_t k = 0; k < 3; k++) {
        const uint8_t *right = golden_bytes(&golden, names[k], 2, bytes);
        uint8_t to[24];
        for (size_t i = 0; i < sizes[0] * sizes[1] / elements[k]; i++) {
            if (k == 2)
                write_bf16(to, x + i);
            else
                write_q5(to, x + i * 32, k == 1);
            if (memcmp(to, right + i * block[k], block[k])) fail_msg("%s: block %zu differs", names[k], i);
        }
    }
}

static void test_row_bytes(void **state)
{
    (void)state;
    assert_int_equal(sm_row_bytes(SM_FORMAT_F32, 3), 12);
    assert_int_equal(sm_row_bytes(SM_FORMAT_Q6_K, 512), 420);
    assert_int_equal(sm_row_bytes(SM_FORMAT_Q6_K, 640), 0); /* not a whole number of blocks */
    assert_int_equal(sm_row_bytes(SM_FORMAT_Q5_0, 640), 440);
    assert_int_equal(sm_row_bytes(SM_FORMAT_NONE, 32), 0);
    assert_int_equal(sm_row_bytes((enum sm_format)99, 32), 0);
}

/* Every half that is a scale or a minimum is looked at, and so is every number that stands alone. */
static void test_not_finite(void **state)
{
    (void)state;
    static const struct {
        enum sm_format format;
        size_t at;
    } halves[] = {{SM_FORMAT_F16, 6},   {SM_FORMAT_Q4_0, 0},  {SM_FORMAT_Q4_1, 0},   {SM_FORMAT_Q4_1, 2},
                  {SM_FORMAT_Q5_0, 0},  {SM_FORMAT_Q5_1, 0},  {SM_FORMAT_Q5_1, 2},   {SM_FORMAT_Q8_0, 0},
                  {SM_FORMAT_Q2_K, 80}, {SM_FORMAT_Q2_K, 82}, {SM_FORMAT_Q3_K, 108}, {SM_FORMAT_Q4_K, 0},
                  {SM_FORMAT_Q4_K, 2},  {SM_FORMAT_Q5_K, 0},  {SM_FORMAT_Q5_K, 2},   {SM_FORMAT_Q6_K, 208},
                  {SM_FORMAT_BF16, 4},  {SM_FORMAT_F32, 1022}};
    static const uint16_t bad[] = {0x7c00, 0xfc00, 0x7e01}, bad_upper[] = {0x7f80, 0xff80, 0x7fc1};
    unsigned char blocks[4096];
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        for (size_t b = 0; b < 3; b++) {
            const enum sm_format format = halves[i].format;
            const bool upper = format == SM_FORMAT_BF16 || format == SM_FORMAT_F32;
            const size_t row = sm_row_bytes(format, 256), last = row / 256 < 2 ? row : 0;
            memset(blocks, 0x11, sizeof blocks);
            assert_true(sm_blocks_finite(format, blocks, 512));
            memcpy(blocks + last + halves[i].at, upper ? &bad_upper[b] : &bad[b],
                   2); /* in the second row, or the first */
            if (sm_blocks_finite(format, blocks, 512))
                fail_msg("%s passes with %04x at byte %zu", sm_format_name(format), bad[b], halves[i].at);
        }
}

int main(void)
{
    golden_open(&golden, "blocks/golden");
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reading), cmocka_unit_test(test_writing),
                                       cmocka_unit_test(test_other_writing), cmocka_unit_test(test_row_bytes),
                                       cmocka_unit_test(test_not_finite)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    golden_close(&golden);
    return failed;
}
