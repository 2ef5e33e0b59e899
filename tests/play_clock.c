/* Preloaded into the program (LD_PRELOAD): a monotonic clock that runs 16 times as fast. What is measured for a time,
 * as ceilings are for seconds, so ends sooner: for tests of a whole command that judge no time, and none of whose cases
 * come near a ceiling, which is the less certain the shorter it was measured. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { FASTER = 16, NS = 1000000000 };

static int (*library)(clockid_t, struct timespec *);

int clock_gettime(clockid_t id, struct timespec *t)
{
    if (!library) {
        void *symbol = dlsym(RTLD_NEXT, "clock_gettime");
        memcpy(&library, &symbol, sizeof library);
    }
    const int result = library(id, t);
    if (result || id != CLOCK_MONOTONIC) return result;
    const uint64_t ns = ((uint64_t)t->tv_sec * NS + (uint64_t)t->tv_nsec) * FASTER;
    *t = (struct timespec){(time_t)(ns / NS), (long)(ns % NS)};
    return 0;
}
