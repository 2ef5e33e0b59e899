#include "plan_builder.h"

#include <stdio.h>
#include <string.h>

#define ALIGN 64

static size_t padded(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

void *plan_take(struct plan_builder *b, size_t bytes)
{
    void *at = b->arena ? b->arena + b->used : NULL;
    b->used += padded(bytes);
    return at;
}

void *plan_offset(const struct plan_builder *b, void *operand, size_t bytes)
{
    return b->arena ? (char *)operand + bytes : NULL;
}

static void fail(struct plan_builder *b, const char *sentence)
{
    if (!b->failed) snprintf(b->why, b->why_bytes, "planning %s: %s", sm_phase_name(b->options->phase), sentence);
    b->failed = 1;
}

void plan_begin(struct plan_builder *b)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    const size_t rows = b->options->rows;
    struct sm_plan *p = &b->plan;
    p->options = *b->options;
    p->shape = s;
    p->positions = b->positions;
    (void)plan_take(b, sizeof *p);
    p->steps = plan_take(b, b->step_room * sizeof *p->steps);
    p->writes = plan_take(b, b->write_room * sizeof *p->writes);
    for (size_t i = 0; i < b->positions->count; i++) {
        const size_t half = b->positions->rotation[i].head_dim / 2;
        p->rotation[i].cos = plan_take(b, rows * half * sizeof(float));
        p->rotation[i].sin = plan_take(b, rows * half * sizeof(float));
    }
    for (size_t l = 0; l < s->layers; l++) {
        size_t i = 0;
        while (i < p->mask_count && p->mask[i].window != s->layer[l].window) i++;
        if (i < p->mask_count) continue;
        if (i == PLAN_MAX_MASKS) {
            fail(b, "its layers have too many different windows");
            return;
        }
        p->mask[p->mask_count++] = (struct plan_mask){.window = s->layer[l].window,
                                                      .mask = plan_take(b, rows * b->options->max_seq * sizeof(float))};
    }
}

struct plan_choice plan_variant(struct plan_builder *b, const char *family)
{
    struct plan_choice c = {sm_family_named(family), NULL};
    char why[256];
    c.variant = sm_choose(&b->weights->choice, family, SM_FORMAT_NONE, why, sizeof why);
    if (!c.variant) fail(b, why);
    return c;
}

static void add_parts(struct sm_part *parts, const struct sm_family *family, const struct sm_shape *shape,
                      size_t threads)
{
    for (size_t i = 0; i < threads; i++) parts[i] = family->split(shape, threads, i);
}

void *plan_step(struct plan_builder *b, enum sm_label label, struct plan_choice choice, const void *args,
                size_t args_bytes, const struct sm_shape *shape, unsigned reads, unsigned writes)
{
    const size_t threads = b->options->threads;
    void *copy = plan_take(b, args_bytes);
    struct sm_part *parts = plan_take(b, threads * sizeof *parts);
    const bool barrier = threads > 1 && ((reads & b->writes) || (writes & (b->writes | b->reads)));
    if (barrier) b->reads = b->writes = 0;
    b->reads |= reads;
    b->writes |= writes;
    if (b->arena) {
        memcpy(copy, args, args_bytes);
        add_parts(parts, choice.family, shape, threads);
        b->plan.steps[b->step_count] = (struct sm_step){.fn = choice.variant->fn,
                                                        .args = copy,
                                                        .parts = parts,
                                                        .barrier = barrier,
                                                        .label = label,
                                                        .family = choice.family,
                                                        .variant = choice.variant};
        b->plan.barriers += barrier;
    }
    b->step_count++;
    return copy;
}

void plan_keep_write(struct plan_builder *b, struct sm_cache_write *args, const struct sm_shape *shape)
{
    if (b->arena) {
        const struct sm_step *step = &b->plan.steps[b->step_count - 1];
        b->plan.writes[b->plan.write_count] = (struct plan_write){
            .args = args, .parts = (struct sm_part *)(uintptr_t)step->parts, .family = step->family, .shape = *shape};
    }
    b->plan.write_count++;
}

float *plan_mask(struct plan_builder *b, size_t window)
{
    size_t i = 0;
    while (i + 1 < b->plan.mask_count && b->plan.mask[i].window != window) i++;
    return b->plan.mask[i].mask;
}

size_t plan_counted_bytes(const struct plan_builder *b)
{
    return b->used + padded(b->step_count * sizeof(struct sm_step)) +
           padded(b->plan.write_count * sizeof(struct plan_write));
}

struct sm_plan *plan_end(struct plan_builder *b)
{
    struct sm_plan *at = (struct sm_plan *)(void *)b->arena;
    b->plan.step_count = b->step_count;
    *at = b->plan;
    return at;
}
