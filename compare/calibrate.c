/* slotmark calibrate: trials of known truth, and this machine's column beside the goals. */
#include "calibrate.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "clock.h"
#include "copies.h"
#include "layout.h"
#include "machine.h"
#include "progress.h"
#include "random.h"
#include "report.h"
#include "stats.h"

/* Kernels by what binds them. Cache-resident ones are short, so that half a percent of a slice is whole calls. */
enum class { RESIDENT, TEAM, STREAMING, CLASSES };

static const struct subject {
    enum class class;
    const char *family, *variant; /* variant "": the best that this CPU runs; */
    size_t threads;
    struct {
        const char *axis;
        int64_t value;
    } dims[3];
} subjects[] = {
    {RESIDENT, "rmsnorm", "", 1, {{"rows", 1}, {"cols", 2048}}},
    {RESIDENT, "rope", "ref", 1, {{"rows", 1}}},
    {RESIDENT, "softcap_f32", "", 1, {{"rows", 1}, {"cols", 2048}}},
    {RESIDENT, "gated_silu", "", 1, {{"rows", 1}, {"cols", 1536}}},
    {TEAM, "rmsnorm", "", 2, {{"rows", 8}, {"cols", 2048}}},
    {STREAMING, "matmul_f32", "", 1, {{"rows", 1}, {"out", 2048}, {"in", 3456}}},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static const double planted[] = {0, 0.005, 0.01, 0.02, 0.05};
enum { PLANTED = sizeof planted / sizeof *planted };

struct calibration {
    struct sm_loaded loaded;
    struct sm_copies copies;
    int64_t trials, seed;
    double budget;
    struct sm_random random;
    struct sm_trials cell[CLASSES][PLANTED], placed; /* placed: nothing planted, the code placed anew */
    double *seconds;
    size_t verdicts, room;
    struct sm_progress progress;
    uint64_t started;
    size_t done, total;
    bool stopped;
};

double sm_upper_limit(size_t hits, size_t count)
{
    double low = 0, high = 1;
    if (!count || hits >= count) return 1;
    for (int i = 0; i < 60; i++) {
        const double p = (low + high) / 2;
        double term = pow(1 - p, (double)count), sum = term;
        for (size_t k = 1; k <= hits; k++) {
            term *= p / (1 - p) * (double)(count - k + 1) / (double)k;
            sum += term;
        }
        if (sum > 0.05)
            low = p;
        else
            high = p;
    }
    return high;
}

static const struct sm_variant *variant_of(const struct calibration *c, const struct subject *s,
                                           const struct sm_family *f)
{
    const struct sm_variant *best = NULL;
    if (*s->variant) return sm_loaded_variant(f, s->variant);
    for (size_t i = 0; i < f->variant_count; i++)
        if (!(f->variants[i].needs & ~c->loaded.kernels->cpu_features())) best = &f->variants[i];
    return best;
}

static void note(struct calibration *c, struct sm_trials *t, const struct sm_comparison *k, double truth,
                 double seconds)
{
    const double low = k->estimate.low, high = k->estimate.high;
    if (k->verdict == SM_VERDICT_FAILED || k->verdict == SM_VERDICT_REFUSED || !k->looks) {
        t->failed++;
        return;
    }
    t->count++;
    t->slower += k->verdict == SM_VERDICT_SLOWER || k->verdict == SM_VERDICT_SLOWER_WITHIN;
    t->faster += k->verdict == SM_VERDICT_FASTER || k->verdict == SM_VERDICT_FASTER_WITHIN;
    t->same += k->verdict == SM_VERDICT_SAME;
    t->inconclusive += k->verdict == SM_VERDICT_INCONCLUSIVE;
    t->quick_same += k->verdict == SM_VERDICT_SAME && k->launches <= 12;
    t->excludes_zero += low > 0 || high < 0;
    t->covers += low <= truth && truth <= high;
    if (c->verdicts < c->room) c->seconds[c->verdicts++] = seconds;
}

/* One comparison from its first launch to its verdict. With `anew` every launch has its code placed anew. */
static void trial(struct calibration *c, const struct subject *s, double plant, bool anew, struct sm_trials *t)
{
    const struct sm_family *f = sm_loaded_family(&c->loaded, s->family);
    const struct sm_variant *v = f ? variant_of(c, s, f) : NULL;
    struct sm_pairing pairing = {calloc(1, sizeof *pairing.list), 1};
    struct sm_rounds_result result = {0};
    char why[256];
    if (!v || !pairing.list) {
        free(pairing.list);
        t->failed++;
        return;
    }
    struct sm_comparison *k = pairing.list;
    snprintf(k->family, sizeof k->family, "%s", f->name);
    k->dims = f->dim_count;
    k->planted = plant;
    k->randomised = anew;
    for (int i = 0; i < 2; i++) snprintf(k->variant[i], sizeof k->variant[i], "%s", v->name);
    for (size_t d = 0; d < f->dim_count; d++) k->shape.dim[d] = f->dims[d].standard;
    for (size_t i = 0; i < sizeof s->dims / sizeof *s->dims && s->dims[i].axis; i++) {
        const int d = sm_dim_index(f, s->dims[i].axis);
        if (d >= 0) k->shape.dim[d] = s->dims[i].value;
    }
    const struct sm_rounds_options options = {.seed = sm_random_u64(&c->random),
                                              .tolerance = plant > 0 ? 0.0025 : 0.01, /* found: beyond the floor */
                                              .floor = 0.0025,
                                              .alpha = 0.05,
                                              .discovery = 1,
                                              .spending = SM_SPENDING_QUICK,
                                              .slice_s = 200e-6,
                                              .pairs = 50,
                                              .threads = s->threads,
                                              .no_controls = true,
                                              .place = anew ? sm_copies_place : NULL,
                                              .place_state = &c->copies};
    const int bad = sm_rounds_run(&pairing, c->copies.object, &options, &result, why, sizeof why);
    c->stopped |= result.interrupted;
    if (!result.interrupted && !bad) note(c, t, pairing.list, log1p(plant), result.seconds);
    free(pairing.list);
}

static double elapsed(const struct calibration *c)
{
    return 1e-9 * (double)(sm_clock_ns() - c->started);
}

static bool goes_on(struct calibration *c)
{
    char text[64];
    const double since = elapsed(c);
    if (c->stopped || since > c->budget) return false;
    snprintf(text, sizeof text, "trial %zu of %zu", c->done + 1, c->total);
    const double all = c->done ? since / (double)c->done * (double)c->total : since;
    c->progress.total_s = all < c->budget ? all : c->budget;
    sm_progress_show(&c->progress, since, text);
    c->done++;
    return true;
}

/* Every kind in turn, so that what a budget cuts off is cut off from all of them. Streaming ones take long: few. */
static void run_trials(struct calibration *c, bool placeable)
{
    const size_t each = SUBJECTS - 1 + PLANTED + (placeable ? 1 : 0);
    c->total = (size_t)c->trials * each + (size_t)c->trials / 8 * 3;
    for (int64_t i = 0; i < c->trials; i++) {
        for (size_t s = 0; s < SUBJECTS; s++)
            if (subjects[s].class != STREAMING && goes_on(c))
                trial(c, &subjects[s], 0, false, &c->cell[subjects[s].class][0]);
        for (size_t p = 1; p < PLANTED; p++) {
            const size_t s = sm_random_below(&c->random, SUBJECTS - 1); /* the last one streams */
            if (goes_on(c)) trial(c, &subjects[s], planted[p], false, &c->cell[subjects[s].class][p]);
        }
        if (placeable && goes_on(c)) trial(c, &subjects[i % 4], 0, true, &c->placed);
        if (i % 8 == 7)
            for (size_t p = 0; p < PLANTED; p += 2)
                if (goes_on(c)) trial(c, &subjects[SUBJECTS - 1], planted[p], false, &c->cell[STREAMING][p]);
    }
}

struct line {
    const char *goal;
    double target, got; /* shares; target NAN: none */
    size_t hits, count;
    bool most; /* the target is a most, and got is compared by its upper limit when there are too few trials */
};

static void print_line(const struct line *l)
{
    char target[32], got[48];
    if (isnan(l->target))
        snprintf(target, sizeof target, "-");
    else
        snprintf(target, sizeof target, "%s %.3g %%", l->most ? "<=" : ">=", 100 * l->target);
    if (!l->count)
        snprintf(got, sizeof got, "no trial");
    else
        snprintf(got, sizeof got, "%.4g %% (%zu of %zu)", 100 * l->got, l->hits, l->count);
    const bool met = l->count && (l->most ? l->got <= l->target : l->got >= l->target);
    printf("| %-58s | %9s | %-24s | %-9s |\n", l->goal, target, got,
           !l->count || isnan(l->target) ? ""
           : met                         ? "met"
                                         : "missed");
}

static struct line share(const char *goal, double target, bool most, size_t hits, size_t count)
{
    return (struct line){goal, target, count ? (double)hits / (double)count : NAN, hits, count, most};
}

static void print_power(const char *what, const struct sm_trials *row, const double *targets, bool interval)
{
    for (size_t p = 1; p < PLANTED; p++) {
        char goal[96];
        snprintf(goal, sizeof goal, "%s: a planted %.1f %% is found", what, 100 * planted[p]);
        const struct line l =
            share(goal, targets[p], false, interval ? row[p].excludes_zero : row[p].slower, row[p].count);
        if (row[p].count) print_line(&l);
    }
}

static void print_table(struct calibration *c)
{
    static const double resident[PLANTED] = {0, .8, .99, 1, 1}, team[PLANTED] = {0, .5, .95, 1, 1},
                        streaming[PLANTED] = {0, NAN, .5, .9, 1};
    struct sm_trials none = {0}, all = {0};
    for (size_t k = 0; k < CLASSES; k++)
        for (size_t p = 0; p < PLANTED; p++) {
            const struct sm_trials *t = &c->cell[k][p];
            struct sm_trials *to = p ? &all : &none;
            to->count += t->count;
            to->faster += t->faster;
            to->slower += t->slower;
            to->covers += t->covers;
            to->failed += t->failed;
        }
    printf("| %-58s | %9s | %-24s | %-9s |\n|---|---|---|---|\n", "goal", "target", "this machine", "");
    const struct sm_trials *r = &c->cell[RESIDENT][0], *a = &c->placed;
    const struct line lines[] = {
        share("a build against itself is called faster or slower", .005, true, none.faster + none.slower, none.count),
        share("... is proved the same in at most 12 launches (in caches)", .95, false, r->quick_same, r->count),
        share("... with its code placed anew, is called faster or slower", .01, true, a->faster + a->slower, a->count),
        share("planted work is called faster", 0, true, all.faster, all.count),
        share("the interval holds the truth", .94, false, none.covers + all.covers, none.count + all.count),
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) print_line(&lines[i]);
    print_power("in caches", c->cell[RESIDENT], resident, false);
    print_power("two threads", c->cell[TEAM], team, false);
    print_power("27 MB streamed, interval excludes 0", c->cell[STREAMING], streaming, true);
    const double median = sm_median(c->seconds, c->verdicts);
    printf("| %-58s | %9s | %-24.2f | %-9s |\n", "seconds to a verdict, median", "<= 1", median,
           median <= 1 ? "met" : "missed");
    printf("\nFalse verdicts: %zu of %zu, so at most %.2f %% (95 %% sure).  %zu trials failed.\n",
           none.faster + none.slower, none.count, 100 * sm_upper_limit(none.faster + none.slower, none.count),
           none.failed + all.failed);
}

static json_t *trials_json(const char *what, double plant, const struct sm_trials *t)
{
    return json_pack("{s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "class", what, "planted", plant, "trials",
                     (json_int_t)t->count, "faster", (json_int_t)t->faster, "slower", (json_int_t)t->slower, "same",
                     (json_int_t)t->same, "inconclusive", (json_int_t)t->inconclusive, "excludes_zero",
                     (json_int_t)t->excludes_zero, "covers_truth", (json_int_t)t->covers, "failed",
                     (json_int_t)t->failed);
}

static int print_json(struct calibration *c)
{
    static const char *const names[CLASSES] = {"in caches", "two threads", "streaming"};
    json_t *cells = json_array();
    for (size_t k = 0; k < CLASSES; k++)
        for (size_t p = 0; p < PLANTED; p++)
            json_array_append_new(cells, trials_json(names[k], planted[p], &c->cell[k][p]));
    json_array_append_new(cells, trials_json("in caches, code placed anew", 0, &c->placed));
    json_t *j = json_pack("{s:s, s:i, s:o, s:I, s:f, s:o}", "schema", "slotmark-calibrate", "version", 1, "machine",
                          sm_machine_json(), "seed", (json_int_t)c->seed, "median_seconds",
                          c->verdicts ? sm_median(c->seconds, c->verdicts) : 0.0, "cells", cells);
    const int bad = !j || json_dumpf(j, stdout, JSON_INDENT(1)) || putchar('\n') < 0;
    json_decref(j);
    return bad ? -1 : 0;
}

static void clean_up(struct calibration *c)
{
    sm_kernels_unload(&c->loaded);
    sm_copies_remove(&c->copies);
    free(c->seconds);
}

static int calibrate(struct calibration *c, bool quiet, bool json)
{
    char why[512];
    struct sm_arm arm[2];
    c->random.state = (uint64_t)c->seed;
    c->room = (size_t)c->trials * 16 + 64;
    c->seconds = malloc(c->room * sizeof *c->seconds);
    if (!c->seconds || sm_arm_get(&arm[0], ".", NULL, why, sizeof why) ||
        sm_arm_get(&arm[1], ".", NULL, why, sizeof why) || sm_copies_make(&c->copies, arm, why, sizeof why) ||
        sm_kernels_load(&c->loaded, c->copies.object[0], why, sizeof why)) {
        fprintf(stderr, "slotmark calibrate: %s\n", c->seconds ? why : "out of memory");
        clean_up(c);
        return 2;
    }
    c->started = sm_clock_ns();
    sm_progress_begin(&c->progress, quiet ? NULL : stderr, c->budget);
    const char *fixed = sm_layout_refusal(&arm[0]);
    if (fixed && !quiet) fprintf(stderr, "code is not placed anew: %s\n", fixed);
    run_trials(c, !fixed);
    sm_progress_clear(&c->progress);
    int code = 0;
    if (json)
        code = print_json(c) ? 2 : 0;
    else
        print_table(c);
    if (!json) printf("%zu of %zu trials in %.0f s, seed %lld.\n", c->done, c->total, elapsed(c), (long long)c->seed);
    code = c->stopped ? SM_EXIT_INTERRUPTED : code;
    clean_up(c);
    return code;
}

int calibrate_main(int argc, char **argv)
{
    struct calibration c = {.trials = 100, .seed = 1, .budget = 1800};
    static const char *const forms[] = {"md", "json", NULL};
    int form = 0;
    bool quiet = false;
    char why[512];
    const struct sm_argument options[] = {
        {"trials", 0, SM_ARGUMENT_INTEGER, &c.trials, NULL, "N", "of each kernel against itself (default 100)"},
        {"budget", 0, SM_ARGUMENT_DURATION, &c.budget, NULL, "TIME", "stop after 90s, 20m (default 30m)"},
        {"seed", 0, SM_ARGUMENT_INTEGER, &c.seed, NULL, "N", "of orders and operands (default 1)"},
        {"quiet", 0, SM_ARGUMENT_FLAG, &quiet, NULL, NULL, "no progress"},
        {"output", 'o', SM_ARGUMENT_CHOICE, &form, forms, "FORM", "md (default), json"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        "calibrate",
        "[OPTION]...",
        "Measures how good this machine's verdicts are: this build against itself must not be called faster or\n"
        "slower, and planted work (really executed) must be found. Prints the goals and what was met.",
        options,
        "slotmark calibrate --budget 10m",
        0,
        0,
        false};
    switch (sm_arguments_parse(&spec, argc, argv, NULL, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 0;
    case SM_ARGUMENTS_BAD: fprintf(stderr, "slotmark calibrate: %s\n", why); return 2;
    case SM_ARGUMENTS_OK: break;
    }
    if (c.trials < 1 || c.trials > 100000) {
        fprintf(stderr, "slotmark calibrate: --trials must be 1 to 100000\n");
        return 2;
    }
    return calibrate(&c, quiet, form == 1);
}
