#include "plugin_load.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu.h"
#include "plugin_variants.h"
#include "workload.h"

#define CHECK_SECONDS 60

/* In a child: the answer at the family's standard shape, for ordinary numbers and for those that must come out exactly.
 * The exit code is 0 when both are right. */
static int judge(const struct sm_family *family, const struct sm_variant *v)
{
    const struct sm_workload *w = sm_workload_named(family->name);
    struct sm_shape shape = {{0}};
    if (!w) return 2;
    for (size_t d = 0; d < family->dim_count; d++) shape.dim[d] = family->dims[d].standard;
    for (int regime = SM_REGIME_RANDOM; regime <= SM_REGIME_EXACT; regime++) {
        void *work = w->create(&shape, (enum sm_regime)regime, 1);
        const void *args = work ? w->prepare(work, v) : NULL;
        if (!args) return 2;
        for (size_t i = 0; i < 3; i++) v->fn(args, family->split(&shape, 3, i));
        const double error = w->error(work, v);
        if (!(error <= 1) || w->damage(work)) return 1;
        w->destroy(work);
    }
    return 0;
}

/* NULL, or what went wrong when it was tried. */
static const char *try_out(const struct sm_family *family, const struct sm_variant *v)
{
    int status = 0;
    if (v->needs & ~sm_cpu_features()) return NULL;    /* it cannot run here, so nothing will run it */
    if (getenv("SLOTMARK_PLUGINS_TRIED")) return NULL; /* by the process that started this one under valgrind */
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0) return "no process could be started to try it";
    if (!child) {
        alarm(CHECK_SECONDS);
        _exit(judge(family, v));
    }
    while (waitpid(child, &status, 0) < 0) continue;
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "it does not come to an end" : "it crashes";
    return WEXITSTATUS(status) == 0   ? NULL
           : WEXITSTATUS(status) == 1 ? "its answer is wrong"
                                      : "there was no memory to try it";
}

/* The family with one more variant, behind its first, which is the reference. */
static int extend(const struct sm_family *family, const struct sm_variant *v)
{
    struct sm_family *longer = malloc(sizeof *longer);
    struct sm_variant *variants = calloc(family->variant_count + 1, sizeof *variants);
    if (!longer || !variants) {
        free(longer);
        free(variants);
        return -1;
    }
    variants[0] = family->variants[0];
    variants[1] = *v;
    memcpy(variants + 2, family->variants + 1, (family->variant_count - 1) * sizeof *variants);
    *longer = *family;
    longer->variants = variants;
    longer->variant_count++;
    return sm_registry_replace(longer); /* they live as long as the program */
}

int sm_plugin_load(const char *path, char *why, size_t why_bytes)
{
    void *handle; /* kept open as long as the program runs */
    const struct sm_plugin *plugin = sm_plugin_open(path, &handle, why, why_bytes);
    if (!plugin) return -1;
    for (size_t i = 0; i < plugin->count; i++) {
        const struct sm_plugin_variant *v = &plugin->variants[i];
        const struct sm_family *family = v->family ? sm_family_named(v->family) : NULL;
        struct sm_variant variant;
        const char *wrong = sm_plugin_variant(v, family, &variant);
        if (!wrong) wrong = try_out(family, &variant);
        if (!wrong && extend(family, &variant)) wrong = "out of memory";
        if (wrong)
            fprintf(stderr, "slotmark: %s: variant %zu (%s of %s) is left out: %s\n", path, i + 1,
                    v->name ? v->name : "?", v->family ? v->family : "?", wrong);
    }
    return 0;
}
