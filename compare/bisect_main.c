/* slotmark bisect: the commit that changed a kernel, by comparisons and not by single times. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "bisect.h"
#include "clock.h"
#include "command.h"
#include "compare.h"
#include "engine.h"

#define COMMITS_MOST 100000

struct bisection {
    const char *good, *bad, *glob, *store;
    int64_t seed, threads;
    double floor, budget; /* s; 0: none */
    uint64_t started;
    bool quiet;
    struct sm_history *history;
    char (*commits)[48]; /* good first, bad last, along first parents */
    size_t count;
    uint64_t comparisons;
    int code; /* of the comparison that ended the search */
};

static int tell(const char *why, int code)
{
    fprintf(stderr, "slotmark bisect: %s\n", why);
    return code;
}

/* The commits after good up to bad, along first parents; 0, or -1 and a sentence. */
static int list_commits(struct bisection *b, char *why, size_t why_bytes)
{
    char range[400], path[] = "/tmp/slotmark-commits-XXXXXX", line[64];
    snprintf(range, sizeof range, "%s..%s", b->good, b->bad);
    const char *const list[] = {"git", "rev-list", "--first-parent", "--reverse", range, "--", NULL};
    const int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    b->commits = malloc(COMMITS_MOST * sizeof *b->commits);
    if (!f || !b->commits) {
        snprintf(why, why_bytes, "listing the commits: no memory or no place in /tmp");
        if (f) fclose(f);
        return -1;
    }
    const int failed = sm_command_run(list, path, NULL);
    snprintf(b->commits[0], sizeof *b->commits, "%.47s", b->good);
    b->count = 1;
    while (!failed && b->count < COMMITS_MOST && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(b->commits[b->count++], sizeof *b->commits, "%.47s", line);
    }
    fclose(f);
    unlink(path);
    if (failed || b->count < 2) {
        snprintf(why, why_bytes, "listing the commits from %s to %s: git shows none on the line of first parents",
                 b->good, b->bad);
        return -1;
    }
    return 0;
}

/* The engine's exit code, and the one comparison of its outcome. */
static int run_engine(struct bisection *b, const char *base, const char *other, double limit, struct sm_comparison *to,
                      char *why, size_t why_bytes)
{
    const struct sm_pairing_axis no_axes[] = {{NULL, NULL}};
    const struct sm_engine_request request = {.purpose = "bisect",
                                              .pairing = {.glob = b->glob, .axes = no_axes},
                                              .rounds = {.seed = (uint64_t)b->seed + b->comparisons++,
                                                         .tolerance = expm1(limit),
                                                         .floor = expm1(limit),
                                                         .alpha = 0.01,
                                                         .discovery = 1,
                                                         .spending = SM_SPENDING_QUICK,
                                                         .slice_s = 200e-6,
                                                         .pairs = 50,
                                                         .threads = (size_t)b->threads,
                                                         .no_controls = true},
                                              .anew = true,
                                              .history = b->history,
                                              .words = b->quiet ? NULL : stderr};
    struct sm_engine_outcome o;
    int code = sm_engine_run(base, other, &request, &o, why, why_bytes);
    if (code) return code;
    const struct sm_report report = {
        .command = "bisect", .arm = o.arm, .pairing = &o.pairing, .options = &request.rounds, .result = &o.rounds};
    if (b->history && sm_history_end(b->history, &report, why, why_bytes)) code = SM_EXIT_USAGE;
    *to = o.pairing.list[0];
    if (!code && o.pairing.count != 1) {
        snprintf(why, why_bytes, "--bench %s matches %zu kernels; it must be one, as family/variant", b->glob,
                 o.pairing.count);
        code = SM_EXIT_USAGE;
    }
    if (o.rounds.interrupted) {
        snprintf(why, why_bytes, "interrupted");
        code = SM_EXIT_INTERRUPTED;
    }
    sm_engine_free(&o);
    return code;
}

/* A wrong answer is a commit to skip, like one that does not build. */
static enum sm_bisect_answer compare(void *state, size_t base, size_t other, double limit, struct sm_comparison *to,
                                     char *why, size_t why_bytes)
{
    struct bisection *b = state;
    if (b->budget > 0 && b->comparisons && 1e-9 * (double)(sm_clock_ns() - b->started) > b->budget) {
        snprintf(why, why_bytes, "the budget is used up before the change is found");
        b->code = SM_EXIT_NOT_EXCLUDED;
        return SM_BISECT_STOP;
    }
    b->code = run_engine(b, b->commits[base], b->commits[other], limit, to, why, why_bytes);
    if (b->code == SM_EXIT_FAILED || b->code == SM_EXIT_REFUSED || b->code == SM_EXIT_NOTHING)
        return SM_BISECT_UNUSABLE;
    return b->code ? SM_BISECT_STOP : SM_BISECT_OK;
}

static void step(void *state, size_t at, const struct sm_comparison *c, const char *why)
{
    const struct bisection *b = state;
    if (b->quiet) return;
    if (!c)
        fprintf(stderr, "%.12s  skipped: %s\n", b->commits[at], why);
    else if (c->verdict == SM_VERDICT_IDENTICAL)
        fprintf(stderr, "%.12s  identical\n", b->commits[at]);
    else
        fprintf(stderr, "%.12s  %+.2f %%  [%+.2f, %+.2f]\n", b->commits[at], 100 * expm1(c->estimate.effect),
                100 * expm1(c->estimate.low), 100 * expm1(c->estimate.high));
}

static void report(const struct bisection *b, const struct sm_bisect_result *r, const struct sm_culprit *c)
{
    char line[256];
    if (c->bad - c->good > 1)
        printf("the change is in one of %zu commits that cannot be told apart, from %.12s to %.12s\n", c->bad - c->good,
               b->commits[c->good + 1], b->commits[c->bad]);
    printf("%s: %+.2f %% from %.12s to %.12s, of %+.2f %% in all; %zu comparisons\n", b->glob, 100 * expm1(c->effect),
           b->commits[c->good], b->commits[c->bad], 100 * expm1(r->effect), r->comparisons);
    const char *const subject[] = {"git", "log", "-1", "--format=%h %s", b->commits[c->bad], NULL};
    if (!sm_command_line(subject, NULL, line, sizeof line)) printf("first changed by: %s\n", line);
}

/* What the budget left, and how to go on. */
static void report_left(const struct bisection *b, const struct sm_bisect_result *r)
{
    for (size_t i = 0; i < r->left_count; i++) {
        const char *good = b->commits[r->left[i].good], *bad = b->commits[r->left[i].bad];
        printf("left: %zu commits after %.12s up to %.12s, after %zu comparisons; go on with\n",
               r->left[i].bad - r->left[i].good, good, bad, r->comparisons);
        printf("    slotmark bisect %s %s --bench '%s' --floor %g --threads %lld", good, bad, b->glob, 100 * b->floor,
               (long long)b->threads);
        if (b->store) printf(" --store '%s'", b->store);
        printf("\n");
    }
}

/* When the commit is a merge: the first commit of its branch, and its last, or false. */
static bool branch_of(const char *merge, char *first, char *last, size_t bytes)
{
    char parent[64];
    snprintf(parent, sizeof parent, "%.48s^1", merge);
    snprintf(last, bytes, "%.40s^2", merge);
    const char *const there[] = {"git", "rev-parse", "--verify", "-q", last, NULL};
    const char *const base[] = {"git", "merge-base", parent, last, NULL};
    char commit[64];
    return !sm_command_line(there, NULL, commit, sizeof commit) && !sm_command_line(base, NULL, first, bytes) && *first;
}

/* One line of commits: what changed it, and what changed it in the branches of those that are merges. */
static int search(struct bisection *b, bool branch)
{
    struct sm_bisect_result r;
    char why[512], first[48], last[48];
    if (list_commits(b, why, sizeof why)) return tell(why, SM_EXIT_USAGE);
    const struct sm_bisect line = {b->count, log1p(b->floor), compare, step, b};
    if (sm_bisect_search(&line, &r, why, sizeof why)) {
        if (b->code != SM_EXIT_NOT_EXCLUDED) return tell(why, b->code ? b->code : SM_EXIT_REFUSED);
        for (size_t i = 0; i < r.count; i++) report(b, &r, &r.culprit[i]);
        report_left(b, &r);
        return tell(why, b->code);
    }
    if (!r.count) {
        snprintf(why, sizeof why, "%s does not differ between %s and %s beyond %g %%", b->glob, b->good, b->bad,
                 100 * b->floor);
        if (!branch) return tell(why, SM_EXIT_NOTHING);
        printf("the branch alone does not show it: %s\n", why); /* it comes from both sides together */
        return 0;
    }
    if (r.count > 1) printf("there are several causes: %zu were found\n", r.count);
    for (size_t i = 0; i < r.count; i++) {
        report(b, &r, &r.culprit[i]);
        if (r.culprit[i].bad - r.culprit[i].good > 1 ||
            !branch_of(b->commits[r.culprit[i].bad], first, last, sizeof first))
            continue;
        printf("which is a merge; its branch from %.12s:\n", first);
        struct bisection of_branch = *b;
        of_branch.good = first;
        of_branch.bad = last;
        of_branch.commits = NULL;
        const int code = search(&of_branch, true);
        free(of_branch.commits);
        if (code) return code;
    }
    return 0;
}

static int bisect(struct bisection *b)
{
    char why[512];
    if (b->store && sm_history_open(&b->history, b->store, why, sizeof why)) return tell(why, SM_EXIT_USAGE);
    const int code = search(b, false);
    sm_history_close(b->history);
    free(b->commits);
    return code;
}

int bisect_main(int argc, char **argv)
{
    struct bisection b = {.threads = 1, .seed = 1, .started = sm_clock_ns()};
    double floor_percent = 0.25;
    char why[512];
    struct sm_arguments_rest rest;
    const struct sm_argument options[] = {
        {"bench", 0, SM_ARGUMENT_STRING, &b.glob, NULL, "NAME", "the kernel, as family/variant"},
        {"floor", 0, SM_ARGUMENT_NUMBER, &floor_percent, NULL, "%", "smaller changes are none (default 0.25)"},
        {"threads", 0, SM_ARGUMENT_INTEGER, &b.threads, NULL, "N", "of the team that runs it (default 1)"},
        {"budget", 0, SM_ARGUMENT_DURATION, &b.budget, NULL, "TIME",
         "no comparison begins after it; exit code 4, and what is left (default: none)"},
        {"store", 0, SM_ARGUMENT_STRING, &b.store, NULL, "FILE",
         "a history: keeps the comparisons, knows renamed kernels"},
        {"seed", 0, SM_ARGUMENT_INTEGER, &b.seed, NULL, "N", "of orders and operands (default 1)"},
        {"quiet", 0, SM_ARGUMENT_FLAG, &b.quiet, NULL, NULL, "no word on each step"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        "bisect",
        "[OPTION]... GOOD BAD --bench FAMILY/VARIANT",
        "Finds the commits on the line of first parents, and in the branches of merges, that changed a kernel's time,\n"
        "by comparing each candidate with GOOD. Commits that do not build or answer wrong are skipped. The checkout\n"
        "is not touched.",
        options,
        "slotmark bisect v1.0 HEAD --bench rmsnorm/avx2",
        2,
        2,
        false};
    switch (sm_arguments_parse(&spec, argc, argv, &rest, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 0;
    case SM_ARGUMENTS_BAD: return tell(why, SM_EXIT_USAGE);
    case SM_ARGUMENTS_OK: break;
    }
    b.floor = floor_percent / 100;
    b.good = rest.operands[0];
    b.bad = rest.operands[1];
    if (!b.glob) return tell("--bench says which kernel", SM_EXIT_USAGE);
    if (!(b.floor > 0 && b.floor < 1)) return tell("--floor must be above 0 and below 100", SM_EXIT_USAGE);
    if (b.threads < 1 || b.threads > 256) return tell("--threads must be 1 to 256", SM_EXIT_USAGE);
    return bisect(&b);
}
