/* results.h - result files (JSON lines, one record a line; documents.h) as an array of records.
 *
 * A line that is no record is counted and skipped: a killed run may end in half a line. Text and numbers of a
 * record are looked up by key and are "" and NaN where absent, null or of another type: a result file is not
 * trusted. Nothing here prints. */
#ifndef SM_PLOT_RESULTS_H
#define SM_PLOT_RESULTS_H

#include <jansson.h>
#include <stddef.h>

struct sm_result {
    json_t *json;          /* the record */
    double median, q1, q3; /* ns, of its samples; NaN when it has none */
    size_t samples;
    size_t order; /* in reading order */
};

struct sm_results {
    struct sm_result *at;
    size_t count, capacity;
    size_t files, lines, bad_lines;
    size_t other_machines; /* records that settle left out */
    size_t refused;        /* records of wrong answers or failed runs: status "error" */
    char first_bad[320];   /* where the first bad line is and what is wrong with it */
};

/* Adds the records of a file, or of all .jsonl files and documents in a folder. -1: nothing could be read, why says so.
 */
int sm_results_read(struct sm_results *results, const char *path, char *why, size_t why_bytes);

/* Keeps the newest record of each case, of the machine of the newest record, with status "ok". */
void sm_results_settle(struct sm_results *results);

/* The same records once more, to be settled by themselves. -1: no memory. */
int sm_results_copy(struct sm_results *to, const struct sm_results *from);

void sm_results_destroy(struct sm_results *results);

const char *sm_json_text(const json_t *object, const char *key);
double sm_json_number(const json_t *object, const char *key);
const json_t *sm_json_part(const json_t *object, const char *key); /* an object or array in it, or NULL */

const char *sm_result_text(const struct sm_result *r, const char *key);
double sm_result_number(const struct sm_result *r, const char *key);

/* The core clock that its cycles are counted by; of records that do not say, the one before it. NAN: not known. */
double sm_result_core_hz(const struct sm_result *r);

/* The axis of the record's shape, or, where the shape has none so named, the record's own number. */
double sm_result_axis(const struct sm_result *r, const char *axis);

/* Whether the variant computes less than the operations of the shape, which a mask hides in part: its rate counts them
 * all, so that no ceiling binds it. */
int sm_result_leaves_out(const struct sm_result *r);

/* The q-quantile (0..1) of n sorted values, interpolated. */
double sm_result_quantile(const double *sorted, size_t n, double q);
int sm_number_order(const void *a, const void *b);

#endif
