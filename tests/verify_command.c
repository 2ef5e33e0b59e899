/* `slotmark verify` as a user meets it: verdicts and exit codes, damaged weights found by layer, hostile reference
 * files. SM_SLOTMARK is the program. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "golden.h"
#include "model.h"

static char folder[] = "verify_command.XXXXXX";
static char said[1 << 16];

#define GGUF SM_SOURCE_DIR "/tests/golden/llama-tiny/llama-tiny-f32.gguf"
#define Q4 SM_SOURCE_DIR "/tests/golden/llama-tiny/llama-tiny-q4_0.gguf"
#define GOLDEN SM_SOURCE_DIR "/tests/golden/llama-tiny/golden.safetensors"

/* Runs the command, keeps what it said (stdout and stderr together), returns its exit code; a signal is 1000 + it. */
static int verify(const char *arguments)
{
    char command[4096], rest[4096];
    snprintf(command, sizeof command, "rm -rf r && %s verify --threads 1 --out r %s 2>&1", SM_SLOTMARK, arguments);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    said[fread(said, 1, sizeof said - 1, f)] = 0;
    while (fread(rest, 1, sizeof rest, f) > 0) continue;
    const int status = pclose(f), code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
    return code > 128 && code < 1000 ? 1000 + code : code;
}

static void expect(const char *arguments, int code, const char *says)
{
    const int ended = verify(arguments);
    if (ended != code || !strstr(said, says))
        fail_msg("'%s' ended with %d, not %d with '%s':\n%s", arguments, ended, code, says, said);
}

static void a_right_model_is_within_its_golden(void **unused)
{
    (void)unused;
    expect(GGUF " --recipe float --kv f32 --against " GOLDEN, 0, "within");
    assert_non_null(strstr(said, "59/59")); /* 19 calls and a pass of 40 rows */
    assert_non_null(strstr(said, "fed the golden side's tokens"));
    assert_non_null(strstr(said, "| append  |    18 |     17 | 8x3 "));
    assert_non_null(strstr(said, "the reference gives the interval"));
    json_error_t error;
    json_t *record = json_load_file("r/verify.jsonl", 0, &error);
    const json_t *q = json_object_get(record, "quality");
    assert_int_equal(json_array_size(json_object_get(q, "steps")), 19);
    assert_int_equal(json_array_size(json_object_get(q, "layers")), 5);
    assert_true(json_number_value(json_object_get(q, "peir")) < 1e-5);
    assert_non_null(strstr(json_string_value(json_object_get(record, "variant")), "attention_f32/"));
    assert_int_equal(json_array_size(json_object_get(record, "samples")), 16); /* its decodes */
    const json_t *witnesses = json_object_get(record, "witnesses"); /* held in place, or it says that it was not */
    assert_true(json_array_size(json_object_get(witnesses, "cpus")) == 1 ||
                json_array_size(json_object_get(witnesses, "flags")) == 1);
    json_decref(record);
    expect(SM_SOURCE_DIR "/tests/golden/gemma4-tiny --recipe float --kv f32 --against " SM_SOURCE_DIR
                         "/tests/golden/gemma4-tiny/golden.safetensors",
           0, "within");
}

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    fclose(f);
}

/* A copy of the model, one matrix of one layer (or, past the last layer, the embedding) multiplied by 1.05. */
static void damage(size_t layer, enum sm_layer_tensor which)
{
    char why[512];
    struct sm_model *m = NULL;
    if (sm_model_open(&m, GGUF, why, sizeof why)) fail_msg("%s", why);
    const struct sm_tensor *t = layer < m->shape.layers ? &m->layer[layer].tensor[which] : &m->embedding;
    char *copy = malloc(m->map_bytes);
    assert_non_null(copy);
    memcpy(copy, m->map, m->map_bytes);
    float *at = (float *)(void *)(copy + ((const char *)t->data - (const char *)m->map));
    for (size_t i = 0; i < t->rows * t->cols; i++) at[i] *= 1.05F;
    write_file("damaged.gguf", copy, m->map_bytes);
    free(copy);
    sm_model_close(m);
}

static void damage_is_found_in_its_layer(void **unused)
{
    (void)unused;
    static const struct {
        size_t layer;
        enum sm_layer_tensor which;
        const char *says;
    } planted[] = {
        {0, SM_TENSOR_Q, "layer 0 is the first that departs"},
        {1, SM_TENSOR_DOWN, "layer 1 is the first that departs"},
        {2, SM_TENSOR_FFN_NORM, "layer 2 is the first that departs"},
        {3, SM_TENSOR_Q, "the embedding is off"},
    };
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        damage(planted[i].layer, planted[i].which);
        expect("damaged.gguf --recipe float --kv f32 --against " GOLDEN, 1, planted[i].says);
        assert_non_null(strstr(said, "outside: float, scale in scores, kv f32: the PEIR of step"));
        /* and against the whole model, whose layers are run beside it */
        expect("damaged.gguf --recipe float --kv f32 --no-paths --turns 6+3 --against " GGUF, 1, planted[i].says);
    }
    json_error_t error;
    json_t *record = json_load_file("r/verify.jsonl", 0, &error);
    assert_true(json_is_null(json_object_get(record, "samples"))); /* no time beside a wrong answer */
    json_decref(record);
}

static void recipes_are_judged_by_their_limits(void **unused)
{
    (void)unused;
    expect(Q4 " --recipe native,float --kv f32,f16,i8", 0, "| native    | scores | i8 ");
    expect(Q4 " --limit peir=0.5", 1, "more than 0.5 %");
    assert_non_null(strstr(said, "hidden states of a prefill"));
    expect(Q4 " --limit kl=0", 1, "KL divergence");
    expect(Q4 " --limit mean=0", 1, "on average");
    expect(Q4 " --limit max=0", 1, "a logit is off");
    expect(Q4 " --recipe float --kv f32 --same-token --turns 5+3,40+2,1+1 --buckets 4,16 --prefill-buckets 8,16", 0,
           "fed the reference side's tokens");
    assert_non_null(strstr(said, "| prefill |     0 |      5 | 8 "));
    assert_non_null(strstr(said, "| append  |     8 |     40 | 16x3 "));
}

static void a_text_is_read_by_both_sides(void **unused)
{
    (void)unused;
    char tokens[4096];
    size_t used = 0;
    for (unsigned i = 0; i < 200; i++)
        used += (size_t)snprintf(tokens + used, sizeof tokens - used, "%u ", (i * i * 7 + i) % 160);
    write_file("text.tokens", tokens, used);
    expect(Q4 " --recipe native --kv f32,i16 --scale-in scores,k --max-seq 96 --text text.tokens --text-most 150", 0,
           "ppl: perplexity of 149 tokens of text.tokens in windows of 95, stride 47");
    assert_non_null(strstr(said, "| native    | k      | i16 |"));
    json_error_t error;
    FILE *f = fopen("r/verify.jsonl", "r");
    assert_non_null(f);
    double tested[4], reference = 0;
    for (int i = 0; i < 4; i++) { /* one record a line */
        json_t *record = json_loadf(f, JSON_DISABLE_EOF_CHECK, &error);
        const json_t *p = json_object_get(json_object_get(record, "quality"), "perplexity");
        assert_int_equal(json_integer_value(json_object_get(p, "scored")), 149);
        tested[i] = json_number_value(json_object_get(p, "tested"));
        if (i) assert_true(json_number_value(json_object_get(p, "reference")) == reference);
        reference = json_number_value(json_object_get(p, "reference"));
        assert_true(tested[i] > 1 && reference > 1 && tested[i] < 1.1 * reference && tested[i] > 0.9 * reference);
        assert_true(tested[i] != reference);
        json_decref(record);
    }
    fclose(f);
    expect(Q4 " --text text.tokens --limit perplexity=0,peir=100,kl=100,argmax=0 --recipe native --kv i8 --max-seq 96",
           tested[0] > reference ? 1 : 0, "ppl: perplexity of 199 tokens");
    expect(GGUF " --recipe float --kv f32 --text text.tokens --max-seq 96 --stride 63", 0, "stride 63");
    assert_non_null(strstr(said, "|    +0.00 |"));
}

static void int16_recipes_are_calibrated(void **unused)
{
    (void)unused;
    expect(GGUF " --recipe w8c-a16,w8c-a8 --kv i16,f32 --limit peir=8,kl=0.02,argmax=0", 0,
           "| w8c-a16   | scores | i16 |");
}

static void resuming_keeps_the_verdict(void **unused)
{
    (void)unused;
    expect(Q4 " --limit peir=0.5", 1, "outside");
    char command[2048];
    snprintf(command, sizeof command, "%s verify --threads 1 " Q4 " --limit peir=0.5 --resume r/verify.jsonl >out 2>&1",
             SM_SLOTMARK);
    const int status = system(command);
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_int_equal(system("grep -q 'cases are finished already' out && grep -q '| outside |' out"), 0);
    assert_int_equal(system("[ $(wc -l <r/verify.jsonl) = 1 ]"), 0);
}

static void bad_input_is_one_sentence_and_exit_2(void **unused)
{
    (void)unused;
    static const struct {
        const char *arguments, *says;
    } bad[] = {
        {"nowhere.gguf", "nowhere.gguf"},
        {Q4 " --against nowhere.safetensors", "nowhere.safetensors"},
        {Q4 " --against nowhere.gguf", "nowhere.gguf"},
        {Q4 " --against " SM_SOURCE_DIR "/tests/golden/smollm2-135m/golden.safetensors", "holds no reference logits"},
        {Q4 " --against " SM_SOURCE_DIR "/tests/golden/gemma4-tiny/golden.safetensors", "of another model"},
        {"smollm2-135m --against " Q4, "their logits cannot be compared"},
        {Q4 " --recipe quick", "no recipe 'quick'"},
        {Q4 " --kv f64", "f64"},
        {Q4 " --turns 5+", "PROMPT+GENERATED"},
        {Q4 " --turns-file nowhere", "nowhere"},
        {Q4 " --turns 5+5 --steps 3", "give one"},
        {Q4 " --steps -1", "--steps"},
        {Q4 " --turns 40+10 --max-seq 50", "do not fit the 49 past slots of max_seq 50"},
        {Q4 " --max-seq 64 --turns 9+9 --buckets 65", "65"},
        {Q4 " --turns 9+9,100+1 --max-seq 120 --buckets 110 --when-full refuse", "110"},
        {Q4 " --buckets 0", "--buckets"},
        {Q4 " --limit peir", "--limit"},
        {Q4 " --threads 0", "--threads"},
        {Q4 " --text nowhere", "nowhere"},
        {Q4 " --text few.tokens --against " GOLDEN, "list of logits"},
        {Q4 " --text one.tokens", "needs 2"},
        {Q4 " --text few.tokens --stride 999", "999"},
        {Q4 " --stride 3", "--stride"},
        {"smollm2-135m --text few", "synthetic weights have none"},
        {"smollm2-135m --prompt Once", "synthetic weights have none"},
        {Q4 " --prompt Once --turns 3+4", "give one"},
        {Q4 " --prompt Once --tokens few", "cannot be given together"},
        {Q4 " --scale-in v", "scale-in"},
        {Q4 " --tokens few", "holds 3 tokens"},
        {Q4 " --tokens few --against " GOLDEN, "brings its own"},
        {Q4 " --turns 50+1 --against " GOLDEN, "only 47"},
        {Q4 " --variant rope=none", "no variant"},
    };
    write_file("few", "1 2 3", 5);
    write_file("few.tokens", "1 2 3", 5);
    write_file("one.tokens", "7", 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        expect(bad[i].arguments, 2, bad[i].says);
        const char *line = strstr(said, "slotmark verify: ");
        if (!line || strchr(line, '\n')[1]) fail_msg("'%s': not a sentence at the end: %s", bad[i].arguments, said);
        if (!access("r/verify.jsonl", F_OK)) fail_msg("'%s' left a result file", bad[i].arguments);
    }
}

/* A safetensors file of one I32 vector of tokens and one F32 matrix of logits. */
static void write_reference(const char *path, size_t rows, size_t cols, int32_t token, float logit)
{
    char header[512];
    const size_t tokens = rows * 4, logits = rows * cols * 4;
    const uint64_t length = (uint64_t)snprintf(
        header, sizeof header,
        "{\"full.tokens\":{\"dtype\":\"I32\",\"shape\":[%zu],\"data_offsets\":[0,%zu]},\"full.logits\":{\"dtype\":"
        "\"F32\",\"shape\":[%zu,%zu],\"data_offsets\":[%zu,%zu]}}",
        rows, tokens, rows, cols, tokens, tokens + logits);
    char *file = calloc(1, 8 + length + tokens + logits);
    assert_non_null(file);
    memcpy(file, &length, 8);
    memcpy(file + 8, header, length);
    memcpy(file + 8 + length, &token, 4);
    memcpy(file + 8 + length + tokens, &logit, 4);
    write_file(path, file, 8 + length + tokens + logits);
    free(file);
}

static void hostile_references_get_a_sentence(void **unused)
{
    (void)unused;
    float nan;
    memcpy(&nan, &(uint32_t){0x7fc00000}, 4);
    write_reference("h.safetensors", 2, 160, 160, 0);
    expect(Q4 " --against h.safetensors", 2, "holds 160");
    write_reference("h.safetensors", 2, 160, -1, 0);
    expect(Q4 " --against h.safetensors", 2, "holds -1");
    write_reference("h.safetensors", 2, 160, 0, nan);
    expect(Q4 " --against h.safetensors", 2, "not finite");
    write_reference("h.safetensors", 2, 80, 0, 0);
    expect(Q4 " --against h.safetensors", 2, "of another model");
    write_reference("h.safetensors", 2, 160, 0, 0);
    expect(Q4 " --against h.safetensors", 1, "| outside |");
    assert_non_null(strstr(said, "the reference has no hidden states"));
    static const char *const facts[] = {"{",
                                        "[]",
                                        "{\"turns\":[{\"n_tokens\":3,\"decode_steps\":-1}]}",
                                        "{\"turns\":[{\"n_tokens\":\"x\"}]}",
                                        "{\"turns\":[{\"n_tokens\":9,\"decode_steps\":9}]}",
                                        "{\"max_seq\":99999999999,\"turns\":[7]}"};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        write_file("h.json", facts[i], strlen(facts[i]));
        const int code = verify(Q4 " --against h.safetensors"); /* "[]" says nothing, which is no fault */
        if (code != (i == 1 ? 1 : 2)) fail_msg("%s: ended with %d: %s", facts[i], code, said);
    }
    remove("h.json");
}

/* The golden, cut and changed in its header: never a crash, and a sentence whenever it is refused. */
static void damaged_references_never_crash(void **unused)
{
    (void)unused;
    uint64_t header, seed = 1;
    FILE *f = fopen(GOLDEN, "rb");
    static char file[1 << 18], copy[1 << 18];
    const size_t bytes = f ? fread(file, 1, sizeof file, f) : 0;
    assert_true(bytes > 8 && bytes < sizeof file);
    fclose(f);
    memcpy(&header, file, 8);
    size_t refused = 0;
    for (int i = 0; i < 120; i++) {
        size_t length = bytes;
        memcpy(copy, file, bytes);
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        const size_t at = (seed >> 33) % (8 + header);
        if (i % 3 == 0)
            length = (seed >> 33) % bytes;
        else
            copy[at] = (char)(i % 3 == 1 ? seed >> 20 : (seed >> 20) % 10 + '0');
        write_file("d.safetensors", copy, length);
        const int code = verify(GGUF " --recipe float --kv f32 --no-paths --against d.safetensors");
        if (code > 2 || (code == 2 && !strstr(said, "slotmark verify: "))) fail_msg("change %d: %d: %s", i, code, said);
        refused += code == 2;
    }
    assert_true(refused > 60);
}

static void help_fits_a_screen(void **unused)
{
    (void)unused;
    assert_int_equal(verify("--help"), 0);
    size_t lines = 0;
    for (const char *c = said; *c; c++) lines += *c == '\n';
    assert_true(lines <= 40);
    assert_non_null(strstr(said, "example"));
}

static int enter(void **unused)
{
    (void)unused;
    return !mkdtemp(folder) || chdir(folder);
}

static int leave(void **unused)
{
    (void)unused;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("..") || system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_model_is_within_its_golden),   cmocka_unit_test(damage_is_found_in_its_layer),
        cmocka_unit_test(recipes_are_judged_by_their_limits),   cmocka_unit_test(a_text_is_read_by_both_sides),
        cmocka_unit_test(int16_recipes_are_calibrated),         cmocka_unit_test(resuming_keeps_the_verdict),
        cmocka_unit_test(bad_input_is_one_sentence_and_exit_2), cmocka_unit_test(hostile_references_get_a_sentence),
        cmocka_unit_test(damaged_references_never_crash),       cmocka_unit_test(help_fits_a_screen),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
