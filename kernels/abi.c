#include "abi.h"

#include <string.h>

#include "cpu.h"
#include "guard.h"

#define SM_FAMILY(name)                                                                                                \
    extern const struct sm_family sm_family_##name;                                                                    \
    extern const struct sm_workload sm_workload_##name;
#include "families.def"
#undef SM_FAMILY

static const struct sm_family *const families[] = {
#define SM_FAMILY(name) &sm_family_##name,
#include "families.def"
#undef SM_FAMILY
};

static const struct sm_workload *const workloads[] = {
#define SM_FAMILY(name) &sm_workload_##name,
#include "families.def"
#undef SM_FAMILY
};

const struct sm_workload *sm_workload_named(const char *family)
{
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        if (!strcmp(workloads[i]->family, family)) return workloads[i];
    return NULL;
}

const struct sm_kernels *slotmark_kernels(uint32_t version)
{
    static const struct sm_kernels table = {
        .version = SM_ABI_VERSION,
        .family_bytes = sizeof(struct sm_family),
        .variant_bytes = sizeof(struct sm_variant),
        .workload_bytes = sizeof(struct sm_workload),
        .family_count = sizeof families / sizeof *families,
        .families = families,
        .workloads = workloads,
        .cpu_features = sm_cpu_features,
        .loosen_guards = sm_guarded_loosen,
    };
    return version == SM_ABI_VERSION ? &table : NULL;
}
