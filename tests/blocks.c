/* The block formats of quant.h, as every variant of the embedding families reads them and cache_write_f16 writes
 * halves, against the gguf package's own: bit for bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cache_write.h"
#include "cpu.h"
#include "embedding.h"
#include "golden.h"
#include "quant.h"

static struct golden golden;

static int can_run(const struct sm_variant *v)
{
    return !(v->needs & ~sm_cpu_features());
}

/* Every row of a table by every variant of `family`; returns how many variants ran. */
static int compare_rows(const char *family, const void *table, const float *right, size_t rows, size_t cols)
{
    const struct sm_family *f = sm_family_named(family);
    int32_t *token = malloc(rows * sizeof *token);
    float *y = malloc(rows * cols * sizeof *y);
    int ran = 0;
    assert_non_null(token);
    assert_non_null(y);
    for (size_t r = 0; r < rows; r++) token[r] = (int32_t)r;
    const struct sm_embedding args = {.y = y,
                                      .y_stride = cols,
                                      .token = token,
                                      .table = table,
                                      .rows = rows,
                                      .cols = cols,
                                      .vocab = rows,
                                      .scale = 1};
    for (size_t i = 0; i < f->variant_count; i++) {
        if (!can_run(&f->variants[i])) continue;
        memset(y, 0xff, rows * cols * sizeof *y);
        f->variants[i].fn(&args, sm_part_whole(rows, cols));
        assert_memory_equal(y, right, rows * cols * sizeof *y);
        ran++;
    }
    free(y);
    free(token);
    return ran;
}

static void rows_of(const char *family, const char *set, const char *type)
{
    char name[64];
    size_t sizes[2], rows, cols;
    snprintf(name, sizeof name, "%s.%s.float", set, type);
    const float *right = golden_floats(&golden, name, 2, sizes);
    rows = sizes[0], cols = sizes[1];
    snprintf(name, sizeof name, "%s.%s.bytes", set, type);
    assert_true(compare_rows(family, golden_bytes(&golden, name, 2, sizes), right, rows, cols) >= 1);
}

static void embeddings_read_blocks(void **state)
{
    (void)state;
    static const char *const sets[] = {"odd", "rand"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        rows_of("embedding_q4_0", sets[i], "Q4_0");
        rows_of("embedding_q4_1", sets[i], "Q4_1");
        rows_of("embedding_q8_0", sets[i], "Q8_0");
        rows_of("embedding_f16", sets[i], "F16");
    }
    size_t sizes[2];
    const float *x = golden_floats(&golden, "odd.x", 2, sizes);
    compare_rows("embedding_f32", x, x, sizes[0], sizes[1]);
}

static void halves_convert_both_ways(void **state)
{
    (void)state;
    size_t sizes[2];
    const float *x = golden_floats(&golden, "odd.x", 2, sizes),
                *back = golden_floats(&golden, "odd.F16.float", 2, NULL);
    const uint8_t *bytes = golden_bytes(&golden, "odd.F16.bytes", 2, NULL);
    for (size_t i = 0; i < sizes[0] * sizes[1]; i++) {
        uint16_t half;
        memcpy(&half, bytes + 2 * i, sizeof half);
        assert_int_equal(sm_f32_to_f16(x[i]), half);
        const float value = sm_f16_to_f32(half);
        assert_memory_equal(&value, &back[i], sizeof value);
    }
}

/* A cache of as many slots as there are rows holds, slot-major, the matrix itself in halves. */
static void cache_writes_round_as_gguf(void **state)
{
    (void)state;
    size_t sizes[2];
    const float *x = golden_floats(&golden, "odd.x", 2, sizes);
    const uint8_t *right = golden_bytes(&golden, "odd.F16.bytes", 2, NULL);
    const struct sm_family *f = sm_family_named("cache_write_f16");
    const size_t rows = sizes[0], cols = sizes[1];
    uint16_t *cache = malloc(rows * cols * sizeof *cache);
    assert_non_null(cache);
    const struct sm_cache_write args = {.cache = cache,
                                        .head_stride = rows * cols,
                                        .slots = rows,
                                        .x = x,
                                        .x_stride = cols,
                                        .count = rows,
                                        .kv_heads = 1,
                                        .head_dim = cols};
    for (size_t i = 0; i < f->variant_count; i++) {
        if (!can_run(&f->variants[i]) || strcmp(f->variants[i].layout->name, "slot_major")) continue;
        memset(cache, 0xff, rows * cols * sizeof *cache);
        f->variants[i].fn(&args, sm_part_whole(rows, 1));
        assert_memory_equal(cache, right, rows * cols * sizeof *cache);
    }
    free(cache);
}

int main(void)
{
    golden_open(&golden, "blocks/golden");
    const struct CMUnitTest tests[] = {cmocka_unit_test(embeddings_read_blocks),
                                       cmocka_unit_test(halves_convert_both_ways),
                                       cmocka_unit_test(cache_writes_round_as_gguf)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    golden_close(&golden);
    return failed;
}
