/* history_fixture.h - stores in a folder of their own, and sessions of drawn launches in them. */
#ifndef SM_HISTORY_FIXTURE_H
#define SM_HISTORY_FIXTURE_H

#include <stdint.h>

#include "history.h"

extern char fixture_store[64], fixture_other[64], fixture_file[64]; /* below one folder; the last is for anything */

/* cmocka's group functions. */
int fixture_make(void **state);
int fixture_remove(void **state);

/* Removes a store with what SQLite keeps beside it. */
void fixture_remove_store(const char *path);

/* Fails the test when it does not open. */
struct sm_history *fixture_open(const char *path);

extern const struct sm_arm fixture_arms[2]; /* "aaaaaaa" and "bbbbbbb" */

/* A session of launches, stored as it goes: twelve kernels, "family/variant/rows=0" to 11. Kernel 0 is slower by
 * `effect` (of ln), kernel 3 by 5 %, kernel 5 only as built; 11 is a control. Returns sm_history_end's result. */
#define FIXTURE_KERNELS 12
int fixture_session(struct sm_history *h, const char *purpose, uint64_t seed, double effect, char *why,
                    size_t why_bytes);

/* What a program prints, as text to be freed. */
char *fixture_output(const char *command, int *status);

/* Writes `text` to fixture_file. */
void fixture_write(const char *text, size_t bytes);

#endif
