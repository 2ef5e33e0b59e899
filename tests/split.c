/* Every family's split: for any number of threads the parts lie in the output, are disjoint, and cover it. */
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "registry.h"
#include "workload.h"

#define MOST_THREADS 70
#define SHAPES 300

static size_t area(struct sm_part p)
{
    return p.row_begin < p.row_end && p.col_begin < p.col_end ? (p.row_end - p.row_begin) * (p.col_end - p.col_begin)
                                                              : 0;
}

static int overlap(struct sm_part p, struct sm_part q)
{
    return area(p) && area(q) && p.row_begin < q.row_end && q.row_begin < p.row_end && p.col_begin < q.col_end &&
           q.col_begin < p.col_end;
}

/* NULL, or what is wrong. */
static const char *check(const struct sm_family *f, const struct sm_shape *shape, size_t threads)
{
    static struct sm_part part[MOST_THREADS];
    const struct sm_part whole = f->split(shape, 1, 0);
    size_t sum = 0;
    if (whole.row_begin || whole.col_begin || !area(whole)) return "one thread's part is not the whole output";
    for (size_t i = 0; i < threads; i++) {
        part[i] = f->split(shape, threads, i);
        if (!area(part[i])) continue;
        sum += area(part[i]);
        if (part[i].row_end > whole.row_end || part[i].col_end > whole.col_end) return "a part leaves the output";
        for (size_t j = 0; j < i; j++)
            if (overlap(part[i], part[j])) return "two parts overlap";
    }
    return sum == area(whole) ? NULL : "the parts do not cover the output";
}

static int64_t draw(struct sm_random *r, const struct sm_dim *d)
{
    const uint64_t range = (uint64_t)(d->most - d->least) + 1;
    const uint64_t limit = (uint64_t)1 << sm_random_below(r, 18); /* of every size */
    return d->least + (int64_t)(sm_random_u64(r) % (limit < range ? limit : range));
}

int main(void)
{
    const char *seed = getenv("SM_SEED");
    struct sm_random r = {seed ? strtoull(seed, NULL, 0) : 1};
    int failures = 0;
    for (size_t n = 0; n < sm_family_count(); n++) {
        const struct sm_family *f = sm_family_at(n);
        const struct sm_workload *w = sm_workload_named(f->name);
        int checked = 0;
        for (int tries = 0; tries < 1000 * SHAPES && checked < SHAPES; tries++) {
            struct sm_shape shape = {{0}};
            for (size_t d = 0; d < f->dim_count; d++)
                shape.dim[d] = sm_random_below(&r, 3) ? draw(&r, &f->dims[d]) : f->dims[d].standard;
            if (w->refuse(&shape)) continue;
            checked++;
            const size_t threads = 1 + sm_random_below(&r, MOST_THREADS);
            const char *wrong = check(f, &shape, threads);
            if (!wrong) continue;
            failures++;
            fprintf(stderr, "FAIL %s, %zu threads: %s:", f->name, threads, wrong);
            for (size_t d = 0; d < f->dim_count; d++)
                fprintf(stderr, " %s=%lld", f->dims[d].name, (long long)shape.dim[d]);
            fprintf(stderr, "\n");
        }
        if (!checked) {
            failures++;
            fprintf(stderr, "FAIL %s: no legal shape found\n", f->name);
        }
        printf("%s: %d shapes\n", f->name, checked);
    }
    return failures != 0;
}
