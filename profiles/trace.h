/* trace.h - what every thread did when, step by step, as a file for Perfetto and Chrome's about:tracing.
 *
 * The format is the Trace Event Format's JSON: complete events ("ph": "X") in microseconds, one track a thread, and one
 * for the calls. Looking costs time: traced runs are never the timed ones. */
#ifndef SM_TRACE_H
#define SM_TRACE_H

#include "run.h"

struct sm_trace;

/* For a team of that many threads. NULL: no memory. */
struct sm_trace *sm_trace_create(size_t threads);
void sm_trace_destroy(struct sm_trace *trace);

/* The hooks of a session that is traced; it needs sm_clock_ns as its clock. */
struct sm_run_hooks sm_trace_hooks(struct sm_trace *trace);

/* Writes it to a new file. 0, or -1 and a sentence: it is there already, it cannot be written, or memory ran out while
 * the events were kept. */
int sm_trace_write(const struct sm_trace *trace, const char *path, const char *title, char *why, size_t why_bytes);

#endif
