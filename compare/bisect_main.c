/* slotmark bisect: the commit that changed a kernel, by comparisons and not by single times (comparison: 2.12). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "compare.h"
#include "engine.h"

#define COMMITS_MOST 100000

struct bisection {
    const char *good, *bad, *glob;
    int64_t seed, threads;
    double floor, alpha;
    bool quiet;
    char (*commits)[48]; /* good first, bad last, along first parents */
    size_t count;
    size_t comparisons;
};

enum step { STEP_GOOD, STEP_BAD, STEP_UNKNOWN, STEP_UNBUILDABLE, STEP_BROKEN };

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

/* One comparison of the kernel between two commits. 0 and its estimate; else SM_EXIT_*. */
static int compare(struct bisection *b, const char *base, const char *other, struct sm_comparison *to, char *why,
                   size_t why_bytes)
{
    const struct sm_pairing_axis no_axes[] = {{NULL, NULL}};
    const struct sm_engine_request request = {.purpose = "bisect",
                                              .pairing = {b->glob, no_axes},
                                              .rounds = {.seed = (uint64_t)b->seed + b->comparisons++,
                                                         .tolerance = b->floor,
                                                         .floor = b->floor,
                                                         .alpha = b->alpha,
                                                         .discovery = 1,
                                                         .spending = SM_SPENDING_QUICK,
                                                         .slice_s = 200e-6,
                                                         .pairs = 50,
                                                         .threads = (size_t)b->threads,
                                                         .no_controls = true},
                                              .as_built = true,
                                              .words = b->quiet ? NULL : stderr};
    struct sm_engine_outcome o;
    const int failed = sm_engine_run(base, other, &request, &o, why, why_bytes);
    if (failed) return failed;
    const size_t count = o.pairing.count;
    const bool interrupted = o.rounds.interrupted;
    *to = o.pairing.list[0];
    sm_engine_free(&o);
    if (interrupted) return SM_EXIT_INTERRUPTED;
    if (count == 1) return 0;
    snprintf(why, why_bytes, "--bench %s matches %zu kernels; it must be one, as family/variant", b->glob, count);
    return SM_EXIT_USAGE;
}

/* Which side of half the effect a commit is on. A wrong answer is a commit to skip, like one that does not build. */
static enum step judge(struct bisection *b, size_t at, double effect, char *why, size_t why_bytes)
{
    struct sm_comparison c;
    const int code = compare(b, b->commits[0], b->commits[at], &c, why, why_bytes);
    if (code == SM_EXIT_FAILED || code == SM_EXIT_REFUSED || code == SM_EXIT_NOTHING) return STEP_UNBUILDABLE;
    if (code) return STEP_BROKEN;
    if (c.verdict == SM_VERDICT_IDENTICAL) return STEP_GOOD;
    if (!c.looks) return STEP_UNBUILDABLE;
    const double half = effect / 2, low = effect > 0 ? c.estimate.low : -c.estimate.high,
                 high = effect > 0 ? c.estimate.high : -c.estimate.low, limit = fabs(half);
    if (!b->quiet)
        fprintf(stderr, "%.12s  %+.2f %%  [%+.2f, %+.2f]\n", b->commits[at], 100 * expm1(c.estimate.effect),
                100 * expm1(c.estimate.low), 100 * expm1(c.estimate.high));
    if (high < limit) return STEP_GOOD;
    if (low > limit) return STEP_BAD;
    return c.estimate.effect / half > 1 ? STEP_BAD : STEP_GOOD; /* 40 launches could not tell: the likelier side */
}

/* The first commit that can be judged in [from, to), tried from the middle outwards. to: there is none. */
static size_t judged_near_middle(struct bisection *b, size_t from, size_t to, double effect, enum step *step, char *why,
                                 size_t why_bytes)
{
    const size_t middle = from + (to - from) / 2;
    for (size_t d = 0; d <= to - from; d++)
        for (int side = 0; side < (d ? 2 : 1); side++) {
            const size_t at = side ? middle + d : middle - d;
            if (at < from || at >= to || (!side && d > middle)) continue;
            *step = judge(b, at, effect, why, why_bytes);
            if (*step != STEP_UNBUILDABLE) return at;
            if (!b->quiet) fprintf(stderr, "%.12s  skipped: %s\n", b->commits[at], why);
        }
    return to;
}

static int report(struct bisection *b, size_t good, size_t bad, double effect, char *why, size_t why_bytes)
{
    struct sm_comparison c;
    if (bad - good > 1)
        printf("the change is in one of %zu commits that cannot be told apart, from %.12s to %.12s\n", bad - good,
               b->commits[good + 1], b->commits[bad]);
    const int code = compare(b, b->commits[good], b->commits[bad], &c, why, why_bytes);
    if (code) return tell(why, code);
    const double share = c.verdict == SM_VERDICT_IDENTICAL ? 0 : c.estimate.effect / effect;
    printf("%s: %+.2f %% from %.12s to %.12s", b->glob, 100 * expm1(share * effect), b->commits[good], b->commits[bad]);
    printf(", of %+.2f %% in all; %zu comparisons\n", 100 * expm1(effect), b->comparisons);
    if (share < 0.5) printf("that is less than half: there are several causes\n");
    char line[256];
    const char *const subject[] = {"git", "log", "-1", "--format=%h %s", b->commits[bad], NULL};
    if (!sm_command_line(subject, NULL, line, sizeof line)) printf("first changed by: %s\n", line);
    return 0;
}

static int bisect(struct bisection *b)
{
    struct sm_comparison c;
    char why[512];
    if (list_commits(b, why, sizeof why)) return tell(why, SM_EXIT_USAGE);
    const int code = compare(b, b->good, b->bad, &c, why, sizeof why);
    if (code) return tell(why, code);
    const double effect = c.estimate.effect, floor = log1p(b->floor);
    if (c.verdict == SM_VERDICT_IDENTICAL || !c.looks || (c.estimate.low <= floor && c.estimate.high >= -floor)) {
        snprintf(why, sizeof why, "%s does not differ between %s and %s beyond %g %%", b->glob, b->good, b->bad,
                 100 * b->floor);
        return tell(why, SM_EXIT_NOTHING);
    }
    if (!b->quiet) fprintf(stderr, "%+.2f %% over %zu commits\n", 100 * expm1(effect), b->count - 1);
    size_t good = 0, bad = b->count - 1;
    while (bad - good > 1) {
        enum step step = STEP_UNKNOWN;
        const size_t at = judged_near_middle(b, good + 1, bad, effect, &step, why, sizeof why);
        if (at == bad) break; /* nothing between them can be judged */
        if (step == STEP_BROKEN) return tell(why, SM_EXIT_USAGE);
        if (step == STEP_GOOD)
            good = at;
        else
            bad = at;
    }
    return report(b, good, bad, effect, why, sizeof why);
}

int bisect_main(int argc, char **argv)
{
    struct bisection b = {.threads = 1, .seed = 1, .alpha = 0.01};
    double floor_percent = 0.25;
    char why[512];
    struct sm_arguments_rest rest;
    const struct sm_argument options[] = {
        {"bench", 0, SM_ARGUMENT_STRING, &b.glob, NULL, "NAME", "the kernel, as family/variant"},
        {"floor", 0, SM_ARGUMENT_NUMBER, &floor_percent, NULL, "%", "smaller changes are none (default 0.25)"},
        {"threads", 0, SM_ARGUMENT_INTEGER, &b.threads, NULL, "N", "of the team that runs it (default 1)"},
        {"seed", 0, SM_ARGUMENT_INTEGER, &b.seed, NULL, "N", "of orders and operands (default 1)"},
        {"quiet", 0, SM_ARGUMENT_FLAG, &b.quiet, NULL, NULL, "no word on each step"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        "bisect",
        "[OPTION]... GOOD BAD --bench FAMILY/VARIANT",
        "Finds the commit on the line of first parents that changed a kernel's time, by comparing each candidate\n"
        "with GOOD. Commits that do not build or answer wrong are skipped. The checkout is not touched.",
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
    const int code = bisect(&b);
    free(b.commits);
    return code;
}
