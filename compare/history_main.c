/* slotmark history: what was kept. */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "compare.h"
#include "history.h"

struct wish {
    const char *store, *glob, *build;
    double days;
    bool explain, launches;
    int form;
    char **operands; /* after the action's name */
    size_t count;
};

static int tell(const char *why)
{
    fprintf(stderr, "slotmark history: %s\n", why);
    return SM_EXIT_USAGE;
}

/* An action returns the exit code, or -1 and a sentence. */
typedef int action_fn(struct sm_history *h, const struct wish *w, char *why, size_t why_bytes);

static int list(struct sm_history *h, const struct wish *w, char *why, size_t why_bytes)
{
    (void)w;
    return sm_history_list(h, 100, stdout, why, why_bytes);
}

static int show(struct sm_history *h, const struct wish *w, char *why, size_t why_bytes)
{
    if (w->explain) return sm_history_explain(h, w->operands[0], w->glob, stdout, why, why_bytes);
    return sm_history_show(h, w->operands[0], stdout, why, why_bytes);
}

static int check(struct sm_history *h, const struct wish *w, char *why, size_t why_bytes)
{
    const long n = sm_history_check(h, w->operands[0], why, why_bytes);
    if (n >= 0) printf("%ld verdicts differ from what their launches say\n", n);
    return n < 0 ? -1 : n > 0;
}

static int merge(struct sm_history *h, const struct wish *w, char *why, size_t why_bytes)
{
    const long n = sm_history_merge(h, w->operands[0], why, why_bytes);
    if (n >= 0) printf("%ld sessions and imports taken from %s\n", n, w->operands[0]);
    return n < 0 ? -1 : 0;
}

static int prune(struct sm_history *h, const struct wish *w, char *why, size_t why_bytes)
{
    if (!(w->days >= 0 && w->days < 1e6)) {
        snprintf(why, why_bytes, "prune: --days N says how old, 0 to 1000000");
        return -1;
    }
    const long n = sm_history_prune(h, w->days, why, why_bytes);
    if (n >= 0) printf("%ld sessions forgotten\n", n);
    return n < 0 ? -1 : 0;
}

static int forget(struct sm_history *h, const struct wish *w, char *why, size_t why_bytes)
{
    return sm_history_forget(h, w->operands[0], why, why_bytes) < 0 ? -1 : 0;
}

static int alias(struct sm_history *h, const struct wish *w, char *why, size_t why_bytes)
{
    if (!w->count) return sm_history_names(h, "alias", stdout, why, why_bytes);
    if (w->count == 2) return sm_history_alias(h, w->operands[0], w->operands[1], why, why_bytes);
    snprintf(why, why_bytes, "alias: say OLD NEW, each as FAMILY/VARIANT, or nothing to list them");
    return -1;
}

static int anchor(struct sm_history *h, const struct wish *w, char *why, size_t why_bytes)
{
    if (!w->count) return sm_history_names(h, "anchor", stdout, why, why_bytes);
    return sm_history_set_anchor(h, w->glob, w->operands[0], why, why_bytes);
}

static int export(struct sm_history *h, const struct wish *w, char *why, size_t why_bytes)
{
    return sm_history_export(h, w->form, w->launches, stdout, why, why_bytes);
}

/* Files that can be read are taken, whatever comes of the others. */
static int import(struct sm_history *h, const struct wish *w, char *why, size_t why_bytes)
{
    int code = 0;
    for (size_t i = 0; i < w->count; i++) {
        char format[24];
        const long n = sm_history_import(h, w->operands[i], w->build, format, sizeof format, why, why_bytes);
        if (n > 0) printf("%ld figures of %s imported from %s\n", n, format, w->operands[i]);
        if (n == 0) printf("%s was imported before\n", w->operands[i]);
        if (n < 0) code = tell(why);
    }
    return code;
}

static const struct action {
    const char *name;
    size_t least, most; /* operands after the name */
    bool makes;         /* a history that is not there yet */
    action_fn *act;
} actions[] = {
    {"list", 0, 0, false, list},     {"show", 1, 1, false, show},    {"check", 1, 1, false, check},
    {"merge", 1, 1, true, merge},    {"prune", 0, 0, false, prune},  {"forget", 1, 1, false, forget},
    {"alias", 0, 2, true, alias},    {"anchor", 0, 1, true, anchor}, {"import", 1, 63, true, import},
    {"export", 0, 0, false, export},
};

static const struct action *find(const struct sm_arguments_rest *rest)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        const size_t operands = rest->operand_count - 1;
        if (!strcmp(actions[i].name, rest->operands[0]) && operands >= actions[i].least && operands <= actions[i].most)
            return &actions[i];
    }
    return NULL;
}

int history_main(int argc, char **argv)
{
    struct wish w = {.store = "results/history.sqlite", .days = -1};
    char why[512];
    struct sm_arguments_rest rest;
    const struct sm_argument options[] = {
        {"store", 0, SM_ARGUMENT_STRING, &w.store, NULL, "FILE", "the history (default results/history.sqlite)"},
        {"days", 0, SM_ARGUMENT_NUMBER, &w.days, NULL, "N", "prune: forget what began longer ago"},
        {"bench", 0, SM_ARGUMENT_STRING, &w.glob, NULL, "GLOB", "of these kernels: show --explain, anchor"},
        {"explain", 0, SM_ARGUMENT_FLAG, &w.explain, NULL, NULL, "show: why each verdict is what it is"},
        {"build", 0, SM_ARGUMENT_STRING, &w.build, NULL, "NAME",
         "import: the code that was measured, where the file does not say"},
        {"launches", 0, SM_ARGUMENT_FLAG, &w.launches, NULL, NULL, "export: every launch instead of every comparison"},
        {"output", 'o', SM_ARGUMENT_CHOICE, &w.form, sm_history_forms, "FORM",
         "export: csv (default), json, jsonl, sql"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        "history",
        "[OPTION]... ACTION",
        "What compare, gate and record kept with --store, what others measured, and names: kernels that were renamed,\n"
        "and the revision that `record anchor` compares with. check works verdicts out again from their launches;\n"
        "merge takes what another history has and this one lacks, and leaves the other as it is.",
        options,
        "slotmark history list --store results/history.sqlite\n"
        "  slotmark history show SESSION --explain --bench 'rmsnorm/*'\n"
        "  slotmark history check SESSION\n"
        "  slotmark history merge OTHER.sqlite\n"
        "  slotmark history prune --days 365\n"
        "  slotmark history forget SESSION\n"
        "  slotmark history alias rmsnorm/simd rmsnorm/avx2\n"
        "  slotmark history anchor v1.0\n"
        "  slotmark history import google-benchmark.json llama-bench.jsonl results/bench.jsonl\n"
        "  slotmark history export -o jsonl",
        1,
        64,
        false};
    switch (sm_arguments_parse(&spec, argc, argv, &rest, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 0;
    case SM_ARGUMENTS_BAD: return tell(why);
    case SM_ARGUMENTS_OK: break;
    }
    const struct action *action = find(&rest);
    if (!action) return tell("say what to do, as `slotmark history --help` lists it");
    w.operands = rest.operands + 1;
    w.count = rest.operand_count - 1;
    struct sm_history *h;
    if (action->makes ? sm_history_open(&h, w.store, why, sizeof why)
                      : sm_history_open_existing(&h, w.store, why, sizeof why))
        return tell(why);
    const int code = action->act(h, &w, why, sizeof why);
    sm_history_close(h);
    return code < 0 ? tell(why) : code;
}
