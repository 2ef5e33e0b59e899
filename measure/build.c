#include "build.h"

#include <stddef.h>

#include "build_facts.h"

const struct sm_build *sm_build(void)
{
    static const struct sm_build build = {SM_BUILD_VERSION,  SM_BUILD_COMMIT, SM_BUILD_DIRTY,
                                          SM_BUILD_COMPILER, SM_BUILD_FLAGS,  SM_BUILD_TYPE};
    return &build;
}
