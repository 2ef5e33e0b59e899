#include "count_tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "count_region.h"

#define CACHE_FOLDER "/sys/devices/system/cpu/cpu0/cache"
#define COMMAND_LINE_BYTES ((size_t)1 << 20)
#define ARGUMENTS_MOST (SM_COUNT_PLUGINS_MOST + 32)

static int find_valgrind(char *path, size_t bytes)
{
    const char *at = getenv("PATH");
    if (!at) at = "/usr/local/bin:/usr/bin:/bin";
    while (*at) {
        const size_t n = strcspn(at, ":");
        const int length = snprintf(path, bytes, "%.*s/valgrind", (int)(n < bytes ? n : 0), at);
        if (n && length > 0 && (size_t)length < bytes && !access(path, X_OK)) return 0;
        at += n + (at[n] == ':');
    }
    return -1;
}

/* Starts a program with its output in a file, and waits. The exit status as waitpid gives it; -1: not started;
 * -2: interrupted, and the program ended. *pid is what callgrind calls %p. */
static int run(char *const *arguments, char *const *environment, const char *said, pid_t *pid)
{
    const struct timespec nap = {0, 2000000};
    int status;
    *pid = fork();
    if (*pid < 0) return -1;
    if (!*pid) {
        const int in = open("/dev/null", O_RDONLY), out = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (in >= 0 && out >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0)
            execve(arguments[0], arguments, environment);
        _exit(127);
    }
    for (pid_t ended; (ended = waitpid(*pid, &status, WNOHANG)) != *pid;) {
        if (ended < 0 && errno != EINTR) return -1;
        if (sm_cases_interrupted()) {
            kill(*pid, SIGKILL);
            while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) continue;
            return -2;
        }
        nanosleep(&nap, NULL);
    }
    return sm_cases_interrupted() ? -2 : status;
}

/* The first line of a file that begins so and what follows, or the last line of all (begins NULL). */
static void read_line(const char *path, const char *begins, char *line, size_t bytes)
{
    char text[1024];
    *line = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(text, sizeof text, f)) {
        text[strcspn(text, "\n")] = 0;
        if (begins && strncmp(text, begins, strlen(begins))) continue;
        if (*text) snprintf(line, bytes, "%.*s", (int)bytes - 1, text);
        if (begins) break;
    }
    if (f) fclose(f);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) *c = '?';
}

static int ask_version(struct sm_count_tool *tool)
{
    char said[SM_COUNT_PATH_BYTES + 16];
    char *arguments[] = {tool->valgrind, "--version", NULL}, *environment[] = {NULL};
    pid_t pid;
    snprintf(said, sizeof said, "%s/said", tool->folder);
    if (run(arguments, environment, said, &pid)) return -1;
    read_line(said, "valgrind-", tool->version, sizeof tool->version);
    return *tool->version ? 0 : -1;
}

/* The words --plugin FILE.so that this process was started with stand before its command. */
static int read_plugins(struct sm_count_tool *tool)
{
    tool->command_line = calloc(1, COMMAND_LINE_BYTES + 2);
    FILE *f = fopen("/proc/self/cmdline", "r");
    const size_t bytes = f && tool->command_line ? fread(tool->command_line, 1, COMMAND_LINE_BYTES, f) : 0;
    if (f) fclose(f);
    char *word = tool->command_line, *const end = word + bytes;
    if (!bytes) return -1;
    for (word += strlen(word) + 1; word < end && !strncmp(word, "--plugin", 8); word += strlen(word) + 1) {
        if (tool->plugin_count + 2 > SM_COUNT_PLUGINS_MOST) return -1;
        tool->plugins[tool->plugin_count++] = word;
        if (word[8]) continue;
        word += strlen(word) + 1;
        tool->plugins[tool->plugin_count++] = word;
    }
    return 0;
}

int sm_count_tool_open(struct sm_count_tool *tool, char *why, size_t why_bytes)
{
    *tool = (struct sm_count_tool){.geometry = sm_count_geometry_read(CACHE_FOLDER)};
#ifndef SM_COUNT_POSSIBLE
    snprintf(why, why_bytes,
             "--count: this program cannot run under valgrind: it is not for x86-64, or has a sanitizer");
    return -1;
#endif
    if (find_valgrind(tool->valgrind, sizeof tool->valgrind)) {
        snprintf(why, why_bytes,
                 "--count needs valgrind, which is not installed here (Debian: apt-get install valgrind)");
        return -1;
    }
    const char *temporary = getenv("TMPDIR");
    if (!temporary || !*temporary || strchr(temporary, '%') || strlen(temporary) > 3000) temporary = "/tmp";
    const ssize_t length = readlink("/proc/self/exe", tool->program, sizeof tool->program - 1);
    if (length < 0 || read_plugins(tool)) {
        snprintf(why, why_bytes,
                 "--count: this program cannot be started again: its path or its words are not readable");
        return -1;
    }
    snprintf(tool->folder, sizeof tool->folder, "%s/slotmark-count.XXXXXX", temporary);
    if (!mkdtemp(tool->folder)) {
        snprintf(why, why_bytes, "--count: no folder for callgrind's files in '%.900s': %s", temporary,
                 strerror(errno));
        *tool->folder = 0;
        return -1;
    }
    if (ask_version(tool)) {
        snprintf(why, why_bytes, "--count: '%.900s --version' does not say valgrind's version", tool->valgrind);
        return -1;
    }
    return 0;
}

static void empty_folder(const char *folder)
{
    DIR *d = opendir(folder);
    for (const struct dirent *entry; d && (entry = readdir(d));)
        if (*entry->d_name != '.') unlinkat(dirfd(d), entry->d_name, 0);
    if (d) closedir(d);
}

void sm_count_tool_close(struct sm_count_tool *tool)
{
    if (*tool->folder) {
        empty_folder(tool->folder);
        rmdir(tool->folder);
    }
    free(tool->command_line);
    *tool = (struct sm_count_tool){.valgrind = ""};
}

/* The numbers of a line, by the names of another: "events: Ir Dr" and "totals: 5 2". */
static uint64_t event(const char *names, const char *values, const char *name)
{
    const size_t n = strlen(name);
    while (*names) {
        names += strspn(names, " ");
        const size_t length = strcspn(names, " ");
        char *end;
        const uint64_t value = strtoull(values, &end, 10); /* callgrind leaves out zeros at the end */
        if (length == n && !memcmp(names, name, n)) return value;
        names += length;
        values = end;
    }
    return 0;
}

int sm_counted_read(const char *path, struct sm_counted *counted, char *why, size_t why_bytes)
{
    char names[1024], values[1024];
    read_line(path, "events: ", names, sizeof names);
    read_line(path, "totals: ", values, sizeof values);
    if (!strstr(names, " Ir ") || !strstr(names, " Bc ") || !strstr(names, " DLmw ") || !*values) {
        snprintf(why, why_bytes, "callgrind wrote no totals of all events");
        return -1;
    }
    const char *const n = names + strlen("events: "), *const v = values + strlen("totals: ");
    *counted = (struct sm_counted){
        .instructions = event(n, v, "Ir"),
        .branches = event(n, v, "Bc") + event(n, v, "Bi"),
        .reads = event(n, v, "Dr"),
        .writes = event(n, v, "Dw"),
        .i1_misses = event(n, v, "I1mr"),
        .d1_misses = event(n, v, "D1mr") + event(n, v, "D1mw"),
        .ll_misses = event(n, v, "ILmr") + event(n, v, "DLmr") + event(n, v, "DLmw"),
    };
    if (counted->instructions < SM_COUNT_REGION_INSTRUCTIONS || counted->branches < SM_COUNT_REGION_BRANCHES) {
        snprintf(why, why_bytes, "callgrind saw no call of the kernel");
        return -1;
    }
    counted->instructions -= SM_COUNT_REGION_INSTRUCTIONS;
    counted->branches -= SM_COUNT_REGION_BRANCHES;
    return 0;
}

/* The words of a command, one after another in text. */
struct words {
    char text[16384];
    size_t used;
    char *argument[ARGUMENTS_MOST + 1];
    size_t count;
    bool full; /* something did not fit */
};

static void say(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct words *w, const char *format, ...)
{
    va_list list;
    const size_t room = sizeof w->text - w->used;
    va_start(list, format);
    const int n = vsnprintf(w->text + w->used, room, format, list);
    va_end(list);
    w->full |= n < 0 || (size_t)n >= room || w->count == ARGUMENTS_MOST;
    if (w->full) return;
    w->argument[w->count++] = w->text + w->used;
    w->used += (size_t)n + 1;
}

static void say_cache(struct words *w, const char *name, const struct sm_count_cache *cache)
{
    say(w, "--%s=%zu,%zu,%zu", name, cache->bytes, cache->ways, cache->line);
}

static void say_command(struct words *w, const struct sm_count_tool *tool, const struct sm_bench_case *c)
{
    char shape[SM_MAX_DIMS * 24] = "";
    size_t used = 0;
    say(w, "%s", tool->valgrind);
    say(w, "--command-line-only=yes"); /* not what $VALGRIND_OPTS and .valgrindrc say */
    say(w, "--tool=callgrind");
    say(w, "--vgdb=no");
    say(w, "--log-file=%s/log", tool->folder);
    say(w, "--callgrind-out-file=%s/out.%%p", tool->folder);
    say(w, "--collect-atstart=no");
    say(w, "--toggle-collect=%s", SM_COUNT_SYMBOL);
    say(w, "--dump-after=%s", SM_COUNT_SYMBOL); /* a file for each part */
    say(w, "--cache-sim=yes");
    say(w, "--branch-sim=yes");
    say_cache(w, "I1", &tool->geometry.i1);
    say_cache(w, "D1", &tool->geometry.d1);
    say_cache(w, "LL", &tool->geometry.ll);
    say(w, "%s", tool->program);
    for (size_t i = 0; i < tool->plugin_count; i++) say(w, "%s", tool->plugins[i]);
    say(w, "bench");
    say(w, "--counted");
    say(w, "%s", c->family->name);
    say(w, "%s", c->variant->name);
    for (size_t d = 0; d < c->family->dim_count; d++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld", d ? "," : "", (long long)c->shape.dim[d]);
    say(w, "%s", shape);
    say(w, "%zu", c->threads);
    say(w, "%llu", (unsigned long long)c->seed);
    say(w, "%zu", c->cold ? tool->geometry.ll.bytes : 0);
}

/* Nothing of the user's, so that the stack lies where it lay: what waits sleeps, and functions are bound at once. */
static void say_environment(struct words *w)
{
    const char *library = getenv("VALGRIND_LIB");
    say(w, "OMP_WAIT_POLICY=passive");
    say(w, "LD_BIND_NOW=1");
    say(w, "SLOTMARK_PLUGINS_TRIED=1");
    if (library) say(w, "VALGRIND_LIB=%s", library);
}

static int read_threads(const struct sm_count_tool *tool, const struct sm_bench_case *c, pid_t pid,
                        struct sm_counted *counted, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < c->threads; i++) {
        char path[SM_COUNT_PATH_BYTES + 64];
        snprintf(path, sizeof path, "%s/out.%ld.%zu", tool->folder, (long)pid, i + 1);
        if (sm_counted_read(path, &counted[i], why, why_bytes)) return -1;
    }
    return 0;
}

static enum sm_count_outcome judge_end(const struct sm_count_tool *tool, const struct sm_bench_case *c, int status,
                                       char *why, size_t why_bytes)
{
    char path[SM_COUNT_PATH_BYTES + 16], line[512], wanted[256];
    snprintf(path, sizeof path, "%s/said", tool->folder);
    read_line(path, NULL, line, sizeof line);
    snprintf(wanted, sizeof wanted, "%s/%s", c->family->name, c->variant->name);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !strcmp(line, wanted)) return SM_COUNTED;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGILL) {
        snprintf(why, why_bytes, "%s does not know an instruction that it uses", tool->version);
        return SM_COUNT_REFUSED;
    }
    if (!*line) {
        snprintf(path, sizeof path, "%s/log", tool->folder);
        read_line(path, NULL, line, sizeof line);
    }
    if (WIFSIGNALED(status))
        snprintf(why, why_bytes, "%s ended with signal %d: %s", tool->version, WTERMSIG(status), line);
    else
        snprintf(why, why_bytes, "%s ended with %d: %s", tool->version, WEXITSTATUS(status), line);
    return WIFEXITED(status) && WEXITSTATUS(status) == SM_COUNT_EXIT_REFUSED ? SM_COUNT_REFUSED : SM_COUNT_FAILED;
}

enum sm_count_outcome sm_count_tool_run(const struct sm_count_tool *tool, const struct sm_bench_case *c,
                                        struct sm_counted *counted, char *why, size_t why_bytes)
{
    static struct words arguments, environment;
    char said[SM_COUNT_PATH_BYTES + 16];
    pid_t pid;
    arguments = (struct words){.used = 0};
    environment = (struct words){.used = 0};
    say_command(&arguments, tool, c);
    say_environment(&environment);
    if (arguments.full || environment.full) {
        snprintf(why, why_bytes, "the command line of its child is too long");
        return SM_COUNT_FAILED;
    }
    empty_folder(tool->folder);
    snprintf(said, sizeof said, "%s/said", tool->folder);
    const int status = run(arguments.argument, environment.argument, said, &pid);
    if (status == -2) {
        snprintf(why, why_bytes, "interrupted");
        return SM_COUNT_INTERRUPTED;
    }
    if (status == -1) {
        snprintf(why, why_bytes, "no process could be started for callgrind");
        return SM_COUNT_FAILED;
    }
    const enum sm_count_outcome outcome = judge_end(tool, c, status, why, why_bytes);
    if (outcome != SM_COUNTED) return outcome;
    return read_threads(tool, c, pid, counted, why, why_bytes) ? SM_COUNT_FAILED : SM_COUNTED;
}
