/* What to know about a run beside its table. */
#include "bench_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench_rows.h"
#include "limit.h"
#include "ridge.h"

static bool same_place(const json_t *a, const json_t *b)
{
    return !strcmp(sm_row_text(a, "family"), sm_row_text(b, "family")) &&
           json_equal(json_object_get(a, "shape"), json_object_get(b, "shape")) &&
           json_equal(json_object_get(a, "threads"), json_object_get(b, "threads")) &&
           !strcmp(sm_row_text(a, "cache_state"), sm_row_text(b, "cache_state")) &&
           !strcmp(sm_row_compiler(a), sm_row_compiler(b));
}

/* Whether b is listed before a, could be used in its place, and was clearly faster: quartiles apart, and 5 %. */
static bool out_of_order(const struct sm_row *a, const struct sm_row *b)
{
    const struct sm_variant *va = sm_row_variant(a->record), *vb = sm_row_variant(b->record);
    if (!va || !vb || vb >= va || va->layout->format != vb->layout->format) return false;
    if (!va->layout->pack && strcmp(va->layout->name, vb->layout->name)) return false;
    return b->summary.q75 < a->summary.q25 && b->summary.median < 0.95 * a->summary.median;
}

/* `slow` is listed after `fast` and was slower. */
struct pair {
    const struct sm_row *slow, *fast;
    size_t begin, end; /* the rows of its family */
    bool told;
};

static double ratio(const struct pair *p)
{
    return p->slow->summary.median / p->fast->summary.median;
}

static size_t find_pairs(struct sm_row *const *rows, size_t count, struct pair *pairs, size_t most)
{
    size_t found = 0, begin = 0;
    for (size_t i = 0; i < count; i++) {
        if (sm_row_family(rows[i]->record) != sm_row_family(rows[begin]->record)) begin = i;
        size_t end = i;
        while (end < count && sm_row_family(rows[end]->record) == sm_row_family(rows[begin]->record)) end++;
        for (size_t j = i + 1; j < end && same_place(rows[i]->record, rows[j]->record); j++)
            if (found < most && sm_row_ok(rows[i]->record) && sm_row_ok(rows[j]->record) &&
                out_of_order(rows[j], rows[i]))
                pairs[found++] = (struct pair){rows[j], rows[i], begin, end, false};
    }
    return found;
}

static bool same_variants(const struct pair *a, const struct pair *b)
{
    return a->begin == b->begin && sm_row_variant(a->slow->record) == sm_row_variant(b->slow->record) &&
           sm_row_variant(a->fast->record) == sm_row_variant(b->fast->record);
}

/* One line for each two variants, at the shape where they differ most. */
static void print_order(struct sm_row *const *rows, size_t count, FILE *out)
{
    struct pair *pairs = calloc(count + 1, sizeof *pairs);
    const size_t found = pairs ? find_pairs(rows, count, pairs, count) : 0;
    if (found)
        fprintf(out, "\nslower than a variant that the list puts before it (dispatch takes the last that fits):\n");
    for (size_t i = 0; i < found; i++) {
        const struct pair *worst = &pairs[i];
        size_t others = 0;
        if (pairs[i].told) continue;
        for (size_t j = i; j < found; j++) {
            if (!same_variants(&pairs[i], &pairs[j])) continue;
            pairs[j].told = true;
            others += j != i;
            if (ratio(&pairs[j]) > ratio(worst)) worst = &pairs[j];
        }
        char shape[SM_ROW_SHAPE_BYTES], slow[32], fast[32];
        const json_t *r = worst->slow->record;
        sm_row_shape(rows, worst->begin, worst->end, r, true, shape, sizeof shape);
        fprintf(out, "  %s: %s %s, %s %s at %s%st=%.0f", sm_row_text(r, "family"), sm_row_text(r, "variant"),
                sm_bench_time_text(worst->slow->summary.median, slow, sizeof slow),
                sm_row_text(worst->fast->record, "variant"),
                sm_bench_time_text(worst->fast->summary.median, fast, sizeof fast), shape, *shape ? " " : "",
                sm_row_number(r, "threads"));
        if (others) fprintf(out, ", and at %zu more", others);
        fprintf(out, "\n");
    }
    free(pairs);
}

void sm_bench_table_notes(json_t *records, FILE *out)
{
    size_t ok = 0, wrong = 0, skipped = 0, disturbed = 0, lukewarm = 0, index, flag_index;
    bool beyond = false;
    json_t *record, *flag;
    struct sm_row *storage = NULL, **rows = sm_rows_sorted(records, &storage);
    if (rows) print_order(rows, json_array_size(records), out);
    sm_ridge_print(records, out);
    free(rows);
    free(storage);
    json_array_foreach(records, index, record)
    {
        const char *status = sm_row_text(record, "status");
        ok += !strcmp(status, "ok");
        wrong += !strcmp(status, "error");
        skipped += !strcmp(status, "skipped");
        bool raised = false;
        json_array_foreach(json_object_get(json_object_get(record, "witnesses"), "flags"), flag_index, flag)
        {
            const char *name = json_string_value(flag);
            raised |= name && (!strcmp(name, "preempted") || !strcmp(name, "migrated") || !strcmp(name, "stolen") ||
                               !strcmp(name, "clock_drift"));
            lukewarm += name && !strcmp(name, "cold_past_l2_only");
        }
        disturbed += raised;
        beyond |= sm_row_ok(record) && sm_row_of(record).share > SM_LIMIT_IMPOSSIBLE;
    }
    if (beyond)
        fprintf(out,
                "\n* the rate counts every column of the static shape; a variant may leave out what the mask hides\n");
    fprintf(out, "\nt threads; time: median; +-%%: quartile to quartile; op/cy: of one core; limit: measured in this "
                 "run; err: in "
                 "tolerances.\nK max_seq, hd head_dim, h heads, kv kv_heads, win window, cap softcap.\n");
    fprintf(out, "\n%zu cases timed, %zu wrong, %zu skipped", ok, wrong, skipped);
    if (disturbed)
        fprintf(out, "; %zu were disturbed (preempted, migrated, stolen time or clock drift: see their flags)",
                disturbed);
    if (lukewarm)
        fprintf(out, "; the operands of %zu cold ones pass the second cache level, and not the last", lukewarm);
    fprintf(out, "\n");
}
