#include "arm.h"

#include <errno.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin_variants.h"
#include "revision.h"

static int is_file(const char *path)
{
    struct stat facts;
    return !stat(path, &facts) && S_ISREG(facts.st_mode);
}

static int is_folder(const char *path)
{
    struct stat facts;
    return !stat(path, &facts) && S_ISDIR(facts.st_mode);
}

int sm_arm_cache(char *path, size_t bytes)
{
    const char *own = getenv("SLOTMARK_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (own && *own)
        n = snprintf(path, bytes, "%s", own);
    else if (cache && *cache)
        n = snprintf(path, bytes, "%s/slotmark", cache);
    else if (home && *home)
        n = snprintf(path, bytes, "%s/.cache/slotmark", home);
    return n > 0 && (size_t)n < bytes ? 0 : -1;
}

/* The build that this program came from: the folder of the program itself, or where it is installed the one above. */
static int own_build(char *path, size_t bytes)
{
    char object[SM_ARM_PATH + 64];
    const ssize_t n = readlink("/proc/self/exe", path, bytes - 1);
    if (n <= 0) return -1;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash) return -1;
    *slash = '\0';
    snprintf(object, sizeof object, "%s/lib/libslotmark-kernels.so", path);
    if (!is_file(object) && (slash = strrchr(path, '/'))) *slash = '\0';
    return 0;
}

static char own_plugin[SM_ARM_PATH];
static size_t own_plugins;

void sm_arm_plugin(const char *path)
{
    if (!own_plugins++ && !realpath(path, own_plugin)) own_plugin[0] = '\0';
}

static enum sm_arm_result from_folder(struct sm_arm *arm, const char *folder, char *why, size_t why_bytes)
{
    const int n = snprintf(arm->object, sizeof arm->object, "%s/lib/libslotmark-kernels.so", folder);
    if (n < 0 || (size_t)n >= sizeof arm->object || !is_file(arm->object)) {
        snprintf(why, why_bytes, "finding the kernels of %s: there is no lib/libslotmark-kernels.so in it", arm->spec);
        return SM_ARM_BAD;
    }
    snprintf(arm->identity, sizeof arm->identity, "%.90s", strcmp(arm->spec, ".") ? arm->spec : "this build");
    const int m = snprintf(arm->objects, sizeof arm->objects, "%s/kernels/CMakeFiles/slotmark_kernels.dir", folder);
    if (m < 0 || (size_t)m >= sizeof arm->objects || !is_folder(arm->objects)) arm->objects[0] = '\0';
    char archive[SM_ARM_PATH + 64];
    const int k = snprintf(arm->archives, sizeof arm->archives, "%s/lib", folder);
    snprintf(archive, sizeof archive, "%s/libslotmark_kernels.a", arm->archives);
    if (k < 0 || (size_t)k >= sizeof arm->archives || !is_file(archive)) arm->archives[0] = '\0';
    return SM_ARM_OK;
}

static enum sm_arm_result from_self(struct sm_arm *arm, char *why, size_t why_bytes)
{
    char folder[SM_ARM_PATH];
    if (!own_build(folder, sizeof folder)) return from_folder(arm, folder, why, why_bytes);
    snprintf(why, why_bytes, "finding the kernels of this program: it does not see where it lies");
    return SM_ARM_BAD;
}

static enum sm_arm_result from_file(struct sm_arm *arm, char *why, size_t why_bytes)
{
    if (!is_file(arm->spec)) {
        snprintf(why, why_bytes, "finding %s: there is no such file", arm->spec);
        return SM_ARM_BAD;
    }
    if (!realpath(arm->spec, arm->object)) {
        snprintf(why, why_bytes, "finding %s: %s", arm->spec, strerror(errno));
        return SM_ARM_BAD;
    }
    const int plugin = sm_object_has(arm->object, "slotmark_plugin");
    if (plugin < 0) {
        snprintf(why, why_bytes, "loading %s: it crashes, or comes to no end", arm->spec);
        return SM_ARM_UNBUILT;
    }
    if (plugin) {
        memcpy(arm->plugin, arm->object, sizeof arm->plugin);
        const enum sm_arm_result base = from_self(arm, why, why_bytes);
        if (base != SM_ARM_OK) return base;
    }
    snprintf(arm->identity, sizeof arm->identity, "%.90s", arm->spec);
    return SM_ARM_OK;
}

static int split_spec(struct sm_arm *arm, const char *spec, char *why, size_t why_bytes)
{
    const char *at = strrchr(spec, '@');
    if (at && (at[1] == '{' || strchr(at, '/') || !at[1])) at = NULL; /* HEAD@{1}, a path */
    const size_t length = at ? (size_t)(at - spec) : strlen(spec);
    if (!length || length >= sizeof arm->spec || (at && strlen(at + 1) >= sizeof arm->variant)) {
        snprintf(why, why_bytes, "'%.60s' is no revision, build folder or shared object", spec);
        return -1;
    }
    memcpy(arm->spec, spec, length);
    if (at) strcpy(arm->variant, at + 1);
    return 0;
}

static enum sm_arm_result find(struct sm_arm *arm, bool build, FILE *out, char *why, size_t why_bytes)
{
    const size_t length = strlen(arm->spec);
    char folder[SM_ARM_PATH];
    if (!strcmp(arm->spec, ".")) {
        memcpy(arm->plugin, own_plugin, sizeof arm->plugin);
        if (own_plugins > 1) {
            snprintf(why, why_bytes, "finding the kernels of this build: it is compared with one plug-in, not with %zu",
                     own_plugins);
            return SM_ARM_BAD;
        }
        return from_self(arm, why, why_bytes);
    }
    if (length > 3 && !strcmp(arm->spec + length - 3, ".so")) return from_file(arm, why, why_bytes);
    if (is_folder(arm->spec) && realpath(arm->spec, folder)) {
        char object[SM_ARM_PATH + 64];
        snprintf(object, sizeof object, "%s/lib/libslotmark-kernels.so", folder);
        if (is_file(object) || strchr(arm->spec, '/')) return from_folder(arm, folder, why, why_bytes);
    }
    return sm_revision_get(arm, build, out, why, why_bytes);
}

static enum sm_arm_result get(struct sm_arm *arm, const char *spec, bool build, FILE *out, char *why, size_t why_bytes)
{
    *arm = (struct sm_arm){0};
    if (split_spec(arm, spec, why, why_bytes)) return SM_ARM_BAD;
    const enum sm_arm_result result = find(arm, build, out, why, why_bytes);
    const size_t used = strlen(arm->identity);
    if (arm->variant[0]) snprintf(arm->identity + used, sizeof arm->identity - used, "@%s", arm->variant);
    return result;
}

enum sm_arm_result sm_arm_get(struct sm_arm *arm, const char *spec, FILE *out, char *why, size_t why_bytes)
{
    return get(arm, spec, true, out, why, why_bytes);
}

enum sm_arm_result sm_arm_find(struct sm_arm *arm, const char *spec, char *why, size_t why_bytes)
{
    return get(arm, spec, false, NULL, why, why_bytes);
}

enum sm_arm_result sm_arm_program(const struct sm_arm *arm, FILE *out, char *path, size_t bytes, char *why,
                                  size_t why_bytes)
{
    const size_t length = strlen(arm->spec);
    if (!strcmp(arm->spec, ".") || arm->plugin[0]) {
        const ssize_t n = readlink("/proc/self/exe", path, bytes - 1);
        path[n > 0 ? n : 0] = '\0';
        return n > 0 ? SM_ARM_OK : SM_ARM_BAD;
    }
    if (length > 3 && !strcmp(arm->spec + length - 3, ".so")) {
        snprintf(why, why_bytes, "running a model with %s: a shared object of kernels is no program", arm->spec);
        return SM_ARM_BAD;
    }
    if (!is_folder(arm->spec)) return sm_revision_program(arm, out, path, bytes, why, why_bytes);
    const int n = snprintf(path, bytes, "%s/slotmark", arm->spec);
    if (n > 0 && (size_t)n < bytes && is_file(path)) return SM_ARM_OK;
    snprintf(why, why_bytes, "running a model with %s: there is no program slotmark in it", arm->spec);
    return SM_ARM_BAD;
}

int sm_arm_code(const struct sm_arm *arm, const char *family, const char *variant, char hash[65])
{
    char path[SM_ARM_PATH + 160];
    const int n = snprintf(path, sizeof path, "%s/%s/%s.c.o", arm->objects, family, variant);
    if (!arm->objects[0] || n < 0 || (size_t)n >= sizeof path || !is_file(path)) return -1;
    return SHA256File(path, hash) ? 0 : -1;
}

static int copy_file(const char *from, const char *to)
{
    struct stat facts;
    const int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    int bad = in < 0 || out < 0 || fstat(in, &facts);
    off_t left = bad ? 0 : facts.st_size;
    char *buffer = malloc(1 << 16);
    while (!bad && buffer && left > 0) {
        const ssize_t n = read(in, buffer, 1 << 16);
        if (n <= 0 || write(out, buffer, (size_t)n) != n) bad = 1;
        left -= n;
    }
    bad |= !buffer;
    free(buffer);
    if (in >= 0) close(in);
    if (out >= 0) bad |= close(out);
    return bad ? -1 : 0;
}

static int copy(const char *from, const char *to, char *why, size_t why_bytes)
{
    if (!copy_file(from, to)) return 0;
    snprintf(why, why_bytes, "copying %.300s: %s", from, strerror(errno));
    return -1;
}

int sm_arm_copy(const struct sm_arm *arm, const char *to, char *why, size_t why_bytes)
{
    return copy(arm->object, to, why, why_bytes);
}

int sm_arm_copy_plugin(const struct sm_arm *arm, const char *to, char *why, size_t why_bytes)
{
    return arm->plugin[0] ? copy(arm->plugin, to, why, why_bytes) : 0;
}
