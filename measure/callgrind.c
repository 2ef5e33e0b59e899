#include "callgrind.h"

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

#define CACHE_FOLDER "/sys/devices/system/cpu/cpu0/cache"
#define STACK_TOP 16384
#define COMMAND_LINE_BYTES ((size_t)1 << 20)
#define ARGUMENTS_MOST (SM_CALLGRIND_PLUGINS_MOST + 128)

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

static int ask_version(struct sm_callgrind *tool)
{
    char said[SM_CALLGRIND_PATH_BYTES + 16];
    char *arguments[] = {tool->valgrind, "--version", NULL}, *environment[] = {NULL};
    pid_t pid;
    snprintf(said, sizeof said, "%s/said", tool->folder);
    if (run(arguments, environment, said, &pid)) return -1;
    read_line(said, "valgrind-", tool->version, sizeof tool->version);
    return *tool->version ? 0 : -1;
}

/* The words --plugin FILE.so that this process was started with stand before its command. */
static int read_plugins(struct sm_callgrind *tool)
{
    tool->command_line = calloc(1, COMMAND_LINE_BYTES + 2);
    FILE *f = fopen("/proc/self/cmdline", "r");
    const size_t bytes = f && tool->command_line ? fread(tool->command_line, 1, COMMAND_LINE_BYTES, f) : 0;
    if (f) fclose(f);
    char *word = tool->command_line, *const end = word + bytes;
    if (!bytes) return -1;
    for (word += strlen(word) + 1; word < end && !strncmp(word, "--plugin", 8); word += strlen(word) + 1) {
        if (tool->plugin_count + 2 > SM_CALLGRIND_PLUGINS_MOST) return -1;
        tool->plugins[tool->plugin_count++] = word;
        if (word[8]) continue;
        word += strlen(word) + 1;
        tool->plugins[tool->plugin_count++] = word;
    }
    return 0;
}

int sm_callgrind_open(struct sm_callgrind *tool, char *why, size_t why_bytes)
{
    *tool = (struct sm_callgrind){.geometry = sm_callgrind_geometry_read(CACHE_FOLDER)};
#ifndef SM_CALLGRIND_POSSIBLE
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

void sm_callgrind_close(struct sm_callgrind *tool)
{
    if (*tool->folder) {
        empty_folder(tool->folder);
        rmdir(tool->folder);
    }
    free(tool->command_line);
    *tool = (struct sm_callgrind){.valgrind = ""};
}

/* The words of a command, one after another in text. */
struct words {
    char text[65536];
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

static void say_cache(struct words *w, const char *name, const struct sm_callgrind_cache *cache)
{
    say(w, "--%s=%zu,%zu,%zu", name, cache->bytes, cache->ways, cache->line);
}

static void say_command(struct words *w, const struct sm_callgrind *tool, const struct sm_callgrind_child *child)
{
    say(w, "%s", tool->valgrind);
    say(w, "--command-line-only=yes"); /* not what $VALGRIND_OPTS and .valgrindrc say */
    say(w, "--tool=callgrind");
    say(w, "--vgdb=no");
    say(w, "--log-file=%s/log", tool->folder);
    say(w, "--callgrind-out-file=%s/out.%%p", tool->folder);
    say(w, "--collect-atstart=no");
    say(w, "--toggle-collect=%s", child->toggle);
    say(w, "--dump-after=%s", child->dump_after);
    say(w, "--cache-sim=yes");
    say(w, "--branch-sim=yes");
    say_cache(w, "I1", &tool->geometry.i1);
    say_cache(w, "D1", &tool->geometry.d1);
    say_cache(w, "LL", &tool->geometry.ll);
    say(w, "%s", tool->program);
    for (size_t i = 0; i < tool->plugin_count; i++) say(w, "%s", tool->plugins[i]);
    for (size_t i = 0; i < child->word_count; i++) say(w, "%s", child->words[i]);
}

/* Nothing of the user's, so that the stack lies where it lay: what waits sleeps, and functions are bound at once. */
static void say_environment(struct words *w, const struct sm_callgrind_child *child)
{
    const char *library = getenv("VALGRIND_LIB");
    say(w, "OMP_WAIT_POLICY=passive");
    say(w, "LD_BIND_NOW=1");
    say(w, "SLOTMARK_PLUGINS_TRIED=1");
    if (child->one_thread) say(w, "OMP_THREAD_LIMIT=1");
    for (size_t i = 0; child->keep && child->keep[i]; i++)
        if (getenv(child->keep[i])) say(w, "%s=%s", child->keep[i], getenv(child->keep[i]));
    if (library) say(w, "VALGRIND_LIB=%s", library);
}

/* Whatever is said, the strings and pointers above the stack take the same room, and the stack lies where it lay. */
static void say_padding(struct words *environment, const struct words *arguments)
{
    static char padding[STACK_TOP + 1];
    const size_t used = environment->used + arguments->used + sizeof(char *) * (environment->count + arguments->count);
    if (used >= STACK_TOP) return;
    memset(padding, '-', STACK_TOP);
    say(environment, "SLOTMARK_PADDING=%.*s", (int)(STACK_TOP - used), padding);
}

void sm_callgrind_file(const struct sm_callgrind *tool, pid_t pid, size_t i, char *path, size_t bytes)
{
    snprintf(path, bytes, "%s/out.%ld.%zu", tool->folder, (long)pid, i);
}

static enum sm_callgrind_outcome judge_end(const struct sm_callgrind *tool, const char *wanted, int status, char *why,
                                           size_t why_bytes)
{
    char path[SM_CALLGRIND_PATH_BYTES + 16], line[512];
    snprintf(path, sizeof path, "%s/said", tool->folder);
    read_line(path, NULL, line, sizeof line);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !strcmp(line, wanted)) return SM_CALLGRIND_DONE;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGILL) {
        snprintf(why, why_bytes, "%s does not know an instruction that it uses", tool->version);
        return SM_CALLGRIND_REFUSED;
    }
    if (!*line) {
        snprintf(path, sizeof path, "%s/log", tool->folder);
        read_line(path, NULL, line, sizeof line);
    }
    if (WIFSIGNALED(status))
        snprintf(why, why_bytes, "%s ended with signal %d: %s", tool->version, WTERMSIG(status), line);
    else
        snprintf(why, why_bytes, "%s ended with %d: %s", tool->version, WEXITSTATUS(status), line);
    return WIFEXITED(status) && WEXITSTATUS(status) == SM_CALLGRIND_EXIT_REFUSED ? SM_CALLGRIND_REFUSED
                                                                                 : SM_CALLGRIND_FAILED;
}

enum sm_callgrind_outcome sm_callgrind_run(const struct sm_callgrind *tool, const struct sm_callgrind_child *child,
                                           pid_t *pid, char *why, size_t why_bytes)
{
    static struct words arguments, environment;
    char said[SM_CALLGRIND_PATH_BYTES + 16];
    arguments = (struct words){.used = 0};
    environment = (struct words){.used = 0};
    say_command(&arguments, tool, child);
    say_environment(&environment, child);
    say_padding(&environment, &arguments);
    if (arguments.full || environment.full) {
        snprintf(why, why_bytes, "the command line of its child is too long");
        return SM_CALLGRIND_FAILED;
    }
    empty_folder(tool->folder);
    snprintf(said, sizeof said, "%s/said", tool->folder);
    const int status = run(arguments.argument, environment.argument, said, pid);
    if (status == -2) {
        snprintf(why, why_bytes, "interrupted");
        return SM_CALLGRIND_INTERRUPTED;
    }
    if (status == -1) {
        snprintf(why, why_bytes, "no process could be started for callgrind");
        return SM_CALLGRIND_FAILED;
    }
    return judge_end(tool, child->said, status, why, why_bytes);
}
