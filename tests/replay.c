/* Trend and bisect at a thousand commits, on launches that nobody runs: drawn ones, and a recorded sample of a shared
 * machine (golden/launches/against-itself.txt: a line for each kernel of a build against a copy of itself). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "replay.h"

enum { RECORDED_MOST = 4000 };

/* Recorded launches, 40 to a stretch; what follows in a stretch followed in time. */
struct recorded {
    double d[RECORDED_MOST];
    size_t count, stretches, at, stretch;
    struct sm_random random;
};

enum { STRETCH = 40 };

static double next_recorded(void *state)
{
    struct recorded *r = state;
    if (r->at % STRETCH == 0) r->stretch = sm_random_below(&r->random, (uint32_t)r->stretches);
    return r->d[r->stretch * STRETCH + r->at++ % STRETCH];
}

static void read_recorded(struct recorded *r)
{
    FILE *f = fopen(SM_SOURCE_DIR "/tests/golden/launches/against-itself.txt", "r");
    assert_non_null(f);
    *r = (struct recorded){.random = {3}};
    char line[1024];
    while (fgets(line, sizeof line, f)) {
        char *at = line, *end;
        if (*line == '#') continue;
        for (double d; d = strtod(at, &end), end != at && r->count < RECORDED_MOST; at = end) r->d[r->count++] = d;
        assert_int_equal(r->count % STRETCH, 0);
    }
    fclose(f);
    r->stretches = r->count / STRETCH;
    assert_true(r->stretches >= 8);
}

static void try_history(const char *what, const struct sm_replay *replay, double found_least)
{
    struct sm_replay_history h;
    assert_int_equal(sm_replay_history(replay, 9, 1000, &h), 0);
    const double falsely = (double)h.confirmed_falsely / (double)h.series;
    print_message("%s: %zu series of %zu commits: %zu of %zu steps found, %zu of %zu nominated where there is none, "
                  "%.2f falsely confirmed per 1000 commits\n",
                  what, h.series, h.commits, h.found, h.planted, h.nominated_falsely, h.nominated, falsely);
    assert_true(falsely <= 1);
    assert_true((double)h.found >= found_least * (double)h.planted);
    assert_true(h.confirmed >= h.found);
}

static void try_bisect(const char *what, const struct sm_replay *replay)
{
    struct sm_replay_bisect b;
    assert_int_equal(sm_replay_bisect(replay, 150, 1024, 0.01, 0.05, &b), 0);
    print_message("%s: bisect of %zu commits, 1 %% planted, 5 %% do not build: %zu of %zu right, %zu builds (median), "
                  "%zu at most\n",
                  what, b.commits, b.right, b.searches, b.builds_half, b.builds_most);
    assert_true((double)b.right >= 0.98 * (double)b.searches);
    assert_true(b.builds_half <= 12);
}

static void a_thousand_commits_of_drawn_launches(void **state)
{
    (void)state;
    struct sm_random random = {11};
    const struct sm_replay replay = {sm_replay_drawn, &random, 1, 0.003};
    try_history("drawn", &replay, 0.9);
    try_bisect("drawn", &replay);
}

static void a_thousand_commits_of_recorded_launches(void **state)
{
    (void)state;
    static struct recorded recorded;
    read_recorded(&recorded);
    const struct sm_replay replay = {next_recorded, &recorded, 2, 0.003};
    try_history("recorded", &replay, 0.9);
    try_bisect("recorded", &replay);
}

/* The figures can be bad: with launches that say nothing, nothing is found. */
static double next_noise(void *state)
{
    return 0.2 * (double)sm_random_normal(state);
}

static void noise_finds_nothing(void **state)
{
    (void)state;
    struct sm_random random = {12};
    const struct sm_replay replay = {next_noise, &random, 3, 0};
    struct sm_replay_history h;
    struct sm_replay_bisect b;
    assert_int_equal(sm_replay_history(&replay, 2, 300, &h), 0);
    assert_true(h.found < h.planted / 2);
    assert_int_equal(sm_replay_bisect(&replay, 20, 64, 0.01, 0.05, &b), 0);
    assert_true(b.right < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_commits_of_drawn_launches),
        cmocka_unit_test(a_thousand_commits_of_recorded_launches),
        cmocka_unit_test(noise_finds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
