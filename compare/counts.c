#include "counts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "kernels_load.h"

enum { CHILD_REFUSED = 3 };

static bool is_changed(const struct sm_comparison *c)
{
    switch (c->verdict) {
    case SM_VERDICT_FASTER:
    case SM_VERDICT_SLOWER:
    case SM_VERDICT_FASTER_WITHIN:
    case SM_VERDICT_SLOWER_WITHIN:
    case SM_VERDICT_LAYOUT: return !c->control;
    default: return false;
    }
}

/* The total of a file of callgrind; NAN: there is none, or nothing was collected. */
static double read_total(const char *path)
{
    char line[512];
    double total = NAN;
    FILE *in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in))
        if (!strncmp(line, "summary: ", 9) || !strncmp(line, "totals: ", 8))
            total = strtod(strchr(line, ' ') + 1, NULL);
    if (in) fclose(in);
    return total > 0 ? total : NAN;
}

/* NULL, or why there is no count. */
static const char *count_side(const struct sm_comparison *c, int side, const struct sm_copies *copies, size_t threads,
                              double *count)
{
    char program[SM_ARM_PATH], out[128], file[160], toggle[160], number[1 + SM_MAX_DIMS][32];
    const char *argv[16 + SM_MAX_DIMS];
    size_t n = 0;
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) return "this program does not see where it lies";
    program[length] = '\0';
    snprintf(out, sizeof out, "%s/count", copies->folder);
    snprintf(file, sizeof file, "--callgrind-out-file=%s", out);
    snprintf(toggle, sizeof toggle, "--toggle-collect=sm_%s_%s", c->family, c->variant[side]);
    snprintf(number[0], sizeof number[0], "%zu", threads);
    const char *const words[] = {"valgrind",
                                 "--tool=callgrind",
                                 "-q",
                                 file,
                                 toggle,
                                 program,
                                 "compare",
                                 SM_COUNTS_WORD,
                                 copies->object[side],
                                 copies->plugin[side],
                                 c->family,
                                 c->variant[side],
                                 number[0]};
    for (; n < sizeof words / sizeof *words; n++) argv[n] = words[n];
    for (size_t d = 0; d < c->dims; d++) {
        snprintf(number[1 + d], sizeof number[1 + d], "%" PRId64, c->shape.dim[d]);
        argv[n++] = number[1 + d];
    }
    argv[n] = NULL;
    const int code = sm_command_run(argv, NULL, NULL);
    *count = read_total(out);
    unlink(out);
    if (code == 127) return "valgrind is not installed";
    if (code == CHILD_REFUSED) return "valgrind's CPU lacks what it needs";
    if (code) return "it does not run under valgrind";
    return isnan(*count) ? "its function has no symbol" : NULL;
}

void sm_count_changed(struct sm_pairing *pairing, const struct sm_copies *copies, size_t threads, FILE *words)
{
    for (size_t i = 0; i < pairing->count; i++) {
        struct sm_comparison *c = &pairing->list[i];
        const char *why = NULL;
        if (!is_changed(c)) continue;
        if (words) fprintf(words, "counting the instructions of %s\n", c->id);
        for (int side = 0; side < 2 && !why; side++) why = count_side(c, side, copies, threads, &c->instructions[side]);
        snprintf(c->uncounted, sizeof c->uncounted, "%s", why ? why : "");
        if (why) c->instructions[0] = c->instructions[1] = NAN;
    }
}

static int run_once(const struct sm_loaded *loaded, int argc, char **argv)
{
    struct sm_shape shape = {{0}};
    const struct sm_family *f = sm_loaded_family(loaded, argv[0]);
    const struct sm_workload *w = sm_loaded_workload(loaded, argv[0]);
    const struct sm_variant *v = f ? sm_loaded_variant(f, argv[1]) : NULL;
    const size_t threads = (size_t)strtoull(argv[2], NULL, 10);
    for (int d = 3; d < argc; d++) shape.dim[d - 3] = strtoll(argv[d], NULL, 10);
    if (!v || !w || f->dim_count != (size_t)(argc - 3) || (w->refuse && w->refuse(&shape))) return 2;
    if (v->needs & ~loaded->kernels->cpu_features()) return CHILD_REFUSED;
    loaded->kernels->loosen_guards();
    void *work = w->create(&shape, SM_REGIME_RANDOM, 1);
    const void *args = work ? w->prepare(work, v) : NULL;
    for (size_t i = 0; args && i < threads; i++) v->fn(args, f->split(&shape, threads, i));
    if (work) w->destroy(work);
    return args ? 0 : 2;
}

/* OBJECT PLUGIN FAMILY VARIANT THREADS DIM... The parts of a team one after another: none knows of the others. */
int sm_counts_child(int argc, char **argv)
{
    struct sm_loaded loaded;
    char why[256];
    if (argc < 5 || argc > 5 + SM_MAX_DIMS || sm_kernels_load(&loaded, argv[0], argv[1], why, sizeof why)) return 2;
    const int code = run_once(&loaded, argc - 2, argv + 2);
    sm_kernels_unload(&loaded);
    return code;
}
