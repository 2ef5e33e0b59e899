/* Faults that a matmul or a row quantisation might have, planted one at a time: its workload must see each.
 *
 * A fault is planted in the operands that a right kernel gets, in the part it is called with, or in what it wrote. In
 * the exact regime every fault must be caught, by the reference and by every variant that this CPU runs; what the
 * random regime says of it is printed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "matmul_channel.h"
#include "matmul_f32/matmul_f32.h"
#include "matmul_w4g32_a8/matmul_w4g32_a8.h"
#include "matmul_w8g32_a8/matmul_w8g32_a8.h"
#include "quantise_a8/quantise_a8.h"
#include "quantise_a8r/quantise_a8r.h"
#include "workload.h"

#define ARGS_BYTES 512
#define SEED 7 /* all that a workload makes optional: bias, residual, wide strides */
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Copies of operands made for one fault. */
static void *copies[8];
static size_t copy_count;

static void *copy_of(const void *data, size_t bytes)
{
    void *copy = malloc(bytes);
    if (!copy || copy_count == COUNT(copies)) exit(2);
    return copies[copy_count++] = memcpy(copy, data, bytes);
}

struct fault {
    const char *name;
    void (*before)(void *args);         /* changes the arguments; operands only through copy_of */
    void (*after)(void *args);          /* changes the output */
    void (*part)(struct sm_part *part); /* changes the whole part that the kernel is given */
};

/* What matmuls have in common. */
struct matmul {
    float *y;
    size_t y_stride;
    const float **bias, **residual;
    size_t *out, *in;
    size_t rows;
    struct sm_a8 *a8; /* the one that it has; else float rows */
    struct sm_a8r *a8r;
    struct sm_a16 *a16;
    const float **x;
    size_t x_stride;
};

static struct matmul view_f32(void *args)
{
    struct sm_matmul_f32 *a = args;
    return (struct matmul){.y = a->y,
                           .y_stride = a->y_stride,
                           .bias = &a->bias,
                           .residual = &a->residual,
                           .out = &a->out,
                           .in = &a->in,
                           .rows = a->rows,
                           .x = &a->x,
                           .x_stride = a->x_stride};
}

static struct matmul view_w4(void *args)
{
    struct sm_matmul_w4g32_a8 *a = args;
    return (struct matmul){a->y,    a->y_stride, &a->bias, &a->residual, &a->out, &a->in,
                           a->rows, &a->x,       NULL,     NULL,         NULL,    0};
}

static struct matmul view_w8(void *args)
{
    struct sm_matmul_w8g32_a8 *a = args;
    return (struct matmul){a->y,    a->y_stride, &a->bias, &a->residual, &a->out, &a->in,
                           a->rows, &a->x,       NULL,     NULL,         NULL,    0};
}

static struct matmul view_c_a8(void *args)
{
    struct sm_matmul_c_a8 *a = args;
    return (struct matmul){a->y,    a->y_stride, &a->bias, &a->residual, &a->out, &a->in,
                           a->rows, NULL,        &a->x,    NULL,         NULL,    0};
}

static struct matmul view_c_a16(void *args)
{
    struct sm_matmul_c_a16 *a = args;
    return (struct matmul){a->y,    a->y_stride, &a->bias, &a->residual, &a->out, &a->in,
                           a->rows, NULL,        NULL,     &a->x,        NULL,    0};
}

static struct matmul (*view)(void *args); /* of the family under test */

static size_t element_bytes(const struct matmul *m)
{
    return m->a8 || m->a8r ? 1 : m->a16 ? 2 : sizeof(float);
}

/* The last row's activations, writable. */
static void *own_last_row(struct matmul *m)
{
    const size_t before = (m->rows - 1) * *m->in;
    if (m->a8) return (m->a8->q = copy_of(m->a8->q, before + *m->in)) + before;
    if (m->a8r) return (m->a8r->q = copy_of(m->a8r->q, before + *m->in)) + before;
    if (m->a16) return (m->a16->q = copy_of(m->a16->q, (before + *m->in) * sizeof(int16_t))) + before;
    float *x = copy_of(*m->x, ((m->rows - 1) * m->x_stride + *m->in) * sizeof(float));
    *m->x = x;
    return x + (m->rows - 1) * m->x_stride;
}

/* Adds to the sum that goes with the last element of the last row. */
static void add_to_last_sum(struct matmul *m, int32_t more)
{
    if (m->a8) {
        const size_t sums = m->rows * (*m->in / SM_GROUP);
        m->a8->sum = copy_of(m->a8->sum, sums * sizeof(int32_t));
        m->a8->sum[sums - 1] += more;
    } else if (m->a8r) {
        m->a8r->sum = copy_of(m->a8r->sum, m->rows * sizeof(int32_t));
        m->a8r->sum[m->rows - 1] += more;
    } else if (m->a16) {
        m->a16->sum = copy_of(m->a16->sum, m->rows * sizeof(int64_t));
        m->a16->sum[m->rows - 1] += more;
    }
}

static void drop_last_block(void *args)
{
    struct matmul m = view(args);
    unsigned char *row = own_last_row(&m);
    const size_t size = element_bytes(&m), block = *m.in < SM_GROUP ? *m.in : SM_GROUP;
    int32_t sum = 0;
    for (size_t i = *m.in - block; i < *m.in; i++) sum += m.a16 ? m.a16->q[(m.rows - 1) * *m.in + i] : (int8_t)row[i];
    memset(row + (*m.in - block) * size, 0, block * size);
    add_to_last_sum(&m, -sum);
}

static void swap_halves(void *args)
{
    struct matmul m = view(args);
    unsigned char *row = own_last_row(&m), half[16 * sizeof(float)];
    const size_t bytes = 16 * element_bytes(&m);
    memcpy(half, row, bytes);
    memmove(row, row + bytes, bytes);
    memcpy(row + bytes, half, bytes);
}

static void off_by_one(void *args)
{
    struct matmul m = view(args);
    int8_t *last = (int8_t *)own_last_row(&m) + (*m.in - 1) * element_bytes(&m);
    if (m.a16)
        ++*(int16_t *)(void *)last;
    else if (element_bytes(&m) == 1)
        ++*last;
    else
        ++*(float *)(void *)last;
    add_to_last_sum(&m, 1);
}

static void double_scale(void *args)
{
    struct matmul m = view(args);
    const size_t blocks = *m.in / SM_GROUP;
    if (m.a8) {
        m.a8->scale = copy_of(m.a8->scale, m.rows * blocks * sizeof(float));
        m.a8->scale[m.rows * blocks - 1] *= 2;
    } else if (m.a8r) {
        m.a8r->scale = copy_of(m.a8r->scale, m.rows * sizeof(float));
        m.a8r->scale[m.rows - 1] *= 2;
    } else if (m.a16) {
        m.a16->scale *= 2;
    } else {
        float *row = own_last_row(&m);
        for (size_t i = 0; i < *m.in; i++) row[i] *= 2;
    }
}

static void forget_bias(void *args)
{
    *view(args).bias = NULL;
}

static void forget_residual(void *args)
{
    *view(args).residual = NULL;
}

static void forget_last_column(void *args)
{
    --*view(args).out;
}

static void bump_last(void *args)
{
    const struct matmul m = view(args);
    float *y = &m.y[(m.rows - 1) * m.y_stride + *m.out - 1];
    *y = nextafterf(*y, INFINITY);
}

static void write_between_rows(void *args)
{
    const struct matmul m = view(args);
    m.y[*m.out] = 0;
}

static void swap_columns(void *args)
{
    const struct matmul m = view(args);
    const float y = m.y[0];
    m.y[0] = m.y[8];
    m.y[8] = y;
}

static void drop_last_row(struct sm_part *part)
{
    part->row_end--;
}

static void drop_last_column(struct sm_part *part)
{
    part->col_end--;
}

static void do_nothing(struct sm_part *part)
{
    part->row_end = part->row_begin;
}

static const struct fault matmul_faults[] = {
    {"last block dropped", drop_last_block, NULL, NULL},
    {"halves of a block swapped", swap_halves, NULL, NULL},
    {"one unit off", off_by_one, NULL, NULL},
    {"wrong scale", double_scale, NULL, NULL},
    {"bias forgotten", forget_bias, NULL, NULL},
    {"residual forgotten", forget_residual, NULL, NULL},
    {"last column forgotten", forget_last_column, NULL, drop_last_column},
    {"last bit of an answer", NULL, bump_last, NULL},
    {"written between rows", NULL, write_between_rows, NULL},
    {"columns swapped", NULL, swap_columns, NULL},
    {"last row forgotten", NULL, NULL, drop_last_row},
    {"nothing done", NULL, NULL, do_nothing},
};

static void quantise_off_by_one(void *args)
{
    const struct sm_quantise_a8 *a = args;
    a->out.q[a->rows * a->cols - 1]++;
}

static void quantise_swap_halves(void *args)
{
    const struct sm_quantise_a8 *a = args;
    int8_t half[16];
    memcpy(half, a->out.q, 16);
    memmove(a->out.q, a->out.q + 16, 16);
    memcpy(a->out.q + 16, half, 16);
}

static void quantise_wrong_scale(void *args)
{
    const struct sm_quantise_a8 *a = args;
    a->out.scale[1] = nextafterf(a->out.scale[1], INFINITY);
}

static void quantise_wrong_sum(void *args)
{
    const struct sm_quantise_a8 *a = args;
    a->out.sum[a->rows * (a->cols / SM_GROUP) - 1]--;
}

static const struct fault quantise_faults[] = {
    {"one unit off", NULL, quantise_off_by_one, NULL},
    {"halves of a block swapped", NULL, quantise_swap_halves, NULL},
    {"last bit of a scale", NULL, quantise_wrong_scale, NULL},
    {"wrong sum", NULL, quantise_wrong_sum, NULL},
    {"last row forgotten", NULL, NULL, drop_last_row},
    {"nothing done", NULL, NULL, do_nothing},
};

static void quantise_row_off_by_one(void *args)
{
    const struct sm_quantise_a8r *a = args;
    a->out.q[a->rows * a->cols - 1]++;
}

static void quantise_row_wrong_scale(void *args)
{
    const struct sm_quantise_a8r *a = args;
    a->out.scale[1] = nextafterf(a->out.scale[1], INFINITY);
}

static void quantise_row_wrong_sum(void *args)
{
    const struct sm_quantise_a8r *a = args;
    a->out.sum[a->rows - 1]--;
}

static const struct fault quantise_row_faults[] = {
    {"one unit off", NULL, quantise_row_off_by_one, NULL},
    {"last bit of a scale", NULL, quantise_row_wrong_scale, NULL},
    {"wrong sum", NULL, quantise_row_wrong_sum, NULL},
    {"last row forgotten", NULL, NULL, drop_last_row},
    {"nothing done", NULL, NULL, do_nothing},
};

static const struct {
    const char *family;
    struct sm_shape shape; /* at which its faults are planted */
    size_t args_bytes;
    struct matmul (*view)(void *args);
    const struct fault *faults;
    size_t count;
} families[] = {
    {"matmul_f32", {{3, 41, 96}}, sizeof(struct sm_matmul_f32), view_f32, matmul_faults, COUNT(matmul_faults)},
    {"matmul_f16", {{3, 41, 96}}, sizeof(struct sm_matmul_f32), view_f32, matmul_faults, COUNT(matmul_faults)},
    {"matmul_w4g32_a8", {{3, 41, 96}}, sizeof(struct sm_matmul_w4g32_a8), view_w4, matmul_faults, COUNT(matmul_faults)},
    {"matmul_w8g32_a8", {{3, 41, 96}}, sizeof(struct sm_matmul_w8g32_a8), view_w8, matmul_faults, COUNT(matmul_faults)},
    {"matmul_w4c_a8", {{3, 41, 96}}, sizeof(struct sm_matmul_c_a8), view_c_a8, matmul_faults, COUNT(matmul_faults)},
    {"matmul_w8c_a8", {{3, 41, 96}}, sizeof(struct sm_matmul_c_a8), view_c_a8, matmul_faults, COUNT(matmul_faults)},
    {"matmul_w4c_a16", {{3, 41, 96}}, sizeof(struct sm_matmul_c_a16), view_c_a16, matmul_faults, COUNT(matmul_faults)},
    {"matmul_w8c_a16", {{3, 41, 96}}, sizeof(struct sm_matmul_c_a16), view_c_a16, matmul_faults, COUNT(matmul_faults)},
    {"quantise_a8r", {{3, 96}}, sizeof(struct sm_quantise_a8r), NULL, quantise_row_faults, COUNT(quantise_row_faults)},
    {"quantise_a8", {{3, 96}}, sizeof(struct sm_quantise_a8), NULL, quantise_faults, COUNT(quantise_faults)},
};

/* Whether the workload objects to a run with this fault (NULL: with none). */
static int caught(size_t n, const struct sm_variant *v, enum sm_regime regime, const struct fault *fault)
{
    const struct sm_workload *w = sm_workload_named(families[n].family);
    union {
        max_align_t align;
        unsigned char bytes[ARGS_BYTES];
    } args;
    void *work = w->create(&families[n].shape, regime, SEED);
    const void *given = work ? w->prepare(work, v) : NULL;
    if (!given || families[n].args_bytes > sizeof args) exit(2);
    memcpy(&args, given, families[n].args_bytes);
    struct sm_part part = sm_family_named(families[n].family)->split(&families[n].shape, 1, 0);
    view = families[n].view;
    if (fault && fault->before) fault->before(&args);
    if (fault && fault->part) fault->part(&part);
    v->fn(&args, part);
    if (fault && fault->after) fault->after(&args);
    const int objects = !(w->error(work, v) <= 1) || w->damage(work);
    w->destroy(work);
    while (copy_count) free(copies[--copy_count]);
    return objects;
}

int main(void)
{
    int failures = 0;
    for (size_t n = 0; n < COUNT(families); n++) {
        const struct sm_family *family = sm_family_named(families[n].family);
        for (size_t i = 0; i < family->variant_count; i++) {
            const struct sm_variant *v = &family->variants[i];
            if (v->needs & ~sm_cpu_features()) continue;
            if (caught(n, v, SM_REGIME_EXACT, NULL) || caught(n, v, SM_REGIME_RANDOM, NULL)) {
                failures++;
                printf("FAIL %s/%s: objected to though nothing is wrong\n", family->name, v->name);
            }
            for (size_t k = 0; k < families[n].count; k++) {
                const struct fault *fault = &families[n].faults[k];
                const int exact = caught(n, v, SM_REGIME_EXACT, fault);
                failures += !exact;
                printf("%s %s/%s: %s: %s, in the random regime %s\n", exact ? "ok  " : "FAIL", family->name, v->name,
                       fault->name, exact ? "caught" : "missed",
                       caught(n, v, SM_REGIME_RANDOM, fault) ? "too" : "missed");
            }
        }
    }
    return failures != 0;
}
