/* Every variant of mask_build against masks that TICO's own builders made (tests/golden/masks).
 *
 * Gemma 4's prefill builder hides padding keys and not padding queries, whose rows our contract hides whole
 * (the host discards both): of those cases only the rows of real tokens are compared. All others are compared whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "golden.h"
#include "mask_build/mask_build.h"

static size_t number(const json_t *of, const char *key)
{
    const json_t *value = json_object_get(of, key);
    return json_is_integer(value) ? (size_t)json_integer_value(value) : 0; /* a window of null is none */
}

static int is_text(const json_t *of, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(of, key));
    return value && !strcmp(value, text);
}

/* Compares one case; the number of elements compared. */
static size_t check_case(const struct golden *golden, const json_t *facts, const struct sm_variant *variant)
{
    const char *name = json_string_value(json_object_get(facts, "name"));
    const size_t rows = number(facts, "Q"), columns = number(facts, "K"), real = number(facts, "T");
    size_t sizes[2];
    const float *want = golden_floats(golden, name, 2, sizes);
    assert_int_equal(sizes[0], rows);
    assert_int_equal(sizes[1], columns);
    float *got = malloc(rows * columns * sizeof *got);
    assert_non_null(got);
    const struct sm_mask_build args = {.mask = got,
                                       .mask_stride = columns,
                                       .rows = rows,
                                       .past = columns - rows,
                                       .past_valid = number(facts, "P"),
                                       .begin = is_text(facts, "padding_side", "left") ? rows - real : 0,
                                       .valid = real,
                                       .window = number(facts, "window"),
                                       .fill = -120};
    variant->fn(&args, sm_part_whole(rows, columns));
    const int only_real = is_text(facts, "family", "gemma4") && is_text(facts, "phase", "prefill");
    const size_t compared = only_real ? real : rows;
    for (size_t i = 0; i < compared * columns; i++)
        if (got[i] != want[i])
            fail_msg("%s, %s: row %zu column %zu is %g, not %g", variant->name, name, i / columns, i % columns,
                     (double)got[i], (double)want[i]);
    free(got);
    return compared * columns;
}

static void masks_are_those_of_tico(void **state)
{
    (void)state;
    struct golden golden;
    golden_open(&golden, "masks/golden");
    const json_t *cases = json_object_get(golden.facts, "cases");
    assert_true(json_array_size(cases) >= 40);
    for (size_t v = 0; v < sm_family_mask_build.variant_count; v++) {
        const struct sm_variant *variant = &sm_family_mask_build.variants[v];
        if (variant->needs & ~sm_cpu_features()) continue;
        size_t compared = 0;
        for (size_t i = 0; i < json_array_size(cases); i++)
            compared += check_case(&golden, json_array_get(cases, i), variant);
        print_message("%s: %zu cases, %zu elements\n", variant->name, json_array_size(cases), compared);
    }
    golden_close(&golden);
}

/* static-contract 2.8: row i of an append sees past columns from P + i - W + 1 on and its own call's from i - W + 1. */
static void a_window_slides_over_append_rows(void **state)
{
    (void)state;
    float mask[3][8];
    const struct sm_mask_build args = {
        .mask = *mask, .mask_stride = 8, .rows = 3, .past = 5, .past_valid = 4, .valid = 2, .window = 3, .fill = -120};
    static const int seen[3][8] = {{0, 0, 1, 1, 0, 1, 0, 0}, {0, 0, 0, 1, 0, 1, 1, 0}, {0}};
    for (size_t v = 0; v < sm_family_mask_build.variant_count; v++) {
        sm_family_mask_build.variants[v].fn(&args, sm_part_whole(3, 8));
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 8; j++) assert_true(mask[i][j] == (seen[i][j] ? 0.0f : -120.0f));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_those_of_tico),
        cmocka_unit_test(a_window_slides_over_append_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
