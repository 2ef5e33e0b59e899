#include "count_trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "trial_record.h"

#define STEP_SYMBOL "sm_count_step_"
#define PHASE_SYMBOL "sm_count_phase"
#define LEAST_SWEEP ((size_t)32 << 20)

typedef void entry(const void *args, struct sm_part part, sm_kernel_fn *fn);

/* One jump for each label. The part lies on the stack and stays there, so that a kernel finds its arguments as if it
 * had been called. rdi: args; rsi: fn, since a struct of four words goes onto the stack. */
#define LABELS(of)                                                                                                     \
    of(0) of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9) of(10) of(11) of(12) of(13) of(14) of(15) of(16)       \
        of(17) of(18) of(19) of(20) of(21) of(22) of(23)
#ifdef SM_CALLGRIND_POSSIBLE
#define ENTRY(n)                                                                                                       \
    entry sm_count_step_##n;                                                                                           \
    __asm__(".pushsection .text\n"                                                                                     \
            ".p2align 4\n"                                                                                             \
            ".globl sm_count_step_" #n "\n"                                                                            \
            ".hidden sm_count_step_" #n "\n"                                                                           \
            ".type sm_count_step_" #n ", @function\n"                                                                  \
            "sm_count_step_" #n ":\n"                                                                                  \
            "    jmp *%rsi\n"                                                                                          \
            ".size sm_count_step_" #n ", . - sm_count_step_" #n "\n"                                                   \
            ".popsection\n");
#else
#define ENTRY(n)                                                                                                       \
    static void sm_count_step_##n(const void *args, struct sm_part part, sm_kernel_fn *fn)                             \
    {                                                                                                                  \
        fn(args, part);                                                                                                \
    }
#endif
LABELS(ENTRY)
#define NAME(n) sm_count_step_##n,
static entry *const entries[] = {LABELS(NAME)};
_Static_assert(sizeof entries / sizeof *entries >= SM_LABELS, "a jump for each label");

void sm_count_phase(void);
__attribute__((noinline)) void sm_count_phase(void)
{
    __asm__ volatile("" : : : "memory"); /* callgrind writes a file when it returns */
}

static void call(void *state, const struct sm_step *step, const struct sm_part *part)
{
    (void)state;
    entries[step->label](step->args, *part, step->fn);
}

static struct sm_session_options options_of(const struct sm_trial *t)
{
    return (struct sm_session_options){.max_seq = t->max_seq, .kv = t->kv, .threads = t->threads};
}

/* Reads so much that what loading and packing left in the simulated caches is gone: callgrind simulates what it does
 * not count as well. -1: no memory. */
static int sweep_caches(void)
{
    const size_t last = sm_machine()->l3_bytes, bytes = 2 * (last > LEAST_SWEEP ? last : LEAST_SWEEP);
    volatile char *area = calloc(1, bytes);
    if (!area) return -1;
    for (size_t i = 0; i < bytes; i += 16) (void)area[i];
    free((void *)(uintptr_t)area);
    return 0;
}

int sm_count_trial_child(const struct sm_trial *t, const struct sm_weights *weights, size_t n, char *why,
                         size_t why_bytes)
{
    struct sm_session_options options = options_of(t);
    struct sm_session *session = NULL;
    options.hooks.call = call;
    if (sm_session_create(&session, weights, &options, why, why_bytes)) return -1;
    int failed = sweep_caches();
    if (failed) snprintf(why, why_bytes, "there is no memory to sweep the caches with");
    if (!failed) failed = sm_session_prefill(session, t->tokens, t->prompt, t->padding, why, why_bytes);
    sm_count_phase();
    for (size_t i = 0; i < t->gen && !failed; i++)
        failed = sm_session_decode(session, sm_session_argmax(session), why, why_bytes);
    if (t->gen) sm_count_phase();
    sm_session_destroy(session);
    if (failed) return -1;
    printf("counted %zu\n", n);
    return fflush(stdout) ? -1 : 0;
}

/* Steps of each label in one call of the phase. */
static void steps_of(const struct sm_session *s, enum sm_phase phase, uint64_t steps[SM_LABELS])
{
    const struct sm_plan *plan = sm_session_plan(s, phase);
    memset(steps, 0, SM_LABELS * sizeof *steps);
    for (size_t i = 0; i < sm_plan_step_count(plan); i++) steps[sm_plan_steps(plan)[i].label]++;
}

static int put_counts(struct sm_record *r, const char *path, const struct sm_trial *t, enum sm_phase phase,
                      const struct sm_session *s, char *why, size_t why_bytes)
{
    struct sm_callgrind_counts of[SM_LABELS], sum = {0};
    uint64_t steps[SM_LABELS];
    const uint64_t calls = phase == SM_PHASE_DECODE ? t->gen : 1;
    json_t *list = json_array();
    if (sm_callgrind_read_callees(path, STEP_SYMBOL, of, SM_LABELS, why, why_bytes)) {
        json_decref(list);
        return -1;
    }
    steps_of(s, phase, steps);
    for (int l = 0; l < SM_LABELS; l++) {
        if (!steps[l]) continue;
        sm_callgrind_add(&sum, &of[l]);
        json_t *step = sm_callgrind_json(&of[l], calls);
        json_object_set_new(step, "label", json_string(sm_label_name((enum sm_label)l)));
        json_object_set_new(step, "ns", json_null());
        json_object_set_new(step, "calls", json_integer((json_int_t)steps[l]));
        json_array_append_new(list, step);
    }
    sm_record_set_json(r, "steps", list);
    sm_record_put_integer(r, "callgrind", "calls", (int64_t)calls);
    sm_callgrind_record(r, &sum, calls, t->threads > 1 ? "team" : "thread 0");
    if (sum.instructions) return 0;
    snprintf(why, why_bytes, "callgrind saw no call of a kernel");
    return -1;
}

static struct sm_record *make(const struct sm_callgrind *tool, const struct sm_trial *t, const struct sm_source *source,
                              const struct sm_session *s, const struct sm_weights *weights, const char *case_id,
                              enum sm_phase phase)
{
    char id[1100], variants[1024];
    snprintf(id, sizeof id, "%s/%s", case_id, sm_phase_name(phase));
    struct sm_record *r = sm_record_create("count", id);
    if (!r) return NULL;
    sm_trial_label(r, t, source, weights->recipe);
    /* a prefill finds nothing there; each token what the calls before it have left */
    sm_record_set_string(r, "cache_state", phase == SM_PHASE_DECODE ? "hot" : "cold");
    sm_record_set_string(r, "unit", NULL); /* of samples, of which a count has none */
    sm_record_set_string(r, "phase", sm_phase_name(phase));
    sm_record_set_integer(r, "bucket", phase == SM_PHASE_DECODE ? 1 : (int64_t)t->max_seq);
    if (phase == SM_PHASE_DECODE) {
        sm_record_set_integer(r, "n_prompt", 0);
        sm_record_set_integer(r, "n_depth", (int64_t)t->prompt);
    } else {
        sm_record_set_integer(r, "n_gen", 0);
    }
    sm_record_set_number(r, "ops", sm_trial_ops(&source->model->shape, phase, t->max_seq));
    sm_record_set_string(r, "ops_unit", "multiply-adds");
    sm_record_set_string(r, "variant", sm_trial_variants(s, phase, variants, sizeof variants));
    sm_callgrind_record_tool(r, tool);
    return r;
}

/* The status that the records get, NULL: "ok". */
static const char *count(const struct sm_callgrind *tool, const struct sm_trial *t, const struct sm_session *s,
                         char *const *words, size_t word_count, struct sm_record *records[2], bool *interrupted,
                         char *why, size_t why_bytes)
{
    static const char *const keep[] = {"HOME",         "XDG_CACHE_HOME",  "SLOTMARK_CACHE",
                                       "SLOTMARK_CPU", "SLOTMARK_SHAPES", NULL};
    char said[64];
    snprintf(said, sizeof said, "counted %s", words[2]);
    const struct sm_callgrind_child child = {.words = words,
                                             .word_count = word_count,
                                             .toggle = STEP_SYMBOL "*",
                                             .dump_after = PHASE_SYMBOL,
                                             .said = said,
                                             .keep = keep,
                                             .one_thread = true};
    pid_t pid;
    switch (sm_callgrind_run(tool, &child, &pid, why, why_bytes)) {
    case SM_CALLGRIND_DONE: break;
    case SM_CALLGRIND_REFUSED: return "skipped";
    case SM_CALLGRIND_INTERRUPTED: *interrupted = true; return "skipped";
    case SM_CALLGRIND_FAILED: return "error";
    }
    for (size_t i = 0; i < 2 && records[i]; i++) {
        char path[SM_CALLGRIND_PATH_BYTES + 64];
        sm_callgrind_file(tool, pid, i + 1, path, sizeof path);
        if (put_counts(records[i], path, t, i ? SM_PHASE_DECODE : SM_PHASE_PREFILL, s, why, why_bytes)) return "error";
    }
    return NULL;
}

int sm_count_trial_run(const struct sm_callgrind *tool, const struct sm_trial *t, const struct sm_source *source,
                       const struct sm_weights *weights, const char *case_id, char *const *words, size_t word_count,
                       struct sm_record *records[2], char *why, size_t why_bytes)
{
    const struct sm_session_options options = options_of(t);
    struct sm_session *session = NULL;
    bool interrupted = false;
    const char *status = NULL;
    records[0] = records[1] = NULL;
    if (sm_session_create(&session, weights, &options, why, why_bytes)) return -1;
    records[0] = make(tool, t, source, session, weights, case_id, SM_PHASE_PREFILL);
    if (t->gen) records[1] = make(tool, t, source, session, weights, case_id, SM_PHASE_DECODE);
    const bool lost = !records[0] || (t->gen && !records[1]);
    if (lost)
        snprintf(why, why_bytes, "there is no memory for the records of %s", case_id);
    else
        status = count(tool, t, session, words, word_count, records, &interrupted, why, why_bytes);
    sm_session_destroy(session);
    for (int i = 0; i < 2; i++) {
        if (records[i] && status) sm_record_fail(records[i], status, why);
        if (!lost && !interrupted) continue;
        sm_record_destroy(records[i]);
        records[i] = NULL;
    }
    return interrupted ? 1 : lost || (status && !strcmp(status, "error")) ? -1 : 0;
}
