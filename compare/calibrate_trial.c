/* Measured trials: which kernels, what is planted, and their records. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"
#include "copies.h"
#include "layout.h"
#include "machine.h"
#include "random.h"
#include "turn.h"

const char *const sm_class_names[SM_CLASSES] = {"in caches", "two threads", "27 MB streamed"};
const double sm_planted[SM_PLANTED] = {0, 0.005, 0.01, 0.02, 0.05};

/* Kernels by what binds them. Those in caches are short, so that half a percent of a slice is whole calls. */
static const struct subject {
    enum sm_class class;
    const char *family, *variant; /* variant "": the best that this CPU runs */
    size_t threads;
    struct {
        const char *axis;
        int64_t value;
    } dims[3];
    double seconds; /* of a trial, about */
} subjects[] = {
    {SM_IN_CACHES, "rmsnorm", "", 1, {{"rows", 1}, {"cols", 2048}}, 0.4},
    {SM_IN_CACHES, "rope", "ref", 1, {{"rows", 1}}, 0.4},
    {SM_IN_CACHES, "softcap_f32", "", 1, {{"rows", 1}, {"cols", 2048}}, 0.4},
    {SM_IN_CACHES, "gated_silu", "", 1, {{"rows", 1}, {"cols", 1536}}, 0.4},
    {SM_TWO_THREADS, "rmsnorm", "", 2, {{"rows", 8}, {"cols", 2048}}, 0.6},
    {SM_STREAMED, "matmul_f32", "", 1, {{"rows", 1}, {"out", 2048}, {"in", 3456}}, 30},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects, STREAMING = SUBJECTS - 1 };

struct trial {
    const struct subject *subject;
    size_t planted;
    bool placed;
    uint64_t seed;
};

struct sm_subjects {
    struct sm_arm arm[2];
    struct sm_copies copies, elsewhere; /* elsewhere: B is linked anew for each trial that asks for it */
    struct sm_loaded loaded;
    const char *fixed; /* why code cannot be placed anew; NULL: it can */
    struct trial *trials;
    size_t count;
    char out[4096];
};

const char *sm_subjects_out(const struct sm_subjects *s)
{
    return s->out;
}

struct sm_rounds_options sm_calibrate_options(void)
{
    return (struct sm_rounds_options){.tolerance = 0.01,
                                      .floor = 0.0025,
                                      .alpha = 0.05,
                                      .discovery = 0.05,
                                      .spending = SM_SPENDING_QUICK,
                                      .slice_s = 200e-6,
                                      .pairs = 50};
}

static int add(struct sm_subjects *s, struct sm_cases *cases, const struct subject *subject, size_t planted,
               bool placed, size_t number, uint64_t seed)
{
    char kind[32], group[96], id[128];
    snprintf(kind, sizeof kind, placed ? "placed" : "planted=%g", 100 * sm_planted[planted]);
    /* a budget is shared out evenly: to each kernel against itself as much as to each effect, since what is rare takes
     * many trials to exclude */
    snprintf(group, sizeof group, "%s/%s", kind, planted || placed ? "" : subject->family);
    if (subject->class == SM_TWO_THREADS && !planted) strcat(group, "/team");
    if (subject->class == SM_STREAMED) snprintf(group, sizeof group, "streamed/%zu", planted % 3); /* they take long */
    snprintf(id, sizeof id, "%s/%s/t%zu/%zu", kind, subject->family, subject->threads, number);
    struct sm_random random = {seed ^ (s->count + 1) * 0x9e3779b97f4a7c15u};
    struct trial *t = &s->trials[s->count++];
    *t = (struct trial){subject, planted, placed, sm_random_u64(&random)};
    return sm_cases_add(cases, id, group, subject->seconds, t);
}

/* Each kernel against itself and placed elsewhere `trials` times, each planted effect as often over all kernels that
 * do not stream, which take long: one of those for every thirty. */
static int add_all(struct sm_subjects *s, size_t trials, uint64_t seed, struct sm_cases *cases)
{
    int bad = 0;
    for (size_t i = 0; i < trials && !bad; i++) {
        for (size_t k = 0; k < STREAMING && !bad; k++) bad = add(s, cases, &subjects[k], 0, false, i, seed);
        for (size_t p = 1; p < SM_PLANTED && !bad; p++)
            for (size_t k = 0; k < STREAMING && !bad; k += 1 + i % 2)
                bad = add(s, cases, &subjects[k], p, false, i, seed);
        if (!bad && !s->fixed) bad = add(s, cases, &subjects[i % 4], 0, true, i, seed);
        if (i % 30 != 0) continue;
        for (size_t p = 0; p < SM_PLANTED && !bad; p++) bad = add(s, cases, &subjects[STREAMING], p, false, i, seed);
    }
    return bad;
}

struct sm_subjects *sm_subjects_create(size_t trials, uint64_t seed, struct sm_cases *cases, char *why,
                                       size_t why_bytes)
{
    struct sm_subjects *s = calloc(1, sizeof *s);
    if (s) s->trials = calloc(trials * (SUBJECTS * SM_PLANTED + 1), sizeof *s->trials);
    snprintf(why, why_bytes, "listing the trials: out of memory");
    if (!s || !s->trials || sm_arm_get(&s->arm[0], ".", NULL, why, why_bytes) ||
        sm_arm_get(&s->arm[1], ".", NULL, why, why_bytes) || sm_copies_make(&s->copies, s->arm, why, why_bytes) ||
        sm_copies_make(&s->elsewhere, s->arm, why, why_bytes) ||
        sm_kernels_load(&s->loaded, s->copies.object[0], NULL, why, why_bytes)) {
        sm_subjects_destroy(s);
        return NULL;
    }
    s->fixed = sm_layout_refusal(&s->arm[0]);
    if (!add_all(s, trials, seed, cases)) return s;
    sm_subjects_destroy(s);
    return NULL;
}

void sm_subjects_destroy(struct sm_subjects *s)
{
    if (!s) return;
    sm_kernels_unload(&s->loaded);
    sm_copies_remove(&s->copies);
    sm_copies_remove(&s->elsewhere);
    free(s->trials);
    free(s);
}

static const struct sm_variant *variant_of(const struct sm_subjects *s, const struct trial *t,
                                           const struct sm_family *f)
{
    const struct sm_variant *best = NULL;
    if (*t->subject->variant) return sm_loaded_variant(f, t->subject->variant);
    for (size_t i = 0; i < f->variant_count; i++)
        if (!(f->variants[i].needs & ~s->loaded.kernels->cpu_features())) best = &f->variants[i];
    return best;
}

static void fill(struct sm_comparison *k, const struct trial *t, const struct sm_family *f, const struct sm_variant *v)
{
    snprintf(k->family, sizeof k->family, "%s", f->name);
    k->dims = f->dim_count;
    k->planted = sm_planted[t->planted];
    for (int i = 0; i < 2; i++) snprintf(k->variant[i], sizeof k->variant[i], "%s", v->name);
    for (size_t d = 0; d < f->dim_count; d++) k->shape.dim[d] = f->dims[d].standard;
    for (size_t i = 0; i < sizeof t->subject->dims / sizeof *t->subject->dims && t->subject->dims[i].axis; i++) {
        const int d = sm_dim_index(f, t->subject->dims[i].axis);
        if (d >= 0) k->shape.dim[d] = t->subject->dims[i].value;
    }
}

static json_t *numbers(const double *x, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_real(x[i]));
    return list;
}

static void record(struct sm_case_results *results, const char *id, const struct trial *t,
                   const struct sm_comparison *k, double seconds)
{
    struct sm_record *r = sm_record_create("trial", id);
    double load = NAN;
    if (r && getloadavg(&load, 1) == 1) sm_record_put_json(r, "witnesses", "load_average", json_real(load));
    if (r) {
        sm_record_set_string(r, "family", k->family);
        sm_record_set_string(r, "variant", k->variant[0]);
        sm_record_set_integer(r, "threads", (int64_t)t->subject->threads);
        sm_record_put_string(r, "trial", "class", sm_class_names[t->subject->class]);
        sm_record_put_json(r, "trial", "planted", json_real(k->planted));
        sm_record_put_json(r, "trial", "placed", json_boolean(t->placed));
        sm_record_put_string(r, "trial", "verdict", sm_verdict_word(k->verdict));
        sm_record_put_json(r, "trial", "seconds", json_real(seconds));
        sm_record_put_json(r, "trial", "as_built_log_ratios", numbers(k->as_built_d, k->as_built_launches));
        sm_record_put_json(r, "trial", "log_ratios", numbers(k->d, k->launches));
        if (k->verdict == SM_VERDICT_FAILED || k->verdict == SM_VERDICT_REFUSED) sm_record_fail(r, "error", k->reason);
    }
    sm_case_result(results, r);
}

/* One comparison from its first launch to its verdict. */
enum sm_case_outcome sm_subjects_run(void *context, const struct sm_case *c, struct sm_case_results *results, char *why,
                                     size_t why_bytes)
{
    struct sm_subjects *s = context;
    const struct trial *t = c->payload;
    const struct sm_family *f = sm_loaded_family(&s->loaded, t->subject->family);
    const struct sm_variant *v = f ? variant_of(s, t, f) : NULL;
    struct sm_copies *copies = t->placed ? &s->elsewhere : &s->copies;
    struct sm_pairing pairing = {calloc(1, sizeof *pairing.list), 1};
    struct sm_rounds_options options = sm_calibrate_options();
    struct sm_rounds_result result = {0};
    snprintf(s->out, sizeof s->out, "%s", sm_cases_out(results));
    int bad = !v || !pairing.list || (t->placed && sm_layout_link(&s->arm[1], t->seed, copies->path[1]));
    snprintf(why, why_bytes, "making the trial %s: its kernel is not there, or cannot be linked anew", c->id);
    if (!bad) {
        fill(pairing.list, t, f, v);
        options.seed = t->seed;
        options.threads = t->subject->threads;
        options.no_controls = true;
        options.place = t->placed ? sm_copies_place : NULL;
        options.place_state = copies;
        const int turn = sm_turn_begin(NULL);
        bad = sm_rounds_run(&pairing, copies->object, &options, &result, why, why_bytes);
        sm_turn_end(turn);
    }
    if (!bad && !result.interrupted) record(results, c->id, t, pairing.list, result.seconds);
    sm_pairing_free(&pairing);
    if (result.interrupted) raise(SIGTERM); /* it came while launches ran, and is the list of cases' to hear */
    return bad ? SM_CASE_BROKEN : result.interrupted ? SM_CASE_DROPPED : SM_CASE_DONE;
}
