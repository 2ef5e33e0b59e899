#include "choices.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "registry.h"

int64_t sm_choices_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

int sm_choices_forced(const struct sm_strings *texts, struct sm_forced_list *forced, char *why, size_t why_bytes)
{
    size_t used = 0;
    forced->count = 0;
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = texts->value[i], *equals = strchr(text, '=');
        const size_t bytes = strlen(text) + 1;
        if (!equals || i >= SM_CHOICES_FORCED || used + bytes > sizeof forced->text) {
            snprintf(why, why_bytes, "--variant takes at most %d of FAMILY=VARIANT, and '%.60s' is not one of them",
                     SM_CHOICES_FORCED, text);
            return -1;
        }
        char *family = memcpy(forced->text + used, text, bytes);
        family[equals - text] = 0;
        forced->list[i] = (struct sm_forced){family, family + (equals - text) + 1};
        used += bytes;
        const struct sm_family *f = sm_family_named(forced->list[i].family);
        if (!f || !sm_variant_named(f, forced->list[i].variant)) {
            snprintf(why, why_bytes,
                     f ? "the family %.60s has no variant '%.60s' (see slotmark list)"
                       : "there is no family '%.60s' (see slotmark list)",
                     forced->list[i].family, forced->list[i].variant);
            return -1;
        }
        forced->count++;
    }
    return 0;
}

int sm_choices_recipe(const char *name, char *why, size_t why_bytes)
{
    char all[256] = "";
    size_t used = 0;
    for (size_t r = 0; sm_recipe_name(r); r++) {
        if (!strcmp(sm_recipe_name(r), name)) return (int)r;
        if (used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", r ? ", " : "", sm_recipe_name(r));
    }
    snprintf(why, why_bytes, "there is no recipe '%.60s': they are %s", name, all);
    return -1;
}

int sm_choices_synthetic(const char *name, enum sm_format *format, char *why, size_t why_bytes)
{
    if (!sm_format_named(name, format) && sm_model_synthesises(*format)) return 0;
    snprintf(why, why_bytes, "--synthetic-format '%.40s' is not one of Q4_0, Q4_1, Q8_0, F32", name);
    return -1;
}
