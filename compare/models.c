/* Processes of whole models in turn, and what their records say. */
#include "models.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "model_answers.h"
#include "progress.h"
#include "random.h"
#include "report.h"
#include "stats.h"
#include "stop.h"

#define PHASES_MOST 64

static const char *const usual[] = {"--max-seq", "512", "--turns", "128+24,12+12", "--buckets", "16", NULL};

/* What one process timed. */
struct phases {
    struct phase {
        char id[200];
        double ns;     /* of a call, or of a decoded token */
        double tokens; /* of these ns */
    } list[PHASES_MOST];
    size_t count;
};

struct models {
    const struct sm_models_request *request;
    const struct sm_rounds_options *options;
    struct sm_pairing *pairing; /* the comparisons, then as many controls in the same order */
    struct sm_rounds_result *result;
    struct sm_model_side side[2];
    struct sm_random random;
    struct sm_progress progress;
    uint64_t started;
    char folder[64];
    size_t phases;
};

static double elapsed(const struct models *m)
{
    return 1e-9 * (double)(sm_clock_ns() - m->started);
}

static double median_of(const json_t *list)
{
    double x[4096];
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(list) && n < sizeof x / sizeof *x; i++)
        if (json_is_number(json_array_get(list, i))) x[n++] = json_number_value(json_array_get(list, i));
    return n ? sm_median(x, n) : NAN;
}

/* Of a session only its own way: the others are there for comparison within it. */
static int note_phase(void *state, const json_t *record)
{
    struct phases *p = state;
    const char *kind = json_string_value(json_object_get(record, "kind"));
    const char *status = json_string_value(json_object_get(record, "status"));
    const char *phase = json_string_value(json_object_get(record, "phase"));
    const char *id = json_string_value(json_object_get(record, "case"));
    const char *way = json_string_value(json_object_get(json_object_get(record, "turn"), "way"));
    if (!kind || strcmp(kind, "profile") || !status || strcmp(status, "ok") || !phase || !id) return 0;
    if (way && strcmp(way, "buckets") && strcmp(way, "decode")) return 0;
    const json_t *tokens = json_object_get(record, "token_ns");
    const bool decode = json_array_size(tokens) > 0;
    const double ns = median_of(decode ? tokens : json_object_get(record, "samples"));
    if (!(ns > 0) || p->count == PHASES_MOST) return 0;
    const char *slash = way && !strcmp(way, "buckets") ? strrchr(id, '/') : NULL; /* the phase says more than the way */
    snprintf(p->list[p->count].id, sizeof p->list->id, "%.*s%s", slash ? (int)(slash + 1 - id) : 180, id,
             slash ? phase : "");
    p->list[p->count].ns = ns;
    p->list[p->count++].tokens = decode ? 1 : json_number_value(json_object_get(record, "n_prompt"));
    return 0;
}

/* One process. -1 and a sentence. */
static int run_side(struct models *m, int side, struct phases *to, char *why, size_t why_bytes)
{
    char out[96], log[96], text[160], threads[24];
    const char *const fixed[] = {"--threads", threads, "--reps", "1",  "--counters", "none", "--order",
                                 "stated",    "--out", out,      "-o", "csv",        NULL};
    const char *argv[SM_MODELS_ARGUMENTS_MOST + 32];
    struct sm_records_summary summary;
    snprintf(out, sizeof out, "%s/records.jsonl", m->folder);
    snprintf(log, sizeof log, "%s/log", m->folder);
    snprintf(threads, sizeof threads, "%zu", m->options->threads);
    unlink(out);
    unlink(log);
    size_t n = sm_model_begin(&m->side[side], "profile", m->request->model, argv);
    for (size_t i = 0; fixed[i]; i++) argv[n++] = fixed[i];
    for (size_t i = 0; !m->request->passed_count && usual[i]; i++) argv[n++] = usual[i];
    for (size_t i = 0; i < m->request->passed_count; i++) argv[n++] = m->request->passed[i];
    argv[n] = NULL;
    *to = (struct phases){.count = 0};
    const int code = sm_command_run(argv, log, NULL);
    if (sm_stopped()) return 0;
    if (code) {
        sm_model_last_line(log, text, sizeof text);
        snprintf(why, why_bytes, "%s's profile ends with exit code %d: %s", side ? "B" : "A", code, text);
        return -1;
    }
    return sm_records_read(out, note_phase, to, &summary, why, why_bytes);
}

static const struct phase *find(const struct phases *p, const char *id)
{
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->list[i].id, id)) return &p->list[i];
    return NULL;
}

/* The comparisons are what the first process of each timed. */
static int list_phases(struct models *m, const struct phases *a, const struct phases *b)
{
    struct sm_comparison *list = calloc(2 * (a->count + b->count) + 1, sizeof *list);
    if (!list) return -1;
    m->pairing->list = list;
    size_t n = 0;
    for (size_t i = 0; i < a->count; i++, n++) {
        memcpy(list[n].id, a->list[i].id, sizeof list[n].id);
        list[n].tokens = a->list[i].tokens;
        if (!find(b, a->list[i].id)) list[n].verdict = SM_VERDICT_REMOVED;
    }
    for (size_t i = 0; i < b->count; i++) {
        if (find(a, b->list[i].id)) continue;
        memcpy(list[n].id, b->list[i].id, sizeof list[n].id);
        list[n++].verdict = SM_VERDICT_ADDED;
    }
    m->phases = n;
    m->pairing->count = 2 * n;
    for (size_t i = 0; i < 2 * n; i++) {
        if (i >= n) list[i] = list[i - n];
        list[i].control = i >= n;
        list[i].ordinal = i;
        snprintf(list[i].family, sizeof list[i].family, "%s", "model");
    }
    for (size_t i = 0; i < n; i++) m->result->compared += list[i].verdict == SM_VERDICT_OPEN;
    return 0;
}

static void add_launch(struct models *m, struct sm_comparison *c, const struct phases *a, const struct phases *b)
{
    const struct sm_rounds_options *o = m->options;
    const struct phase *x = find(a, c->id), *y = find(b, c->id);
    if (c->verdict != SM_VERDICT_OPEN || !x || !y) return;
    c->ns[0][c->launches] = x->ns;
    c->ns[1][c->launches] = y->ns;
    c->d[c->launches++] = log(y->ns / x->ns);
    if (o->launched) o->launched(o->launched_state, c);
    sm_rounds_settle(c, o, m->result->compared);
    if (c->launches == SM_MODELS_LAUNCHES_MOST) c->verdict = SM_VERDICT_SAME;
}

static bool is_any_open(const struct models *m)
{
    for (size_t i = 0; i < m->phases; i++)
        if (m->pairing->list[i].verdict == SM_VERDICT_OPEN) return true;
    return false;
}

/* A, B and A again, in an order drawn anew; the first round is run whatever the budget. 1: go on; 0: enough; -1 and a
 * sentence. */
static int run_round(struct models *m, size_t round, char *why, size_t why_bytes)
{
    struct phases timed[3]; /* A, B, A again */
    size_t order[3] = {0, 1, 2};
    char text[96];
    for (size_t i = 3; i > 1; i--) {
        const size_t k = sm_random_below(&m->random, (uint32_t)i), t = order[i - 1];
        order[i - 1] = order[k];
        order[k] = t;
    }
    for (size_t i = 0; i < 3; i++) {
        if (round && m->options->budget_s > 0 && elapsed(m) > m->options->budget_s) m->result->out_of_time = true;
        if (m->result->out_of_time || sm_stopped()) return 0;
        snprintf(text, sizeof text, "round %zu of at most %d, process %zu of 3", round + 1, SM_MODELS_LAUNCHES_MOST,
                 i + 1);
        const double done = elapsed(m), share = ((double)round + (double)i / 3) / SM_MODELS_LAUNCHES_MOST;
        m->progress.total_s = share > 0 ? done / share : 3 * SM_MODELS_LAUNCHES_MOST;
        sm_progress_show(&m->progress, done, text);
        if (run_side(m, order[i] == 1, &timed[order[i]], why, why_bytes)) return -1;
        m->result->launches++;
    }
    if (sm_stopped()) return 0;
    if (!m->pairing->list && list_phases(m, &timed[0], &timed[1])) {
        snprintf(why, why_bytes, "comparing: out of memory");
        return -1;
    }
    for (size_t i = 0; i < m->phases; i++) {
        add_launch(m, &m->pairing->list[i], &timed[0], &timed[1]);
        add_launch(m, &m->pairing->list[m->phases + i], &timed[0], &timed[2]);
    }
    return is_any_open(m);
}

/* One row that says why there is no time. */
static int give_up(struct models *m, enum sm_verdict verdict, const char *reason)
{
    free(m->pairing->list);
    *m->pairing = (struct sm_pairing){calloc(1, sizeof *m->pairing->list), 1};
    if (!m->pairing->list) return SM_EXIT_USAGE;
    struct sm_comparison *c = m->pairing->list;
    snprintf(c->id, sizeof c->id, "%.150s", m->request->model);
    snprintf(c->family, sizeof c->family, "%s", "model");
    snprintf(c->reason, sizeof c->reason, "%s", reason);
    c->verdict = verdict;
    return 0;
}

static int run_rounds(struct models *m, char *why, size_t why_bytes)
{
    int more = 1;
    m->started = sm_clock_ns();
    sm_progress_begin(&m->progress, m->options->progress, 0);
    for (size_t k = 0; more > 0; k++) more = run_round(m, k, why, why_bytes);
    sm_progress_clear(&m->progress);
    if (more < 0) return give_up(m, SM_VERDICT_FAILED, why);
    if (!m->pairing->list) return give_up(m, SM_VERDICT_INCONCLUSIVE, "it was ended before the first round");
    if (m->phases) return 0;
    snprintf(why, why_bytes, "comparing models: %s timed nothing", m->request->model);
    return SM_EXIT_NOTHING;
}

static int run(struct models *m, char note[200], char *why, size_t why_bytes)
{
    char reason[256];
    switch (sm_model_answers(m->side, m->request, m->folder, note, reason, sizeof reason)) {
    case SM_MODEL_SAME_PROGRAM: return give_up(m, SM_VERDICT_IDENTICAL, "");
    case SM_MODEL_ANSWERS_DIFFER: return give_up(m, SM_VERDICT_FAILED, reason);
    default: return run_rounds(m, why, why_bytes);
    }
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"records.jsonl", "log", "a", "b"};
    char path[96];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

int sm_models_run(const struct sm_arm arm[2], const struct sm_models_request *request,
                  const struct sm_rounds_options *options, struct sm_pairing *pairing, struct sm_rounds_result *result,
                  char note[200], char *why, size_t why_bytes)
{
    struct models m = {.request = request,
                       .options = options,
                       .pairing = pairing,
                       .result = result,
                       .random = {options->seed},
                       .folder = "/tmp/slotmark-XXXXXX"};
    note[0] = '\0';
    *pairing = (struct sm_pairing){0};
    *result = (struct sm_rounds_result){0};
    if (request->passed_count > SM_MODELS_ARGUMENTS_MOST) {
        snprintf(why, why_bytes, "too many options for profile: at most %d", SM_MODELS_ARGUMENTS_MOST);
        return SM_EXIT_USAGE;
    }
    for (int i = 0; i < 2; i++) {
        m.side[i].arm = &arm[i];
        const enum sm_arm_result found =
            sm_arm_program(&arm[i], request->words, m.side[i].program, sizeof m.side[i].program, why, why_bytes);
        if (found != SM_ARM_OK) return found == SM_ARM_UNBUILT ? SM_EXIT_FAILED : SM_EXIT_USAGE;
    }
    if (!mkdtemp(m.folder)) {
        snprintf(why, why_bytes, "making a folder in /tmp: %s", strerror(errno));
        return SM_EXIT_USAGE;
    }
    sm_stop_catch();
    const int code = run(&m, note, why, why_bytes);
    sm_stop_release();
    result->interrupted = sm_stopped();
    result->seconds = m.started ? elapsed(&m) : 0;
    if (!code) sm_rounds_decide(pairing, options, result);
    remove_folder(m.folder);
    return code;
}
