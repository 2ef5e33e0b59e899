/* What to do next, as far as records can tell: each sentence says what is missing, and what brings it. */
#include <string.h>

#include "html.h"
#include "report_page.h"

/* How many records' list under key ("counters", or "witnesses"'s flags) names the state or flag. */
static size_t with_state(const struct sm_results *all, const char *state)
{
    size_t n = 0;
    for (size_t i = 0; i < all->count; i++) {
        size_t c;
        json_t *counter;
        json_array_foreach(sm_json_part(all->at[i].json, "counters"), c, counter)
        {
            if (strcmp(sm_json_text(counter, "state"), state)) continue;
            n++;
            break;
        }
    }
    return n;
}

static void counters(const struct sm_results *all, FILE *to)
{
    static const char *const advice[][2] = {
        {"absent", "Some counters are absent. Bare metal, or a guest whose host passes its PMU on (KVM: <code>-cpu "
                   "host,pmu=on</code>), shows instructions, cycles and misses."},
        {"denied", "Counters were denied: <code>sysctl kernel.perf_event_paranoid=2</code> (or lower), or CAP_PERFMON, "
                   "permits them."},
        {"filtered", "Counters were filtered: in a container, permit perf_event_open in the seccomp profile (or "
                     "<code>--cap-add PERFMON</code>)."},
        {"busy", "Counters were busy: stop other profilers; <code>sysctl kernel.nmi_watchdog=0</code> frees one."},
        {"zero", "A counter opened and stayed at zero: the virtual PMU or its driver is at fault."},
        {"implausible", "A counter counted what cannot be: the virtual PMU or its driver is at fault."}};
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++) {
        const size_t n = with_state(all, advice[i][0]);
        if (n) sm_html(to, "<li>%r <span class=\"foot\">(%z records)</span></li>\n", advice[i][1], n);
    }
}

static int disturbances(const struct sm_results *all, FILE *to)
{
    json_t *tally = json_object();
    size_t disturbed = 0, c, shown = 0;
    int failed = tally ? 0 : -1;
    json_t *flag;
    for (size_t i = 0; !failed && i < all->count; i++) {
        const json_t *flags = sm_json_part(sm_json_part(all->at[i].json, "witnesses"), "flags");
        disturbed += json_array_size(flags) > 0;
        json_array_foreach(flags, c, flag)
        {
            if (json_is_string(flag)) failed |= sm_tally(tally, json_string_value(flag));
        }
    }
    if (disturbed) {
        const char *key;
        json_t *n;
        sm_html(to, "<li>%z of %z records were disturbed while measured (", disturbed, all->count);
        json_object_foreach(tally, key, n)
        {
            if (shown < 12) sm_html(to, "%r%s: %z", shown ? ", " : "", key, (size_t)json_integer_value(n));
            shown++;
        }
        fputs("): measure again when the machine is idle, or with more <code>--reps</code>, before believing a small "
              "difference.</li>\n",
              to);
    }
    json_decref(tally);
    return failed;
}

static size_t machines_saying(const struct sm_results *all, const char *key, const char *value)
{
    size_t n = 0;
    for (size_t i = 0; i < all->count; i++)
        n += !strcmp(sm_json_text(sm_json_part(all->at[i].json, "machine"), key), value);
    return n;
}

static void machine(const struct sm_results *all, FILE *to)
{
    size_t unsteady = 0, guests = 0;
    for (size_t i = 0; i < all->count; i++) {
        const json_t *m = sm_json_part(all->at[i].json, "machine");
        const char *governor = sm_json_text(m, "governor");
        unsteady += *governor && strcmp(governor, "performance");
        guests += json_is_true(json_object_get(m, "virtualised"));
    }
    if (unsteady)
        sm_html(to,
                "<li>The frequency governor was not 'performance' in %z records: <code>cpupower frequency-set -g "
                "performance</code> steadies the clock.</li>\n",
                unsteady);
    if (machines_saying(all, "huge_pages", "never"))
        fputs("<li>Transparent huge pages were off: <code>echo madvise &gt; "
              "/sys/kernel/mm/transparent_hugepage/enabled</code>.</li>\n",
              to);
    if (guests)
        fputs("<li>This is a virtual machine, whose neighbours move its times: compare builds on it with "
              "<code>slotmark compare</code>, which measures both in turns, and not by two reports.</li>\n",
              to);
}

static int build(const struct sm_results *all, FILE *to)
{
    size_t dirty = 0, other = 0, nameless = 0;
    json_t *commits = json_object();
    int failed = commits ? 0 : -1;
    for (size_t i = 0; !failed && i < all->count; i++) {
        const json_t *b = sm_json_part(all->at[i].json, "build");
        const char *type = sm_json_text(b, "type"), *commit = sm_json_text(b, "commit");
        dirty += json_is_true(json_object_get(b, "dirty"));
        other += *type && strcmp(type, "Release");
        nameless += !*commit;
        if (*commit) failed = sm_tally(commits, commit);
    }
    if (dirty)
        fputs("<li>Some of it was built with changes that no commit holds: commit them, so that results name their "
              "source.</li>\n",
              to);
    if (nameless) sm_html(to, "<li>%z records do not name the commit that they were built from.</li>\n", nameless);
    if (other) sm_html(to, "<li>%z records are of no Release build: measure with the release preset.</li>\n", other);
    if (json_object_size(commits) > 1)
        sm_html(to,
                "<li>The records are of %z commits, and figures show the newest record of each case: "
                "<code>slotmark compare</code> says whether one commit is faster than another.</li>\n",
                json_object_size(commits));
    json_decref(commits);
    return failed;
}

static void cases(const struct sm_report *report, FILE *to)
{
    const struct sm_results *all = &report->all;
    size_t failed = 0, few = 0, synthetic = 0, beyond = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct sm_result *r = &all->at[i];
        const char *kind = sm_result_text(r, "kind");
        failed += !strcmp(sm_result_text(r, "status"), "error");
        few += (!strcmp(kind, "bench") || !strcmp(kind, "profile")) && r->samples > 0 && r->samples < 5;
        synthetic += json_is_true(json_object_get(sm_json_part(r->json, "model"), "synthetic"));
        beyond += sm_result_share(r) > SM_SHARE_MOST;
    }
    if (failed)
        sm_html(to,
                "<li><a href=\"#filter=error\">%z cases failed</a>. A wrong answer is a fault of its variant: see the "
                "sentence, then <code>slotmark bench --family FAMILY --variant VARIANT</code>.</li>\n",
                failed);
    if (beyond)
        sm_html(to,
                "<li>%z cases are beyond their ceiling: their variants leave out what the mask hides, or the ceiling "
                "was measured too low, and then <code>slotmark ceilings</code> shows how steady it is.</li>\n",
                beyond);
    if (few)
        sm_html(to, "<li>%z cases have fewer than 5 samples: <code>--reps 10</code> narrows the spread.</li>\n", few);
    if (synthetic)
        sm_html(
            to,
            "<li>%z records are of synthetic weights: <code>scripts/fetch-model</code> fetches a real model.</li>\n",
            synthetic);
    for (size_t i = 0; i < report->figure_count; i++)
        if (!report->figures[i].has_data) {
            fputs("<li>Some figures lack data: the list below them says what measures it.</li>\n", to);
            break;
        }
}

int sm_report_advice(const struct sm_report *report, FILE *to)
{
    fputs("<ul>\n", to);
    cases(report, to);
    int failed = disturbances(&report->all, to);
    counters(&report->all, to);
    machine(&report->all, to);
    failed |= build(&report->all, to);
    fputs("<li><code>slotmark doctor</code> says all that is known of a machine, and what would help.</li>\n</ul>\n",
          to);
    return failed;
}
