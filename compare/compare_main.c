/* slotmark compare, gate and variants: two sides, their kernels in pairs, one verdict each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "arguments.h"
#include "compare.h"
#include "counts.h"
#include "duet.h"
#include "engine.h"

enum { FORM_TEXT, FORM_JSON, FORM_CSV, FORM_MARKDOWN, FORM_JUNIT };
static const char *const forms[] = {"text", "json", "csv", "md", "junit", NULL};
static const char *const modes[] = {"duet", "lock", NULL};
static const char *const fail_on[] = {"proven", "not-excluded", "never", NULL};

struct wish {
    const char *command;
    int form, fail_on, mode;
    const char *file, *glob, *store, *model;
    char **passed; /* for profile */
    size_t passed_count;
    struct sm_list rows, max_seq, head_dim, out, in, cols, kv_heads, heads, valid, window;
    double budget, slice_us, tolerance_percent, floor_percent, confidence, discovery_percent;
    int64_t seed, pairs, threads;
    bool thorough, as_built, count, allow_removed, everything, quiet, dry_run;
};

static void standard(struct wish *w, const char *command)
{
    *w = (struct wish){.command = command,
                       .budget = 300,
                       .slice_us = 200,
                       .tolerance_percent = 1,
                       .floor_percent = 0.25,
                       .confidence = 95,
                       .discovery_percent = 5,
                       .pairs = 50,
                       .threads = 1,
                       .seed = -1};
}

static int print_report(const struct sm_report *r, const struct wish *w, FILE *out)
{
    switch (w->form) {
    case FORM_JSON: return sm_report_json(r, out);
    case FORM_CSV: sm_report_csv(r, out); break;
    case FORM_MARKDOWN: sm_report_markdown(r, out); break;
    case FORM_JUNIT: sm_report_junit(r, out); break;
    default: sm_report_text(r, out);
    }
    return ferror(out) ? -1 : 0;
}

static int tell(const struct wish *w, const char *why, int code)
{
    fprintf(stderr, "slotmark %s: %s\n", w->command, why);
    return code;
}

/* One base against one other: the exit code. */
static int compare_specs(const struct wish *w, struct sm_history *history, const char *base, const char *other,
                         FILE *out)
{
    const struct sm_pairing_axis axes[] = {{"rows", &w->rows},
                                           {"max_seq", &w->max_seq},
                                           {"head_dim", &w->head_dim},
                                           {"out", &w->out},
                                           {"in", &w->in},
                                           {"cols", &w->cols},
                                           {"heads", &w->heads},
                                           {"kv_heads", &w->kv_heads},
                                           {"valid", &w->valid},
                                           {"window", &w->window},
                                           {NULL, NULL}};
    const struct sm_engine_request request = {
        .purpose = w->command,
        .pairing = {w->glob, axes, NULL},
        .rounds = {.seed = (uint64_t)w->seed,
                   .budget_s = w->budget,
                   .tolerance = w->tolerance_percent / 100,
                   .floor = w->floor_percent / 100,
                   .alpha = w->confidence == 99 ? 0.01 : 0.05,
                   .discovery = w->discovery_percent / 100,
                   .spending = w->thorough ? SM_SPENDING_THOROUGH : SM_SPENDING_QUICK,
                   .slice_s = 1e-6 * w->slice_us,
                   .pairs = (size_t)w->pairs,
                   .threads = (size_t)w->threads,
                   .apart = w->mode == 1,
                   .progress = w->quiet ? NULL : stderr},
        .as_built = w->as_built,
        .count = w->count,
        .history = history,
        .model = w->model,
        .passed = w->passed,
        .passed_count = w->passed_count,
        .outline = w->dry_run ? out : NULL,
        .words = w->quiet ? NULL : stderr};
    struct sm_engine_outcome outcome;
    char why[512];
    const int failed = sm_engine_run(base, other, &request, &outcome, why, sizeof why);
    if (failed) return tell(w, why, failed);
    if (w->dry_run) {
        sm_engine_free(&outcome);
        return 0;
    }
    const struct sm_report report = {.command = w->command,
                                     .arm = outcome.arm,
                                     .pairing = &outcome.pairing,
                                     .options = &request.rounds,
                                     .result = &outcome.rounds,
                                     .note = outcome.note,
                                     .fail_on = (enum sm_fail_on)w->fail_on,
                                     .gate = !strcmp(w->command, "gate"),
                                     .allow_removed = w->allow_removed,
                                     .everything = w->everything};
    int code = sm_report_exit(&report);
    if (history && sm_history_end(history, &report, why, sizeof why))
        code = tell(w, why, SM_EXIT_USAGE);
    else if (history && !w->quiet)
        fprintf(stderr, "kept in %s as session %s\n", w->store, sm_history_session(history));
    if (print_report(&report, w, out)) code = tell(w, "the report could not be written to its end", SM_EXIT_USAGE);
    sm_engine_free(&outcome);
    return code;
}

static const char *refusal(struct wish *w)
{
    if (w->passed_count && !w->model) return "what stands behind -- is for profile: it goes with --profile MODEL";
    if (w->model && w->glob) return "--bench names kernels; --profile compares whole models";
    if (w->threads < 1 || w->threads > 256) return "--threads must be 1 to 256";
    if (w->pairs < 9 || w->pairs > SM_DUET_PAIRS_MOST) return "--pairs must be 9 to 200";
    if (!(w->slice_us >= 1 && w->slice_us <= 1e6)) return "--slice-us must be 1 to 1000000";
    if (!(w->tolerance_percent > 0 && w->tolerance_percent < 100)) return "--tolerance must be above 0 and below 100";
    if (!(w->floor_percent > 0 && w->floor_percent < 100)) return "--floor must be above 0 and below 100";
    if (w->confidence != 95 && w->confidence != 99) return "--confidence must be 95 or 99";
    if (!(w->discovery_percent > 0 && w->discovery_percent <= 100)) return "--fdr must be above 0 and at most 100";
    if (w->seed < 0) {
        uint32_t drawn = 1;
        if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) drawn = (uint32_t)getpid();
        w->seed = drawn;
    }
    return NULL;
}

/* The others in turn; several of them make several reports, one after the other. */
static int run_all(const struct wish *w, char **operands, size_t count, bool variants)
{
    struct sm_history *history = NULL;
    FILE *out = stdout;
    char why[512], spec[2][300];
    int code = 0;
    /* a dry run makes no history; of one that is there it reads the names */
    if (w->store && (!w->dry_run || !access(w->store, F_OK)) && sm_history_open(&history, w->store, why, sizeof why))
        return tell(w, why, SM_EXIT_USAGE);
    const char *base = operands[0];
    char anchor[256];
    if (!strcmp(w->command, "record") && !strcmp(base, "anchor")) {
        base = anchor;
        if ((!history && sm_history_open_existing(&history, w->store, why, sizeof why)) ||
            sm_history_anchor(history, w->glob, anchor, sizeof anchor, why, sizeof why)) {
            sm_history_close(history);
            return tell(w, why, SM_EXIT_USAGE);
        }
    }
    if (w->file && !w->dry_run && !(out = fopen(w->file, "wx"))) {
        fprintf(stderr, "slotmark %s: writing %s: %s\n", w->command, w->file, strerror(errno));
        sm_history_close(history);
        return SM_EXIT_USAGE;
    }
    for (size_t i = 1; i < count || i == 1; i++) {
        snprintf(spec[0], sizeof spec[0], "%s%s", variants ? ".@" : "", base);
        snprintf(spec[1], sizeof spec[1], "%s%s", variants ? ".@" : "", i < count ? operands[i] : "WORKTREE");
        const int this_code = compare_specs(w, history, spec[0], spec[1], out);
        if (this_code && !code) code = this_code;
        if (this_code == SM_EXIT_INTERRUPTED) break;
    }
    sm_history_close(history);
    if (out != stdout && fclose(out)) {
        fprintf(stderr, "slotmark %s: writing %s: %s\n", w->command, w->file, strerror(errno));
        code = SM_EXIT_USAGE;
    }
    return code;
}

static int run_command(const char *command, int argc, char **argv, const char *usage, const char *summary,
                       const char *example, size_t least, size_t most)
{
    struct wish w;
    struct sm_arguments_rest rest;
    char why[512];
    standard(&w, command);
    const struct sm_argument options[] = {
        {"bench", 0, SM_ARGUMENT_STRING, &w.glob, NULL, "GLOB", "family or family/variant (default: all but ref)"},
        {"rows", 0, SM_ARGUMENT_LIST, &w.rows, NULL, "LIST", "of families that have rows; so are the next ones"},
        {"max-seq", 0, SM_ARGUMENT_LIST, &w.max_seq, NULL, "LIST", "cache lengths"},
        {"head-dim", 0, SM_ARGUMENT_LIST, &w.head_dim, NULL, "LIST", "head dimensions"},
        {"heads", 0, SM_ARGUMENT_LIST, &w.heads, NULL, "LIST", "query heads"},
        {"kv-heads", 0, SM_ARGUMENT_LIST, &w.kv_heads, NULL, "LIST", "KV heads"},
        {"valid", 0, SM_ARGUMENT_LIST, &w.valid, NULL, "LIST", "valid slots"},
        {"window", 0, SM_ARGUMENT_LIST, &w.window, NULL, "LIST", "sliding windows"},
        {"matmul-out", 0, SM_ARGUMENT_LIST, &w.out, NULL, "LIST", "output channels"},
        {"matmul-in", 0, SM_ARGUMENT_LIST, &w.in, NULL, "LIST", "input channels"},
        {"cols", 0, SM_ARGUMENT_LIST, &w.cols, NULL, "LIST", "columns of softcap, norms, ..."},
        {"profile", 0, SM_ARGUMENT_STRING, &w.model, NULL, "MODEL",
         "whole models instead, process by process; -- OPTION... for profile"},
        {"threads", 0, SM_ARGUMENT_INTEGER, &w.threads, NULL, "N", "of the team that runs a kernel (default 1)"},
        {"budget", 0, SM_ARGUMENT_DURATION, &w.budget, NULL, "TIME", "of all launches (default 5m)"},
        {"tolerance", 0, SM_ARGUMENT_NUMBER, &w.tolerance_percent, NULL, "%",
         "changes within are accepted (default 1)"},
        {"floor", 0, SM_ARGUMENT_NUMBER, &w.floor_percent, NULL, "%", "smaller changes are never claimed (0.25)"},
        {"confidence", 0, SM_ARGUMENT_NUMBER, &w.confidence, NULL, "%", "of each interval: 95 (default) or 99"},
        {"fdr", 0, SM_ARGUMENT_NUMBER, &w.discovery_percent, NULL, "%", "false discovery rate (5; 100: not adjusted)"},
        {"thorough", 0, SM_ARGUMENT_FLAG, &w.thorough, NULL, NULL, "stop later: finds smaller changes"},
        {"as-built", 0, SM_ARGUMENT_FLAG, &w.as_built, NULL, NULL,
         "do not measure changes again with the code placed anew"},
        {"count", 0, SM_ARGUMENT_FLAG, &w.count, NULL, NULL, "count the instructions of changed kernels (callgrind)"},
        {"mode", 0, SM_ARGUMENT_CHOICE, &w.mode, modes, "MODE",
         "duet: both in one process (default); lock: in two that take turns"},
        {"slice-us", 0, SM_ARGUMENT_NUMBER, &w.slice_us, NULL, "N",
         "microseconds that a timed slice lasts at least (200)"},
        {"pairs", 0, SM_ARGUMENT_INTEGER, &w.pairs, NULL, "N", "of slices in a launch (default 50)"},
        {"seed", 0, SM_ARGUMENT_INTEGER, &w.seed, NULL, "N", "of orders and operands (default: drawn, and printed)"},
        {"fail-on", 0, SM_ARGUMENT_CHOICE, &w.fail_on, fail_on, "WHAT", "gate: proven (default), not-excluded, never"},
        {"allow-removed", 0, SM_ARGUMENT_FLAG, &w.allow_removed, NULL, NULL, "gate: kernels may disappear"},
        {"store", 0, SM_ARGUMENT_STRING, &w.store, NULL, "FILE", "keep launches and verdicts in this history (SQLite)"},
        {"all", 0, SM_ARGUMENT_FLAG, &w.everything, NULL, NULL, "list identical and added kernels too"},
        {"dry-run", 0, SM_ARGUMENT_FLAG, &w.dry_run, NULL, NULL,
         "list what would be compared and its time; build and run none"},
        {"quiet", 0, SM_ARGUMENT_FLAG, &w.quiet, NULL, NULL, "no progress"},
        {"output", 'o', SM_ARGUMENT_CHOICE, &w.form, forms, "FORM", "text (default), json, csv, md, junit"},
        {"file", 0, SM_ARGUMENT_STRING, &w.file, NULL, "FILE", "write the report there; it must not exist"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {command, usage, summary, options, example, least, most, true};
    switch (sm_arguments_parse(&spec, argc, argv, &rest, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 0;
    case SM_ARGUMENTS_BAD: fprintf(stderr, "slotmark %s: %s\n", command, why); return SM_EXIT_USAGE;
    case SM_ARGUMENTS_OK: break;
    }
    w.passed = rest.passed;
    w.passed_count = rest.passed_count;
    const char *wrong = refusal(&w);
    if (wrong) {
        fprintf(stderr, "slotmark %s: %s\n", command, wrong);
        return SM_EXIT_USAGE;
    }
    if (!strcmp(command, "record") && !w.store) return tell(&w, "--store FILE says where to keep it", SM_EXIT_USAGE);
    return run_all(&w, rest.operands, rest.operand_count, !strcmp(command, "variants"));
}

#define SIDES                                                                                                          \
    "A side is a git revision, WORKTREE (the files as they are), a build folder, a .so (kernels or a plug-in), or\n"   \
    ". (this build); each may take @VARIANT. Revisions are built in a cache; your checkout is not touched."

int compare_main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], SM_COUNTS_WORD)) return sm_counts_child(argc - 2, argv + 2);
    if (argc > 1 && !strcmp(argv[1], SM_DUET_WORD)) return sm_duet_child(argc - 2, argv + 2);
    return run_command("compare", argc, argv, "[OPTION]... BASE [OTHER...]",
                       "Says which of two builds is faster, kernel by kernel, and how sure that is.\n" SIDES,
                       "slotmark compare HEAD~1 --bench 'matmul_*' --rows 1,32", 1, 16);
}

int gate_main(int argc, char **argv)
{
    return run_command(
        "gate", argc, argv, "[OPTION]... BASE [HEAD]",
        "compare with an exit code for CI: 0 fine, 1 slower beyond the tolerance (proved), 3 build or\n"
        "answer wrong, 4 not excluded, 5 not comparable, 6 nothing matched or removed, 7 too noisy.\n" SIDES,
        "slotmark gate main WORKTREE -o md", 1, 2);
}

int variants_main(int argc, char **argv)
{
    return run_command("variants", argc, argv, "[OPTION]... VARIANT OTHER...",
                       "Compares variants of this build with each other, by name, in every family that has both.",
                       "slotmark variants literal_avx2 skip_avx2 --bench 'attention_*' --max-seq 1024 --valid 200", 2,
                       16);
}

int record_main(int argc, char **argv)
{
    return run_command(
        "record", argc, argv, "[OPTION]... --store FILE ANCHOR [REVISION]",
        "compare against an anchor, kept in a history: trend reads the series that this makes. The word\n"
        "`anchor` is the revision that `slotmark history anchor REVISION` set.\n" SIDES,
        "slotmark record v1.0 HEAD --store results/history.sqlite", 1, 2);
}
