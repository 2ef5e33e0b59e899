/* attention_family.h - what the families of attention.h share: their axes and how a call is cut for threads. */
#ifndef SM_ATTENTION_FAMILY_H
#define SM_ATTENTION_FAMILY_H

#include "attention.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_NONE};
static const struct sm_layout layout_keys16 = {.name = "keys16", .format = SM_FORMAT_NONE};

static const struct sm_dim attention_dims[SM_ATTENTION_DIMS] = {
    [SM_ATTENTION_ROWS] = {"rows", 1, 1, 131072, "query rows: 1 in decode, the bucket in append, max_seq in prefill"},
    [SM_ATTENTION_MAX_SEQ] = {"max_seq", 1024, 1, 131072, "columns that every row attends over"},
    [SM_ATTENTION_HEAD_DIM] = {"head_dim", 64, 8, SM_ATTENTION_MAX_HEAD_DIM, "elements of a head, a multiple of 8"},
    [SM_ATTENTION_HEADS] = {"heads", 32, 1, 128, "query heads, a multiple of kv_heads"},
    [SM_ATTENTION_KV_HEADS] = {"kv_heads", 8, 1, 128, "key and value heads"},
    [SM_ATTENTION_VALID] = {"valid", -1, -1, 131072, "past slots that hold a token; -1: all of them"},
    [SM_ATTENTION_WINDOW] = {"window", 0, 0, 131072, "keys a row may see, itself included; 0: no window"},
    [SM_ATTENTION_SOFTCAP] = {"softcap", 0, 0, 1000, "logits stay within this; 0: no softcap"},
};

/* The i-th of `parts` ranges of heads. */
static void attention_head_range(size_t heads, size_t parts, size_t i, size_t *begin, size_t *end)
{
    sm_split_range(heads, 1, parts, i, begin, end);
}

/* Work of the largest of `parts` ranges of heads, in halves of a head's: each GQA group that a range touches adds
 * one, since its keys and values are read again however few of its heads are there. */
static size_t attention_largest_range(size_t heads, size_t kv_heads, size_t parts)
{
    const size_t group = heads / kv_heads;
    size_t largest = 0;
    for (size_t i = 0; i < parts; i++) {
        size_t begin, end;
        attention_head_range(heads, parts, i, &begin, &end);
        if (begin >= end) continue;
        const size_t work = 2 * (end - begin) + (end - 1) / group - begin / group + 1;
        if (work > largest) largest = work;
    }
    return largest;
}

/* One row is cut into shares. Of more, threads form a grid of row ranges x head ranges: of all grids, the one whose
 * largest part is the least work, and of equals the one with fewer row ranges, since each of those reads all keys.
 * Ranges of prefill rows are unequal work for variants that skip what causality hides: the last of n does up to (2 n -
 * 1) / n of the mean. */
static struct sm_part attention_split(const struct sm_shape *shape, size_t threads, size_t i)
{
    const size_t rows = (size_t)shape->dim[SM_ATTENTION_ROWS], heads = (size_t)shape->dim[SM_ATTENTION_HEADS];
    const size_t kv_heads = (size_t)shape->dim[SM_ATTENTION_KV_HEADS];
    const int prefill = shape->dim[SM_ATTENTION_ROWS] == shape->dim[SM_ATTENTION_MAX_SEQ];
    struct sm_part part = {0, 1, 0, 0};
    size_t best = 1;
    double least = 0;
    if (rows == 1) {
        sm_split_range(kv_heads * sm_attention_shares(heads, kv_heads), 1, threads, i, &part.col_begin, &part.col_end);
        return part;
    }
    for (size_t row_parts = 1; row_parts <= threads; row_parts++) {
        if (threads % row_parts) continue;
        const double slant = prefill ? 2 - 1 / (double)row_parts : 1;
        const double work = (double)((rows + row_parts - 1) / row_parts) * slant *
                            (double)attention_largest_range(heads, kv_heads, threads / row_parts);
        if (row_parts == 1 || work < least) {
            best = row_parts;
            least = work;
        }
    }
    sm_split_range(rows, 1, best, i % best, &part.row_begin, &part.row_end);
    attention_head_range(heads, threads / best, i / best, &part.col_begin, &part.col_end);
    return part;
}

#endif
