/* bench_rows.h - records of kind "bench" as rows to print: medians, rates and shares, in the order of the registry. */
#ifndef SM_BENCH_ROWS_H
#define SM_BENCH_ROWS_H

#include <jansson.h>
#include <stdbool.h>

#include "registry.h"
#include "stats.h"

#define SM_ROW_SHAPE_BYTES 200

/* What a row shows, computed from the raw samples of a record. NAN: not there. */
struct sm_row {
    json_t *record; /* borrowed */
    struct sm_summary summary;
    double ops_per_cycle; /* of one core */
    double bytes_per_ns, share;
};

struct sm_row sm_row_of(json_t *record);

/* Families in the registry's order, then shape by shape, then the variants as they are listed: the variants of one
 * shape stand together. The caller frees the result and *storage. NULL: no memory. */
struct sm_row **sm_rows_sorted(json_t *records, struct sm_row **storage);

/* Members of a record; "" and NAN when they are not there. */
const char *sm_row_text(const json_t *record, const char *key);
double sm_row_number(const json_t *object, const char *key);
bool sm_row_ok(const json_t *record);
const char *sm_row_compiler(const json_t *record); /* that built its kernels apart; "": they are this program's */
const struct sm_variant *sm_row_variant(const json_t *record); /* NULL: not in this program */
size_t sm_row_family(const json_t *record);                    /* its place in the registry */

/* "rows=1 max_seq=256": the axes that differ among rows [begin, end), or (differ false) those that do not. */
void sm_row_shape(struct sm_row *const *rows, size_t begin, size_t end, const json_t *record, bool differ, char *text,
                  size_t bytes);

#endif
