/* Sums of weights per output channel at the limits of integers: every weight as far from its zero point as it can be,
 * every activation at its largest, so that the answer is known without adding anything up; widths at which 32 bits
 * just hold a sum, and at which they would not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "matmul_channel.h"

#define OUT 40 /* a pair of tiles, and a tile that is not full beside one of padding */
#define SCALE_W 0.0078125f
#define SCALE_X 0.25f

struct operands {
    size_t rows, in;
    int bits;
    bool wide; /* int16 rows */
    int quant, zero, value;
};

/* The answer of every output. */
static float right(const struct operands *p)
{
    const int64_t dot = (int64_t)p->in * (p->quant - p->zero) * p->value;
    return SCALE_W * SCALE_X * (float)dot;
}

static void *new (size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(memory);
    return memory;
}

static uint8_t *canonical(const struct operands *p)
{
    const size_t row_bytes = sm_channel_bytes(p->in, p->bits);
    const struct sm_channel head = {SCALE_W, p->zero};
    uint8_t *rows = new (OUT * row_bytes);
    for (size_t o = 0; o < OUT; o++) {
        memcpy(rows + o * row_bytes, &head, sizeof head);
        memset(rows + o * row_bytes + sizeof head, p->bits == 4 ? p->quant * 17 : p->quant, row_bytes - sizeof head);
    }
    return rows;
}

static void run(const struct sm_variant *v, const struct operands *p, const void *w, float *y)
{
    const size_t count = p->rows * p->in;
    int16_t *q16 = new (count * sizeof *q16);
    int8_t *q8 = new (count);
    int64_t *sum16 = new (p->rows * sizeof *sum16);
    int32_t *sum8 = new (p->rows * sizeof *sum8);
    float *scale = new (p->rows * sizeof *scale);
    for (size_t i = 0; i < count; i++) {
        q16[i] = (int16_t)p->value;
        q8[i] = (int8_t)p->value;
    }
    for (size_t r = 0; r < p->rows; r++) {
        sum16[r] = (int64_t)p->in * p->value;
        sum8[r] = (int32_t)sum16[r];
        scale[r] = SCALE_X;
    }
    const struct sm_matmul_c_a16 a16 = {y, OUT, {q16, sum16, SCALE_X}, w, NULL, NULL, p->rows, OUT, p->in};
    const struct sm_matmul_c_a8 a8 = {y, OUT, {q8, scale, sum8}, w, NULL, NULL, p->rows, OUT, p->in};
    v->fn(p->wide ? (const void *)&a16 : (const void *)&a8, sm_part_whole(p->rows, OUT));
    free(q16);
    free(q8);
    free(sum16);
    free(sum8);
    free(scale);
}

static void check(const struct sm_family *f, const struct operands *p)
{
    uint8_t *rows = canonical(p);
    float *y = new (p->rows * OUT * sizeof *y);
    for (size_t i = 0; i < f->variant_count; i++) {
        const struct sm_variant *v = &f->variants[i];
        if (v->needs & ~sm_cpu_features()) continue;
        void *w = new (v->layout->packed_bytes(OUT, p->in));
        v->layout->pack(w, rows, OUT, p->in);
        memset(y, 0xff, p->rows * OUT * sizeof *y);
        run(v, p, w, y);
        for (size_t at = 0; at < p->rows * OUT; at++)
            if (y[at] != right(p))
                fail_msg("%s/%s, %zu inputs, (%d - %d) * %d: %.9g, not %.9g", f->name, v->name, p->in, p->quant,
                         p->zero, p->value, (double)y[at], (double)right(p));
        free(w);
    }
    free(rows);
    free(y);
}

/* All signs of the largest sums, at every width. */
static void check_widths(const char *family, int bits, bool wide, const size_t *widths, size_t count)
{
    const struct sm_family *f = sm_family_named(family);
    const int most = bits == 4 ? 15 : 255, low = wide ? -32768 : -127, high = wide ? 32767 : 127;
    const size_t rows[] = {1, 2, 9};
    assert_non_null(f);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            for (int negative = 0; negative < 2; negative++)
                for (int below = 0; below < 2; below++) {
                    const struct operands p = {.rows = rows[k],
                                               .in = widths[i],
                                               .bits = bits,
                                               .wide = wide,
                                               .quant = below ? 0 : most,
                                               .zero = below ? most : 0,
                                               .value = negative ? low : high};
                    check(f, &p);
                }
}

#define CHECK(family, bits, wide, ...)                                                                                 \
    do {                                                                                                               \
        const size_t widths[] = {__VA_ARGS__};                                                                         \
        check_widths(family, bits, wide, widths, sizeof widths / sizeof *widths);                                      \
    } while (0)

static void int16_rows(void **state)
{
    (void)state;
    CHECK("matmul_w4c_a16", 4, true, 32, 4096, 4128, 4384, 8192, 16384); /* 4369 * 15 * 32768 is past 2^31 */
    CHECK("matmul_w8c_a16", 8, true, 32, 256, 288, 480, 512, 960, 992, 16384);
}

static void int8_rows(void **state)
{
    (void)state;
    CHECK("matmul_w4c_a8", 4, false, 32, 256, 16384, 1 << 18);
    CHECK("matmul_w8c_a8", 8, false, 32, 256, 16384, 1 << 16); /* where its axis ends */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(int16_rows), cmocka_unit_test(int8_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
