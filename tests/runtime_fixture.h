/* runtime_fixture.h - a model, its weights and a session in one, for tests. */
#ifndef SM_RUNTIME_FIXTURE_H
#define SM_RUNTIME_FIXTURE_H

#include "run.h"
#include "scales.h"

struct fixture {
    struct sm_model *model;
    struct sm_weights *weights;
    struct sm_session *session;
};

struct fixture_options {
    const char *file; /* a path */
    const char *recipe;
    uint32_t features;
    size_t max_seq, threads;
    enum sm_kv_type kv;
    bool all_rows;
};

/* Fails the test, with the sentence, when something does not work. */
void fixture_open(struct fixture *fixture, const struct fixture_options *options);
void fixture_close(struct fixture *fixture);

/* Scales for a recipe of a run of a few seeded tokens; NULL: it needs none. */
struct sm_scales *fixture_scales(const struct sm_model *model, const char *recipe);

/* Whether the blocks of a recipe can hold the rows of a model's matrices. */
bool fixture_holds(const struct sm_model *model, const char *recipe);

/* The greatest difference of two arrays. */
double difference(const float *a, const float *b, size_t count);

/* The greatest difference as a share of the interval of `base`: PEIR. */
double peir(const float *base, const float *target, size_t count);

#endif
