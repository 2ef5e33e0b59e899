/* skip_* of the attention families against literal_* of the same instruction set: the same bits, whatever the mask
 * hides and however large what it hides is; and the hidden values are not read. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attention.h"
#include "cache_write.h"
#include "cpu.h"
#include "quant.h"
#include "random.h"
#include "registry.h"
#include "workload.h"

static const char *const families[] = {"attention_f32", "attention_f16", "attention_i8", "attention_i16"};
static int compared; /* rows, over all tests */
#ifdef SM_SANITIZED
enum { SHAPES = 40 };
#else
enum { SHAPES = 160 };
#endif

static size_t element_bytes(const char *family)
{
    return !strcmp(family, "attention_f32") ? 4 : !strcmp(family, "attention_i8") ? 1 : 2;
}

/* The pair of variants of the instruction set, or 0 where this CPU lacks it. */
static int find_pair(const struct sm_family *f, const char *isa, const struct sm_variant **literal,
                     const struct sm_variant **skip)
{
    char name[64];
    snprintf(name, sizeof name, "literal_%s", isa);
    *literal = sm_variant_named(f, name);
    snprintf(name, sizeof name, "skip_%s", isa);
    *skip = sm_variant_named(f, name);
    return *literal && *skip && ((*literal)->needs & ~sm_cpu_features()) == 0;
}

/* Calls check(family, literal, skip, data) for each pair that this CPU runs. */
static void each_pair(void (*check)(const struct sm_family *, const struct sm_variant *, const struct sm_variant *))
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct sm_family *f = sm_family_named(families[i]);
        static const char *const isas[] = {"avx2", "avx512", "avx512vnni", "amx", "avx2_keys16", "avx512_keys16"};
        for (size_t n = 0; n < sizeof isas / sizeof *isas; n++) {
            const struct sm_variant *literal, *skip;
            if (find_pair(f, isas[n], &literal, &skip)) check(f, literal, skip);
        }
    }
}

static int sees_nothing(const struct sm_attention *a, size_t r)
{
    for (size_t j = 0; j < a->past + a->now; j++)
        if (a->mask[r * a->mask_stride + j] > SM_ATTENTION_FORBIDDEN) return 0;
    return 1;
}

/* Runs both on the same operands, in `parts` parts; fails unless every row that means something is the same bits. */
static void compare(const struct sm_attention *args, const struct sm_family *f, const struct sm_shape *shape,
                    const struct sm_variant *literal, const struct sm_variant *skip, size_t parts, const char *what)
{
    struct sm_attention a = *args;
    const size_t width = a.heads * a.head_dim;
    float *out = calloc(2 * a.rows * width, sizeof *out);
    assert_non_null(out);
    a.out_stride = width;
    for (int n = 0; n < 2; n++) {
        a.out = out + (size_t)n * a.rows * width;
        for (size_t i = 0; i < parts; i++) (n ? skip : literal)->fn(&a, f->split(shape, parts, i));
    }
    for (size_t r = 0; r < a.rows; r++) {
        const float *x = out + r * width, *y = x + a.rows * width;
        if (sees_nothing(&a, r)) {
            for (size_t i = 0; i < width; i++)
                if (!isfinite(x[i]) || !isfinite(y[i])) fail_msg("%s: a row that sees nothing is not finite", what);
        } else if (memcmp(x, y, width * sizeof *x)) {
            size_t i = 0;
            while (!memcmp(x + i, y + i, sizeof *x)) i++;
            fail_msg("%s/%s, %s: row %zu element %zu is %.9g, literally %.9g", f->name, skip->name, what, r, i,
                     (double)y[i], (double)x[i]);
        } else {
            compared++;
        }
    }
    free(out);
}

static struct sm_shape shape_of(int64_t rows, int64_t max_seq, int64_t head_dim, int64_t heads, int64_t kv_heads,
                                int64_t valid, int64_t window, int64_t softcap)
{
    return (struct sm_shape){{rows, max_seq, head_dim, heads, kv_heads, valid, window, softcap}};
}

static void same_bits_over_shapes(const struct sm_family *f, const struct sm_variant *literal,
                                  const struct sm_variant *skip)
{
    const struct sm_workload *w = sm_workload_named(f->name);
    struct sm_random r = {7};
    for (int n = 0; n < SHAPES; n++) {
        static const int64_t head_dims[] = {8, 24, 64, 64, 128, 256, 512};
        static const int64_t groups[] = {1, 2, 3, 4, 8};
        static const int64_t seqs[] = {1, 7, 64, 65, 128, 200, 320, 577};
        const int64_t max_seq = seqs[sm_random_below(&r, 8)];
        const int64_t rows = n % 4 == 0   ? max_seq
                             : n % 4 == 1 ? 1
                                          : 1 + (int64_t)sm_random_below(&r, (uint32_t)(max_seq < 70 ? max_seq : 70));
        const int64_t kv_heads = 1 + (int64_t)sm_random_below(&r, 3);
        const int64_t window = sm_random_below(&r, 3) ? 0 : 1 + (int64_t)sm_random_below(&r, 200);
        const struct sm_shape shape = shape_of(
            rows, max_seq, head_dims[sm_random_below(&r, 7)], kv_heads * groups[sm_random_below(&r, 5)], kv_heads,
            (int64_t)sm_random_below(&r, (uint32_t)(max_seq - rows + 1)), window, sm_random_below(&r, 4) ? 0 : 30);
        void *work = w->create(&shape, (enum sm_regime)(n % SM_REGIME_COUNT), (uint64_t)n);
        assert_non_null(work);
        const struct sm_attention *args = w->prepare(work, literal);
        char what[160];
        snprintf(what, sizeof what, "rows=%d max_seq=%d head_dim=%d heads=%d kv_heads=%d valid=%d window=%d n=%d",
                 (int)shape.dim[0], (int)shape.dim[1], (int)shape.dim[2], (int)shape.dim[3], (int)shape.dim[4],
                 (int)shape.dim[5], (int)shape.dim[6], n);
        compare(args, f, &shape, literal, skip, 1 + sm_random_below(&r, 3), what);
        w->destroy(work);
    }
}

/* Other masks than the usual: hidden by less than 104, by no more than a hair, by very much, and rows that see
 * nothing between rows that see something. */
static void same_bits_over_fills(const struct sm_family *f, const struct sm_variant *literal,
                                 const struct sm_variant *skip, const struct sm_shape *shape, enum sm_regime regime)
{
    static const float fills[] = {-64, -65, -90, -104, -105, -112, -120, -1e6f, -3e38f};
    const struct sm_workload *w = sm_workload_named(f->name);
    void *work = w->create(shape, regime, 3);
    assert_non_null(work);
    struct sm_attention a = *(const struct sm_attention *)w->prepare(work, literal);
    const float *given = a.mask;
    float *mask = malloc(a.rows * a.mask_stride * sizeof *mask);
    assert_non_null(mask);
    a.mask = mask;
    for (size_t n = 0; n < sizeof fills / sizeof *fills; n++) {
        for (size_t i = 0; i < a.rows * a.mask_stride; i++) mask[i] = given[i] < 0 ? fills[n] : given[i];
        for (size_t r = 3; r < a.rows; r += 7)
            for (size_t j = 0; j < a.past + a.now; j++) mask[r * a.mask_stride + j] = fills[n];
        compare(&a, f, shape, literal, skip, 2, "other masks");
    }
    free(mask);
    w->destroy(work);
}

/* In the second shape each head sees one value, at times all zeros: whatever leaks there is seen, however little. */
static void same_bits_over_masks(const struct sm_family *f, const struct sm_variant *literal,
                                 const struct sm_variant *skip)
{
    const struct sm_shape many = shape_of(40, 400, 64, 6, 2, 100, 0, 0), one = shape_of(1, 400, 64, 32, 32, 100, 1, 0);
    same_bits_over_fills(f, literal, skip, &many, SM_REGIME_RANDOM);
    same_bits_over_fills(f, literal, skip, &one, SM_REGIME_EXTREME);
}

/* A copy of the past keys in which slot `slot` of KV head 0 is `times` the query of row 0, head 0. */
static void *keys_with(const struct sm_attention *a, const char *family, const struct sm_layout *layout, size_t slot,
                       float times, float *scale)
{
    const int in_blocks = !strcmp(layout->name, "keys16");
    const size_t size = element_bytes(family);
    const int is_i16 = !strcmp(family, "attention_i16");
    const size_t elements = a->kv_heads * a->k_past.head_stride;
    void *keys = malloc(elements * size);
    assert_non_null(keys);
    memcpy(keys, a->k_past.data, elements * size);
    float most = 0;
    for (size_t d = 0; d < a->head_dim; d++) most = fmaxf(most, fabsf(a->q[d] * times));
    for (size_t d = 0; d < a->head_dim; d++) {
        const float x = a->q[d] * times;
        const size_t together = size == 1 ? SM_CACHE_WRITE_TOGETHER_i8 : is_i16 ? SM_CACHE_WRITE_TOGETHER_i16 : 1;
        const size_t i = in_blocks ? sm_blocks16_at(slot, d, a->head_dim, together) : slot * a->head_dim + d;
        if (size == 4) ((float *)keys)[i] = x;
        if (size == 2 && !is_i16) ((uint16_t *)keys)[i] = sm_f32_to_f16(x);
        if (is_i16) ((int16_t *)keys)[i] = (int16_t)lrintf(x / *a->k_past.scale);
        if (size == 1) ((int8_t *)keys)[i] = (int8_t)(most > 0 ? lrintf(x / most * 127) : 0);
    }
    *scale = most / 127;
    return keys;
}

/* int16 under a scale of 16 times the one they had, so that larger ones fit beside them. */
static void *coarser(struct sm_kv *kv, size_t elements, const float *scale)
{
    int16_t *to = malloc(elements * sizeof *to);
    assert_non_null(to);
    for (size_t i = 0; i < elements; i++) to[i] = (int16_t)(((const int16_t *)kv->data)[i] / 16);
    kv->data = to;
    kv->scale = scale;
    return to;
}

/* A hidden key grows until its logit leaks through the mask. Below, at and above where it does, skip must see it. */
static void a_leaking_key_is_seen(const struct sm_family *f, const struct sm_variant *literal,
                                  const struct sm_variant *skip)
{
    const struct sm_workload *w = sm_workload_named(f->name);
    const struct sm_shape shape = shape_of(1, 512, 64, 3, 1, 100, 0, 0);
    void *work = w->create(&shape, SM_REGIME_RANDOM, 5);
    assert_non_null(work);
    const struct sm_attention *given = w->prepare(work, literal);
    struct sm_attention a = *given;
    void *coarse[2] = {NULL, NULL};
    const float coarse_scale = given->k_past.scale ? 16 * *given->k_past.scale : 0;
    const int by_slot = !strcmp(f->name, "attention_i8");
    if (given->k_past.scale && !by_slot) {
        coarse[0] = coarser(&a.k_past, a.kv_heads * a.k_past.head_stride, &coarse_scale);
        coarse[1] = coarser(&a.k_now, a.kv_heads * a.k_now.head_stride, &coarse_scale);
    }
    const struct sm_attention with = a;
    float query_square = 0, *scales = malloc(511 * sizeof *scales), hidden[64], leaking[64];
    assert_non_null(scales);
    for (size_t d = 0; d < 64; d++) query_square += a.q[d] * a.q[d];
    for (float logit = 0; logit <= 160; logit += 0.5f) {
        float scale;
        void *keys = keys_with(&with, f->name, skip->layout, 300, logit / (query_square * a.scale), &scale);
        a.k_past.data = keys;
        if (by_slot) {
            memcpy(scales, given->k_past.scale, 511 * sizeof *scales);
            scales[300] = scale;
            a.k_past.scale = scales;
        }
        compare(&a, f, &shape, literal, skip, logit < 80 ? 1 : 3, "a leaking key");
        a.out = logit == 0 ? hidden : leaking;
        a.heads = 1;
        a.partial = NULL;
        if (logit == 0 || logit == 160) skip->fn(&a, sm_part_whole(1, 1));
        a.heads = 3;
        a.partial = given->partial;
        free(keys);
    }
    float moved = 0;
    for (size_t d = 0; d < 64; d++) moved = fmaxf(moved, fabsf(hidden[d] - leaking[d]));
    assert_true(moved > 0.1f); /* else the key never leaked, and this test shows nothing */
    free(scales);
    free(coarse[0]);
    free(coarse[1]);
    w->destroy(work);
}

/* Whether the variant can do without the past keys, or values, of one KV head from slot `seen` on, which lie in pages
 * that may not be touched. */
static int runs_without(const struct sm_attention *a, const struct sm_variant *variant, int values, size_t seen,
                        size_t element)
{
    const size_t bytes = a->past * a->head_dim * element, kept = seen * a->head_dim * element;
    const void *given = values ? a->v_past.data : a->k_past.data;
    uint8_t *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(slots != MAP_FAILED);
    memcpy(slots, given, kept);
    assert_int_equal(mprotect(slots + kept, bytes - kept, PROT_NONE), 0);
    struct sm_attention b = *a;
    *(values ? &b.v_past.data : &b.k_past.data) = slots;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1); /* a sanitizer would report the fault that we want */
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        variant->fn(&b,
                    sm_part_whole(b.rows, b.partial ? b.kv_heads * sm_attention_shares(b.heads, b.kv_heads) : b.heads));
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    munmap(slots, bytes);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void hidden_values_are_not_read(const struct sm_family *f, const struct sm_variant *literal,
                                       const struct sm_variant *skip)
{
    const struct sm_workload *w = sm_workload_named(f->name);
    const size_t element = element_bytes(f->name);
    static const int64_t rows[] = {1, 64};
    for (size_t n = 0; n < 2; n++) {
        const struct sm_shape shape = shape_of(rows[n], 4096 + rows[n], 64, 3, 1, 512, 0, 0);
        void *work = w->create(&shape, SM_REGIME_RANDOM, 11);
        assert_non_null(work);
        const struct sm_attention *a = w->prepare(work, skip);
        assert_int_equal(a->past, 4096);
        assert_true(runs_without(a, skip, 1, 512, element));
        assert_false(runs_without(a, literal, 1, 512, element));
        w->destroy(work);
    }
}

/* Known zeros begin in the middle of a block, whose other keys count: one leaks. Blocks of zeros are not read. */
static void known_zeros_are_not_read(const struct sm_family *f, const struct sm_variant *literal,
                                     const struct sm_variant *skip)
{
    const struct sm_workload *w = sm_workload_named(f->name);
    const size_t element = element_bytes(f->name), first = 1088 + 32; /* of the zeros; what begins whole pages */
    const struct sm_shape shape = shape_of(1, 4097, 64, 3, 1, 512, 0, 0);
    void *work = w->create(&shape, SM_REGIME_RANDOM, 13);
    assert_non_null(work);
    struct sm_attention a = *(const struct sm_attention *)w->prepare(work, skip);
    float query_square = 0, scale, *scales = calloc(4096, sizeof *scales);
    assert_non_null(scales);
    for (size_t d = 0; d < 64; d++) query_square += a.q[d] * a.q[d];
    uint8_t *keys = keys_with(&a, f->name, skip->layout, first - 1, 150 / (query_square * a.scale), &scale);
    memset(keys + first * 64 * element, 0, (4096 - first) * 64 * element);
    if (!strcmp(f->name, "attention_i8")) {
        memcpy(scales, a.k_past.scale, first * sizeof *scales);
        scales[first - 1] = scale;
        a.k_past.scale = scales;
    }
    a.k_past.data = keys;
    assert_true(runs_without(&a, literal, 0, 4096, element));
    assert_false(runs_without(&a, skip, 0, 1152, element));
    a.zero_slots = 4096 - first;
    compare(&a, f, &shape, literal, skip, 2, "known zeros");
    assert_true(runs_without(&a, skip, 0, 1152, element));
    assert_false(runs_without(&a, literal, 0, 1152, element));
    free(keys);
    free(scales);
    w->destroy(work);
}

#define EACH_PAIR(check)                                                                                               \
    static void each_##check(void **state)                                                                             \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        each_pair(check);                                                                                              \
    }
EACH_PAIR(same_bits_over_shapes)
EACH_PAIR(same_bits_over_masks)
EACH_PAIR(a_leaking_key_is_seen)
EACH_PAIR(hidden_values_are_not_read)
EACH_PAIR(known_zeros_are_not_read)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_same_bits_over_shapes),    cmocka_unit_test(each_same_bits_over_masks),
        cmocka_unit_test(each_a_leaking_key_is_seen),    cmocka_unit_test(each_hidden_values_are_not_read),
        cmocka_unit_test(each_known_zeros_are_not_read),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("%d rows had the same bits\n", compared);
    return failed;
}
