/* Folders of config.json and safetensors: what the small models' are read as, in both generations of keys. */
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
#include "hf_fixture.h"
#include "model.h"

static char why[512];

enum { LLAMA, LLAMA3, GEMMA2, GEMMA3, GEMMA4, KEQV };

static struct sm_model *open_small(size_t m, size_t style)
{
    struct folder folder;
    struct sm_model *model = NULL;
    folder_of_model(&folder, m, style);
    if (sm_model_open(&model, folder.path, why, sizeof why)) fail_msg("%s: %s", small_models[m], why);
    folder_destroy(&folder);                                /* what is mapped stays */
    memset(model->shape.name, 0, sizeof model->shape.name); /* the folder's, which is made up */
    strcpy(model->shape.name, small_models[m]);
    return model;
}

/* Both configs of a model give the same shape and tensors, and so do its name and its path with a slash. */
static void test_styles(void **state)
{
    (void)state;
    for (size_t m = 0; m < SMALL_MODELS; m++) {
        struct sm_model *a = open_small(m, 0), *b = open_small(m, 1), *c;
        char path[4096];
        snprintf(path, sizeof path, "%s/", golden_path(small_models[m]));
        if (sm_model_open(&c, path, why, sizeof why)) fail_msg("%s", why);
        assert_string_equal(c->shape.name, small_models[m]);
        assert_memory_equal(&a->shape, &b->shape, sizeof a->shape);
        assert_memory_equal(&a->shape, &c->shape, sizeof a->shape);
        assert_true(a->norm_plus_one == b->norm_plus_one && a->parameters == b->parameters);
        for (size_t l = 0; l < a->shape.layers; l++)
            for (size_t t = 0; t < SM_LAYER_TENSORS; t++) {
                const struct sm_tensor *x = &a->layer[l].tensor[t], *y = &b->layer[l].tensor[t];
                assert_true(x->bytes == y->bytes && x->rows == y->rows && x->cols == y->cols);
                assert_true(!x->data == !y->data);
                if (x->data) assert_memory_equal(x->data, y->data, x->bytes);
            }
        sm_model_close(a);
        sm_model_close(b);
        sm_model_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_styles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
