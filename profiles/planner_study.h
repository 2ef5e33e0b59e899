/* planner_study.h - what is planned for given turns, and what the usual choices would cost. */
#ifndef SM_PLANNER_STUDY_H
#define SM_PLANNER_STUDY_H

#include "arguments.h"
#include "cost_table.h"
#include "planner_turns.h"

/* A set, how its calls are chosen, and its price; why: "" or the sentence that says why it has none. */
struct planner_choice {
    const char *name;
    struct sm_planner_set set;
    enum sm_planner_rule rule;
    struct sm_planner_price price;
    char why[160];
};

enum {
    /* Powers of two, as many prefill sizes and as many append buckets as planned: */
    PLANNER_USUAL_POWERS,       /* up to those that hold the longest turns */
    PLANNER_USUAL_BEST_POWERS,  /* whichever runs of them are best for these turns */
    PLANNER_USUAL_POWERS_CALLS, /* the same with the best calls */
    PLANNER_USUAL_FOUR,         /* 8, 16, 32, 64 and quarters of max_seq for prefill */
    PLANNER_USUAL_ONE,          /* one bucket that holds the longest turn, one prefill of max_seq */
    PLANNER_USUAL_NONE,         /* one prefill of max_seq, decodes */
    PLANNER_USUALS
};

struct planner_study {
    /* given */
    const struct planner_turns *turns;
    const struct sm_cost_series *series;
    struct sm_list max_seq;         /* empty: those measured */
    struct sm_list append, prefill; /* candidates; empty: the standard ones within what was measured */
    size_t most_append, most_plans;
    double memory; /* bytes of cache and arenas; -1: no limit */
    enum sm_planner_objective objective;
    const char *measure; /* the command that adds to the costs, without its sizes */

    /* found */
    struct sm_planner_problem problem; /* of the best max_seq */
    struct sm_planner_result result;
    struct planner_choice planned, usual[PLANNER_USUALS];
    struct sm_planner_price curve[SM_PLANNER_PLANS + 1]; /* of result.best */
    double cache_bytes;
    double value[SM_LIST_MOST];    /* of the best set at each max_seq; NAN: none fits */
    bool unmeasured[SM_LIST_MOST]; /* and that is because no prefill that fits was measured */
    size_t sets;
    double seconds;
};

/* "mean", "p95", "ttft"; NULL-ended. */
extern const char *const planner_objectives[];

/* 0, or -1 and a sentence. */
int planner_study_run(struct planner_study *study, char *why, size_t why_bytes);

/* What to run for a size that the costs do not have: a sentence with the command. */
void planner_study_missing(const struct planner_study *study, enum sm_phase phase, size_t rows, size_t max_seq,
                           char *text, size_t bytes);

/* Time of a call by the fitted curve; a planner's callback, whose context is the series. */
double planner_study_ns(const void *series, enum sm_phase phase, size_t rows, size_t tokens, size_t max_seq,
                        size_t past);

#endif
