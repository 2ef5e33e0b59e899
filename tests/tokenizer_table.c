#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer_table.h"

static void print_ids(char *to, size_t room, const int32_t *ids, size_t count)
{
    size_t used = 0;
    to[0] = 0;
    for (size_t i = 0; i < count && used < room; i++)
        used += (size_t)snprintf(to + used, room - used, "%s%d", i ? " " : "", ids[i]);
}

static void check_row(const struct sm_tokenizer *t, const json_t *row, size_t index, const char *key, unsigned flags)
{
    const json_t *text = json_object_get(row, "text"), *wanted = json_object_get(row, key),
                 *decoded = flags ? NULL : json_object_get(row, "decoded");
    const size_t bytes = json_string_length(text), count = json_array_size(wanted);
    char why[512], got_text[600], *back;
    int32_t *ids, *expected = malloc((count + 1) * sizeof *expected);
    size_t got, back_bytes;
    assert_non_null(expected);
    for (size_t i = 0; i < count; i++) expected[i] = (int32_t)json_integer_value(json_array_get(wanted, i));
    if (sm_tokenizer_encode(t, json_string_value(text), bytes, flags, &ids, &got, why, sizeof why))
        fail_msg("row %zu: %s", index, why);
    if (got != count || memcmp(ids, expected, count * sizeof *ids)) {
        char wanted_text[600];
        print_ids(got_text, sizeof got_text, ids, got);
        print_ids(wanted_text, sizeof wanted_text, expected, count);
        fail_msg("row %zu, '%s': tokens %s, not %s", index, json_string_value(text), got_text, wanted_text);
    }
    if (sm_tokenizer_decode(t, ids, got, true, &back, &back_bytes, why, sizeof why))
        fail_msg("row %zu: %s", index, why);
    if (decoded && (back_bytes != json_string_length(decoded) || memcmp(back, json_string_value(decoded), back_bytes)))
        fail_msg("row %zu: decoded to '%s', not '%s'", index, back, json_string_value(decoded));
    free(back);
    free(ids);
    free(expected);
}

size_t tokenizer_table_check(const struct sm_tokenizer *t, const json_t *rows, const char *key, unsigned flags)
{
    for (size_t i = 0; i < json_array_size(rows); i++) check_row(t, json_array_get(rows, i), i, key, flags);
    return json_array_size(rows);
}
