/* abi.h - all kernels and workloads behind one versioned table.
 *
 * The kernels of any build can be loaded as one shared object (libslotmark-kernels.so), which exports the one
 * symbol slotmark_kernels. A loader passes the version it was built for and gets NULL when the object cannot
 * serve it; struct sizes are there so that a newer object can be read by an older loader. */
#ifndef SM_ABI_H
#define SM_ABI_H

#include "registry.h"
#include "workload.h"

#define SM_ABI_VERSION 2u

struct sm_kernels {
    uint32_t version;        /* SM_ABI_VERSION of the object */
    uint32_t family_bytes;   /* sizeof(struct sm_family) there */
    uint32_t variant_bytes;  /* sizeof(struct sm_variant) there */
    uint32_t workload_bytes; /* sizeof(struct sm_workload) there */
    size_t family_count;
    const struct sm_family *const *families;
    const struct sm_workload *const *workloads; /* in the same order */
    uint32_t (*cpu_features)(void);
    void (*loosen_guards)(void); /* guard.h, for the workloads in this object: before operands are made for timing */
};

/* NULL unless version == SM_ABI_VERSION. The table lives as long as the object is loaded. */
__attribute__((visibility("default"))) const struct sm_kernels *slotmark_kernels(uint32_t version);

#endif
