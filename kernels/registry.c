#include "registry.h"

#include <string.h>

#include "plugin.h"

#define SM_FAMILY(name) extern const struct sm_family sm_family_##name;
#include "families.def"
#undef SM_FAMILY

static const struct sm_family *families[] = {
#define SM_FAMILY(name) &sm_family_##name,
#include "families.def"
#undef SM_FAMILY
};

size_t sm_family_count(void)
{
    return sizeof families / sizeof *families;
}

const struct sm_family *sm_family_at(size_t i)
{
    return i < sm_family_count() ? families[i] : NULL;
}

const struct sm_family *sm_family_named(const char *name)
{
    for (size_t i = 0; i < sm_family_count(); i++)
        if (!strcmp(families[i]->name, name)) return families[i];
    return NULL;
}

int sm_registry_replace(const struct sm_family *family)
{
    for (size_t i = 0; i < sm_family_count(); i++)
        if (!strcmp(families[i]->name, family->name)) {
            families[i] = family;
            return 0;
        }
    return -1;
}

const struct sm_variant *sm_variant_named(const struct sm_family *family, const char *name)
{
    for (size_t i = 0; i < family->variant_count; i++)
        if (!strcmp(family->variants[i].name, name)) return &family->variants[i];
    return NULL;
}

const struct sm_variant *sm_variant_best(const struct sm_family *family, uint32_t features, enum sm_format format)
{
    if (format == SM_FORMAT_NONE) format = family->variants[0].layout->format;
    for (size_t i = family->variant_count; i-- > 0;) {
        const struct sm_variant *v = &family->variants[i];
        if ((v->needs & ~features) == 0 && v->layout->format == format) return v;
    }
    return NULL;
}

const struct sm_variant *sm_variant_best_layout(const struct sm_family *family, uint32_t features, const char *layout)
{
    for (size_t i = family->variant_count; i-- > 0;) {
        const struct sm_variant *v = &family->variants[i];
        if ((v->needs & ~features) == 0 && !strcmp(v->layout->name, layout)) return v;
    }
    return NULL;
}

int sm_dim_index(const struct sm_family *family, const char *name)
{
    for (size_t i = 0; i < family->dim_count; i++)
        if (!strcmp(family->dims[i].name, name)) return (int)i;
    return -1;
}

struct sm_part sm_part_whole(size_t rows, size_t cols)
{
    return (struct sm_part){.row_begin = 0, .row_end = rows, .col_begin = 0, .col_end = cols};
}

void sm_split_range(size_t count, size_t grain, size_t threads, size_t i, size_t *begin, size_t *end)
{
    const size_t grains = (count + grain - 1) / grain;
    const size_t from = grains * i / threads * grain;
    const size_t to = grains * (i + 1) / threads * grain;
    *begin = from < count ? from : count;
    *end = to < count ? to : count;
}
