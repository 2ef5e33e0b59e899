#include "revision.h"

#include <errno.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "command.h"

/* What a build of the kernels depends on. */
static const char *const inputs[] = {"kernels", "cmake", "CMakeLists.txt"};
enum { INPUTS = sizeof inputs / sizeof *inputs };

#define FLAGS "-O3 -DNDEBUG"

struct revision {
    struct sm_arm *arm;
    char root[SM_ARM_PATH]; /* of the user's repository */
    char tree[64], commit[64];
    char compiler[128];
    char key[65], cache[SM_ARM_PATH], folder[SM_ARM_PATH];
    int whole;        /* the whole program is wanted, not the kernels alone */
    char at_once[24]; /* compilers: without a number make starts them all */
    FILE *out;
    char *why;
    size_t why_bytes;
};

static int fits(int n, size_t bytes)
{
    return n >= 0 && (size_t)n < bytes;
}

/* A path below another. What does not fit is refused when the folders are chosen: they are far shorter. */
static void path_in(char *path, size_t bytes, const char *folder, const char *name)
{
    if (!fits(snprintf(path, bytes, "%s/%s", folder, name), bytes)) path[0] = '\0';
}

static enum sm_arm_result refuse(struct revision *r, const char *sentence)
{
    snprintf(r->why, r->why_bytes, "finding %s: %s", r->arm->spec, sentence);
    return SM_ARM_BAD;
}

/* The files as they are now, as a tree: an index of our own, so that the user's is not read or written. */
static int tree_of_worktree(struct revision *r)
{
    char index[SM_ARM_PATH + 64], extra[SM_ARM_PATH + 96];
    snprintf(index, sizeof index, "%s/index-%ld", r->cache, (long)getpid());
    snprintf(extra, sizeof extra, "GIT_INDEX_FILE=%s", index);
    const char *const read[] = {"git", "-C", r->root, "read-tree", "HEAD", NULL};
    const char *const part[] = {"git", "-C", r->root, "add", "--all", "--", inputs[0], inputs[1], inputs[2], NULL};
    const char *const all[] = {"git", "-C", r->root, "add", "--all", NULL};
    const char *const *const add = r->whole ? all : part;
    const char *const write[] = {"git", "-C", r->root, "write-tree", NULL};
    const int bad = sm_command_run(read, NULL, extra) || sm_command_run(add, NULL, extra) ||
                    sm_command_line(write, extra, r->tree, sizeof r->tree);
    unlink(index);
    return bad ? -1 : 0;
}

static enum sm_arm_result find_tree(struct revision *r)
{
    const char *const top[] = {"git", "rev-parse", "--show-toplevel", NULL};
    char name[300];
    if (sm_command_line(top, NULL, r->root, sizeof r->root))
        return refuse(r, "it is no build folder and no shared object, and the current folder is in no git repository");
    const int dirty = !strcmp(r->arm->spec, "WORKTREE");
    snprintf(name, sizeof name, "%s^{commit}", dirty ? "HEAD" : r->arm->spec);
    const char *const commit[] = {"git", "-C", r->root, "rev-parse", "--verify", "-q", "--end-of-options", name, NULL};
    if (sm_command_line(commit, NULL, r->commit, sizeof r->commit))
        return refuse(r, "git knows no such revision, and there is no build folder or shared object of that name");
    if (dirty) {
        if (tree_of_worktree(r)) return refuse(r, "git could not write the files as a tree");
        snprintf(r->arm->identity, sizeof r->arm->identity, "WORKTREE (%.7s)", r->tree);
        return SM_ARM_OK;
    }
    snprintf(name, sizeof name, "%s^{tree}", r->commit);
    const char *const tree[] = {"git", "-C", r->root, "rev-parse", "--verify", "-q", name, NULL};
    if (sm_command_line(tree, NULL, r->tree, sizeof r->tree)) return refuse(r, "git cannot read its files");
    snprintf(r->arm->identity, sizeof r->arm->identity, "%.7s", r->commit);
    return SM_ARM_OK;
}

/* Equal keys are equal builds: the inputs' trees, the compiler, the flags, the machine's kind. */
static enum sm_arm_result make_key(struct revision *r)
{
    snprintf(r->at_once, sizeof r->at_once, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    const char *compiler = getenv("CC") && *getenv("CC") ? getenv("CC") : "cc";
    const char *const version[] = {compiler, "--version", NULL};
    struct utsname system;
    char text[1024];
    if (sm_command_line(version, NULL, r->compiler, sizeof r->compiler)) return refuse(r, "there is no C compiler cc");
    if (uname(&system)) return refuse(r, strerror(errno));
    size_t used = (size_t)snprintf(text, sizeof text, "3 %s %s %s", system.machine, r->compiler, FLAGS);
    for (size_t i = 0; i < INPUTS; i++) {
        char name[160], id[64];
        snprintf(name, sizeof name, "%s:%s", r->tree, inputs[i]);
        const char *const part[] = {"git", "-C", r->root, "rev-parse", "--verify", "-q", name, NULL};
        if (sm_command_line(part, NULL, id, sizeof id)) {
            snprintf(text, sizeof text, "it has no %s: it is not a revision of slotmark that can be built alone",
                     inputs[i]);
            return refuse(r, text);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, " %s", id);
    }
    SHA256Data((const uint8_t *)text, used, r->key);
    snprintf(r->arm->built, sizeof r->arm->built, "%.110s, " FLAGS, r->compiler);
    return SM_ARM_OK;
}

static int build_in(const struct revision *r, const char *work, const char *log)
{
    char source[SM_ARM_PATH + 64], build[SM_ARM_PATH + 64], flags[SM_ARM_PATH + 160];
    snprintf(source, sizeof source, "%s/source", work);
    snprintf(build, sizeof build, "%s/build", work);
    snprintf(flags, sizeof flags, "-DCMAKE_C_FLAGS=-ffile-prefix-map=%s=.", source);
    const char *const archive[] = {"git", "-C", r->root, "archive", r->tree, inputs[0], inputs[1], inputs[2], NULL};
    const char *const unpack[] = {"tar", "-x", "-C", source, NULL};
    const char *const configure[] = {"cmake",          "-S",  source, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                                     "-DSM_TESTS=OFF", flags, NULL};
    const char *const compile[] = {"cmake",      "--build",  build, "--target", "slotmark-kernels",
                                   "--parallel", r->at_once, NULL};
    if (mkdir(source, 0777)) return -1;
    return sm_command_pipe(archive, unpack, log) || sm_command_run(configure, log, NULL) ||
           sm_command_run(compile, log, NULL);
}

static int move(const char *work, const char *from, const char *name)
{
    char path[SM_ARM_PATH + 128], to[SM_ARM_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", work, from);
    snprintf(to, sizeof to, "%s/%s", work, name);
    return rename(path, to);
}

static void remove_all(const char *path)
{
    const char *const rm[] = {"rm", "-rf", "--", path, NULL};
    sm_command_run(rm, NULL, NULL);
}

/* Builds beside the place and moves there when done: two that build the same at once do not meet. */
static enum sm_arm_result build(struct revision *r)
{
    char work[SM_ARM_PATH + 32], log[SM_ARM_PATH + 64], part[SM_ARM_PATH + 64];
    snprintf(work, sizeof work, "%s-%ld", r->folder, (long)getpid());
    snprintf(log, sizeof log, "%s/log", work);
    remove_all(work);
    if (mkdir(work, 0777)) return refuse(r, strerror(errno));
    if (r->out) fprintf(r->out, "building the kernels of %s\n", r->arm->identity);
    int bad = build_in(r, work, log);
    if (!bad)
        bad = move(work, "build/lib/libslotmark-kernels.so", "kernels.so") ||
              move(work, "build/kernels/CMakeFiles/slotmark_kernels.dir", "objects") ||
              move(work, "build/lib", "archives");
    snprintf(part, sizeof part, "%s/source", work);
    remove_all(part);
    snprintf(part, sizeof part, "%s/build", work);
    remove_all(part);
    if (rename(work, r->folder)) { /* somebody else was faster, or a failed one is there */
        if (errno != EEXIST && errno != ENOTEMPTY) bad = 1;
        remove_all(work);
    }
    return bad ? SM_ARM_UNBUILT : SM_ARM_OK;
}

enum sm_arm_result sm_revision_get(struct sm_arm *arm, bool wanted, FILE *out, char *why, size_t why_bytes)
{
    struct revision r = {.arm = arm, .out = out, .why = why, .why_bytes = why_bytes};
    if (sm_arm_cache(r.cache, sizeof r.cache - 100)) return refuse(&r, "there is no place for a cache of builds");
    const char *const make[] = {"mkdir", "-p", "--", r.cache, NULL};
    if (sm_command_run(make, NULL, NULL)) return refuse(&r, "the cache of builds could not be made");
    enum sm_arm_result result = find_tree(&r);
    if (result == SM_ARM_OK) result = make_key(&r);
    if (result != SM_ARM_OK) return result;
    snprintf(r.folder, sizeof r.folder, "%.900s/build-%.40s", r.cache, r.key);
    path_in(arm->object, sizeof arm->object, r.folder, "kernels.so");
    path_in(arm->objects, sizeof arm->objects, r.folder, "objects");
    path_in(arm->archives, sizeof arm->archives, r.folder, "archives");
    const bool absent = access(r.folder, F_OK) != 0;
    if (absent && !wanted) {
        snprintf(why, why_bytes, "%s is not built yet", arm->identity);
        return SM_ARM_ABSENT;
    }
    if (absent) result = build(&r);
    if (result == SM_ARM_OK && !access(arm->object, R_OK)) return SM_ARM_OK;
    if (result == SM_ARM_BAD) return result;
    snprintf(why, why_bytes, "building the kernels of %s failed: see %.200s/log", arm->spec, r.folder);
    return SM_ARM_UNBUILT;
}

/* Built where it stays, since a program finds its shapes where it was built; under a lock, and only a finished one is
 * there by its name. */
static int build_program(const struct revision *r, const char *log)
{
    char source[SM_ARM_PATH + 64], build[SM_ARM_PATH + 64], done[SM_ARM_PATH + 64];
    path_in(source, sizeof source, r->folder, "source");
    path_in(build, sizeof build, r->folder, "build");
    path_in(done, sizeof done, r->folder, "slotmark");
    const char *const archive[] = {"git", "-C", r->root, "archive", r->tree, "--", ".", ":(exclude)tests", NULL};
    const char *const unpack[] = {"tar", "-x", "-C", source, NULL};
    const char *const configure[] = {"cmake",          "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                                     "-DSM_TESTS=OFF", NULL};
    const char *const compile[] = {"cmake", "--build", build, "--target", "slotmark", "--parallel", r->at_once, NULL};
    char made[SM_ARM_PATH + 96];
    path_in(made, sizeof made, build, "slotmark");
    remove_all(r->folder);
    if (mkdir(r->folder, 0777) || mkdir(source, 0777)) return -1;
    if (sm_command_pipe(archive, unpack, log) || sm_command_run(configure, log, NULL) ||
        sm_command_run(compile, log, NULL) || link(made, done))
        return -1;
    remove_all(build);
    return 0;
}

enum sm_arm_result sm_revision_program(const struct sm_arm *arm, FILE *out, char *path, size_t bytes, char *why,
                                       size_t why_bytes)
{
    struct sm_arm copy = *arm;
    struct revision r = {.arm = &copy, .whole = 1, .out = out, .why = why, .why_bytes = why_bytes};
    char text[1024], lock[SM_ARM_PATH + 64], log[SM_ARM_PATH + 64];
    if (sm_arm_cache(r.cache, sizeof r.cache - 100)) return refuse(&r, "there is no place for a cache of builds");
    enum sm_arm_result result = find_tree(&r);
    if (result == SM_ARM_OK) result = make_key(&r);
    if (result != SM_ARM_OK) return result;
    snprintf(text, sizeof text, "program 1 %s %s", r.key, r.tree);
    SHA256Data((const uint8_t *)text, strlen(text), r.key);
    snprintf(r.folder, sizeof r.folder, "%.900s/program-%.40s", r.cache, r.key);
    snprintf(lock, sizeof lock, "%s.lock", r.folder);
    snprintf(log, sizeof log, "%s.log", r.folder);
    path_in(path, bytes, r.folder, "slotmark");
    const int held = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (held < 0 || flock(held, LOCK_EX)) result = refuse(&r, strerror(errno));
    if (result == SM_ARM_OK && access(path, X_OK)) {
        if (out) fprintf(out, "building the program of %s, which takes minutes\n", arm->identity);
        unlink(log);
        if (build_program(&r, log)) {
            snprintf(why, why_bytes, "building the program of %s failed: see %s", arm->spec, log);
            result = SM_ARM_UNBUILT;
        }
    }
    if (held >= 0) close(held);
    return result;
}
