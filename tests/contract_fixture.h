/* contract_fixture.h - sessions over known models, and what the steps of a plan were told: for tests of the contract.
 * Whatever fails fails the test with a sentence. */
#ifndef SM_CONTRACT_FIXTURE_H
#define SM_CONTRACT_FIXTURE_H

#include "echo_model.h"
#include "run.h"

extern char why[512]; /* where sentences go */

struct session {
    struct sm_weights *weights;
    struct sm_session *session;
};

/* In float, by one thread unless the options say more. */
struct session open_session(const struct sm_model *model, const struct sm_session_options *options,
                            enum sm_scale_in scale_in);
struct session open_echo(struct echo_model *m, const struct sm_session_options *options);
void close_session(struct session *s);

/* Keys and values of the echo model's tokens 0 to 7; padding is token 0. */
extern const float echo_keys[ECHO], echo_values[ECHO];

void worked(int result);
void refused(int result, const char *sentence);

/* The steps of a family in a plan, and the arguments of the n-th; from the end with n < 0. */
size_t count_steps(const struct sm_plan *plan, const char *family);
const void *step_args(const struct sm_plan *plan, const char *family, int n);

/* The columns that a row of the last call may see by the n-th mask: "0-2 5". All others hold `fill`. */
const char *columns_seen(const struct sm_plan *plan, int n, size_t row, float fill);

/* The position whose rotation a row of the last call has. */
size_t position_of(const struct sm_plan *plan, const struct sm_positions *positions, size_t row);

#endif
