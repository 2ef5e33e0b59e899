#include "plugin_load.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu.h"
#include "plugin.h"
#include "workload.h"

#define CHECK_SECONDS 60

typedef const struct sm_plugin *plugin_fn(uint32_t version);

/* The features of an instruction set's name, or -1. */
static int needs_of(const char *isa, uint32_t *needs)
{
    const char *level;
    uint32_t features;
    for (size_t i = 0; (level = sm_cpu_level(i, &features)); i++)
        if (!strcmp(level, isa)) {
            *needs = features;
            return 0;
        }
    return -1;
}

static const struct sm_layout *layout_of(const struct sm_family *family, const char *name)
{
    for (size_t i = 0; i < family->variant_count; i++)
        if (!strcmp(family->variants[i].layout->name, name)) return family->variants[i].layout;
    return NULL;
}

/* NULL, or why this cannot be a variant. */
static const char *refusal(const struct sm_plugin_variant *v, struct sm_variant *to, const struct sm_family **family)
{
    if (!v->family || !v->name || !v->isa || !v->layout || !v->fn || !v->bet) return "it is not complete";
    if (!*v->name || strlen(v->name) > 60 ||
        strspn(v->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(v->name))
        return "its name is not made of a-z, 0-9 and _";
    *family = sm_family_named(v->family);
    if (!*family) return "there is no such family";
    if (sm_variant_named(*family, v->name)) return "the family has a variant of that name";
    *to = (struct sm_variant){.name = v->name, .isa = v->isa, .fn = v->fn, .bet = v->bet};
    if (needs_of(v->isa, &to->needs)) return "there is no such instruction set";
    to->layout = layout_of(*family, v->layout);
    return to->layout ? NULL : "the family has no such layout";
}

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
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(why, why_bytes, "loading the plug-in %s: %s", path, dlerror());
        return -1;
    }
    void *symbol = dlsym(handle, "slotmark_plugin");
    plugin_fn *entry;
    memcpy(&entry, &symbol, sizeof entry);
    const struct sm_plugin *plugin = symbol ? entry(SM_PLUGIN_VERSION) : NULL;
    if (!plugin || plugin->version != SM_PLUGIN_VERSION || (plugin->count && !plugin->variants)) {
        snprintf(why, why_bytes, "loading the plug-in %s: %s", path,
                 symbol ? "it was built for another version of plugin.h" : "it has no symbol slotmark_plugin");
        return -1;
    }
    for (size_t i = 0; i < plugin->count; i++) {
        const struct sm_plugin_variant *v = &plugin->variants[i];
        const struct sm_family *family = NULL;
        struct sm_variant variant;
        const char *wrong = refusal(v, &variant, &family);
        if (!wrong) wrong = try_out(family, &variant);
        if (!wrong && extend(family, &variant)) wrong = "out of memory";
        if (wrong)
            fprintf(stderr, "slotmark: %s: variant %zu (%s of %s) is left out: %s\n", path, i + 1,
                    v->name ? v->name : "?", v->family ? v->family : "?", wrong);
    }
    return 0;
}
