/* One query row shared out by columns: the same bits for any number of parts, in whatever order they are done and by
 * however many threads, call after call in the same scratch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "attention.h"
#include "cpu.h"
#include "random.h"
#include "registry.h"
#include "workload.h"

static const char *const families[] = {"attention_f32", "attention_f16", "attention_i8", "attention_i16"};

#ifdef SM_SANITIZED
enum { SHAPES = 8 };
#else
enum { SHAPES = 24 };
#endif
enum order { FORWARD, BACKWARD, AT_ONCE, ORDERS };

static void run(const struct sm_family *f, const struct sm_variant *v, const void *args, const struct sm_shape *shape,
                size_t parts, enum order order)
{
    if (order == AT_ONCE) {
#pragma omp parallel for num_threads(3) schedule(dynamic, 1)
        for (size_t i = 0; i < parts; i++) v->fn(args, f->split(shape, parts, i));
    } else {
        for (size_t i = 0; i < parts; i++) v->fn(args, f->split(shape, parts, order == BACKWARD ? parts - 1 - i : i));
    }
}

static void check_shape(const struct sm_family *f, const struct sm_variant *v, const struct sm_shape *shape, uint64_t n)
{
    static const size_t parts[] = {2, 3, 5, 8, 16, 100};
    const struct sm_workload *w = sm_workload_named(f->name);
    void *work = w->create(shape, (enum sm_regime)(n % SM_REGIME_COUNT), n);
    assert_non_null(work);
    const struct sm_attention *a = w->prepare(work, v);
    assert_non_null(a->partial);
    const size_t bytes = a->heads * a->head_dim * sizeof *a->out;
    const size_t counters = a->kv_heads * SM_ATTENTION_LINE;
    const size_t partial = sm_attention_partial_bytes(a->heads, a->kv_heads, a->head_dim) - counters * sizeof(float);
    float *whole = malloc(bytes);
    assert_non_null(whole);
    run(f, v, a, shape, 1, FORWARD);
    memcpy(whole, a->out, bytes);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (int order = 0; order < ORDERS; order++) {
            memset(a->out, 0xff, bytes);
            memset((float *)a->partial + counters, 0xff, partial); /* nobody finds there what the last call left */
            run(f, v, a, shape, parts[i], (enum order)order);
            if (memcmp(a->out, whole, bytes))
                fail_msg(
                    "%s/%s, max_seq %d, head_dim %d, heads %d in %d, window %d: %zu parts in order %d differ from 1",
                    f->name, v->name, (int)shape->dim[SM_ATTENTION_MAX_SEQ], (int)shape->dim[SM_ATTENTION_HEAD_DIM],
                    (int)shape->dim[SM_ATTENTION_HEADS], (int)shape->dim[SM_ATTENTION_KV_HEADS],
                    (int)shape->dim[SM_ATTENTION_WINDOW], parts[i], order);
        }
    assert_true(w->error(work, v) <= 1);
    assert_null(w->damage(work));
    free(whole);
    w->destroy(work);
}

static void check_variant(const struct sm_family *f, const struct sm_variant *v)
{
    static const int64_t head_dims[] = {8, 24, 64, 64, 128, 512}, groups[] = {1, 2, 3, 4, 7, 100};
    static const int64_t columns[] = {1, 2, 64, 65, 130, 320, 1000};
    struct sm_random r = {11};
    for (uint64_t n = 0; n < SHAPES; n++) {
        const int64_t max_seq = columns[sm_random_below(&r, 7)], kv_heads = 1 + (int64_t)sm_random_below(&r, 4);
        const struct sm_shape shape = {
            {[SM_ATTENTION_ROWS] = 1,
             [SM_ATTENTION_MAX_SEQ] = max_seq,
             [SM_ATTENTION_HEAD_DIM] = head_dims[sm_random_below(&r, 6)],
             [SM_ATTENTION_HEADS] =
                 kv_heads == 1 ? groups[sm_random_below(&r, 6)] : kv_heads * groups[sm_random_below(&r, 5)],
             [SM_ATTENTION_KV_HEADS] = kv_heads,
             [SM_ATTENTION_VALID] = (int64_t)sm_random_below(&r, (uint32_t)max_seq),
             [SM_ATTENTION_WINDOW] = sm_random_below(&r, 2) ? 0 : 1 + (int64_t)sm_random_below(&r, 200),
             [SM_ATTENTION_SOFTCAP] = sm_random_below(&r, 4) ? 0 : 30}};
        check_shape(f, v, &shape, n);
    }
}

static void test_parts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct sm_family *f = sm_family_named(families[i]);
        for (size_t v = 0; v < f->variant_count; v++)
            if (!(f->variants[v].needs & ~sm_cpu_features())) check_variant(f, &f->variants[v]);
    }
}

/* Two threads have the same work where three KV heads would be two and one. */
static void test_balance(void **state)
{
    (void)state;
    const struct sm_shape shape = {{1, 2048, 64, 9, 3, -1, 0, 0}};
    const struct sm_family *f = sm_family_named("attention_f16");
    const struct sm_part first = f->split(&shape, 2, 0), second = f->split(&shape, 2, 1);
    assert_int_equal(first.col_end - first.col_begin, second.col_end - second.col_begin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_balance)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
