/* Folders of config.json and safetensors: what the small models' are read as, in both generations of keys, under every
 * name that checkpoints use, in one file or several, and next to the same model as GGUF. */
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
#include "quant.h"
#include "safetensors.h"

static char why[512];

static struct sm_model *open_folder(const char *path)
{
    struct sm_model *model = NULL;
    if (sm_model_open(&model, path, why, sizeof why)) fail_msg("%s", why);
    return model;
}

static struct sm_model *open_small(size_t m, size_t style)
{
    struct folder folder;
    folder_of_model(&folder, m, style);
    struct sm_model *model = open_folder(folder.path);
    folder_destroy(&folder); /* what is mapped stays */
    return model;
}

static void same_tensor(const struct sm_tensor *a, const struct sm_tensor *b)
{
    assert_true(a->bytes == b->bytes && a->rows == b->rows && a->cols == b->cols && a->format == b->format);
    assert_true(!a->data == !b->data);
    if (a->data) assert_memory_equal(a->data, b->data, a->bytes);
}

/* All but their names. */
static void same_models(const struct sm_model *a, struct sm_model *b)
{
    memcpy(b->shape.name, a->shape.name, sizeof a->shape.name);
    assert_memory_equal(&a->shape, &b->shape, sizeof a->shape);
    assert_true(a->norm_plus_one == b->norm_plus_one && a->parameters == b->parameters);
    assert_false(a->paired_rows || b->paired_rows || a->synthetic || b->synthetic);
    same_tensor(&a->embedding, &b->embedding);
    same_tensor(&a->head, &b->head);
    same_tensor(&a->output_norm, &b->output_norm);
    same_tensor(&a->per_layer_table, &b->per_layer_table);
    same_tensor(&a->per_layer_context, &b->per_layer_context);
    same_tensor(&a->per_layer_norm, &b->per_layer_norm);
    for (size_t l = 0; l < a->shape.layers; l++)
        for (size_t t = 0; t < SM_LAYER_TENSORS; t++) same_tensor(&a->layer[l].tensor[t], &b->layer[l].tensor[t]);
}

static void test_styles(void **state)
{
    (void)state;
    static const char *const formats[SMALL_MODELS] = {"F32 30", "F32 28", "F32 46", "F32 93", "F32 146", "F32 84"};
    for (size_t m = 0; m < SMALL_MODELS; m++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/", golden_path(small_models[m]));
        struct sm_model *a = open_small(m, 0), *b = open_small(m, 1), *c = open_folder(path);
        assert_string_equal(c->shape.name, small_models[m]);
        assert_string_equal(c->formats, formats[m]);
        same_models(a, b);
        same_models(a, c);
        sm_model_close(a);
        sm_model_close(b);
        sm_model_close(c);
    }
}

/* How a checkpoint is written again. */
struct rewrite {
    const char *prefix, *head; /* in place of "model.", and of "lm_head." */
    const char *type;          /* F32, F16 or BF16 */
    size_t blanks;             /* after the header */
    bool extras;               /* tensors that nobody reads */
};

static uint16_t half_of(float x, const char *type)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return strcmp(type, "BF16") ? sm_f32_to_f16(x) : (uint16_t)(bits >> 16);
}

static void add_rewritten(struct tensors_out *out, const struct sm_safetensor *t, const struct rewrite *r)
{
    char name[256];
    const bool model = !strncmp(t->name, "model.", 6);
    snprintf(name, sizeof name, "%s%s", model ? r->prefix : r->head, t->name + (model ? 6 : 8));
    if (!strcmp(r->type, "F32")) {
        tensors_add(out, name, "F32", t->rank, t->sizes, t->data, t->bytes);
        return;
    }
    const size_t count = t->bytes / sizeof(float);
    uint16_t *halves = malloc(count * sizeof *halves);
    assert_non_null(halves);
    for (size_t i = 0; i < count; i++) {
        float x;
        memcpy(&x, (const char *)t->data + i * sizeof x, sizeof x);
        halves[i] = half_of(x, r->type);
    }
    tensors_add(out, name, r->type, t->rank, t->sizes, halves, count * sizeof *halves);
    free(halves);
}

static void open_tensors(struct sm_safetensors *file, size_t m)
{
    char name[128];
    snprintf(name, sizeof name, "%s/model.safetensors", small_models[m]);
    if (sm_safetensors_open(file, golden_path(name), why, sizeof why)) fail_msg("%s", why);
}

/* A folder of model m, its tensors in `shards` files. */
static struct sm_model *open_rewritten(size_t m, const struct rewrite *r, size_t shards)
{
    static const size_t odd[3] = {2, 1, 3};
    struct sm_safetensors file;
    struct folder folder;
    folder_of_model(&folder, m, 0);
    open_tensors(&file, m);
    json_t *map = json_object();
    for (size_t s = 0; s < shards; s++) {
        struct tensors_out out;
        size_t count;
        char name[64] = "model.safetensors";
        const char *key;
        json_t *unused;
        if (shards > 1) snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", s + 1, shards);
        tensors_begin(&out);
        if (r->extras && !s) {
            tensors_add(&out, "vision_tower.layers.0.self_attn.q_proj.weight", "I64", 3, odd,
                        "0123456789abcdef01234567"
                        "0123456789abcdef01234567",
                        48);
            tensors_add(&out, "model.audio_tower.layers.77.scale", "U8", 1, odd, "ab", 2);
            tensors_add(&out, "mtp.layers.0.norm.weight", "BOOL", 0, odd, "", 1);
        }
        for (size_t i = s; i < file.count; i += shards) add_rewritten(&out, &file.tensors[i], r);
        json_object_foreach((json_t *)out.header, key, unused) json_object_set_new(map, key, json_string(name));
        char *bytes = tensors_end(&out, r->blanks, &count);
        folder_write(&folder, name, bytes, count);
        free(bytes);
    }
    if (shards > 1) {
        remove(folder_path(&folder, "model.safetensors"));
        json_t *index = json_pack("{s:{s:i}, s:O}", "metadata", "total_size", 1, "weight_map", map);
        char *text = json_dumps(index, 0);
        folder_write(&folder, "model.safetensors.index.json", text, strlen(text));
        free(text);
        json_decref(index);
    }
    json_decref(map);
    struct sm_model *model = open_folder(folder.path);
    sm_safetensors_close(&file);
    folder_destroy(&folder);
    return model;
}

static const struct rewrite plain = {"model.", "lm_head.", "F32", 0, false};

/* Every prefix in use, among tensors of other parts. */
static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *prefix, *head;
    } all[] = {{"model.", "lm_head."},
               {"", "lm_head."},
               {"model.language_model.", "lm_head."},
               {"language_model.model.", "language_model.lm_head."}};
    for (size_t m = 0; m < SMALL_MODELS; m++) {
        struct sm_model *base = open_small(m, 0);
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            const struct rewrite r = {all[i].prefix, all[i].head, "F32", 0, true};
            struct sm_model *other = open_rewritten(m, &r, 1);
            same_models(base, other);
            sm_model_close(other);
        }
        sm_model_close(base);
    }
}

static void check_aligned(const struct sm_tensor *t)
{
    if (t->data) assert_int_equal((uintptr_t)t->data % (t->format == SM_FORMAT_F32 ? 4 : 2), 0);
}

/* Data at every offset from its alignment are read right, in one file and in several, and are aligned afterwards. */
static void test_alignment_and_shards(void **state)
{
    (void)state;
    for (size_t m = 0; m < SMALL_MODELS; m++) {
        struct sm_model *base = open_small(m, 0);
        for (size_t blanks = 0; blanks < 4; blanks++)
            for (size_t shards = 1; shards <= 5; shards += 2) {
                struct rewrite r = plain;
                r.blanks = blanks;
                struct sm_model *other = open_rewritten(m, &r, shards);
                same_models(base, other);
                check_aligned(&other->embedding);
                check_aligned(&other->output_norm);
                check_aligned(&other->per_layer_table);
                for (size_t l = 0; l < other->shape.layers; l++)
                    for (size_t t = 0; t < SM_LAYER_TENSORS; t++) check_aligned(&other->layer[l].tensor[t]);
                assert_true(!base->shape.tied || other->head.data == other->embedding.data);
                sm_model_close(other);
            }
        sm_model_close(base);
    }
}

/* Half floats of either kind, aligned or not. */
static void test_half_floats(void **state)
{
    (void)state;
    static const char *const types[] = {"F16", "BF16"};
    for (size_t m = 0; m < SMALL_MODELS; m++) {
        struct sm_model *base = open_small(m, 0);
        for (size_t i = 0; i < 2 * sizeof types / sizeof *types; i++) {
            const struct rewrite r = {"model.", "lm_head.", types[i / 2], i % 2, false};
            struct sm_model *other = open_rewritten(m, &r, 1);
            const struct sm_tensor *a = &base->layer[1].tensor[SM_TENSOR_DOWN],
                                   *b = &other->layer[1].tensor[SM_TENSOR_DOWN];
            assert_string_equal(sm_format_name(b->format), r.type);
            assert_true(a->rows == b->rows && a->cols == b->cols && 2 * b->bytes == a->bytes);
            for (size_t e = 0; e < a->rows * a->cols; e++)
                assert_int_equal(((const uint16_t *)b->data)[e], half_of(((const float *)a->data)[e], r.type));
            sm_model_close(other);
        }
        sm_model_close(base);
    }
}

/* Row r of a tensor in the order of pairs is row ordered(r) of the other: GGUF of Llama (model-math: C.4). */
static size_t ordered(size_t r, size_t head_dim)
{
    const size_t j = r % head_dim, half = head_dim / 2;
    return r - j + (j < half ? 2 * j : 2 * (j - half) + 1);
}

static void same_numbers(const struct sm_tensor *hf, const struct sm_tensor *gguf, size_t head_dim, float plus)
{
    assert_true(!hf->data == !gguf->data && hf->rows * hf->cols == gguf->rows * gguf->cols);
    const size_t cols = hf->rows > 1 ? hf->cols : 1;
    for (size_t i = 0; hf->data && i < hf->rows * hf->cols; i++) {
        const size_t other = head_dim ? ordered(i / cols, head_dim) * cols + i % cols : i;
        float a, b;
        memcpy(&a, (const char *)hf->data + i * sizeof a, sizeof a);
        if (gguf->format == SM_FORMAT_F16) {
            assert_int_equal(((const uint16_t *)gguf->data)[other], sm_f32_to_f16(a));
            continue;
        }
        assert_int_equal(gguf->format, SM_FORMAT_F32);
        memcpy(&b, (const char *)gguf->data + other * sizeof b, sizeof b);
        if (a + plus != b) fail_msg("element %zu is %.9g, and %.9g in the other file", i, (double)a, (double)b);
    }
}

/* A folder and a GGUF file of the same weights: the same shape and the same numbers, but for what GGUF cannot say. */
static void test_as_gguf(void **state)
{
    (void)state;
    static const char *const files[SMALL_MODELS] = {
        "llama-tiny/llama-tiny-f32.gguf",   "llama3-rope-tiny/llama3-rope-tiny-f32.gguf",
        "gemma2-tiny/gemma2-tiny-f16.gguf", "gemma3-tiny/gemma3-tiny-f16.gguf",
        "gemma4-tiny/gemma4-tiny-f16.gguf", NULL};
    for (size_t m = 0; m < SMALL_MODELS; m++) {
        if (!files[m]) continue;
        struct sm_model *hf = open_small(m, 1), *gguf = open_folder(golden_path(files[m]));
        for (size_t l = 0; l < hf->shape.layers; l++) {
            struct sm_layer_shape *a = &hf->shape.layer[l], *b = &gguf->shape.layer[l];
            if (m == 2) b->attention_scale = a->attention_scale; /* query_pre_attn_scalar */
            assert_memory_equal(a, b, sizeof *a);
            for (size_t t = 0; t < SM_LAYER_TENSORS; t++) {
                const bool q = t == SM_TENSOR_Q || t == SM_TENSOR_Q_BIAS, k = t == SM_TENSOR_K || t == SM_TENSOR_K_BIAS;
                const bool norm = t == SM_TENSOR_ATTN_NORM || t == SM_TENSOR_FFN_NORM || t == SM_TENSOR_Q_NORM ||
                                  t == SM_TENSOR_K_NORM || t == SM_TENSOR_POST_ATTN_NORM ||
                                  t == SM_TENSOR_POST_FFN_NORM;
                same_numbers(&hf->layer[l].tensor[t], &gguf->layer[l].tensor[t],
                             gguf->paired_rows && (q || k) ? a->head_dim : 0, norm && hf->norm_plus_one ? 1 : 0);
            }
        }
        same_numbers(&hf->embedding, &gguf->embedding, 0, 0);
        same_numbers(&hf->head, &gguf->head, 0, 0);
        same_numbers(&hf->output_norm, &gguf->output_norm, 0, hf->norm_plus_one ? 1 : 0);
        same_numbers(&hf->per_layer_table, &gguf->per_layer_table, 0, 0);
        same_numbers(&hf->per_layer_context, &gguf->per_layer_context, 0, 0);
        same_numbers(&hf->per_layer_norm, &gguf->per_layer_norm, 0, 0);
        memcpy(gguf->shape.name, hf->shape.name, sizeof hf->shape.name);
        gguf->shape.rope_scaling = hf->shape.rope_scaling; /* in GGUF: divisors */
        assert_memory_equal(&hf->shape, &gguf->shape, sizeof hf->shape);
        assert_true(m != 1 || (gguf->rope_divisors.data && hf->shape.rope_scaling.factor == 8));
        sm_model_close(hf);
        sm_model_close(gguf);
    }
}

/* The reader itself, on a file with several types of tensors. */
static void test_reader(void **state)
{
    (void)state;
    struct sm_safetensors file;
    struct golden golden;
    golden_open(&golden, "gemma4-tiny/golden");
    if (sm_safetensors_open(&file, golden_path("gemma4-tiny/golden.safetensors"), why, sizeof why)) fail_msg("%s", why);
    size_t sizes[2];
    const struct sm_safetensor *logits = sm_safetensors_find(&file, "full.logits");
    const float *expected = golden_floats(&golden, "full.logits", 2, sizes);
    assert_true(logits && logits->type == SM_SAFETENSORS_F32 && logits->rank == 2 && logits->sizes[1] == sizes[1]);
    assert_memory_equal(logits->data, expected, logits->bytes);
    const struct sm_safetensor *tokens = sm_safetensors_find(&file, "full.tokens");
    assert_true(tokens && tokens->type == SM_SAFETENSORS_I32 && tokens->rank == 1);
    assert_string_equal(sm_safetensors_type_name(tokens->type), "I32");
    assert_null(sm_safetensors_find(&file, "full.logit"));
    assert_null(sm_safetensors_find(&file, "__metadata__"));
    sm_safetensors_close(&file);
    sm_safetensors_close(&file);
    assert_null(sm_safetensors_find(&file, "full.logits"));
    golden_close(&golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_styles),      cmocka_unit_test(test_names),   cmocka_unit_test(test_alignment_and_shards),
        cmocka_unit_test(test_half_floats), cmocka_unit_test(test_as_gguf), cmocka_unit_test(test_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
