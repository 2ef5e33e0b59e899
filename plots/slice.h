/* slice.h - the records that one curve is drawn from.
 *
 * A slice is an array of records out of the results (it owns the array, not the records). The functions
 * narrow it in place and keep its order. `failed` is set, and stays, when memory ran out. */
#ifndef SM_PLOT_SLICE_H
#define SM_PLOT_SLICE_H

#include "results.h"

#define SM_SLICE_NAMES 16

struct sm_slice {
    const struct sm_result **at;
    size_t count;
    int failed;
};

/* All timed records of a kind ("bench", "profile"), or a copy of a slice. */
struct sm_slice sm_slice_kind(const struct sm_results *results, const char *kind);
struct sm_slice sm_slice_copy(const struct sm_slice *from);
void sm_slice_destroy(struct sm_slice *slice);

void sm_slice_keep(struct sm_slice *slice, int (*fits)(const struct sm_result *r));
void sm_slice_keep_text(struct sm_slice *slice, const char *key, const char *text);
void sm_slice_keep_axis(struct sm_slice *slice, const char *axis, double value);

/* Of the groups of records that agree in every axis of the shape but those named in `free_axes` (separated by
 * spaces), keeps the one with the most values of axis x; of equals, the one with the most work. */
void sm_slice_pick(struct sm_slice *slice, const char *x, const char *free_axes);

/* Keeps the one variant that covers the most values of axis x, of equals the fastest;
 * a reference ("ref", "ref_transposed") only when there is no other. */
void sm_slice_fastest(struct sm_slice *slice, const char *x);

/* The different values of a key or axis, sorted: how many (at most SM_SLICE_NAMES). */
size_t sm_slice_texts(const struct sm_slice *slice, const char *key, const char *texts[SM_SLICE_NAMES]);
size_t sm_slice_values(const struct sm_slice *slice, const char *axis, double values[SM_SLICE_NAMES]);

/* By rising values of axis x. */
void sm_slice_sort(struct sm_slice *slice, const char *x);

/* The same, and of records at one x (one shape can be asked for in two ways) only the newest. */
void sm_slice_curve(struct sm_slice *slice, const char *x);

/* Kernel records as a reader expects them: the fewest threads measured, and hot where hot was measured. */
void sm_slice_usual(struct sm_slice *slice);

/* Every past slot valid, no window, no softcap. */
int sm_attention_is_full(const struct sm_result *r);
int sm_attention_is_plain(const struct sm_result *r);

#endif
