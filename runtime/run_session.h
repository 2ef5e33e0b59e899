/* run_session.h - what a session consists of. Private to run. */
#ifndef SM_RUN_SESSION_H
#define SM_RUN_SESSION_H

#include "run.h"

struct session_arena {
    void *memory;
    size_t bytes;
};

struct sm_session {
    struct sm_session_options options;
    const struct sm_weights *weights;
    struct sm_cache *cache;
    struct sm_positions *positions;
    struct sm_buckets buckets[SM_PHASES];
    struct session_arena arena[SM_PHASES][SM_MAX_BUCKETS];
    struct sm_plan *plan[SM_PHASES][SM_MAX_BUCKETS]; /* of each bucket */
    const struct sm_plan *recent[SM_PHASES];         /* that ran last, at first the largest bucket's; NULL: no bucket */
    struct sm_step_times times[SM_PHASES];
    struct sm_chunk *chunks; /* [max_seq]: no turn has more calls than tokens */
    size_t chunk_count;
    size_t past;
    struct sm_plan *last; /* whose results are asked for */
    size_t last_begin, last_count;
    bool ran;
};

/* Runs the plan of one bucket, and tells what it was. The caller has checked that the call fits. */
struct sm_chunk session_run(struct sm_session *s, enum sm_phase phase, size_t rows, const struct sm_call *call,
                            bool policy);

#endif
