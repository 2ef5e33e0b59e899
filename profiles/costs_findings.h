/* costs_findings.h - what the points of a series say together: the "cost" object of a record of role "table", made from
 * the curves (cost_table.h), for tables and figures.
 *
 *   role attention    "table", "literal" or "skip"
 *   phases     [{"phase","points","held_out","median_error","worst_error","band"}]: errors relative
 *   slot_ns valid_ns  of a decode: of one more slot of max_seq, of one more valid one
 *   knees      [{"max_seq","rows","free_rows"}]: M* (sm_cost_knee)
 *   curve      [{"max_seq","rows","past","ns","least_ns","low_ns","high_ns","curve_ns","arena_bytes","cache_bytes"}]: a
 * decode, then the append buckets, measured, at the least and the greatest max_seq limits
 * {"sweep_ns","row_ns","sweep","row"}: the least that reading all weights once and one row's arithmetic can take by the
 * measured ceilings so named; null without ceilings padding    [{"set","tokens","ns","exact_ns","tax"}]: tokens
 * appended at the greatest max_seq after a quarter of it, in the buckets of a set, against buckets made for them mask
 * of skip, where literal was measured too: [{"max_seq","valid","literal_ns","skip_ns","tax", "measured_tax"}]: a decode
 * by the curves; measured_tax is null where not both calls were measured sizes
 * [{"max_seq","past","ns","low_ns","high_ns","curve_ns","curve_low","curve_high","extrapolated","cache_bytes",
 *              "arena_bytes"}]: a decode at 128 to 131072, always after as many valid slots: measured (or null), and
 *              by the curve (null beyond 16 times the greatest max_seq measured); bytes of its cache and plan are the
 *              runtime's own */
#ifndef SM_COSTS_FINDINGS_H
#define SM_COSTS_FINDINGS_H

#include "ceilings.h"
#include "costs_measure.h"

#define COSTS_SIZES_PAST 100 /* valid slots of "sizes" */

/* bench: of the same model and recipe. ceilings: of as many threads, or NULL. A new reference; NULL: no memory. */
json_t *costs_findings(const struct sm_cost_table *table, const struct sm_cost_series *series,
                       const struct costs_bench *bench, const struct sm_ceilings *ceilings);

#endif
