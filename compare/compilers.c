#include "compilers.h"

#include <errno.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "arm.h"
#include "command.h"
#include "kernels_load.h"

#define FLAGS "-O3 -DNDEBUG"

const char sm_compiler_flags[] = FLAGS;

struct place {
    char name[64];
    char folder[SM_ARM_PATH], object[SM_ARM_PATH + 64], log[SM_ARM_PATH + 64];
};

/* The line in which the preprocessor tells apart who it is: gcc keeps its hands off __clang__, clang claims to be gcc
 * too. */
static const char question[] = "#if defined __clang__\n"
                               "slotmark clang __clang_major__ __clang_minor__ __clang_patchlevel__\n"
                               "#elif defined __GNUC__\n"
                               "slotmark gcc __GNUC__ __GNUC_MINOR__ __GNUC_PATCHLEVEL__\n"
                               "#endif\n";

static int ask(const char *compiler, const char *cache, char *name, size_t bytes)
{
    char path[SM_ARM_PATH + 64], text[SM_ARM_PATH], who[16];
    int major, minor, patch, found = 0;
    snprintf(path, sizeof path, "%s/question-%ld.c", cache, (long)getpid());
    FILE *file = fopen(path, "we");
    if (!file) return -1;
    fputs(question, file);
    if (fclose(file)) return -1;
    char answer[SM_ARM_PATH + 64];
    snprintf(answer, sizeof answer, "%s/question-%ld.i", cache, (long)getpid());
    const char *const say[] = {compiler, "-E", "-P", "-x", "c", "-o", answer, path, NULL};
    const int code = sm_command_run(say, NULL, NULL);
    file = code ? NULL : fopen(answer, "re");
    while (file && !found && fgets(text, sizeof text, file))
        found = sscanf(text, " slotmark %15s %d %d %d", who, &major, &minor, &patch) == 4;
    if (file) fclose(file);
    unlink(path);
    unlink(answer);
    if (found) snprintf(name, bytes, "%s %d.%d.%d", who, major, minor, patch);
    return found ? 0 : -1;
}

static int find(const char *compiler, struct place *p, char *why, size_t why_bytes)
{
    char cache[SM_ARM_PATH - 100], text[2 * SM_ARM_PATH], key[65];
    if (sm_arm_cache(cache, sizeof cache)) {
        snprintf(why, why_bytes, "there is no place for a cache of builds");
        return -1;
    }
    const char *const make[] = {"mkdir", "-p", "--", cache, NULL};
    if (sm_command_run(make, NULL, NULL)) {
        snprintf(why, why_bytes, "the cache of builds could not be made");
        return -1;
    }
    if (ask(compiler, cache, p->name, sizeof p->name)) {
        snprintf(why, why_bytes, "'%.200s' is no C compiler that runs here", compiler);
        return -1;
    }
    snprintf(text, sizeof text, "compiler 1 %s\n%s\n%s\n" FLAGS, SM_SOURCE_FOLDER, compiler, p->name);
    SHA256Data((const uint8_t *)text, strlen(text), key);
    const int n = snprintf(p->folder, sizeof p->folder, "%s/compiler-%.40s", cache, key);
    if (n < 0 || (size_t)n >= sizeof p->folder) {
        snprintf(why, why_bytes, "the path of the cache of builds is too long");
        return -1;
    }
    snprintf(p->object, sizeof p->object, "%s/lib/libslotmark-kernels.so", p->folder);
    snprintf(p->log, sizeof p->log, "%s.log", p->folder);
    return 0;
}

int sm_compiler_name(const char *compiler, char *name, size_t bytes, bool *built, char *why, size_t why_bytes)
{
    struct place p;
    if (find(compiler, &p, why, why_bytes)) return -1;
    snprintf(name, bytes, "%s", p.name);
    *built = !access(p.object, R_OK);
    return 0;
}

/* Built where the last build lies: what has not changed since is not compiled again. */
static int build(const char *compiler, const struct place *p)
{
    char with[SM_ARM_PATH], at_once[24];
    snprintf(with, sizeof with, "-DCMAKE_C_COMPILER=%s", compiler);
    snprintf(at_once, sizeof at_once, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    const char *const configure[] = {
        "cmake", "-S", SM_SOURCE_FOLDER, "-B", p->folder, "-DCMAKE_BUILD_TYPE=Release", "-DSM_TESTS=OFF", with, NULL};
    const char *const compile[] = {"cmake",      "--build", p->folder, "--target", "slotmark-kernels",
                                   "--parallel", at_once,   NULL};
    unlink(p->log);
    return sm_command_run(configure, p->log, NULL) || sm_command_run(compile, p->log, NULL);
}

const struct sm_kernels *sm_compiler_kernels(const char *compiler, FILE *progress, char *why, size_t why_bytes)
{
    struct place p;
    struct sm_loaded loaded;
    char lock[SM_ARM_PATH + 64];
    const struct sm_kernels *kernels = NULL;
    if (find(compiler, &p, why, why_bytes)) return NULL;
    if (access(SM_SOURCE_FOLDER "/CMakeLists.txt", R_OK)) {
        snprintf(why, why_bytes, "the sources that this program was built from are no longer in %.300s",
                 SM_SOURCE_FOLDER);
        return NULL;
    }
    snprintf(lock, sizeof lock, "%s.lock", p.folder);
    const int held = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (held < 0 || flock(held, LOCK_EX)) {
        snprintf(why, why_bytes, "locking %.300s: %s", lock, strerror(errno));
    } else {
        if (progress && access(p.object, R_OK))
            fprintf(progress, "building the kernels by %s, which takes a minute or two, once\n", p.name);
        if (build(compiler, &p))
            snprintf(why, why_bytes, "building the kernels by '%.200s' failed: see %.300s", compiler, p.log);
        else if (!sm_kernels_load(&loaded, p.object, NULL, why, why_bytes))
            kernels = loaded.kernels;
    }
    if (held >= 0) close(held);
    return kernels;
}
