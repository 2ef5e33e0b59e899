/* Tokenizers on small vocabularies: what the Python package tokenizers answers, properties of any text, and files and
 * texts that mean no good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"
#include "random.h"
#include "tokenizer_table.h"

static const char *const names[] = {"digits", "llama3", "gpt2", "llama2", "gemma", "split", "unigram", "unigram-bytes"};
#define NAMES (sizeof names / sizeof *names)

static char why[512];

static struct sm_tokenizer *open_named(const char *name)
{
    char path[128];
    struct sm_tokenizer *t;
    snprintf(path, sizeof path, "tokenizers/%s.json", name);
    if (sm_tokenizer_open(&t, golden_path(path), why, sizeof why)) fail_msg("%s", why);
    return t;
}

/* Every answer of the package. */
static void test_package(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        char path[128];
        struct sm_tokenizer *t = open_named(names[i]);
        snprintf(path, sizeof path, "tokenizers/%s.cases.json", names[i]);
        json_t *rows = json_load_file(golden_path(path), JSON_ALLOW_NUL, NULL);
        assert_non_null(rows);
        print_message("%s: %s\n", names[i], sm_tokenizer_kind(t));
        const size_t checked = tokenizer_table_check(t, rows, "ids", 0);
        assert_int_equal(tokenizer_table_check(t, rows, "ids_special", SM_ENCODE_ADD_SPECIAL), checked);
        print_message("  %zu texts equal\n", checked);
        assert_true(checked > 200);
        json_decref(rows);
        sm_tokenizer_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_package),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
