/* plan_builder.h - placing operands and steps in an arena, and deriving where threads must wait. Private to plan.
 *
 * With no arena everything is counted and nothing written: pointers are then NULL and must not be followed. */
#ifndef SM_PLAN_BUILDER_H
#define SM_PLAN_BUILDER_H

#include "attention.h"
#include "mask_build/mask_build.h"
#include "plan.h"
#include "rmsnorm/rmsnorm.h"

struct sm_argmax;
struct sm_cache_write;

#define PLAN_MAX_THREADS 1024
#define PLAN_MAX_MASKS 8

/* What a step reads and writes. Two steps need a barrier between them when one writes what the other reads or
 * writes, unless both do no more than that in one step: its parts are disjoint. */
enum {
    PLAN_TOKENS = 1 << 0,
    PLAN_MASK = 1 << 1,
    PLAN_X = 1 << 2,
    PLAN_NORMED = 1 << 3,
    PLAN_A8 = 1 << 4,
    PLAN_Q = 1 << 5,
    PLAN_K = 1 << 6,
    PLAN_V = 1 << 7,
    PLAN_NOW_K = 1 << 8,
    PLAN_NOW_V = 1 << 9,
    PLAN_SLOTS_K = 1 << 10,
    PLAN_SLOTS_V = 1 << 11,
    PLAN_MIXED = 1 << 12,
    PLAN_GATE = 1 << 13,
    PLAN_UP = 1 << 14,
    PLAN_LOGITS = 1 << 15,
    PLAN_ARGMAX = 1 << 16,
    PLAN_BRANCH = 1 << 17,
    PLAN_PER_LAYER = 1 << 18,
    PLAN_ALL_K = 1 << 19,
    PLAN_ALL_V = 1 << 20,
    PLAN_NOW = PLAN_NOW_K | PLAN_NOW_V,
    PLAN_SLOTS = PLAN_SLOTS_K | PLAN_SLOTS_V
};

struct plan_access {
    unsigned reads, writes;
};

struct plan_choice {
    const struct sm_family *family;
    const struct sm_variant *variant;
};

struct plan_rotation {
    float *cos, *sin; /* [rows][head_dim / 2], of the rows' positions */
};

struct plan_mask {
    size_t window, past; /* past columns of layers with that window */
    float *mask;         /* [rows][past + rows] */
    float *last;         /* of the last row, where layers run on that alone */
    struct sm_mask_build *args;
};

/* An operand that is a view of `past` slots which moves: `all` begins at slot 0, what a call sees where it must, or at
 * the begin of that slot's block of 16, and then `in_block` says which of them is first. */
struct plan_view {
    struct sm_kv *at, all;
    size_t *in_block;        /* keys16, else NULL */
    size_t past, slot_bytes; /* bytes of one slot of a KV head */
};

/* An attention over past slots: how many of them were never written each call knows. */
struct plan_past {
    struct sm_attention *args;
    size_t past;
};

/* A write into slots, whose rows and slot each call sets. */
struct plan_write {
    struct sm_cache_write *args;
    struct sm_part *parts; /* [threads], of its step */
    const struct sm_family *family;
    struct sm_shape shape;
    bool alone;
};

struct sm_plan {
    struct sm_plan_options options;
    const struct sm_model_shape *shape;
    const struct sm_positions *positions;
    const struct sm_cache *cache;
    struct sm_step *steps;
    size_t step_count, barriers;
    struct plan_write *writes;
    size_t write_count;
    struct plan_view *views;
    size_t view_count;
    struct plan_past *pasts;
    size_t past_count;
    int32_t *tokens;
    struct plan_rotation rotation[SM_MAX_ROTATIONS];
    struct plan_mask mask[PLAN_MAX_MASKS];
    size_t mask_count;
    float *hidden;                                        /* all_rows: [layers + 1][rows][hidden] */
    const float *normed;                                  /* after the final norm */
    const float *last_x;                                  /* what enters the final norm: all rows, or the last */
    int32_t *last_index;                                  /* the last valid row; NULL: no layer runs on that alone */
    struct plan_rotation last_rotation[SM_MAX_ROTATIONS]; /* of that row */
    struct sm_rmsnorm *norm_args;
    struct sm_argmax *argmax_args;
    float *logits;
    size_t last_row;
    int32_t *argmax;
    sm_kernel_fn *softcap;  /* of the logits, applied when they are first asked for; NULL: none */
    bool *capped;           /* they are */
    const float *per_layer; /* [rows][layers * per_layer_width], or NULL */
};

struct plan_builder {
    const struct sm_weights *weights;
    struct sm_cache *cache;
    const struct sm_positions *positions;
    const struct sm_plan_options *options;
    char *why;
    size_t why_bytes;
    int failed;  /* the first failure is in why */
    char *arena; /* NULL: count */
    size_t used;
    size_t step_count, step_room, write_room, view_room, past_room;
    size_t rows;                         /* of the steps being added */
    bool narrow;                         /* which are of the last row alone */
    size_t layer;                        /* whose steps are being added; SM_NO_LAYER before and after them */
    struct plan_access by_all, by_first; /* since the last barrier: by all threads, and by thread 0 alone */
    struct sm_plan plan;                 /* copied into the arena at the end */
};

/* The next bytes of the arena, 64-byte aligned. */
void *plan_take(struct plan_builder *b, size_t bytes);

/* `bytes` past an operand; NULL while counting. */
void *plan_offset(const struct plan_builder *b, void *operand, size_t bytes);

/* Places the plan, its steps, masks and rotary rows. */
void plan_begin(struct plan_builder *b);

/* Why there can be no such plan; the first reason counts. */
void plan_fail(struct plan_builder *b, const char *sentence);

/* The variant of a family that has no weights. */
struct plan_choice plan_variant(struct plan_builder *b, const char *family);

/* The one for operands in that layout; `other` as sm_choose_layout has it. */
struct plan_choice plan_variant_for(struct plan_builder *b, const char *family, const char *layout, const char *other);

/* Adds a step with a copy of its arguments, and returns the copy (NULL while counting). */
void *plan_step(struct plan_builder *b, enum sm_label label, struct plan_choice choice, const void *args,
                size_t args_bytes, const struct sm_shape *shape, unsigned reads, unsigned writes);

/* What thread i of a step does: its share, or with `alone` everything for thread 0 and nothing for the others. */
struct sm_part plan_share(const struct sm_family *family, const struct sm_shape *shape, size_t threads, size_t i,
                          bool alone);

/* Notes that the step just added writes into slots. */
void plan_keep_write(struct plan_builder *b, struct sm_cache_write *args, const struct sm_shape *shape);

/* Notes that the step just added reads a view of the past that moves. */
void plan_keep_view(struct plan_builder *b, struct sm_kv *at, size_t *in_block, size_t past, size_t slot_bytes);

/* Notes that the step just added attends over past slots. */
void plan_keep_past(struct plan_builder *b, struct sm_attention *args, size_t past);

/* The mask of layers with that window. */
const struct plan_mask *plan_mask(const struct plan_builder *b, size_t window);

/* The bytes that all steps took, with room for their table. */
size_t plan_counted_bytes(const struct plan_builder *b);

struct sm_plan *plan_end(struct plan_builder *b);

/* Adds everything, in the order of a call (plan_steps.c). The plan itself comes first in the arena. */
void plan_add_steps(struct plan_builder *b);

#endif
