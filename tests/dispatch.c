/* What dispatch sees and takes.
 *
 *     test_dispatch LEVEL     passes when LEVEL is the highest that it sees, and each family's best variant fits it
 *
 * Exits with 77 when SLOTMARK_CPU asks for a level that this CPU lacks. */
#include <stdio.h>
#include <string.h>

#include "cpu.h"
#include "registry.h"

/* The best variant of a family for one format: it must fit, and none after it may. */
static int check_best(const struct sm_family *f, enum sm_format format)
{
    const uint32_t features = sm_cpu_features();
    const struct sm_variant *best = sm_variant_best(f, features, format);
    if (!best) return 0;
    if (best->needs & ~features) {
        printf("FAIL %s/%s needs %s, which this CPU lacks\n", f->name, best->name, best->isa);
        return 1;
    }
    for (const struct sm_variant *v = best + 1; v < f->variants + f->variant_count; v++)
        if (!(v->needs & ~features) && v->layout->format == best->layout->format) {
            printf("FAIL %s/%s was taken, though %s stands after it and fits\n", f->name, best->name, v->name);
            return 1;
        }
    printf("%s: %s\n", f->name, best->name);
    return 0;
}

int main(int argc, char **argv)
{
    int failures = 0;
    if (argc != 2) return 2;
    if (sm_cpu_check()) {
        printf("not run: %s\n", sm_cpu_check());
        return 77;
    }
    const char *level = sm_cpu_level_name(sm_cpu_features());
    printf("dispatch sees %s\n", level);
    if (strcmp(level, argv[1])) {
        printf("FAIL expected %s\n", argv[1]);
        failures++;
    }
    for (size_t i = 0; i < sm_family_count(); i++)
        for (int format = SM_FORMAT_NONE; format <= SM_FORMAT_Q8_0; format++)
            failures += check_best(sm_family_at(i), (enum sm_format)format);
    return failures != 0;
}
