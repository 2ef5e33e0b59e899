/* bucket.h - which static shape takes the next tokens of a turn. Pure: it knows lengths, and no model.
 *
 * An append graph of Q rows runs at P valid slots only when P + Q <= K (static-contract: 1.6), so near the end of the
 * cache a turn that fits may find no bucket that does. What happens then is a policy, which the caller states. */
#ifndef SM_BUCKET_H
#define SM_BUCKET_H

#include <stdbool.h>
#include <stddef.h>

#define SM_MAX_BUCKETS 16

/* Bucket sizes, ascending and each once. */
struct sm_buckets {
    size_t count;
    size_t rows[SM_MAX_BUCKETS];
};

/* Any order, any repetition, at most SM_MAX_BUCKETS sizes of 1 to max_seq: 0, or -1 and a sentence. */
int sm_buckets_set(struct sm_buckets *buckets, const size_t *rows, size_t count, size_t max_seq, char *why,
                   size_t why_bytes);

/* When the bucket that should take the tokens does not fit. */
enum sm_when_full {
    SM_WHEN_FULL_SMALLER, /* the largest bucket that fits; single decodes once none does */
    SM_WHEN_FULL_DECODE,  /* single decodes, until a bucket holds what is left and fits */
    SM_WHEN_FULL_REFUSE,
    SM_WHEN_FULL_POLICIES
};

/* "smaller", "decode", "refuse", and back: 0 or -1. */
const char *sm_when_full_name(enum sm_when_full when_full);
int sm_when_full_named(const char *name, enum sm_when_full *when_full);

struct sm_bucket_choice {
    size_t rows;  /* of the bucket, 1 for a decode; 0: refused */
    size_t count; /* tokens that it takes */
    bool decode;
    bool policy; /* `when_full` decided it */
};

/* Of `left` tokens, at `past` valid slots: the smallest bucket with left <= Q, or the largest when none is as large,
 * when past + Q <= max_seq. Otherwise as when_full says. With no buckets every token is a decode, and no policy was
 * needed. Refused, whatever the policy, when the tokens do not fit the cache: past + left > max_seq - 1. */
struct sm_bucket_choice sm_bucket_choose(const struct sm_buckets *buckets, size_t left, size_t past, size_t max_seq,
                                         enum sm_when_full when_full);

/* The smallest bucket with at least `count` rows, or the largest; 0 when there is none. */
size_t sm_bucket_holding(const struct sm_buckets *buckets, size_t count);

#endif
