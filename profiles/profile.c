/* slotmark profile: a model end to end at static shapes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "cases.h"
#include "clock.h"
#include "count_trial.h"
#include "cpu.h"
#include "profile.h"
#include "profile_options.h"
#include "prompt.h"
#include "rows.h"
#include "source.h"
#include "static_scales.h"
#include "tokens.h"
#include "turns_trial.h"
#include "weights.h"

/* All trials of a run, and what they share. */
struct run {
    struct profile_options options;
    struct sm_source source;
    bool outline;                                              /* it has no weights: trials are only listed */
    struct sm_weights *weights[SM_RECIPES_MOST][SM_SCALE_INS]; /* by recipe, made when first needed */
    struct sm_tokenizer *tokenizer;                            /* when text is read or shown, else NULL */
    int32_t *tokens;
    size_t token_count; /* of the file or text; 0: seeded, enough for every prompt */
    struct trial_case {
        struct sm_trial trial;
        struct sm_turns_trial session; /* turns NULL: it is none */
        int recipe;
    } * trials;
    size_t trial_count;
    struct sm_counted *counted[SM_COUNTER_GROUPS_MOST];
    size_t counted_count;
    char out[4096]; /* the result file, once a case has run */
    /* --count */
    struct sm_callgrind callgrind;
    char **words; /* of a child: "profile --counted N" and this command's own */
    size_t word_count;
    size_t child; /* this is the child that counts the trial of this number, from 1; 0: it is none */
};

static bool not_interrupted(void)
{
    return sm_cases_interrupted();
}

static struct sm_weights *weights_for(struct run *run, int recipe, enum sm_scale_in in, char *why, size_t why_bytes)
{
    struct sm_weights **w = &run->weights[recipe][in];
    if (*w) return *w;
    const struct sm_choice choice = {.features =
                                         sm_cpu_features() & (run->options.count ? SM_COUNT_TRIAL_FEATURES : ~0u),
                                     .forced = run->options.forced.list,
                                     .forced_count = run->options.forced.count,
                                     .scale_in = in};
    return sm_static_scales_pack(w, &run->source, sm_recipe_name((size_t)recipe), &run->options.kv, run->options.scales,
                                 &choice, sm_cases_progress(&run->options.cases), why, why_bytes)
               ? NULL
               : *w;
}

static void print_tokens(const char *id, const struct sm_trial *trial)
{
    printf("%s:", id);
    for (size_t i = 0; i <= trial->gen; i++) printf(" %d", trial->generated[i]);
    printf("\n");
}

static void show(const struct run *run, const char *id, const struct sm_trial *trial)
{
    char why[256];
    FILE *out = run->options.format == SM_ROWS_MD ? stdout : stderr;
    fprintf(out, "%s says:\n", id);
    if (sm_prompt_show(out, run->tokenizer, trial->generated, trial->gen + 1, why, sizeof why)) fputs(why, out);
    fputs("\n\n", out);
}

static void hand_over(void *results, struct sm_record *record)
{
    sm_case_result(results, record);
}

static const char *refuse(const struct trial_case *tc, char *why, size_t why_bytes)
{
    return tc->session.turns ? sm_turns_trial_refuse(&tc->session, why, why_bytes)
                             : sm_trial_refuse(&tc->trial, why, why_bytes);
}

static enum sm_case_outcome run_session(struct run *run, const struct trial_case *tc, const struct sm_weights *weights,
                                        const char *id, struct sm_case_results *results, char *why, size_t why_bytes)
{
    switch (sm_turns_trial_run(&tc->session, &run->source, weights, id, not_interrupted, hand_over, results, why,
                               why_bytes)) {
    case 0: return SM_CASE_DONE;
    case 1: return SM_CASE_DROPPED;
    case 2: return SM_CASE_WRONG;
    default: return SM_CASE_BROKEN;
    }
}

static enum sm_case_outcome run_counted(struct run *run, struct trial_case *tc, const struct sm_weights *weights,
                                        const char *id, struct sm_case_results *results, char *why, size_t why_bytes)
{
    struct sm_record *records[2];
    char n[24];
    snprintf(n, sizeof n, "%zu", (size_t)(tc - run->trials) + 1);
    run->words[2] = n;
    const int outcome = sm_count_trial_run(&run->callgrind, &tc->trial, &run->source, weights, id, run->words,
                                           run->word_count, records, why, why_bytes);
    const bool any = records[0] != NULL;
    for (int i = 0; i < 2; i++)
        if (records[i]) sm_case_result(results, records[i]);
    return !outcome ? SM_CASE_DONE : outcome > 0 ? SM_CASE_DROPPED : any ? SM_CASE_WRONG : SM_CASE_BROKEN;
}

static enum sm_case_outcome run_case(void *context, const struct sm_case *c, struct sm_case_results *results, char *why,
                                     size_t why_bytes)
{
    struct run *run = context;
    struct trial_case *tc = c->payload;
    struct sm_record *records[2];
    snprintf(run->out, sizeof run->out, "%s", sm_cases_out(results));
    if (refuse(tc, why, why_bytes)) {
        struct sm_record *record = sm_record_create("profile", c->id);
        if (!record) return SM_CASE_BROKEN;
        sm_trial_label(record, &tc->trial, &run->source, sm_recipe_name((size_t)tc->recipe));
        sm_record_fail(record, "skipped", why);
        sm_case_result(results, record);
        return SM_CASE_DONE;
    }
    const struct sm_weights *weights = weights_for(run, tc->recipe, tc->trial.scale_in, why, why_bytes);
    if (!weights) return SM_CASE_BROKEN;
    if (tc->session.turns) return run_session(run, tc, weights, c->id, results, why, why_bytes);
    if (run->options.count) return run_counted(run, tc, weights, c->id, results, why, why_bytes);
    tc->trial.generated = malloc((tc->trial.gen + 1) * sizeof *tc->trial.generated);
    if (!tc->trial.generated) {
        snprintf(why, why_bytes, "there is no memory for %zu tokens", tc->trial.gen);
        return SM_CASE_BROKEN;
    }
    const char *trace = run->options.trace;
    if (trace) tc->trial.trace = sm_trace_create(tc->trial.threads);
    int outcome = sm_trial_run(&tc->trial, &run->source, weights, c->id, not_interrupted, records, why, why_bytes);
    if (trace && !outcome && sm_trace_write(tc->trial.trace, trace, c->id, why, why_bytes)) {
        sm_record_destroy(records[0]);
        sm_record_destroy(records[1]);
        outcome = -1;
    }
    sm_trace_destroy(tc->trial.trace);
    tc->trial.trace = NULL;
    if (!outcome) {
        for (int i = 0; i < 2; i++)
            if (records[i]) sm_case_result(results, records[i]);
        if (run->options.print_tokens) print_tokens(c->id, &tc->trial);
        if (run->options.show) show(run, c->id, &tc->trial);
    }
    free(tc->trial.generated);
    tc->trial.generated = NULL;
    return !outcome ? SM_CASE_DONE : outcome > 0 ? SM_CASE_DROPPED : SM_CASE_BROKEN;
}

/* The prompt of a trial when none is asked for: half the context, at most 512. */
static size_t standard_prompt(size_t max_seq)
{
    const size_t half = max_seq / 2;
    return half < 1 ? 1 : half > 512 ? 512 : half;
}

static void copy_buckets(const struct sm_list *list, size_t *rows, size_t *count)
{
    *count = list->count;
    for (size_t i = 0; i < list->count; i++) rows[i] = (size_t)list->value[i];
}

/* The session of turns that a trial is. */
static void set_session(const struct run *run, struct trial_case *tc)
{
    const struct profile_options *o = &run->options;
    tc->trial.prompt = tc->trial.gen = 0;
    for (size_t i = 0; i < o->turns.count; i++) {
        tc->trial.prompt += o->turns.turn[i].prompt;
        tc->trial.gen += o->turns.turn[i].gen;
    }
    tc->session = (struct sm_turns_trial){
        .trial = tc->trial, .turns = &o->turns, .prompts = run->tokens, .when_full = (enum sm_when_full)o->when_full};
    copy_buckets(&o->buckets, tc->session.append_buckets, &tc->session.append_bucket_count);
    copy_buckets(&o->prefill_buckets, tc->session.prefill_buckets, &tc->session.prefill_bucket_count);
}

static int add_trial(struct run *run, struct sm_cases *cases, const struct sm_trial *trial, int recipe,
                     const struct sm_trial_speed *speed)
{
    struct trial_case *tc = &run->trials[run->trial_count++];
    const struct sm_model_shape *shape = &run->source.model->shape;
    char id[1024], what[512], place[32] = ""; /* cases of old result files have none */
    *tc = (struct trial_case){.trial = *trial, .recipe = recipe};
    if (run->options.turns.count) {
        set_session(run, tc);
        sm_turns_trial_text(&tc->session, what, sizeof what);
    } else {
        snprintf(what, sizeof what, "prompt=%zu,gen=%zu", trial->prompt, trial->gen);
    }
    if (trial->scale_in != SM_SCALE_IN_SCORES)
        snprintf(place, sizeof place, "scale_in=%s,", sm_scale_in_name(trial->scale_in));
    snprintf(id, sizeof id, "%s/%s/max_seq=%zu,kv=%s,%s%s/t%zu", run->source.name, sm_recipe_name((size_t)recipe),
             trial->max_seq, sm_kv_name(trial->kv), place, what, trial->threads);
    const double seconds = tc->session.turns ? sm_turns_trial_estimate(&tc->session, shape, speed)
                                             : sm_trial_estimate(&tc->trial, shape, speed);
    const double slower =
        run->options.count ? SM_COUNT_TRIAL_SLOWER * (double)trial->threads / (double)(trial->reps + 3) : 1;
    return sm_cases_add(cases, id, "profile", run->outline ? 0 : seconds * slower, tc);
}

static int add_trials(struct run *run, struct sm_cases *cases, char *why, size_t why_bytes)
{
    const struct profile_options *o = &run->options;
    const size_t prompts = run->token_count || !o->prompt.count ? 1 : o->prompt.count;
    const size_t most =
        o->recipes.count * o->max_seq.count * o->kv.count * o->scale_in.count * o->threads.count * prompts;
    if (o->trace && (most != 1 || o->turns.count || !access(o->trace, F_OK))) {
        snprintf(why, why_bytes,
                 most != 1 || o->turns.count
                     ? "--trace FILE is of one trial of a prompt: give one value each of --max-seq, --threads, ..."
                     : "--trace: there is a file of that name already");
        return -1;
    }
    run->trials = calloc(most, sizeof *run->trials);
    if (!run->trials) {
        snprintf(why, why_bytes, "there is no memory for %zu trials", most);
        return -1;
    }
    struct sm_trial_speed speed[PROFILE_MOST_RECIPES] = {{1, 1}};
    enum sm_scale_in first = SM_SCALE_IN_SCORES;
    sm_scale_in_named(o->scale_in.value[0], &first);
    for (size_t r = 0; r < o->recipes.count && !run->outline; r++) {
        const struct sm_weights *weights = weights_for(run, o->recipe_index[r], first, why, why_bytes);
        if (!weights || (!run->child && sm_trial_probe(weights, &speed[r], why, why_bytes))) return -1;
    }
    for (size_t i = 0; i < most; i++) {
        size_t rest = i;
        const size_t p = rest % prompts, t = (rest /= prompts) % o->threads.count,
                     s = (rest /= o->threads.count) % o->scale_in.count, k = (rest /= o->scale_in.count) % o->kv.count,
                     m = (rest /= o->kv.count) % o->max_seq.count, r = rest / o->max_seq.count;
        struct sm_trial trial = {.max_seq = (size_t)o->max_seq.value[m],
                                 .gen = (size_t)o->gen,
                                 .reps = (size_t)o->reps,
                                 .threads = (size_t)o->threads.value[t],
                                 .padding = o->padding ? SM_PAD_LEFT : SM_PAD_RIGHT,
                                 .tokens = run->tokens,
                                 .reconcile = o->reconcile,
                                 .counted = run->counted,
                                 .counted_count = run->counted_count};
        trial.prompt = run->token_count  ? run->token_count
                       : o->prompt.count ? (size_t)o->prompt.value[p]
                                         : standard_prompt(trial.max_seq);
        const bool cut = o->gen_standard && !o->turns.count && !o->prompt.count && !o->tokens;
        if (cut && trial.prompt < trial.max_seq && trial.prompt + trial.gen > trial.max_seq - 1)
            trial.gen = trial.max_seq - 1 - trial.prompt;
        sm_kv_named(o->kv.value[k], &trial.kv);
        sm_scale_in_named(o->scale_in.value[s], &trial.scale_in);
        if (add_trial(run, cases, &trial, o->recipe_index[r], &speed[r])) {
            snprintf(why, why_bytes, "a trial is asked for twice (max_seq %zu, %zu threads)", trial.max_seq,
                     trial.threads);
            return -1;
        }
    }
    return 0;
}

/* The tokens of a prompt that is text. */
static int prepare_text(struct run *run, char *why, size_t why_bytes)
{
    const struct profile_options *o = &run->options;
    char *file = NULL, *chat = NULL;
    const char *text = o->text;
    size_t bytes = text ? strlen(text) : 0;
    int failed = o->text_file && sm_prompt_read(o->text_file, &file, &bytes, why, why_bytes);
    if (file) text = file;
    if (!failed && o->chat) {
        failed = sm_prompt_chat(run->tokenizer, text, &chat, why, why_bytes);
        text = chat;
        bytes = chat ? strlen(chat) : 0;
    }
    if (!failed)
        failed = sm_prompt_tokens(run->tokenizer, text, bytes, SM_ENCODE_ADD_SPECIAL, &run->tokens, &run->token_count,
                                  why, why_bytes);
    free(file);
    free(chat);
    return failed;
}

static int prepare_tokens(struct run *run, char *why, size_t why_bytes)
{
    const struct profile_options *o = &run->options;
    const size_t vocab = run->source.model->shape.vocab;
    int64_t most = o->turns.count ? 0 : 512;
    for (size_t i = 0; i < o->turns.count; i++) most += (int64_t)o->turns.turn[i].prompt;
    const char *file = o->tokens ? o->tokens : o->text_file ? o->text_file : o->text;
    if ((o->text || o->text_file || o->show) && sm_prompt_tokenizer(&run->tokenizer, run->source.model, why, why_bytes))
        return -1;
    if (file) {
        if (o->tokens ? sm_tokens_read(o->tokens, vocab, &run->tokens, &run->token_count, why, why_bytes)
                      : prepare_text(run, why, why_bytes))
            return -1;
        if (!o->turns.count || run->token_count >= (size_t)most) return 0;
        snprintf(why, why_bytes, "'%.200s' holds %zu tokens, and the prompts of the turns need %lld", file,
                 run->token_count, (long long)most);
        return -1;
    }
    for (size_t i = 0; i < o->prompt.count; i++)
        if (o->prompt.value[i] > most) most = o->prompt.value[i];
    run->tokens = sm_tokens_random((size_t)most, vocab, (uint64_t)o->token_seed);
    if (run->tokens) return 0;
    snprintf(why, why_bytes, "there is no memory for %lld tokens", (long long)most);
    return -1;
}

static int prepare_counters(struct run *run, char *why, size_t why_bytes)
{
    struct sm_counter_group *groups = calloc(SM_COUNTER_GROUPS_MOST, sizeof *groups);
    size_t count = 0;
    if (!groups) snprintf(why, why_bytes, "there is no memory for groups of counters");
    int failed = groups ? sm_counter_groups_named(&run->options.counters, groups, &count, why, why_bytes) : -1;
    for (size_t i = 0; i < count && !failed; i++) {
        struct sm_counted *counted = sm_counted_create(&groups[i]);
        if (counted)
            run->counted[run->counted_count++] = counted;
        else
            failed = -1;
        if (failed) snprintf(why, why_bytes, "there is no memory for the counters of '%s'", groups[i].name);
    }
    free(groups);
    return failed;
}

struct collected {
    json_t *records;
    const char *kind;
};

static int collect(void *context, const json_t *record)
{
    const struct collected *c = context;
    const char *kind = json_string_value(json_object_get(record, "kind"));
    if (kind && !strcmp(kind, c->kind)) json_array_append_new(c->records, json_copy((json_t *)(uintptr_t)record));
    return 0;
}

/* All of the result file: what this run wrote, and what was there before it. */
static int print_results(const struct run *run, const char *path, char *why, size_t why_bytes)
{
    struct sm_records_summary summary;
    const enum sm_rows_format format = (enum sm_rows_format)run->options.format;
    struct collected collected = {json_array(), run->options.count ? "count" : "profile"};
    json_t *records = collected.records;
    const int failed = sm_records_read(path, collect, &collected, &summary, why, why_bytes);
    if (!failed && run->options.count) sm_count_trial_print(records, format, stdout);
    if (!failed && !run->options.count) sm_rows_print(records, format, stdout);
    json_decref(records);
    return failed;
}

/* Whether a trial has a meaning; else why says what is wrong with the first. */
static bool any_runs(const struct run *run, char *why, size_t why_bytes)
{
    char reason[512];
    for (size_t i = run->trial_count; i-- > 0;) {
        if (!refuse(&run->trials[i], reason, sizeof reason)) return true;
        snprintf(why, why_bytes, "%s%s", run->trial_count > 1 ? "no trial can run, the first because " : "", reason);
    }
    return false;
}

/* The child's part: the trial of its number, and nothing else. */
static int run_child(struct run *run, char *why, size_t why_bytes)
{
    if (run->child > run->trial_count) {
        snprintf(why, why_bytes, "there is no trial %zu to count", run->child);
        return 2;
    }
    const struct trial_case *tc = &run->trials[run->child - 1];
    const struct sm_weights *weights = weights_for(run, tc->recipe, tc->trial.scale_in, why, why_bytes);
    return weights && !sm_count_trial_child(&tc->trial, weights, run->child, why, why_bytes) ? 0 : 2;
}

static int run_profile(struct run *run, const char *model, char *why, size_t why_bytes)
{
    struct profile_options *o = &run->options;
    struct sm_cases *cases = NULL;
    char line[512];
    int code = 2;
    run->outline = o->cases.dry_run && !(o->cases.budget > 0); /* a budget asks how long trials take */
    if (run->outline ? sm_source_outline(&run->source, model, why, why_bytes)
                     : sm_source_open(&run->source, model, o->synthetic_format, (uint64_t)o->token_seed,
                                      sm_cases_progress(&o->cases), why, why_bytes))
        return 2;
    if (!o->cases.dry_run) {
        sm_source_describe(&run->source, line, sizeof line);
        fprintf(stderr, "%s\n", line);
    }
    if (!(cases = sm_cases_create())) {
        snprintf(why, why_bytes, "there is no memory for the list of trials");
        return 2;
    }
    const bool opens = o->count && !o->cases.dry_run && !run->child;
    if (prepare_tokens(run, why, why_bytes) ||
        (!o->count && !o->cases.dry_run && prepare_counters(run, why, why_bytes)) ||
        (opens && sm_callgrind_open(&run->callgrind, why, why_bytes)) || add_trials(run, cases, why, why_bytes))
        goto done;
    if (run->child) {
        code = run_child(run, why, why_bytes);
        goto done;
    }
    if (!any_runs(run, why, why_bytes)) goto done;
    code = sm_cases_run(cases, &o->cases, run_case, run, why, why_bytes);
    if (code == 2 || o->cases.dry_run) goto done;
    if (!run->out[0] && o->cases.resume) /* nothing was left to run */
        snprintf(run->out, sizeof run->out, "%s", o->cases.resume);
    if (run->out[0] && !access(run->out, R_OK)) {
        if (print_results(run, run->out, why, why_bytes)) code = 2;
        fprintf(stderr, "records: %s\n", run->out);
    }
done:
    sm_cases_destroy(cases);
    return code;
}

/* "profile --counted N" and the command's own words, N to be filled in. NULL: no memory, which is said. */
static char **child_words(int argc, char **argv, size_t *count)
{
    static char profile[] = "profile", counted[] = "--counted";
    /* what says nothing of the trial would shift the child's memory, and with it simulated misses */
    static const char *const parents[] = {"--out", "--budget", "--resume", "--order", "--seed", "--output", "-o", NULL};
    char **words = calloc((size_t)argc + 3, sizeof *words);
    if (!words) {
        fprintf(stderr, "slotmark profile: there is no memory to start\n");
        return NULL;
    }
    words[0] = profile;
    words[1] = counted;
    *count = 3;
    for (int i = 1; i < argc; i++) {
        const size_t name = strcspn(argv[i], "=");
        size_t k = 0;
        while (parents[k] && (strlen(parents[k]) != name || strncmp(argv[i], parents[k], name))) k++;
        if (!parents[k])
            words[(*count)++] = argv[i];
        else if (!argv[i][name])
            i++; /* its value */
    }
    return words;
}

int profile_main(int argc, char **argv)
{
    char why[768] = "";
    const char *model = NULL;
    struct run *run = calloc(1, sizeof *run);
    int code;
    if (!run) {
        fprintf(stderr, "slotmark profile: there is no memory to start\n");
        return 2;
    }
    if (argc > 2 && !strcmp(argv[1], "--counted")) {
        run->child = strtoul(argv[2], NULL, 10);
        argc -= 2;
        argv += 2;
    }
    if (!(run->words = child_words(argc, argv, &run->word_count))) {
        free(run);
        return 2;
    }
    switch (profile_options_parse(&run->options, argc, argv, &model, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: code = 0; break;
    case SM_ARGUMENTS_BAD: code = 2; break;
    default: code = run_profile(run, model, why, sizeof why);
    }
    if (code == 2) fprintf(stderr, "slotmark profile: %s\n", why);
    sm_callgrind_close(&run->callgrind);
    free(run->words);
    for (size_t i = 0; i < SM_RECIPES_MOST; i++)
        for (size_t in = 0; in < SM_SCALE_INS; in++) sm_weights_destroy(run->weights[i][in]);
    for (size_t i = 0; i < run->counted_count; i++) sm_counted_destroy(run->counted[i]);
    sm_tokenizer_close(run->tokenizer);
    sm_source_close(&run->source);
    free(run->tokens);
    free(run->trials);
    free(run);
    return code;
}
