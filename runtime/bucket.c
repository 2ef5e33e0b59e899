#include "bucket.h"

#include <stdio.h>
#include <string.h>

static const char *const policies[SM_WHEN_FULL_POLICIES] = {"smaller", "decode", "refuse"};

const char *sm_when_full_name(enum sm_when_full when_full)
{
    return (unsigned)when_full < SM_WHEN_FULL_POLICIES ? policies[when_full] : "?";
}

int sm_when_full_named(const char *name, enum sm_when_full *when_full)
{
    for (size_t i = 0; i < SM_WHEN_FULL_POLICIES; i++)
        if (!strcmp(name, policies[i])) {
            *when_full = (enum sm_when_full)i;
            return 0;
        }
    return -1;
}

int sm_buckets_set(struct sm_buckets *buckets, const size_t *rows, size_t count, size_t max_seq, char *why,
                   size_t why_bytes)
{
    struct sm_buckets b = {0};
    for (size_t i = 0; i < count; i++) {
        if (rows[i] < 1 || rows[i] > max_seq) {
            snprintf(why, why_bytes, "reading bucket sizes: %zu rows; they must be 1 to max_seq, %zu", rows[i],
                     max_seq);
            return -1;
        }
        size_t at = 0;
        while (at < b.count && b.rows[at] < rows[i]) at++;
        if (at < b.count && b.rows[at] == rows[i]) continue;
        if (b.count == SM_MAX_BUCKETS) {
            snprintf(why, why_bytes, "reading bucket sizes: there are more than %d", SM_MAX_BUCKETS);
            return -1;
        }
        memmove(&b.rows[at + 1], &b.rows[at], (b.count - at) * sizeof b.rows[0]);
        b.rows[at] = rows[i];
        b.count++;
    }
    *buckets = b;
    return 0;
}

size_t sm_bucket_holding(const struct sm_buckets *buckets, size_t count)
{
    for (size_t i = 0; i < buckets->count; i++)
        if (count <= buckets->rows[i]) return buckets->rows[i];
    return buckets->count ? buckets->rows[buckets->count - 1] : 0;
}

struct sm_bucket_choice sm_bucket_choose(const struct sm_buckets *buckets, size_t left, size_t past, size_t max_seq,
                                         enum sm_when_full when_full)
{
    const struct sm_bucket_choice refused = {0};
    if (!left || past >= max_seq || left > max_seq - 1 - past) return refused;
    if (!buckets->count) return (struct sm_bucket_choice){.rows = 1, .count = 1, .decode = true};
    const size_t room = max_seq - past, wanted = sm_bucket_holding(buckets, left);
    if (wanted <= room) return (struct sm_bucket_choice){.rows = wanted, .count = left < wanted ? left : wanted};
    if (when_full == SM_WHEN_FULL_REFUSE) return (struct sm_bucket_choice){.policy = true};
    size_t fits = 0;
    for (size_t i = 0; i < buckets->count && buckets->rows[i] <= room; i++) fits = buckets->rows[i];
    /* a bucket that fits is smaller than the one wanted, so it has fewer rows than there are tokens */
    if (fits && when_full == SM_WHEN_FULL_SMALLER)
        return (struct sm_bucket_choice){.rows = fits, .count = fits, .policy = true};
    return (struct sm_bucket_choice){.rows = 1, .count = 1, .decode = true, .policy = true};
}
