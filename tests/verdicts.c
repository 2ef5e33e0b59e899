/* From launches to verdicts, on launches that were drawn and not timed: sessions of kernels where nothing changed, or
 * five changed by a known amount. The same launches always give the same verdicts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "report.h"

enum { KERNELS = 100, CONTROLS = 10 };

static const struct sm_rounds_options standard = {
    .tolerance = 0.01, .floor = 0.0025, .alpha = 0.05, .discovery = 0.05, .spending = SM_SPENDING_QUICK};

/* A launch of a kernel whose effect is `effect`: a spread of 0.1 %, and a neighbour now and then. */
static double draw(struct sm_random *random, double effect)
{
    const double noise = 0.001 * (double)sm_random_normal(random);
    return effect + (sm_random_below(random, 20) ? noise : 20 * noise);
}

/* On drawn launches, not timed ones. */
static void run(struct sm_pairing *p, struct sm_random *random, const struct sm_rounds_options *o, const double *effect,
                struct sm_rounds_result *result)
{
    *result = (struct sm_rounds_result){0};
    for (size_t i = 0; i < p->count; i++) {
        struct sm_comparison *c = &p->list[i];
        while (c->verdict == SM_VERDICT_OPEN) {
            c->d[c->launches] = draw(random, effect[i]);
            c->ns[0][c->launches] = 100;
            c->ns[1][c->launches] = 100 * exp(c->d[c->launches]);
            c->launches++;
            sm_rounds_settle(c, o, KERNELS);
        }
    }
    sm_rounds_decide(p, o, result);
}

static void fill(struct sm_pairing *p, struct sm_comparison *list)
{
    memset(list, 0, (KERNELS + CONTROLS) * sizeof *list);
    for (size_t i = 0; i < KERNELS + CONTROLS; i++) list[i].control = i >= KERNELS;
    *p = (struct sm_pairing){list, KERNELS + CONTROLS};
}

static void nothing_changed_raises_no_alarm(void **state)
{
    (void)state;
    struct sm_random random = {21};
    struct sm_comparison *list = calloc(KERNELS + CONTROLS, sizeof *list);
    const double effect[KERNELS + CONTROLS] = {0};
    size_t alarms = 0, same = 0;
    for (int session = 0; session < 60; session++) {
        struct sm_pairing p;
        struct sm_rounds_result r;
        fill(&p, list);
        run(&p, &random, &standard, effect, &r);
        assert_false(r.noisy);
        for (size_t i = 0; i < KERNELS; i++) {
            same += list[i].verdict == SM_VERDICT_SAME;
            alarms += list[i].verdict != SM_VERDICT_SAME && list[i].verdict != SM_VERDICT_INCONCLUSIVE;
        }
    }
    assert_int_equal(alarms, 0); /* of 6000 */
    assert_true(same > 5940);
    free(list);
}

static void planted_changes_are_found_among_a_hundred(void **state)
{
    (void)state;
    struct sm_random random = {22};
    struct sm_comparison *list = calloc(KERNELS + CONTROLS, sizeof *list);
    double effect[KERNELS + CONTROLS] = {0};
    effect[3] = log1p(0.005);
    effect[50] = log1p(0.02);
    effect[77] = log1p(-0.05);
    size_t half = 0, slower = 0, faster = 0;
    for (int session = 0; session < 40; session++) {
        struct sm_pairing p;
        struct sm_rounds_result r;
        fill(&p, list);
        run(&p, &random, &standard, effect, &r);
        half += list[3].verdict == SM_VERDICT_SLOWER_WITHIN;
        slower += list[50].verdict == SM_VERDICT_SLOWER;
        faster += list[77].verdict == SM_VERDICT_FASTER;
        assert_int_not_equal(list[50].verdict, SM_VERDICT_FASTER);
        const struct sm_report report = {
            .command = "gate", .pairing = &p, .options = &standard, .result = &r, .gate = true};
        assert_int_equal(sm_report_exit(&report), SM_EXIT_SLOWER);
    }
    assert_int_equal(slower, 40);
    assert_int_equal(faster, 40);
    assert_true(half >= 32);
    free(list);
}

static void stored_launches_give_the_stored_verdicts(void **state)
{
    (void)state;
    struct sm_random random = {23};
    struct sm_comparison *list = calloc(KERNELS + CONTROLS, sizeof *list);
    enum sm_verdict first[KERNELS];
    double effect[KERNELS + CONTROLS] = {0};
    for (size_t i = 0; i < KERNELS; i += 7) effect[i] = 0.004;
    struct sm_pairing p;
    struct sm_rounds_result r, again = {0};
    fill(&p, list);
    run(&p, &random, &standard, effect, &r);
    for (size_t i = 0; i < KERNELS; i++) {
        first[i] = list[i].verdict;
        list[i].verdict = SM_VERDICT_SAME;
    }
    sm_rounds_decide(&p, &standard, &again);
    for (size_t i = 0; i < KERNELS; i++) assert_int_equal(list[i].verdict, first[i]);
    assert_true(again.floor == r.floor && again.measured == r.measured);
    free(list);
}

/* Copies that differ from themselves: no regression is believed, and the gate says why. */
static void a_noisy_machine_is_said_to_be_one(void **state)
{
    (void)state;
    struct sm_random random = {24};
    struct sm_comparison *list = calloc(KERNELS + CONTROLS, sizeof *list);
    double effect[KERNELS + CONTROLS] = {0};
    for (size_t i = KERNELS; i < KERNELS + CONTROLS; i++) effect[i] = 0.03;
    effect[0] = 0.02;
    struct sm_pairing p;
    struct sm_rounds_result r;
    fill(&p, list);
    run(&p, &random, &standard, effect, &r);
    assert_true(r.noisy && r.floor > 0.025);
    assert_int_not_equal(list[0].verdict, SM_VERDICT_SLOWER);
    const struct sm_report report = {.pairing = &p, .options = &standard, .result = &r, .gate = true};
    assert_int_equal(sm_report_exit(&report), SM_EXIT_NOISY);
    free(list);
}

static const char *anew(void *state, int arm, uint64_t seed)
{
    (void)state, (void)arm, (void)seed;
    return NULL; /* asked only whether it is there */
}

/* What only one placement of the code shows is no regression, however near it lies to the tolerance; what every
 * placement shows is one. */
static void placement_is_told_from_change(void **state)
{
    (void)state;
    struct sm_random random = {25};
    struct sm_rounds_options options = standard;
    const double effects[] = {0.05, 0.01, 0.005, -0.01};
    options.place = anew;
    for (size_t k = 0; k < 2 * sizeof effects / sizeof *effects; k++) {
        const bool real = k % 2;
        const double effect = effects[k / 2];
        struct sm_comparison c = {.verdict = SM_VERDICT_OPEN};
        struct sm_pairing p = {&c, 1};
        struct sm_rounds_result r = {0};
        while (c.verdict == SM_VERDICT_OPEN) {
            c.d[c.launches++] = draw(&random, c.randomised && !real ? 0 : effect);
            sm_rounds_settle(&c, &options, 1);
        }
        sm_rounds_decide(&p, &options, &r);
        if (!real)
            assert_int_equal(c.verdict, SM_VERDICT_LAYOUT);
        else if (effect == 0.05)
            assert_int_equal(c.verdict, SM_VERDICT_SLOWER);
        else
            assert_int_equal(c.verdict, effect > 0 ? SM_VERDICT_SLOWER_WITHIN : SM_VERDICT_FASTER_WITHIN);
        assert_true(fabs(c.as_built.effect - effect) < 0.005 && c.as_built_launches >= 8);
    }
}

static void each_cause_has_its_exit_code(void **state)
{
    (void)state;
    struct sm_comparison list[2] = {{.verdict = SM_VERDICT_SAME}, {.verdict = SM_VERDICT_SAME}};
    const struct sm_pairing p = {list, 2};
    struct sm_rounds_result r = {0};
    struct sm_report report = {.pairing = &p, .options = &standard, .result = &r, .gate = true};
    static const struct {
        enum sm_verdict verdict;
        int code;
    } table[] = {{SM_VERDICT_IDENTICAL, 0},   {SM_VERDICT_SAME, 0},   {SM_VERDICT_FASTER, 0},
                 {SM_VERDICT_SLOWER, 1},      {SM_VERDICT_FAILED, 3}, {SM_VERDICT_REFUSED, 5},
                 {SM_VERDICT_REMOVED, 6},     {SM_VERDICT_ADDED, 0},  {SM_VERDICT_SLOWER_WITHIN, 0},
                 {SM_VERDICT_INCONCLUSIVE, 0}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        list[1].verdict = table[i].verdict;
        assert_int_equal(sm_report_exit(&report), table[i].code);
    }
    list[0].verdict = SM_VERDICT_FAILED; /* with several causes the first of the order counts */
    list[1].verdict = SM_VERDICT_SLOWER;
    assert_int_equal(sm_report_exit(&report), SM_EXIT_FAILED);
    list[0].verdict = SM_VERDICT_INCONCLUSIVE;
    list[0].launches = 40;
    list[0].estimate.high = 0.02;
    list[1].verdict = SM_VERDICT_SAME;
    report.fail_on = SM_FAIL_NOT_EXCLUDED;
    assert_int_equal(sm_report_exit(&report), SM_EXIT_NOT_EXCLUDED);
    report.gate = false;
    assert_int_equal(sm_report_exit(&report), SM_EXIT_FINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changed_raises_no_alarm),
        cmocka_unit_test(planted_changes_are_found_among_a_hundred),
        cmocka_unit_test(stored_launches_give_the_stored_verdicts),
        cmocka_unit_test(a_noisy_machine_is_said_to_be_one),
        cmocka_unit_test(placement_is_told_from_change),
        cmocka_unit_test(each_cause_has_its_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
