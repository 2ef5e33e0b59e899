#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layout.h"

/* Files that differ only in their number: nothing about a path may favour an arm. */
struct copies {
    char folder[64];
    char path[5][80]; /* A, B, a copy of A; and A and B placed anew */
    const char *object[3];
    const struct sm_arm *arm;
};

static const char *place_anew(void *state, int arm, uint64_t seed)
{
    struct copies *c = state;
    return sm_layout_link(&c->arm[arm], seed, c->path[3 + arm]) ? NULL : c->path[3 + arm];
}

static void remove_copies(struct copies *c)
{
    for (int i = 0; i < 5; i++)
        if (c->path[i][0]) unlink(c->path[i]);
    if (c->folder[0]) rmdir(c->folder);
}

static int make_copies(struct copies *c, const struct sm_arm arm[2], char *why, size_t why_bytes)
{
    const char *place = getenv("TMPDIR");
    *c = (struct copies){.arm = arm};
    if (!place || !*place || strlen(place) > 30) place = "/tmp";
    char folder[sizeof c->folder];
    snprintf(folder, sizeof folder, "%s/slotmark-XXXXXX", place);
    if (!mkdtemp(folder)) {
        snprintf(why, why_bytes, "copying the builds into %s: %s", place, strerror(errno));
        return -1;
    }
    memcpy(c->folder, folder, sizeof folder);
    for (int i = 0; i < 5; i++) snprintf(c->path[i], sizeof c->path[i], "%s/%d.so", folder, i);
    for (int i = 0; i < 3; i++) {
        c->object[i] = c->path[i];
        if (sm_arm_copy(&arm[i == 1], c->path[i], why, why_bytes)) return -1;
    }
    return 0;
}

static void launched(void *state, const struct sm_comparison *c)
{
    (void)sm_history_launch(state, c); /* what cannot be kept is told at the end: the session goes on */
}

static int run_rounds(const struct sm_engine_request *request, struct copies *copies, struct sm_engine_outcome *outcome,
                      char *why, size_t why_bytes)
{
    struct sm_rounds_options options = request->rounds;
    const char *fixed = sm_layout_refusal(&outcome->arm[0]);
    if (!fixed) fixed = sm_layout_refusal(&outcome->arm[1]);
    if (fixed && !request->as_built && request->words)
        fprintf(request->words, "changes are judged as built only: %s\n", fixed);
    options.place = request->as_built || fixed ? NULL : place_anew;
    options.place_state = copies;
    if (request->history) {
        options.launched = launched;
        options.launched_state = request->history;
        if (sm_history_begin(request->history, request->purpose, outcome->arm, &options, why, why_bytes)) return -1;
    }
    return sm_rounds_run(&outcome->pairing, copies->object, &options, &outcome->rounds, why, why_bytes);
}

static int compare(const struct sm_engine_request *request, struct copies *copies, struct sm_engine_outcome *outcome,
                   char *why, size_t why_bytes)
{
    struct sm_loaded loaded[2] = {{0}, {0}};
    int code = SM_EXIT_REFUSED;
    if (!sm_kernels_load(&loaded[0], copies->object[0], why, why_bytes) &&
        !sm_kernels_load(&loaded[1], copies->object[1], why, why_bytes)) {
        const int made = sm_pairing_make(&outcome->pairing, outcome->arm, loaded, &request->pairing, why, why_bytes);
        code = made > 0                                               ? SM_EXIT_NOTHING
               : made < 0                                             ? SM_EXIT_USAGE
               : run_rounds(request, copies, outcome, why, why_bytes) ? SM_EXIT_USAGE
                                                                      : 0;
    }
    sm_kernels_unload(&loaded[0]);
    sm_kernels_unload(&loaded[1]);
    return code;
}

int sm_engine_run(const char *base, const char *other, const struct sm_engine_request *request,
                  struct sm_engine_outcome *outcome, char *why, size_t why_bytes)
{
    const char *const spec[2] = {base, other};
    struct copies copies = {0};
    *outcome = (struct sm_engine_outcome){0};
    for (int i = 0; i < 2; i++) {
        const enum sm_arm_result found = sm_arm_get(&outcome->arm[i], spec[i], request->words, why, why_bytes);
        if (found != SM_ARM_OK) return found == SM_ARM_UNBUILT ? SM_EXIT_FAILED : SM_EXIT_USAGE;
    }
    const int code = make_copies(&copies, outcome->arm, why, why_bytes)
                         ? SM_EXIT_USAGE
                         : compare(request, &copies, outcome, why, why_bytes);
    remove_copies(&copies);
    if (code) sm_engine_free(outcome);
    return code;
}

void sm_engine_free(struct sm_engine_outcome *outcome)
{
    sm_pairing_free(&outcome->pairing);
}
