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

void plan_fail(struct plan_builder *b, const char *sentence)
{
    if (!b->failed) snprintf(b->why, b->why_bytes, "planning %s: %s", sm_phase_name(b->options->phase), sentence);
    b->failed = 1;
}

/* Slots of the past that a layer with that window reads. */
static size_t past_of(const struct sm_plan_options *o, size_t window)
{
    const size_t past = o->phase == SM_PHASE_PREFILL ? 0 : o->max_seq - o->rows;
    return o->short_sliding && window && window - 1 < past ? window - 1 : past;
}

void plan_begin(struct plan_builder *b)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    const size_t rows = b->options->rows;
    struct sm_plan *p = &b->plan;
    p->options = *b->options;
    p->shape = s;
    p->positions = b->positions;
    p->cache = b->cache;
    b->layer = SM_NO_LAYER;
    b->rows = rows;
    (void)plan_take(b, sizeof *p);
    p->steps = plan_take(b, b->step_room * sizeof *p->steps);
    p->writes = plan_take(b, b->write_room * sizeof *p->writes);
    p->views = plan_take(b, b->view_room * sizeof *p->views);
    p->pasts = plan_take(b, b->past_room * sizeof *p->pasts);
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
            plan_fail(b, "its layers have too many different windows");
            return;
        }
        const size_t past = past_of(b->options, s->layer[l].window);
        p->mask[p->mask_count++] = (struct plan_mask){
            .window = s->layer[l].window, .past = past, .mask = plan_take(b, rows * (past + rows) * sizeof(float))};
    }
}

struct plan_choice plan_variant(struct plan_builder *b, const char *family)
{
    struct plan_choice c = {sm_family_named(family), NULL};
    char why[256];
    c.variant = sm_choose(&b->weights->choice, family, SM_FORMAT_NONE, why, sizeof why);
    if (!c.variant) plan_fail(b, why);
    return c;
}

struct plan_choice plan_variant_for(struct plan_builder *b, const char *family, const char *layout, const char *other)
{
    struct plan_choice c = {sm_family_named(family), NULL};
    char why[256];
    c.variant = sm_choose_layout(&b->weights->choice, family, layout, other, why, sizeof why);
    if (!c.variant) plan_fail(b, why);
    return c;
}

/* Steps that are shorter than a barrier when there is one row: thread 0 does them whole, and needs none between them.
 */
static bool is_short(const struct plan_builder *b, const struct sm_family *family)
{
    static const char *const families[] = {"rmsnorm", "quantise_a8", "quantise_a8r", "quantise_a16",
                                           "rope",    "gated_silu",  "gated_gelu"};
    if (b->rows != 1) return false;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strcmp(family->name, families[i])) return true;
    return !strcmp(family->group, "cache_write");
}

/* Cores are not alike: some have less of a clock, and a guest's have neighbours. Steps of many rows are cut into
 * several parts a thread, and a thread that is done with its own takes the others'. Few rows are one sweep over the
 * weights, of which a thread's own caches may hold its share, and too short to be cut. Cache writes are shared out by
 * each call. */
#define PARTS_EACH 4
#define PARTS_ROWS 16 /* of a part at least, were it rows that are cut */
static size_t parts_each(const struct plan_builder *b, const struct sm_family *family)
{
    const size_t threads = b->options->threads, each = b->rows / (PARTS_ROWS * threads);
    if (threads == 1 || each < 2 || !strcmp(family->group, "cache_write") || !strcmp(family->name, "argmax")) return 1;
    return each < PARTS_EACH ? each : PARTS_EACH;
}

/* The parts of all threads. Returns whether thread 0 has everything. */
static bool add_parts(struct sm_part *parts, const struct sm_family *family, const struct sm_shape *shape,
                      size_t threads, size_t each, bool alone)
{
    size_t busy = 0;
    for (size_t i = 0; i < threads * each; i++) {
        parts[i] = plan_share(family, shape, threads * each, i, alone);
        if (i && parts[i].row_begin < parts[i].row_end && parts[i].col_begin < parts[i].col_end) busy++;
    }
    return !busy;
}

struct sm_part plan_share(const struct sm_family *family, const struct sm_shape *shape, size_t threads, size_t i,
                          bool alone)
{
    if (!alone) return family->split(shape, threads, i);
    return i ? (struct sm_part){0, 0, 0, 0} : family->split(shape, 1, 0);
}

static bool conflict(struct plan_access done, unsigned reads, unsigned writes)
{
    return (reads & done.writes) || (writes & (done.writes | done.reads));
}

/* Whether a step must wait for the threads: what thread 0 did alone it need not wait for when it goes on alone. */
static bool needs_barrier(struct plan_builder *b, bool alone, unsigned reads, unsigned writes)
{
    const bool barrier = conflict(b->by_all, reads, writes) || (!alone && conflict(b->by_first, reads, writes));
    if (barrier) b->by_all = b->by_first = (struct plan_access){0, 0};
    struct plan_access *done = alone ? &b->by_first : &b->by_all;
    done->reads |= reads;
    done->writes |= writes;
    return barrier && b->options->threads > 1;
}

void *plan_step(struct plan_builder *b, enum sm_label label, struct plan_choice choice, const void *args,
                size_t args_bytes, const struct sm_shape *shape, unsigned reads, unsigned writes)
{
    const size_t threads = b->options->threads, each = parts_each(b, choice.family);
    void *copy = plan_take(b, args_bytes);
    struct sm_part *parts = plan_take(b, threads * each * sizeof *parts);
    struct sm_taken *taken = each > 1 ? plan_take(b, threads * sizeof *taken) : NULL;
    if (b->arena) {
        memcpy(copy, args, args_bytes);
        bool alone = add_parts(parts, choice.family, shape, threads, each, is_short(b, choice.family));
        if (label == SM_LABEL_CACHE_WRITE) alone = is_short(b, choice.family); /* calls may share it out anew */
        struct sm_step *step = &b->plan.steps[b->step_count];
        *step = (struct sm_step){.fn = choice.variant->fn,
                                 .args = copy,
                                 .parts = parts,
                                 .each = each,
                                 .taken = taken,
                                 .barrier = needs_barrier(b, alone, reads, writes),
                                 .label = label,
                                 .layer = b->layer,
                                 .kind = b->layer == SM_NO_LAYER ? SM_LAYER_NONE
                                                                 : sm_layer_kind_of(b->plan.shape, b->layer),
                                 .family = choice.family,
                                 .variant = choice.variant,
                                 .shape = *shape};
        b->plan.barriers += step->barrier;
    }
    b->step_count++;
    return copy;
}

void plan_keep_write(struct plan_builder *b, struct sm_cache_write *args, const struct sm_shape *shape)
{
    if (b->arena) {
        const struct sm_step *step = &b->plan.steps[b->step_count - 1];
        b->plan.writes[b->plan.write_count] = (struct plan_write){.args = args,
                                                                  .parts = (struct sm_part *)(uintptr_t)step->parts,
                                                                  .family = step->family,
                                                                  .shape = *shape,
                                                                  .alone = is_short(b, step->family)};
    }
    b->plan.write_count++;
}

void plan_keep_view(struct plan_builder *b, struct sm_kv *at, size_t *in_block, size_t past, size_t slot_bytes)
{
    if (b->arena)
        b->plan.views[b->plan.view_count] =
            (struct plan_view){.at = at, .all = *at, .in_block = in_block, .past = past, .slot_bytes = slot_bytes};
    b->plan.view_count++;
}

void plan_keep_past(struct plan_builder *b, struct sm_attention *args, size_t past)
{
    if (b->arena) b->plan.pasts[b->plan.past_count] = (struct plan_past){args, past};
    b->plan.past_count++;
}

const struct plan_mask *plan_mask(const struct plan_builder *b, size_t window)
{
    size_t i = 0;
    while (i + 1 < b->plan.mask_count && b->plan.mask[i].window != window) i++;
    return &b->plan.mask[i];
}

size_t plan_counted_bytes(const struct plan_builder *b)
{
    return b->used + padded(b->step_count * sizeof(struct sm_step)) +
           padded(b->plan.write_count * sizeof(struct plan_write)) +
           padded(b->plan.view_count * sizeof(struct plan_view)) +
           padded(b->plan.past_count * sizeof(struct plan_past));
}

struct sm_plan *plan_end(struct plan_builder *b)
{
    struct sm_plan *at = (struct sm_plan *)(void *)b->arena;
    b->plan.step_count = b->step_count;
    *at = b->plan;
    return at;
}
