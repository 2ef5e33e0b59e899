/* import.h - what others measured, read from their files as plain figures: a value with a unit, not a pair.
 *
 *     Google Benchmark    its JSON: real_time of each benchmark, in ns; of repetitions the median
 *     llama-bench         its JSON, JSON lines and SQL: tokens per second of each test; `slotmark profile -o sql` too
 *     slotmark            records (JSON lines): the median sample of each case
 *
 * Such a figure stands beside ours and takes part in no verdict: nothing is known of what it was measured against.
 * Files are not trusted: one that says something else, or a time that is none, is refused whole, with a sentence. */
#ifndef SM_IMPORT_H
#define SM_IMPORT_H

#include <stddef.h>

struct sm_import_figure {
    char name[200], unit[24];
    char build[96];       /* of the code that was measured; "": not said */
    long long started;    /* seconds since 1970; 0: not said */
    double value, spread; /* spread: a standard deviation, or NAN */
    size_t samples;       /* behind the value */
};

struct sm_import {
    char id[13];                      /* of the file's content: 12 hex digits */
    char format[24];                  /* "google-benchmark", "llama-bench", "slotmark" */
    char *machine;                    /* what the file says of it, as JSON; or NULL */
    struct sm_import_figure *figures; /* by build, then in the order of the file */
    size_t count;
    size_t passed_over; /* entries that hold no figure: errors, skipped cases, counts */
};

/* 0, or -1 and a sentence. Free it either way. */
int sm_import_read(struct sm_import *import, const char *path, char *why, size_t why_bytes);
void sm_import_free(struct sm_import *import);

#endif
