#include "copies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layout.h"

const char *sm_copies_place(void *state, int arm, uint64_t seed)
{
    struct sm_copies *c = state;
    return sm_layout_link(&c->arm[arm], seed, c->path[3 + arm]) ? NULL : c->path[3 + arm];
}

void sm_copies_remove(struct sm_copies *c)
{
    for (int i = 0; i < 5; i++)
        if (c->path[i][0]) unlink(c->path[i]);
    for (int i = 0; i < 3; i++)
        if (c->plugin[i][0]) unlink(c->plugin[i]);
    if (c->folder[0]) rmdir(c->folder);
}

int sm_copies_make(struct sm_copies *c, const struct sm_arm arm[2], char *why, size_t why_bytes)
{
    const char *place = getenv("TMPDIR");
    *c = (struct sm_copies){.arm = arm};
    if (!place || !*place || strlen(place) > 30) place = "/tmp";
    char folder[sizeof c->folder];
    snprintf(folder, sizeof folder, "%s/slotmark-XXXXXX", place);
    if (!mkdtemp(folder)) {
        snprintf(why, why_bytes, "copying the builds into %s: %s", place, strerror(errno));
        return -1;
    }
    memcpy(c->folder, folder, sizeof folder);
    for (int i = 0; i < 5; i++) snprintf(c->path[i], sizeof c->path[i], "%s/%d.so", folder, i);
    for (int i = 0; i < 3; i++) {
        c->object[i] = c->path[i];
        if (sm_arm_copy(&arm[i == 1], c->path[i], why, why_bytes)) return -1;
        if (arm[i == 1].plugin[0]) snprintf(c->plugin[i], sizeof c->plugin[i], "%s/p%d.so", folder, i);
        if (sm_arm_copy_plugin(&arm[i == 1], c->plugin[i], why, why_bytes)) return -1;
    }
    return 0;
}
