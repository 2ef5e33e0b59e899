#include "engine.h"

#include "copies.h"
#include "counts.h"
#include "layout.h"
#include "models.h"
#include "outline.h"
#include "turn.h"

static void launched(void *state, const struct sm_comparison *c)
{
    (void)sm_history_launch(state, c); /* it is tried again, and sm_history_end says what could not be kept */
}

/* From here on each launch goes into the history, where there is one. */
static int keep(const struct sm_engine_request *request, const struct sm_engine_outcome *outcome,
                struct sm_rounds_options *options, char *why, size_t why_bytes)
{
    if (!request->history) return 0;
    options->launched = launched;
    options->launched_state = request->history;
    return sm_history_begin(request->history, request->purpose, outcome->arm, options, why, why_bytes);
}

/* A gate of two revisions, whose names say what they are, goes on from what it measured within a day. */
static void pool(const struct sm_engine_request *request, const struct sm_rounds_options *options,
                 struct sm_engine_outcome *outcome)
{
    char session[13];
    if (!request->history || !outcome->arm[0].built[0] || !outcome->arm[1].built[0]) return;
    const long taken = sm_history_pool(request->history, outcome->arm, options, &outcome->pairing, session);
    if (taken > 0)
        snprintf(outcome->note, sizeof outcome->note,
                 "goes on from %ld launches of session %s, less than a day old: a gate is not run until it passes",
                 taken, session);
}

static int run_rounds(const struct sm_engine_request *request, struct sm_copies *copies,
                      struct sm_engine_outcome *outcome, char *why, size_t why_bytes)
{
    struct sm_rounds_options options = request->rounds;
    const char *fixed = sm_layout_refusal(&outcome->arm[0]);
    if (!fixed) fixed = sm_layout_refusal(&outcome->arm[1]);
    if (fixed && !request->as_built && request->words)
        fprintf(request->words, "changes are judged as built only: %s\n", fixed);
    options.place = request->as_built || fixed ? NULL : sm_copies_place;
    options.place_state = copies;
    for (int i = 0; i < 3; i++) options.plugin[i] = copies->plugin[i];
    options.anew = request->anew;
    if (keep(request, outcome, &options, why, why_bytes)) return -1;
    pool(request, &options, outcome);
    return sm_rounds_run(&outcome->pairing, copies->object, &options, &outcome->rounds, why, why_bytes);
}

static int compare(const struct sm_engine_request *request, struct sm_copies *copies, struct sm_engine_outcome *outcome,
                   char *why, size_t why_bytes)
{
    struct sm_loaded loaded[2] = {{0}, {0}};
    struct sm_aliases aliases = {0};
    struct sm_pairing_options pairing = request->pairing;
    int code = SM_EXIT_REFUSED;
    if (request->history && sm_history_aliases(request->history, &aliases, why, why_bytes)) return SM_EXIT_USAGE;
    pairing.aliases = &aliases;
    if (!sm_kernels_load(&loaded[0], copies->object[0], copies->plugin[0], why, why_bytes) &&
        !sm_kernels_load(&loaded[1], copies->object[1], copies->plugin[1], why, why_bytes)) {
        const int made = sm_pairing_make(&outcome->pairing, outcome->arm, loaded, &pairing, why, why_bytes);
        code = made > 0                                               ? SM_EXIT_NOTHING
               : made < 0                                             ? SM_EXIT_USAGE
               : request->outline                                     ? sm_outline_kernels(request, outcome)
               : run_rounds(request, copies, outcome, why, why_bytes) ? SM_EXIT_USAGE
                                                                      : 0;
        if (!code && request->count && !request->outline)
            sm_count_changed(&outcome->pairing, copies, request->rounds.threads, request->words);
    }
    sm_kernels_unload(&loaded[0]);
    sm_kernels_unload(&loaded[1]);
    sm_aliases_free(&aliases);
    return code;
}

static int compare_models(const struct sm_engine_request *request, struct sm_engine_outcome *outcome, char *why,
                          size_t why_bytes)
{
    struct sm_rounds_options options = request->rounds;
    const struct sm_models_request models = {request->model, request->passed, request->passed_count, request->words};
    if (keep(request, outcome, &options, why, why_bytes)) return SM_EXIT_USAGE;
    return sm_models_run(outcome->arm, &models, &options, &outcome->pairing, &outcome->rounds, outcome->note, why,
                         why_bytes);
}

/* Both sides, built where they are not; of a dry run those that are there. What is not is told: 1. */
static int find_arms(const char *const spec[2], const struct sm_engine_request *request, struct sm_arm arm[2],
                     char *why, size_t why_bytes, int *code)
{
    int absent = 0;
    for (int i = 0; i < 2; i++) {
        const enum sm_arm_result found = request->outline
                                             ? sm_arm_find(&arm[i], spec[i], why, why_bytes)
                                             : sm_arm_get(&arm[i], spec[i], request->words, why, why_bytes);
        if (found == SM_ARM_ABSENT && ++absent) sm_outline_absent(request, &arm[i]);
        if (found == SM_ARM_OK || found == SM_ARM_ABSENT) continue;
        *code = found == SM_ARM_UNBUILT ? SM_EXIT_FAILED : SM_EXIT_USAGE;
        return 1;
    }
    *code = 0;
    return absent;
}

int sm_engine_run(const char *base, const char *other, const struct sm_engine_request *request,
                  struct sm_engine_outcome *outcome, char *why, size_t why_bytes)
{
    const char *const spec[2] = {base, other};
    struct sm_copies copies = {0};
    *outcome = (struct sm_engine_outcome){0};
    int code;
    if (find_arms(spec, request, outcome->arm, why, why_bytes, &code)) return code;
    if (request->outline && request->model) return sm_outline_models(request, outcome);
    const int turn = request->outline ? -1 : sm_turn_begin(request->words);
    code = request->model                                          ? compare_models(request, outcome, why, why_bytes)
           : sm_copies_make(&copies, outcome->arm, why, why_bytes) ? SM_EXIT_USAGE
                                                                   : compare(request, &copies, outcome, why, why_bytes);
    sm_turn_end(turn);
    sm_copies_remove(&copies);
    if (code) sm_engine_free(outcome);
    return code;
}

void sm_engine_free(struct sm_engine_outcome *outcome)
{
    sm_pairing_free(&outcome->pairing);
}
