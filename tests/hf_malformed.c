/* Folders that are wrong: each fault by its sentence, and a thousand seeded changes each of configs and tensors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpu.h"
#include "fuzz/hf_target.h"
#include "golden.h"
#include "hf_fixture.h"
#include "model.h"
#include "random.h"
#include "safetensors.h"
#include "weights.h"

#define MUTATIONS 1000

static char why[512];

enum { LLAMA, LLAMA3, GEMMA2, GEMMA3, GEMMA4, KEQV };

/* The two files of a small model. */
struct small {
    char *config, *tensors;
    size_t config_bytes, tensor_bytes;
};

static struct small read_small(size_t m, size_t style)
{
    struct small s;
    char name[128];
    snprintf(name, sizeof name, "%s/%s", small_models[m], config_styles[style]);
    s.config = file_read(golden_path(name), &s.config_bytes);
    snprintf(name, sizeof name, "%s/model.safetensors", small_models[m]);
    s.tensors = file_read(golden_path(name), &s.tensor_bytes);
    return s;
}

static void free_small(struct small *s)
{
    free(s->config);
    free(s->tensors);
}

static void expect_words(const char *what, const char *words)
{
    if (!strstr(why, words)) fail_msg("%s: expected '%s' in: %s", what, words, why);
}

/* Bytes of a safetensors file with that header and so many bytes of data. */
static void expect_header(const char *header, size_t data, const char *words)
{
    struct sm_safetensors file;
    const uint64_t length = strlen(header);
    const size_t count = sizeof length + (size_t)length + data;
    char *bytes = calloc(1, count);
    assert_non_null(bytes);
    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + sizeof length, header, (size_t)length);
    why[0] = '\0';
    const int bad = sm_safetensors_parse(&file, bytes, count, "it", why, sizeof why);
    if (!words != !bad) fail_msg("%.80s: %s", header, bad ? why : "it was read");
    if (words) expect_words(header, words);
    if (!bad) sm_safetensors_close(&file);
    free(bytes);
}

#define F32(name, shape, from, to)                                                                                     \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"

static void test_headers(void **state)
{
    (void)state;
    expect_header("{" F32("a", "[2]", "0", "8") "," F32("b", "[0]", "8", "8") "}", 8, NULL);
    expect_header("{" F32("a", "[2]", "8", "16") "," F32("b", "[1,2]", "0", "8") "}   ", 16, NULL);
    expect_header("{" F32("a", "[]", "0", "4") ",\"__metadata__\":{\"format\":\"pt\"}}", 4, NULL);
    expect_header("{}", 0, NULL);
    expect_header("[]", 0, "does not begin with '{'");
    expect_header("", 0, "does not begin with '{'");
    expect_header("{", 0, "not JSON");
    expect_header("{} {}", 0, "not JSON");
    expect_header("{" F32("a", "[2]", "0", "8") "," F32("a", "[2]", "0", "8") "}", 8, "duplicate");
    expect_header("{" F32("a", "[2]", "0", "8") "," F32("b", "[2]", "4", "12") "}", 12, "tensor b overlaps tensor a");
    expect_header("{" F32("a", "[2]", "0", "8") "," F32("b", "[2]", "0", "8") "}", 8, "overlaps tensor");
    expect_header("{" F32("a", "[2]", "0", "8") "," F32("b", "[1]", "12", "16") "}", 16, "4 bytes before tensor b");
    expect_header("{" F32("a", "[2]", "4", "12") "}", 12, "4 bytes before tensor a");
    expect_header("{" F32("a", "[2]", "0", "8") "}", 12, "last 4 bytes belong to no tensor");
    expect_header("{}", 1, "last 1 bytes belong to no tensor");
    expect_header("{" F32("a", "[2]", "0", "8") "}", 7, "lies at offsets 0 to 8 of 7 bytes");
    expect_header("{" F32("a", "[2]", "8", "0") "}", 8, "lies at offsets 8 to 0");
    expect_header("{" F32("a", "[3]", "0", "8") "}", 8, "has 8 bytes, and its type and shape need 12");
    expect_header("{" F32("a", "[4294967296,4294967296]", "0", "8") "}", 8, "more elements than can be counted");
    expect_header("{" F32("a", "[9223372036854775807,2,0]", "0", "8") "}", 8, "more elements than can be counted");
    expect_header("{" F32("a", "[4611686018427387904]", "0", "0") "}", 0, "more elements than can be counted");
    expect_header("{" F32("a", "[-2]", "0", "8") "}", 8, "axis 0 of tensor a is not a size");
    expect_header("{" F32("a", "[2.0]", "0", "8") "}", 8, "axis 0 of tensor a is not a size");
    expect_header("{" F32("a", "2", "0", "8") "}", 8, "has no shape");
    expect_header("{" F32("a", "[1,1,1,1,1,1,1,1,2]", "0", "8") "}", 8, "has 9 axes");
    expect_header("{" F32("a", "[99999999999999999999]", "0", "8") "}", 8, "too big integer");
    expect_header("{" F32("a", "[2]", "-8", "0") "}", 8, "two data_offsets");
    expect_header("{" F32("a", "[2]", "0", "8.0") "}", 8, "two data_offsets");
    expect_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,8]}}", 8, "two data_offsets");
    expect_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"offsets\":[0,8]}}", 8, "two data_offsets");
    expect_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", 8, "two data_offsets");
    expect_header("{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "of the type F33");
    expect_header("{\"a\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "has no dtype");
    expect_header("{\"a\":[2]}", 8, "has no dtype");
    expect_header("{\"a\\u0000b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "not JSON");
    expect_header("{" F32("\\u001b[31m\\n", "2", "0", "8") "}", 8, "tensor ?[31m? has no shape"); /* to a terminal */
    expect_header("{\"__metadata__\":[]}", 0, "__metadata__ is not an object");
    expect_header("{\"__metadata__\":{\"x\":1}}", 0, "__metadata__ holds x");
}

/* Lengths of the header that the file does not have, and nesting that a reader must not follow. */
static void test_header_lengths(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {3, 100000001, (uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 7};
    struct sm_safetensors file;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char bytes[10] = "12345678{}";
        memcpy(bytes, &lengths[i], 8);
        assert_int_equal(sm_safetensors_parse(&file, bytes, sizeof bytes, "it", why, sizeof why), -1);
        expect_words("a long header", "and the file has 2");
    }
    for (size_t count = 0; count < 8; count++) {
        assert_int_equal(sm_safetensors_parse(&file, "\1\0\0\0\0\0\0\0", count, "it", why, sizeof why), -1);
        expect_words("a short file", "no safetensors file");
    }
    static char deep[200010] = "{\"a\":";
    memset(deep + 5, '[', sizeof deep - 6);
    expect_header(deep, 0, "depth");
}

/* What is done to a model's tensors on the way into a new file. NULL name: nothing more. */
struct fault {
    const char *name;      /* the tensor, and what becomes of it: */
    const char *renamed;   /* its name; "" leaves it out */
    const char *type;      /* NULL: as it was */
    size_t rank, sizes[3]; /* 0: as it was */
};

static void expect_fault(size_t m, const struct fault *f, const char *words)
{
    struct small s = read_small(m, 0);
    struct sm_safetensors file;
    struct tensors_out out;
    size_t count, hits = 0;
    assert_int_equal(sm_safetensors_parse(&file, s.tensors, s.tensor_bytes, "it", why, sizeof why), 0);
    tensors_begin(&out);
    for (size_t i = 0; i < file.count; i++) {
        const struct sm_safetensor *t = &file.tensors[i];
        const bool hit = !strcmp(t->name, f->name);
        hits += hit;
        if (hit && f->renamed && !*f->renamed) continue;
        const char *type = hit && f->type ? f->type : sm_safetensors_type_name(t->type);
        if (hit && f->rank)
            tensors_add(&out, f->renamed ? f->renamed : t->name, type, f->rank, f->sizes, t->data, t->bytes);
        else
            tensors_add(&out, hit && f->renamed ? f->renamed : t->name, type, t->rank, t->sizes, t->data, t->bytes);
    }
    if (!hits) tensors_add(&out, f->name, f->type ? f->type : "U8", f->rank, f->sizes, "0123456789abcdef", 16);
    char *bytes = tensors_end(&out, 0, &count);
    if (hf_target(s.config, s.config_bytes, bytes, count, why, sizeof why)) fail_msg("%s: it ran", f->name);
    expect_words(f->name, words);
    free(bytes);
    sm_safetensors_close(&file);
    free_small(&s);
}

static void test_tensors(void **state)
{
    (void)state;
    static const struct {
        size_t model;
        struct fault fault;
        const char *words;
    } all[] = {
        {LLAMA, {.name = "model.layers.1.mlp.up_proj.weight", .renamed = ""}, "no tensor model.layers.1.mlp.up_proj"},
        {LLAMA, {.name = "model.embed_tokens.weight", .renamed = ""}, "no tensor model.embed_tokens.weight"},
        {LLAMA, {.name = "model.norm.weight", .renamed = ""}, "no tensor model.norm.weight"},
        {LLAMA, {.name = "lm_head.weight", .renamed = ""}, "no tensor lm_head.weight"},
        {LLAMA3, {.name = "model.layers.0.self_attn.o_proj.bias", .renamed = ""}, "self_attn.o_proj.bias"},
        {GEMMA2, {.name = "model.layers.3.pre_feedforward_layernorm.weight", .renamed = ""}, "pre_feedforward"},
        {GEMMA3, {.name = "model.layers.6.self_attn.q_norm.weight", .renamed = ""}, "6.self_attn.q_norm.weight"},
        {GEMMA4, {.name = "model.layers.8.layer_scalar", .renamed = ""}, "no tensor model.layers.8.layer_scalar"},
        {GEMMA4, {.name = "model.embed_tokens_per_layer.weight", .renamed = ""}, "embed_tokens_per_layer.weight"},
        {KEQV, {.name = "model.layers.0.self_attn.v_proj.weight", .renamed = ""}, "0.self_attn.v_proj.weight"},
        {LLAMA, {.name = "model.layers.0.mlp.up_proj.weight", .rank = 2, .sizes = {64, 160}}, "64 x 160, not 160 x 64"},
        {LLAMA, {.name = "model.layers.0.mlp.up_proj.weight", .rank = 1, .sizes = {10240}}, "1 axes, not 2"},
        {LLAMA, {.name = "model.layers.0.mlp.up_proj.weight", .rank = 3, .sizes = {1, 160, 64}}, "3 axes, not 2"},
        {LLAMA, {.name = "model.norm.weight", .rank = 2, .sizes = {1, 64}}, "2 axes, not 1"},
        {LLAMA, {.name = "model.norm.weight", .type = "I32"}, "model.norm.weight is stored as I32"},
        {LLAMA, {.name = "model.norm.weight", .type = "F64", .rank = 1, .sizes = {32}}, "has 32 elements, not 64"},
        {LLAMA, {.name = "model.embed_tokens.weight", .rank = 2, .sizes = {80, 128}}, "80 x 128, not 160 x 64"},
        {GEMMA4, {.name = "model.embed_tokens_per_layer.weight", .rank = 2, .sizes = {72, 160}}, "72 x 160"},
        {GEMMA4, {.name = "model.layers.2.layer_scalar", .rank = 2, .sizes = {1, 1}}, "2 axes, not 1"},
        {LLAMA, {.name = "embed_tokens.weight", .rank = 1, .sizes = {16}}, "both model.embed_tokens.weight and"},
        {LLAMA, {.name = "model.layers.3.x", .rank = 1, .sizes = {16}}, "model.layers.3.x, and its config 3 layers"},
        {LLAMA, {.name = "model.layers.0.self_attn.q_norm.weight", .rank = 1, .sizes = {16}}, "which is not run"},
        {LLAMA, {.name = "model.layers.0.self_attn.q_proj.bias", .rank = 1, .sizes = {16}}, "which is not run"},
        {LLAMA, {.name = "model.layers.0.mlp.up_proj.weight_scale", .rank = 1, .sizes = {16}}, "which is not run"},
        {LLAMA, {.name = "model.layers.-1.x", .rank = 1, .sizes = {16}}, "and its config 3 layers"},
        {GEMMA4, {.name = "model.layers.0.router.scale", .rank = 1, .sizes = {16}}, "which is not run"},
        {KEQV, {.name = "model.layers.2.self_attn.v_proj.weight", .rank = 1, .sizes = {16}}, "which is not run"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) expect_fault(all[i].model, &all[i].fault, all[i].words);
}

/* Tensors that the config makes superfluous, and that are passed over whatever is in them. */
static void test_superfluous(void **state)
{
    (void)state;
    static const struct {
        size_t model;
        const char *name;
    } all[] = {
        {GEMMA4, "model.layers.8.self_attn.k_proj.weight"},
        {GEMMA4, "model.layers.8.self_attn.v_proj.weight"},
        {GEMMA4, "model.layers.5.self_attn.k_norm.weight"},
        {LLAMA, "model.layers.0.self_attn.rotary_emb.inv_freq"},
        {LLAMA3, "lm_head.weight"},
        {GEMMA4, "vision_tower.layers.9.x"},
        {GEMMA4, "model.audio_tower.x"},
    };
    const size_t sizes[1] = {16};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct small s = read_small(all[i].model, 1);
        struct sm_safetensors file;
        struct tensors_out out;
        size_t count;
        assert_int_equal(sm_safetensors_parse(&file, s.tensors, s.tensor_bytes, "it", why, sizeof why), 0);
        tensors_begin(&out);
        for (size_t t = 0; t < file.count; t++)
            tensors_add(&out, file.tensors[t].name, "F32", file.tensors[t].rank, file.tensors[t].sizes,
                        file.tensors[t].data, file.tensors[t].bytes);
        tensors_add(&out, all[i].name, "U8", 1, sizes, "0123456789abcdef", 16);
        char *bytes = tensors_end(&out, i % 4, &count);
        if (!hf_target(s.config, s.config_bytes, bytes, count, why, sizeof why)) fail_msg("%s: %s", all[i].name, why);
        free(bytes);
        sm_safetensors_close(&file);
        free_small(&s);
    }
}

/* Numbers that are not finite, in every tensor of every model that is read. */
static void test_not_finite(void **state)
{
    (void)state;
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    size_t tried = 0;
    for (size_t m = 0; m < SMALL_MODELS; m++) {
        struct small s = read_small(m, 0);
        struct sm_safetensors file;
        assert_int_equal(sm_safetensors_parse(&file, s.tensors, s.tensor_bytes, "it", why, sizeof why), 0);
        for (size_t i = 0; i < file.count; i++) {
            const struct sm_safetensor *t = &file.tensors[i];
            const size_t at = (size_t)((const char *)t->data - s.tensors) + t->bytes - sizeof(float);
            char kept[sizeof(float)];
            memcpy(kept, s.tensors + at, sizeof kept);
            memcpy(s.tensors + at, &bad[i % 3], sizeof(float));
            if (hf_target(s.config, s.config_bytes, s.tensors, s.tensor_bytes, why, sizeof why))
                fail_msg("%s ran with %s holding %g", small_models[m], t->name, (double)bad[i % 3]);
            expect_words(t->name, "not finite");
            memcpy(s.tensors + at, kept, sizeof kept);
            tried++;
        }
        sm_safetensors_close(&file);
        free_small(&s);
    }
    print_message("%zu tensors with a number that is not finite were refused\n", tried);
}

/* A byte changed, a number made longer or negative, a piece left out, doubled or moved. */
static size_t mutate_text(char *text, size_t count, struct sm_random *random)
{
    static const char letters[] = "0123456789-+.eE\"{}[]:,ntf \\\x80\xff";
    const size_t edits = 1 + sm_random_below(random, 3);
    for (size_t e = 0; e < edits && count > 16; e++) {
        const size_t at = sm_random_below(random, (uint32_t)count - 12), piece = 1 + sm_random_below(random, 10);
        const char letter = letters[sm_random_below(random, sizeof letters - 1)];
        switch (sm_random_below(random, 6)) {
        case 0: text[at] = letter; break;
        case 1: text[at] = (char)sm_random_below(random, 256); break;
        case 2: /* there is room for it */
            memmove(text + at + 1, text + at, count++ - at);
            text[at] = letter;
            break;
        case 3:
            memmove(text + at, text + at + piece, count - at - piece);
            count -= piece;
            break;
        case 4: { /* a digit becomes another one: what stays a config */
            size_t digit = at;
            while (digit + 1 < count && (text[digit] < '0' || text[digit] > '9')) digit++;
            text[digit] = (char)('0' + sm_random_below(random, 10));
            break;
        }
        default: memcpy(text + at, text + sm_random_below(random, (uint32_t)count - 12), piece); break;
        }
    }
    return count;
}

static void report(const char *what, size_t ran, size_t refused)
{
    print_message("%zu %s ran, %zu were refused\n", ran, what, refused);
    assert_int_equal(ran + refused, MUTATIONS);
    assert_true(ran > MUTATIONS / 50 && refused > MUTATIONS / 5); /* or the changes are not what they should be */
}

static void test_config_mutations(void **state)
{
    (void)state;
    size_t ran = 0;
    for (uint64_t seed = 0; seed < MUTATIONS; seed++) {
        struct sm_random random = {seed};
        struct small s = read_small(seed % SMALL_MODELS, seed / SMALL_MODELS % 2);
        char *text = malloc(s.config_bytes + 8);
        assert_non_null(text);
        memcpy(text, s.config, s.config_bytes);
        const size_t count = mutate_text(text, s.config_bytes, &random);
        ran += (size_t)hf_target(text, count, s.tensors, s.tensor_bytes, why, sizeof why);
        free(text);
        free_small(&s);
    }
    report("changed configs", ran, MUTATIONS - ran);
}

/* Three quarters in the header: as text, or its length; the rest anywhere, or the file is cut. */
static void test_tensor_mutations(void **state)
{
    (void)state;
    static const uint64_t values[] = {
        0, 1, 7, 0x7fffffff, 0xffffffff, (uint64_t)1 << 32, UINT64_MAX, 0x7f8000007fc00000};
    size_t ran = 0;
    for (uint64_t seed = 0; seed < MUTATIONS; seed++) {
        struct sm_random random = {seed};
        struct small s = read_small(seed % SMALL_MODELS, 0);
        uint64_t header;
        memcpy(&header, s.tensors, sizeof header);
        size_t count = s.tensor_bytes;
        const size_t at = sm_random_below(&random, (uint32_t)count - 8);
        const uint64_t value = values[sm_random_below(&random, sizeof values / sizeof *values)];
        char *bytes = malloc(count + 8);
        assert_non_null(bytes);
        memcpy(bytes, s.tensors, count);
        switch (seed / SMALL_MODELS % 8) {
        case 0: memcpy(bytes + at, &value, 1 + sm_random_below(&random, 8)); break;
        case 1: count = at; break;
        case 2: memcpy(bytes, &value, 1 + sm_random_below(&random, 8)); break;
        default: { /* the header gets another length, and its data move with it */
            const size_t length = mutate_text(bytes + 8, (size_t)header, &random);
            const uint64_t now = seed % 2 ? length : header;
            memcpy(bytes, &now, sizeof now);
            memmove(bytes + 8 + length, s.tensors + 8 + header, count - 8 - (size_t)header);
            count = count - (size_t)header + length;
        }
        }
        ran += (size_t)hf_target(s.config, s.config_bytes, bytes, count, why, sizeof why);
        free(bytes);
        free_small(&s);
    }
    report("changed files of tensors", ran, MUTATIONS - ran);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),          cmocka_unit_test(test_header_lengths),
        cmocka_unit_test(test_tensors),          cmocka_unit_test(test_superfluous),
        cmocka_unit_test(test_not_finite),       cmocka_unit_test(test_config_mutations),
        cmocka_unit_test(test_tensor_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
