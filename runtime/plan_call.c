/* What a built plan is asked for: the operands of the next call, and the results of the last. */
#include <string.h>

#include "argmax/argmax.h"
#include "cache_write.h"
#include "plan_builder.h"
#include "softcap_f32/softcap_f32.h"

static void set_rotation(struct plan_rotation *to, const struct sm_rotation *from, size_t row, size_t position)
{
    const size_t half = from->head_dim / 2;
    memcpy(to->cos + row * half, from->cos + position * half, half * sizeof(float));
    memcpy(to->sin + row * half, from->sin + position * half, half * sizeof(float));
}

/* The rotary rows of every row's position. Padding stands at position 0 in prefill; in append, where it is always at
 * the end, at the positions that follow (static-contract: 1.3, 1.6). */
static void set_rotations(struct sm_plan *p, const struct sm_call *call)
{
    for (size_t i = 0; i < p->positions->count; i++) {
        const struct sm_rotation *from = &p->positions->rotation[i];
        for (size_t r = 0; r < p->options.rows; r++) {
            const bool valid =
                r >= call->begin && (r < call->begin + call->count || p->options.phase != SM_PHASE_PREFILL);
            const size_t position = valid ? call->past + r - call->begin : 0;
            set_rotation(&p->rotation[i], from, r, position);
        }
        if (p->last_index) set_rotation(&p->last_rotation[i], from, 0, call->past + call->count - 1);
    }
}

/* The first slot that a view of `past` slots shows when `valid` slots are: the view ends at the last valid one. */
static size_t first_shown(size_t past, size_t valid)
{
    return valid > past ? valid - past : 0;
}

/* What begins with that slot, which is the `in_block`-th of a block that comes whole. */
static struct sm_kv kv_from(const struct sm_kv *all, size_t slot, size_t in_block, size_t slot_bytes)
{
    struct sm_kv from = *all;
    from.data = (const char *)all->data + (slot - in_block) * slot_bytes;
    if (all->scale && all->scale_stride) from.scale = all->scale + slot; /* a stride of 0: one for all slots */
    return from;
}

static void set_views(struct sm_plan *p, const struct sm_call *call)
{
    for (size_t i = 0; i < p->view_count; i++) {
        const struct plan_view *view = &p->views[i];
        const size_t slot = first_shown(view->past, call->past);
        const size_t in_block = view->in_block ? slot % SM_CACHE_WRITE_BLOCK : 0;
        *view->at = kv_from(&view->all, slot, in_block, view->slot_bytes);
        if (view->in_block) *view->in_block = in_block;
    }
}

/* Slots from the cache's `used` on hold the zeros they began with: keys that attention need not read. */
static void set_zero_slots(struct sm_plan *p, const struct sm_call *call)
{
    const size_t used = p->cache->used > call->past ? p->cache->used : call->past;
    for (size_t i = 0; i < p->past_count; i++) {
        const size_t past = p->pasts[i].past, written = used - first_shown(past, call->past);
        p->pasts[i].args->zero_slots = past > written ? past - written : 0;
    }
}

void sm_plan_set(struct sm_plan *p, const struct sm_call *call)
{
    const size_t last = call->begin + call->count - 1, threads = p->options.threads;
    memset(p->tokens, 0, p->options.rows * sizeof *p->tokens);
    memcpy(p->tokens + call->begin, call->tokens, call->count * sizeof *p->tokens);
    set_rotations(p, call);
    set_views(p, call);
    set_zero_slots(p, call);
    for (size_t i = 0; i < p->step_count; i++)
        for (size_t t = 0; p->steps[i].taken && t < threads; t++)
            atomic_store_explicit(&p->steps[i].taken[t].parts, 0, memory_order_relaxed);
    for (size_t i = 0; i < p->mask_count; i++) {
        p->mask[i].args->past_valid = call->past - first_shown(p->mask[i].past, call->past);
        p->mask[i].args->begin = call->begin;
        p->mask[i].args->valid = call->count;
    }
    for (size_t i = 0; i < p->write_count; i++) {
        struct plan_write *w = &p->writes[i];
        w->args->first = call->begin;
        w->args->count = call->count;
        w->args->slot = call->past;
        w->shape.dim[SM_CACHE_WRITE_ROWS] = (int64_t)call->count;
        for (size_t t = 0; t < threads; t++) w->parts[t] = plan_share(w->family, &w->shape, threads, t, w->alone);
    }
    p->last_row = last;
    *p->capped = false;
    if (p->options.all_rows)
        p->argmax_args->x = p->logits + last * p->shape->vocab;
    else
        p->norm_args->x = p->last_x + (p->last_index ? 0 : last * p->shape->hidden);
    if (p->last_index) *p->last_index = (int32_t)last;
}

size_t sm_plan_step_count(const struct sm_plan *p)
{
    return p->step_count;
}

const struct sm_step *sm_plan_steps(const struct sm_plan *p)
{
    return p->steps;
}

size_t sm_plan_barriers(const struct sm_plan *p)
{
    return p->barriers;
}

const struct sm_plan_options *sm_plan_options_of(const struct sm_plan *p)
{
    return &p->options;
}

const float *sm_plan_logits(const struct sm_plan *p)
{
    if (p->softcap && !*p->capped) {
        const size_t rows = p->options.all_rows ? p->options.rows : 1, vocab = p->shape->vocab;
        const struct sm_softcap_f32 args = {.y = p->logits,
                                            .y_stride = vocab,
                                            .x = p->logits,
                                            .x_stride = vocab,
                                            .rows = rows,
                                            .cols = vocab,
                                            .cap = p->shape->final_softcap};
        p->softcap(&args, sm_part_whole(rows, vocab));
        *p->capped = true;
    }
    return p->logits;
}

const float *sm_plan_per_layer(const struct sm_plan *p)
{
    return p->per_layer;
}

int32_t sm_plan_argmax(const struct sm_plan *p)
{
    return *p->argmax;
}

size_t sm_plan_last_row(const struct sm_plan *p)
{
    return p->last_row;
}

const float *sm_plan_hidden(const struct sm_plan *p, size_t i)
{
    if (!p->options.all_rows || i > p->shape->layers + 1) return NULL;
    return i == p->shape->layers + 1 ? p->normed : p->hidden + i * p->options.rows * p->shape->hidden;
}
