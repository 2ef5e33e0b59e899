/* Attention over int8 and int16 keys at the ends of their range: every key element the largest or the smallest there
 * is, every query element the largest too, at the widest head. Sums that are kept in integers must not leave them. And
 * blocks of int8 values of one sign under the largest of weights, whose sums are the largest there are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "attention.h"
#include "cpu.h"
#include "registry.h"

#define COLUMNS 3
#define MANY 130

static int8_t keys8[COLUMNS * SM_ATTENTION_MAX_HEAD_DIM], values8[COLUMNS * SM_ATTENTION_MAX_HEAD_DIM];
static int16_t keys16[COLUMNS * SM_ATTENTION_MAX_HEAD_DIM], values16[COLUMNS * SM_ATTENTION_MAX_HEAD_DIM];

/* Column 0 has the smallest element everywhere, 1 the largest, 2 both in turn. */
static int end_of(size_t column, size_t d, int least, int most)
{
    return column == 0 || (column == 2 && d % 2) ? least : most;
}

/* Queries: all the largest, all the smallest, both in turn, and with the planes of high and low bytes at odds. */
static float query_of(size_t kind, size_t d)
{
    static const float odd[] = {1, -1, 0.5f, 127.0f / 32512};
    return kind == 0 ? 1 : kind == 1 ? -1 : kind == 2 ? (d % 2 ? -1.0f : 1.0f) : odd[d % 4];
}

/* One row of one head over `columns` of the `room` that the arrays have; where it reads and writes rows is left out. */
static struct sm_attention one_head(size_t columns, size_t room, size_t head_dim, const void *keys, const void *values,
                                    const float *scales)
{
    return (struct sm_attention){.out_stride = head_dim,
                                 .q_stride = head_dim,
                                 .k_now = {keys, scales, room * head_dim, room},
                                 .v_now = {values, scales, room * head_dim, room},
                                 .mask_stride = room,
                                 .rows = 1,
                                 .heads = 1,
                                 .kv_heads = 1,
                                 .head_dim = head_dim,
                                 .now = columns};
}

static void check(const char *name, size_t head_dim)
{
    const struct sm_family *f = sm_family_named(name);
    const int is_i16 = !strcmp(name, "attention_i16"), most = is_i16 ? 32767 : 127, least = is_i16 ? -32768 : -127;
    const float scale[COLUMNS] = {1 / (float)most, 1 / (float)most, 1 / (float)most};
    const float mask[COLUMNS] = {0};
    float q[SM_ATTENTION_MAX_HEAD_DIM], out[SM_ATTENTION_MAX_HEAD_DIM], right[SM_ATTENTION_MAX_HEAD_DIM];
    for (size_t c = 0; c < COLUMNS; c++)
        for (size_t d = 0; d < head_dim; d++) {
            keys8[c * head_dim + d] = (int8_t)end_of(c, d, -127, 127);
            keys16[c * head_dim + d] = (int16_t)end_of(c, d, least, most);
            values8[c * head_dim + d] = (int8_t)(40 * (int)c);
            values16[c * head_dim + d] = (int16_t)(10000 * (int)c);
        }
    const void *keys = is_i16 ? (const void *)keys16 : keys8, *values = is_i16 ? (const void *)values16 : values8;
    struct sm_attention a = one_head(COLUMNS, COLUMNS, head_dim, keys, values, scale);
    a.q = q;
    a.mask = mask;
    a.scale = 1 / (float)head_dim;
    for (size_t kind = 0; kind < 4; kind++) {
        for (size_t d = 0; d < head_dim; d++) q[d] = query_of(kind, d);
        a.out = right;
        sm_variant_named(f, "ref")->fn(&a, sm_part_whole(1, 1));
        a.out = out;
        for (size_t v = 0; v < f->variant_count; v++) {
            if (f->variants[v].needs & ~sm_cpu_features()) continue;
            memset(out, 0xff, sizeof out);
            f->variants[v].fn(&a, sm_part_whole(1, 1));
            for (size_t d = 0; d < head_dim; d++)
                if (!(fabsf(out[d] - right[d]) <= 1e-4f))
                    fail_msg("%s/%s, head_dim %zu, query %zu: %g for %g", name, f->variants[v].name, head_dim, kind,
                             (double)out[d], (double)right[d]);
        }
    }
}

static void test_ends(void **state)
{
    static const size_t head_dims[] = {8, 24, 64, 264, 512};
    (void)state;
    for (size_t i = 0; i < sizeof head_dims / sizeof *head_dims; i++) {
        check("attention_i8", head_dims[i]);
        check("attention_i16", head_dims[i]);
    }
}

/* Every weight is 1; times a scale just below 2 each is the largest that 16 bits of a step hold, or would be next. */
static void check_values(const struct sm_variant *variant, size_t columns, size_t head_dim, int8_t value, float scale)
{
    static int8_t keys[MANY * SM_ATTENTION_MAX_HEAD_DIM], values[MANY * SM_ATTENTION_MAX_HEAD_DIM];
    static const float mask[MANY];
    float scales[MANY], q[SM_ATTENTION_MAX_HEAD_DIM] = {0}, out[SM_ATTENTION_MAX_HEAD_DIM];
    for (size_t j = 0; j < columns; j++) scales[j] = scale;
    memset(values, value, columns * head_dim);
    struct sm_attention a = one_head(columns, MANY, head_dim, keys, values, scales);
    a.out = out;
    a.q = q;
    a.mask = mask;
    a.scale = 1;
    memset(out, 0xff, sizeof out);
    variant->fn(&a, sm_part_whole(1, 1));
    const float right = (float)value * scale;
    for (size_t d = 0; d < head_dim; d++)
        if (!(fabsf(out[d] - right) <= 0x1p-15f * fabsf(right)))
            fail_msg("%s, %zu columns of head_dim %zu: %.9g for %.9g", variant->name, columns, head_dim, (double)out[d],
                     (double)right);
}

static void test_values(void **state)
{
    static const size_t head_dims[] = {8, 64, 72, 512}, columns[] = {1, 15, 17, 64, MANY};
    static const float scales[] = {0x1.fffffep0f, 0x1.fffep0f, 1, 0x1p-80f, 0x1.fffffep-126f};
    const struct sm_family *f = sm_family_named("attention_i8");
    (void)state;
    for (size_t v = 0; v < f->variant_count; v++) {
        if (f->variants[v].needs & ~sm_cpu_features()) continue;
        for (size_t d = 0; d < sizeof head_dims / sizeof *head_dims; d++)
            for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
                for (size_t s = 0; s < sizeof scales / sizeof *scales; s++)
                    for (int sign = -1; sign <= 1; sign += 2)
                        check_values(&f->variants[v], columns[c], head_dims[d], (int8_t)(127 * sign), scales[s]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends), cmocka_unit_test(test_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
