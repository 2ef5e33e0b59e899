#include "outline.h"

#include "layout.h"
#include "models.h"
#include "progress.h"

/* What a launch takes beside its slices, to start, load two builds and check both answers: 24 launches of rmsnorm/avx2
 * on a Zen 5 core took 1.2 s, 20 ms of each being slices. */
#define START_S 0.03

static const char *what_happens(enum sm_verdict verdict)
{
    return verdict == SM_VERDICT_OPEN ? "to be measured" : sm_verdict_word(verdict);
}

/* The budget stops it before, whatever is left. */
static void end_line(const struct sm_engine_request *request)
{
    char text[32];
    fprintf(request->outline, "; --budget ends it after %s\n",
            sm_duration_text(request->rounds.budget_s, text, sizeof text));
}

static void print_time(const struct sm_engine_request *request, const struct sm_engine_outcome *outcome, size_t open)
{
    const struct sm_rounds_options *o = &request->rounds;
    const bool again =
        !request->as_built && !sm_layout_refusal(&outcome->arm[0]) && !sm_layout_refusal(&outcome->arm[1]);
    const size_t controls = sm_rounds_controls(o, open), last = sm_look_launches[SM_LOOKS - 1];
    const size_t least = (open + controls) * sm_look_launches[0];
    const size_t most = open * last * (again ? 2 : 1) + controls * last;
    const double launch_s = START_S + 2 * (double)o->pairs * o->slice_s;
    char from[32], to[32];
    if (!open) {
        fprintf(request->outline, "# 0 launches\n");
        return;
    }
    fprintf(request->outline, "# %zu copies of the base against itself stand beside them: %zu to %zu launches%s\n",
            controls, least, most, again ? ", changes once more with the code placed anew" : "");
    fprintf(request->outline, "# about %s to %s, more where a call is longer than a slice%s",
            sm_duration_text((double)least * launch_s, from, sizeof from),
            sm_duration_text((double)most * launch_s, to, sizeof to), again ? " or code is placed anew" : "");
    end_line(request);
}

int sm_outline_kernels(const struct sm_engine_request *request, const struct sm_engine_outcome *outcome)
{
    const struct sm_pairing *p = &outcome->pairing;
    size_t of[SM_VERDICTS] = {0};
    for (size_t i = 0; i < p->count; i++) {
        fprintf(request->outline, "%s  %s\n", p->list[i].id, what_happens(p->list[i].verdict));
        of[p->list[i].verdict]++;
    }
    fprintf(request->outline,
            "# %s -> %s: %zu kernels: %zu identical code, %zu to be measured, %zu added, %zu removed\n",
            outcome->arm[0].identity, outcome->arm[1].identity, p->count, of[SM_VERDICT_IDENTICAL], of[SM_VERDICT_OPEN],
            of[SM_VERDICT_ADDED], of[SM_VERDICT_REMOVED]);
    print_time(request, outcome, of[SM_VERDICT_OPEN]);
    return 0;
}

int sm_outline_models(const struct sm_engine_request *request, const struct sm_engine_outcome *outcome)
{
    fprintf(request->outline, "# %s -> %s: the phases of %s, which are known when it has run once\n",
            outcome->arm[0].identity, outcome->arm[1].identity, request->model);
    fprintf(request->outline, "# %zu to %d rounds of three processes each, none if both are one program",
            sm_look_launches[0], SM_MODELS_LAUNCHES_MOST);
    end_line(request);
    return 0;
}

void sm_outline_absent(const struct sm_engine_request *request, const struct sm_arm *arm)
{
    fprintf(request->outline,
            "# %s is not built yet: what is compared is known when it is, and a dry run builds nothing\n",
            arm->identity);
}
