#include "layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"

const char *sm_layout_refusal(const struct sm_arm *arm)
{
    static int lld = -1; /* 0: it is there */
    const char *const version[] = {"ld.lld", "--version", NULL};
    if (arm->plugin[0]) return "the code of a plug-in cannot be linked anew";
    if (!arm->archives[0]) return "a shared object alone cannot be linked anew";
    if (lld < 0) lld = sm_command_run(version, NULL, NULL);
    return lld ? "there is no ld.lld, which shuffles sections" : NULL;
}

int sm_layout_link(const struct sm_arm *arm, uint64_t seed, const char *to)
{
    const char *compiler = getenv("CC") && *getenv("CC") ? getenv("CC") : "cc";
    char shuffle[64], workloads[SM_ARM_PATH + 64], kernels[SM_ARM_PATH + 64];
    snprintf(shuffle, sizeof shuffle, "-Wl,--shuffle-sections=*=%" PRIu32,
             (uint32_t)(seed >> 32) | 1); /* 0 is "none" */
    snprintf(workloads, sizeof workloads, "%s/libslotmark_workloads.a", arm->archives);
    snprintf(kernels, sizeof kernels, "%s/libslotmark_kernels.a", arm->archives);
    const char *const link[] = {compiler,  "-shared", "-fuse-ld=lld",           shuffle, "-Wl,--whole-archive",
                                workloads, kernels,   "-Wl,--no-whole-archive", "-lm",   "-o",
                                to,        NULL};
    unlink(to);
    return sm_command_run(link, NULL, NULL) ? -1 : 0;
}
