/* slotmark bench: options in, cases out, the table at the end. */
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "bench_counters.h"
#include "bench_table.h"
#include "by_compilers.h"
#include "cases.h"
#include "count.h"
#include "cpu.h"
#include "crash.h"
#include "gbench.h"
#include "guard.h"
#include "machine.h"
#include "sweep.h"
#include "timed.h"

#define PATH_BYTES 4096
#define NOT_GIVEN INT64_MIN

static const char *const kv_names[] = {"f32", "f16", "i8", "i16", NULL};

struct options {
    struct sm_sweep_choice choice;
    struct sm_strings counters, compilers;
    struct sm_list max_seq, bucket, rows, head_dim, heads, kv_heads, valid, window, softcap, vocab;
    struct sm_by_compilers by;
    const char *dims, *sweep, *cleared;
    bool quick, full, count;
    double min_time, limit;
    int64_t repetitions, seed;
    int format;
    struct sm_case_options cases;
    struct sm_gbench_flags flags;
    enum sm_case_place place;
    char out[SM_CASES_PATH_BYTES], json[PATH_BYTES], sweep_path[PATH_BYTES];
};

static int complain(const char *why)
{
    fprintf(stderr, "slotmark bench: %s\n", why);
    return 2;
}

/* The overrides in one place: option's list, axis it means. */
static int gather(struct options *o, char *why, size_t why_bytes)
{
    const struct {
        const char *axis;
        const struct sm_list *values;
    } lists[] = {{"max_seq", &o->max_seq}, {"rows", &o->bucket},       {"rows", &o->rows},   {"head_dim", &o->head_dim},
                 {"heads", &o->heads},     {"kv_heads", &o->kv_heads}, {"valid", &o->valid}, {"window", &o->window},
                 {"softcap", &o->softcap}, {"vocab", &o->vocab}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i].values->count && sm_sweep_override(&o->choice, lists[i].axis, lists[i].values, why, why_bytes))
            return -1;
    if (o->dims && sm_sweep_override_text(&o->choice, o->dims, why, why_bytes)) return -1;
    for (size_t i = 0; i < o->choice.threads.count; i++) {
        const int64_t threads = o->choice.threads.value[i];
        if (threads >= 1 && threads <= SM_TEAM_MOST) continue;
        snprintf(why, why_bytes, "--threads: a team has 1 to %d threads, not %lld", SM_TEAM_MOST, (long long)threads);
        return -1;
    }
    return 0;
}

static int settle(struct options *o, char *why, size_t why_bytes)
{
    if ((o->quick && o->full) || (o->sweep && (o->quick || o->full))) {
        snprintf(why, why_bytes, "--quick, --full and --sweep exclude each other");
        return -1;
    }
    if (o->flags.min_time > 0) o->min_time = o->flags.min_time;
    if (o->flags.repetitions) o->repetitions = (int64_t)o->flags.repetitions;
    if (o->min_time == 0) o->min_time = o->full ? 0.02 : 0.004;
    if (o->repetitions == NOT_GIVEN) o->repetitions = o->full ? 11 : 5;
    if (!(o->min_time > 0 && o->min_time <= 60)) {
        snprintf(why, why_bytes, "--min-time must be above 0 and at most 60 seconds");
        return -1;
    }
    if (o->repetitions < 1 || o->repetitions > 1000) {
        snprintf(why, why_bytes, "--reps must be 1 to 1000, not %lld", (long long)o->repetitions);
        return -1;
    }
    o->choice.seed = (uint64_t)o->seed;
    o->choice.features = sm_cpu_features();
    if (o->count) o->choice.features &= SM_COUNT_FEATURES;
    /* parts counted one after another need no processor for each */
    if (!o->count) o->choice.hardware_threads = sm_machine()->threads > 0 ? (size_t)sm_machine()->threads : 0;
    if (o->count && o->compilers.count) {
        snprintf(why, why_bytes, "--count counts the kernels of this program: it goes without --compilers");
        return -1;
    }
    if (o->flags.list) o->cases.dry_run = true;
    const char *folder = getenv("SLOTMARK_SWEEPS");
    snprintf(o->sweep_path, sizeof o->sweep_path, "%s/%s.sweep", folder && *folder ? folder : SM_SWEEP_FOLDER,
             o->full ? "full" : "quick");
    if (o->sweep) snprintf(o->sweep_path, sizeof o->sweep_path, "%s", o->sweep);
    return gather(o, why, why_bytes);
}

/* 0: go on; 1: help was printed; -1: why. */
static int read_options(struct options *o, int argc, char **argv, char *why, size_t why_bytes)
{
    struct sm_sweep_choice *c = &o->choice;
    const struct sm_argument table[] = {
        {"family", 0, SM_ARGUMENT_STRINGS, &c->families, NULL, "NAMES", "families, or patterns: attention_*"},
        {"group", 0, SM_ARGUMENT_STRINGS, &c->groups, NULL, "NAMES", "matmul, attention, softcap, cache_write, layer"},
        {"variant", 0, SM_ARGUMENT_STRINGS, &c->variants, NULL, "NAMES", "best, levels, all, a name or pattern"},
        {"kv", 0, SM_ARGUMENT_STRINGS, &c->kv, kv_names, "TYPES", "f32, f16, i8, i16: attention and cache write"},
        {"layout", 0, SM_ARGUMENT_STRINGS, &c->layouts, NULL, "NAMES", "variants of these layouts"},
        {"max-seq", 0, SM_ARGUMENT_LIST, &o->max_seq, NULL, "LIST", "cache lengths: 256,1024 or 128..8192*2"},
        {"bucket", 0, SM_ARGUMENT_LIST, &o->bucket, NULL, "LIST", "rows of a call"},
        {"rows", 0, SM_ARGUMENT_LIST, &o->rows, NULL, "LIST", "the same as --bucket"},
        {"head-dim", 0, SM_ARGUMENT_LIST, &o->head_dim, NULL, "LIST", "64,128,256,512"},
        {"heads", 0, SM_ARGUMENT_LIST, &o->heads, NULL, "LIST", "query heads"},
        {"kv-heads", 0, SM_ARGUMENT_LIST, &o->kv_heads, NULL, "LIST", "key and value heads"},
        {"valid", 0, SM_ARGUMENT_LIST, &o->valid, NULL, "LIST", "past tokens in the cache; -1: all slots"},
        {"window", 0, SM_ARGUMENT_LIST, &o->window, NULL, "LIST", "keys a row may see; 0: all"},
        {"softcap", 0, SM_ARGUMENT_LIST, &o->softcap, NULL, "LIST", "of attention scores; 0: none"},
        {"vocab", 0, SM_ARGUMENT_LIST, &o->vocab, NULL, "LIST", "columns of softcap and argmax, rows of embeddings"},
        {"dim", 0, SM_ARGUMENT_STRING, &o->dims, NULL, "AXES", "any axes: 'out=576,1536;in=576'"},
        {"shape-of", 0, SM_ARGUMENT_STRING, &c->shape_of, NULL, "MODEL", "matrices and attention of a model's shape"},
        {"threads", 0, SM_ARGUMENT_LIST, &c->threads, NULL, "LIST", "teams to time (default 1)"},
        {"count", 0, SM_ARGUMENT_FLAG, &o->count, NULL, NULL, "count instructions exactly (callgrind), time nothing"},
        {"compilers", 0, SM_ARGUMENT_STRINGS, &o->compilers, NULL, "NAMES",
         "kernels by each, beside each other: gcc,clang"},
        {"counters", 0, SM_ARGUMENT_STRINGS, &o->counters, NULL, "LIST", "groups or files (default core; all, none)"},
        {"cold", 0, SM_ARGUMENT_FLAG, &c->cold, NULL, NULL, "rotate operands past the last cache"},
        {"hot", 0, SM_ARGUMENT_FLAG, &c->hot, NULL, NULL, "the standard; with --cold: both, side by side"},
        {"quick", 0, SM_ARGUMENT_FLAG, &o->quick, NULL, NULL, "the quick sweep (default), about a minute"},
        {"full", 0, SM_ARGUMENT_FLAG, &o->full, NULL, NULL, "the whole sweep; long: see --dry-run, --budget"},
        {"sweep", 0, SM_ARGUMENT_STRING, &o->sweep, NULL, "FILE", "a sweep of your own"},
        {"min-time", 0, SM_ARGUMENT_DURATION, &o->min_time, NULL, "TIME", "of one repetition (4ms; full 20ms)"},
        {"reps", 0, SM_ARGUMENT_INTEGER, &o->repetitions, NULL, "N", "repetitions (5; full 11)"},
        {"seed", 0, SM_ARGUMENT_INTEGER, &o->seed, NULL, "N", "of operands and of the order (1)"},
        {"order", 0, SM_ARGUMENT_CHOICE, &o->cases.order, sm_case_orders, "HOW", "random (default) or stated"},
        {"out", 0, SM_ARGUMENT_STRING, &o->cases.out, NULL, "DIR", "or FILE.jsonl; default: results/<time>-bench"},
        {"format", 'o', SM_ARGUMENT_CHOICE, &o->format, sm_bench_formats, "FORMAT", "md (default), csv, json or jsonl"},
        {"dry-run", 0, SM_ARGUMENT_FLAG, &o->cases.dry_run, NULL, NULL, "list the cases, run none"},
        {"budget", 0, SM_ARGUMENT_DURATION, &o->cases.budget, NULL, "TIME", "run what fits, spread over families"},
        {"resume", 0, SM_ARGUMENT_STRING, &o->cases.resume, NULL, "FILE", "go on in FILE with what is left (no --out)"},
        {"case-timeout", 0, SM_ARGUMENT_DURATION, &o->limit, NULL, "TIME",
         "a case that runs longer hangs (60s or more)"},
        {"quiet", 0, SM_ARGUMENT_FLAG, &o->cases.quiet, NULL, NULL, "no progress"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        .command = "bench",
        .usage = "[OPTION]... [-- GOOGLE_BENCHMARK_FLAG...]",
        .summary = "Times kernels by family, variant and shape; answers are checked before and after.\n"
                   "Lists of values go around each family's standard shape (with --quick, --full or --sweep:\n"
                   "into the lines of that sweep); without any, the quick sweep runs.",
        .options = table,
        .example = "slotmark bench --kv f16 --max-seq 256,1024 --bucket 1,8 -- --benchmark_repetitions=9",
        .passes_on = true};
    struct sm_arguments_rest rest = {0};
    sm_parse_strings("core", &o->counters, NULL, why, why_bytes);
    switch (sm_arguments_parse(&spec, argc, argv, &rest, why, why_bytes)) {
    case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 1;
    case SM_ARGUMENTS_BAD: return -1;
    case SM_ARGUMENTS_OK: break;
    }
    if (sm_gbench_flags_parse(&o->flags, rest.passed, rest.passed_count, why, why_bytes)) return -1;
    return settle(o, why, why_bytes);
}

/* Where things go: the records, and beside them Google Benchmark's file of the same name. Nothing is overwritten. */
static int open_out(struct options *o, char *why, size_t why_bytes)
{
    struct stat info;
    if (o->flags.out && strlen(o->flags.out) >= sizeof o->json) {
        snprintf(why, why_bytes, "the path of the results is too long");
        return -1;
    }
    if (o->cases.resume && access(o->cases.resume, R_OK | W_OK)) {
        snprintf(why, why_bytes, "resuming '%.900s': %s", o->cases.resume, strerror(errno));
        return -1;
    }
    if (o->cases.resume && !stat(o->cases.resume, &info) && !S_ISREG(info.st_mode)) {
        snprintf(why, why_bytes, "resuming '%.900s': it is no file of results", o->cases.resume);
        return -1;
    }
    if (sm_cases_open(&o->cases, o->out, sizeof o->out, &o->place, why, why_bytes)) return -1;
    if (o->place == SM_CASE_PLACE_GIVEN && !o->cases.resume && sm_records_claim(o->out, why, why_bytes)) return -1;
    o->cases.out = o->out;
    if (o->flags.out) {
        snprintf(o->json, sizeof o->json, "%s", o->flags.out);
        return 0;
    }
    const char *slash = strrchr(o->out, '/'), *dot = strrchr(slash ? slash : o->out, '.');
    const int stem = (int)(dot ? (size_t)(dot - o->out) : strlen(o->out));
    int length = snprintf(o->json, sizeof o->json, "%.*s.gbench.json", stem, o->out);
    for (int n = 2; !access(o->json, F_OK) && n < 1000; n++)
        length = snprintf(o->json, sizeof o->json, "%.*s.gbench.%d.json", stem, o->out, n);
    if (length >= 0 && (size_t)length < sizeof o->json) return 0;
    snprintf(why, why_bytes, "the path of the results is too long");
    return -1;
}

/* What a run goes through. */
struct run {
    struct sm_timed_session session;
    const struct sm_bench_cases *list;
};

/* The same family at the same shape with the same team, in another variant or build, still to be timed. Operands of
 * cold cases are too many to hold those of several at once. */
static bool goes_along(const struct sm_bench_case *a, const struct sm_bench_case *b)
{
    return b->planned && !b->done && !b->refused && !a->refused && !a->cold && !b->cold &&
           !strcmp(a->family->name, b->family->name) && a->threads == b->threads &&
           !memcmp(&a->shape, &b->shape, sizeof a->shape);
}

/* c, and the variants that are timed in turns with it, as many as a quarter of the memory holds. */
static size_t gather_turns(const struct run *run, struct sm_bench_case *c, struct sm_bench_case **members)
{
    const double memory = run->session.memory_bytes, each = c->refused ? 0 : (double)c->workload->footprint(&c->shape);
    size_t count = 0;
    members[count++] = c;
    for (size_t i = 0; i < run->list->count && count < SM_TURNS_MOST; i++) {
        struct sm_bench_case *other = run->list->at[i];
        if (other == c || !goes_along(c, other)) continue;
        if (!isnan(memory) && (double)(count + 1) * each > memory / 4) break;
        members[count++] = other;
    }
    return count;
}

static enum sm_case_outcome run_one(void *context, const struct sm_case *c, struct sm_case_results *results, char *why,
                                    size_t why_bytes)
{
    struct run *run = context;
    struct sm_timed_session *session = &run->session;
    struct sm_bench_case *one = c->payload, *members[SM_TURNS_MOST];
    struct sm_record *records[SM_TURNS_MOST];
    if (one->done) return SM_CASE_DONE; /* along with another */
    if (!one->refused && session->null_ns[one->threads] <= 0 && sm_timed_null(session, one->threads, why, why_bytes))
        return SM_CASE_BROKEN;
    const size_t count = gather_turns(run, one, members);
    if (count == 1) return sm_timed_case(session, one, results, why, why_bytes);
    const int outcome =
        sm_timed_turns(session, (const struct sm_bench_case *const *)members, count, records, why, why_bytes);
    if (outcome) return outcome > 0 ? SM_CASE_DROPPED : SM_CASE_BROKEN;
    bool wrong = false;
    for (size_t i = 0; i < count; i++) {
        const char *status = json_string_value(json_object_get(sm_record_json(records[i]), "status"));
        wrong |= status && !strcmp(status, "error");
        members[i]->done = true;
        sm_case_result(results, records[i]);
    }
    return wrong ? SM_CASE_WRONG : SM_CASE_DONE;
}

/* Which cases are left to run after --resume and --budget: variants are timed in turns with those alone. */
static int mark_planned(const struct sm_cases *cases, const struct sm_case_options *options, char *why,
                        size_t why_bytes)
{
    struct sm_case_plan plan;
    if (sm_cases_plan(cases, options, &plan, why, why_bytes)) return -1;
    for (size_t i = 0; i < plan.count; i++) ((struct sm_bench_case *)plan.cases[i]->payload)->planned = true;
    sm_case_plan_free(&plan);
    return 0;
}

/* The last record of each case: a resumed file may hold an earlier try, or results of another build. */
static int keep_bench(void *context, const json_t *record)
{
    const char *kind = json_string_value(json_object_get(record, "kind"));
    const char *id = json_string_value(json_object_get(record, "case"));
    if (!kind || !id || strcmp(kind, "bench")) return 0;
    return json_object_set_new(context, id, json_deep_copy(record));
}

/* Whether a case that is listed crashed, here or in the process before this one. */
static bool show(const struct options *o, const struct sm_bench_cases *list, const struct sm_timed_session *session)
{
    char why[512];
    struct sm_records_summary summary;
    json_t *by_case = json_object(), *records = json_array(), *record;
    const char *id;
    if (sm_records_read(o->out, keep_bench, by_case, &summary, why, sizeof why)) complain(why);
    if (o->by.count) /* as they are listed, compiler by compiler */
        for (size_t i = 0; i < list->count; i++) json_array_append(records, json_object_get(by_case, list->at[i]->id));
    else
        json_object_foreach(by_case, id, record) json_array_append(records, record);
    FILE *notes = o->format == SM_BENCH_MD ? stdout : stderr;
    if (o->by.count && o->format == SM_BENCH_MD)
        sm_by_compilers_print(records, stdout);
    else
        sm_bench_table_print(records, (enum sm_bench_format)o->format, stdout);
    sm_bench_counters_print(records, notes);
    sm_bench_table_notes(records, notes);
    const char *lead = "every time includes what calling a kernel that does nothing takes:";
    for (size_t t = 1; t <= SM_TEAM_MOST; t++) {
        if (!(session->null_ns[t] > 0)) continue;
        fprintf(notes, "%s %.2f ns by a team of %zu%s", lead, session->null_ns[t], t, t > 1 ? ", barrier and all" : "");
        lead = ";";
    }
    fprintf(notes, "\nrecords: %s\nGoogle Benchmark's JSON: %s\n", o->out, o->json);
    bool crashed = false;
    for (size_t i = 0; i < list->count; i++) crashed |= sm_crash_is(json_object_get(by_case, list->at[i]->id));
    json_decref(by_case);
    json_decref(records);
    return crashed;
}

static int run_cases(struct options *o, const struct sm_bench_cases *list, struct sm_cases *cases, char *why,
                     size_t why_bytes)
{
    if (o->count) return sm_count_cases(cases, &o->cases, (enum sm_bench_format)o->format, why, why_bytes);
    if (o->cases.dry_run) return sm_cases_run(cases, &o->cases, run_one, NULL, why, why_bytes);
    struct run run = {.list = list};
    struct sm_timed_session *session = &run.session;
    char cleared[600], seed[64];
    sm_timed_session_init(session);
    session->options.min_time = o->min_time;
    session->options.warm_up = o->flags.warm_up > 0 ? o->flags.warm_up : o->min_time / 2;
    session->options.repetitions = (size_t)o->repetitions;
    session->options.limit = o->limit;
    if (sm_timed_session_count(session, &o->counters, why, why_bytes)) return 2;
    if (open_out(o, why, why_bytes) || mark_planned(cases, &o->cases, why, why_bytes)) {
        sm_timed_session_end(session);
        return 2;
    }
    snprintf(seed, sizeof seed, "sm_seed=%lld", (long long)o->seed);
    snprintf(cleared, sizeof cleared, "sm_cleared_environment=%s", o->cleared);
    const char *context[18] = {seed, cleared};
    for (size_t i = 0; i < o->flags.context_count; i++) context[2 + i] = o->flags.context[i];
    session->gbench = sm_gbench_open(&(struct sm_gbench_options){.json_path = o->json,
                                                                 .context = context,
                                                                 .context_count = 2 + o->flags.context_count},
                                     why, why_bytes);
    session->rates = sm_rates_create();
    int code = 2;
    if (session->gbench && session->rates) {
        sm_crash_begin(o->out);
        code = sm_cases_run(cases, &o->cases, run_one, &run, why, why_bytes);
        sm_crash_end();
        if (sm_gbench_close(session->gbench, cleared, sizeof cleared)) complain(cleared);
        if (code != 2 && show(o, list, session) && !code) code = 1;
    }
    sm_cases_take_back(o->out, o->place);
    sm_rates_destroy(session->rates);
    sm_timed_session_end(session);
    return code;
}

static const struct sm_bench_builder *builder;

void sm_bench_build_by(const struct sm_bench_builder *by)
{
    builder = by;
}

static int list_cases(struct options *o, struct sm_bench_cases *list, struct sm_cases *cases, char *why,
                      size_t why_bytes)
{
    const struct sm_timed_options timing = {
        .min_time = o->min_time, .warm_up = o->min_time / 2, .repetitions = (size_t)o->repetitions};
    /* who names axes means just those, around each family's standard shape */
    const bool by_hand = (o->choice.override_count || o->choice.shape_of) && !o->sweep && !o->quick && !o->full;
    if (by_hand ? sm_sweep_parse("", "command line", &o->choice, list, why, why_bytes)
                : sm_sweep_load(o->sweep_path, &o->choice, list, why, why_bytes))
        return -1;
    if (o->compilers.count && sm_by_compilers(&o->by, builder, &o->compilers, o->cases.dry_run, o->cases.listing,
                                              sm_cases_progress(&o->cases), list, why, why_bytes))
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        struct sm_bench_case *c = list->at[i];
        const int matches = sm_gbench_matches(o->flags.filter, c->id, why, why_bytes);
        if (matches < 0) return -1;
        const double seconds = o->count ? sm_count_estimate(c) : sm_timed_estimate(&timing, c);
        if (matches && sm_cases_add(cases, c->id, c->family->name, seconds, c)) {
            snprintf(why, why_bytes, "no memory for the list of cases");
            return -1;
        }
    }
    if (sm_cases_count(cases)) return 0;
    snprintf(why, why_bytes, o->flags.filter ? "no case matches --benchmark_filter=%s" : "no case matches%s",
             o->flags.filter ? o->flags.filter : ": the variants or layouts asked for are in none of the families");
    return -1;
}

int bench_main(int argc, char **argv)
{
    char why[PATH_BYTES + 256] = "", cleared[512];
    const size_t strays = sm_gbench_clear_environment(cleared, sizeof cleared);
    sm_guarded_loosen();
    if (argc > 1 && !strcmp(argv[1], "--counted")) return sm_count_child(argv + 2, (size_t)argc - 2);
    struct options *o = calloc(1, sizeof *o);
    struct sm_cases *cases = sm_cases_create();
    struct sm_bench_cases list = {0};
    int code = 2;
    if (!o || !cases) {
        complain("no memory");
        goto out;
    }
    *o = (struct options){.repetitions = NOT_GIVEN, .seed = 1, .cases = SM_CASE_OPTIONS, .cleared = cleared};
    const int read = read_options(o, argc, argv, why, sizeof why);
    o->cases.command = o->count ? "count" : "bench";
    if (read > 0) code = 0;
    if (read < 0) complain(why);
    if (read) goto out;
    if (strays) fprintf(stderr, "slotmark bench: not heeded: %s\n", cleared);
    o->cases.seed = o->seed;
    omp_set_dynamic(0);
    if (list_cases(o, &list, cases, why, sizeof why)) {
        complain(why);
        goto out;
    }
    code = run_cases(o, &list, cases, why, sizeof why);
    if (code == 2) complain(why);
out:
    sm_bench_cases_free(&list);
    sm_cases_destroy(cases);
    free(o);
    return code;
}
