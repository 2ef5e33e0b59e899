/* rounds.h - rounds of launches until each comparison has its verdict (comparison: 6.4). */
#ifndef SM_ROUNDS_H
#define SM_ROUNDS_H

#include <stdio.h>

#include "pairing.h"

struct sm_rounds_options {
    uint64_t seed;
    double budget_s;         /* of all launches; 0: none */
    double tolerance, floor; /* as ratios: 0.01 is 1 %; the controls may raise the floor */
    double alpha;            /* of each comparison's interval: 0.05 or 0.01 */
    double discovery;        /* false discovery rate over all of them; 1: not adjusted */
    enum sm_spending spending;
    double slice_s;
    size_t pairs, threads;
    bool no_controls;
    bool apart;     /* the two in processes of their own that take turns */
    FILE *progress; /* or NULL */
    /* Makes object `arm` (0 or 1) anew with its code placed by the seed, and gives its path; NULL: it cannot. Without
     * this function changes are taken as built. */
    const char *(*place)(void *state, int arm, uint64_t seed);
    void *place_state;
    const char *plugin[3]; /* added to A, B and the copy of A; NULL or "": none */
    bool anew; /* every launch is placed anew, from the first on: where changes as built would mislead a search */
    /* Told of each launch that was added to a comparison; NULL: nobody is. */
    void (*launched)(void *state, const struct sm_comparison *c);
    void *launched_state;
};

struct sm_rounds_result {
    double floor;                     /* as it was used */
    double control_worst;             /* the largest |effect| of a control; NAN: there was none */
    size_t controls, controls_beyond; /* beyond: its interval lies outside the floor as asked for */
    bool noisy;                       /* more than 5 % of the controls did */
    bool out_of_time, interrupted;
    double seconds;
    size_t launches, measured;
    size_t compared;       /* kernels that were open at the beginning: what the correction counts */
    struct sm_paired mean; /* of ln(B / A) over all measured kernels; mean.n 0: there is none */
};

/* How many of A against a copy of A stand beside so many comparisons. */
size_t sm_rounds_controls(const struct sm_rounds_options *options, size_t open);

/* Runs what is open in `pairing`, and adds controls to it (its list may move). object: A, B and a copy of A. 0, or -1
 * and a sentence. */
int sm_rounds_run(struct sm_pairing *pairing, const char *const object[3], const struct sm_rounds_options *options,
                  struct sm_rounds_result *result, char *why, size_t why_bytes);

/* The decisions after all launches, from what the comparisons hold alone: the floor, the discoveries, the verdicts.
 * sm_rounds_run ends with it; stored launches give the stored verdicts again. */
void sm_rounds_decide(struct sm_pairing *pairing, const struct sm_rounds_options *options,
                      struct sm_rounds_result *result);

/* From here on its launches are of code placed anew: what there is becomes `as_built`. */
void sm_rounds_randomise(struct sm_comparison *c);

/* A look at the launches so far: estimate, p, and whether the comparison may stop. m: how many are compared. It stops
 * as the same when no change beyond the tolerance is left and none is in sight: while the estimate itself lies beyond
 * the floor, more launches may prove a small change. A proved change stops as well when its interval, although it holds
 * the tolerance, is a quarter of it: what lies on a limit is not worth all launches. */
enum sm_finding sm_rounds_look(struct sm_comparison *c, const struct sm_rounds_options *options, size_t m);

/* After a launch was added: looks where a look is due, then closes the comparison, or has a change measured again with
 * the code placed anew (where options->place can). What is closed reads SM_VERDICT_SAME until sm_rounds_decide. */
void sm_rounds_settle(struct sm_comparison *c, const struct sm_rounds_options *options, size_t m);

#endif
