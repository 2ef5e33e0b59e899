/* cost_fit.h - what a static shape costs as a function of its sizes, fitted to measured points. Pure: numbers in,
 * numbers out.
 *
 *     cost = sum_j a_j ramp_j(rows) + b_0 columns + b_1 rows columns + c_0 valid + c_1 rows seen + c_2 tokens seen
 *
 * ramp_0 is 1; ramp_j climbs from 0 to 1 between the (j-1)-th and the j-th measured number of rows and is flat
 * elsewhere, so what the matrices cost is a line from each measured bucket to the next. The rest is attention: what
 * each column costs a call (the cache is read once) and each row of it (every row looks at every column); and the same
 * of what is valid: slots, and those that a real row sees on average, for every row and for every token. Padded rows
 * see nothing, but where threads share a call by its rows, those with the padded ones wait for the others, so that the
 * time is as if all rows were real; where threads share the heads it goes by tokens. Points with padding tell which.
 *
 * All coefficients are nought or more. Hence a cost is never negative, and never falls as a size grows; and within the
 * measured rows it is defined for every number of them. Where all points have the same columns (or the same valid
 * slots) these have no slope. Points without padding cannot tell rows from tokens: padding then is taken to cost what
 * rows do.
 *
 * Found by least squares of relative errors, all coefficients >= 0 (Lawson and Hanson, Solving Least Squares Problems,
 * ch. 23), with a light pull towards equal slopes of neighbouring ramps, which only decides what points leave open.
 * Errors beyond a few times the usual one count no more than that (Huber): a call that a neighbour held up says little
 * of others. */
#ifndef SM_COST_FIT_H
#define SM_COST_FIT_H

#include <stdbool.h>
#include <stddef.h>

#define SM_COST_KNOTS 32
#define SM_COST_TERMS (SM_COST_KNOTS + 5)

struct sm_cost_sizes {
    double rows, columns, valid;
    double tokens, seen; /* real rows, and the slots that each sees on average */
};

struct sm_cost_point {
    struct sm_cost_sizes at;
    double cost; /* > 0: ns, bytes */
};

struct sm_cost_fit {
    size_t knots; /* 0: nothing was fitted */
    double knot[SM_COST_KNOTS];
    double ramp[SM_COST_KNOTS];         /* a_j */
    double column, row_column;          /* b_0, b_1 */
    double valid, row_seen, token_seen; /* c_0, c_1, c_2 */
    double columns_least, columns_most; /* measured */
    double valid_least, valid_most, seen_least, seen_most;
};

/* with_valid false: c_0 to c_2 are nought, as where every column is computed whatever it holds. More different rows
 * than SM_COST_KNOTS are thinned evenly. 0; -1: no point, a number that is not finite or not positive, or no memory. */
int sm_cost_fit_points(struct sm_cost_fit *fit, const struct sm_cost_point *points, size_t count, bool with_valid);

/* rows within knot[0] and knot[knots - 1], beyond which it stays what it is there. */
double sm_cost_fit_at(const struct sm_cost_fit *fit, const struct sm_cost_sizes *at);

#endif
