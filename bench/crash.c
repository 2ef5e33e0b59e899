#include "crash.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MOST 512
#define COMMAND_BYTES 65536

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}, {SIGABRT, "SIGABRT"}};
enum { SIGNALS = sizeof signals / sizeof *signals };

struct sm_crash_line {
    char *text; /* of the record, up to and after the signal's name, and the case's id */
    size_t before, bytes;
    char said[512];
};

static struct {
    bool on;
    char path[4096], option[16];
    char command[COMMAND_BYTES];
    char *words[WORDS_MOST + 4];
    cpu_set_t cpus;
    struct sigaction earlier[SIGNALS];
    struct sm_crash_line *volatile at;
    char stack[65536]; /* to stand on when the main thread has used up its own */
} crash;

static int write_all(int fd, const char *text, size_t bytes)
{
    while (bytes) {
        const ssize_t n = write(fd, text, bytes);
        if (n <= 0) return -1;
        text += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static void on_signal(int number)
{
    const struct sm_crash_line *line = crash.at;
    const char *name = "";
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i].number == number) name = signals[i].name;
        signal(signals[i].number, SIG_DFL); /* another one, or the return to what raised this one, ends the process */
    }
    const int fd = line ? open(crash.path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0) return;
    if (write_all(fd, line->text, line->before) || write_all(fd, name, strlen(name)) ||
        write_all(fd, line->text + line->before, line->bytes - line->before))
        return;
    (void)!write(2, line->said, strlen(line->said));
    (void)!write(2, name, strlen(name));
    (void)!write(2, "; going on without it\n", 22);
    sched_setaffinity(0, sizeof crash.cpus, &crash.cpus);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv("/proc/self/exe", crash.words);
}

/* This process's own command line, with --resume PATH in front of what is passed on. */
static int read_command(void)
{
    FILE *f = fopen("/proc/self/cmdline", "re");
    const size_t bytes = f ? fread(crash.command, 1, sizeof crash.command, f) : 0;
    size_t count = 0;
    bool resumed = false;
    if (f) fclose(f);
    if (!bytes || bytes == sizeof crash.command) return -1;
    for (size_t at = 0; at < bytes; at += strlen(crash.command + at) + 1) {
        if (count >= WORDS_MOST) return -1;
        if (!resumed && !strcmp(crash.command + at, "--")) {
            crash.words[count++] = crash.option;
            crash.words[count++] = crash.path;
            resumed = true;
        }
        crash.words[count++] = crash.command + at;
    }
    if (!resumed) {
        crash.words[count++] = crash.option;
        crash.words[count++] = crash.path;
    }
    crash.words[count] = NULL;
    return 0;
}

void sm_crash_begin(const char *path)
{
    const int n = snprintf(crash.path, sizeof crash.path, "%s", path);
    snprintf(crash.option, sizeof crash.option, "--resume");
    crash.at = NULL;
    if (n < 0 || (size_t)n >= sizeof crash.path || read_command() ||
        sched_getaffinity(0, sizeof crash.cpus, &crash.cpus))
        return;
    const stack_t stack = {.ss_sp = crash.stack, .ss_size = sizeof crash.stack};
    sigaltstack(&stack, NULL);
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i].number, &action, &crash.earlier[i]);
    crash.on = true;
}

void sm_crash_end(void)
{
    for (int i = 0; crash.on && i < SIGNALS; i++) sigaction(signals[i].number, &crash.earlier[i], NULL);
    crash.on = false;
    crash.at = NULL;
}

struct sm_crash_line *sm_crash_line_create(struct sm_record *record)
{
    static const char place[] = SM_CRASHED_BY "\"";
    struct sm_crash_line *line = crash.on ? calloc(1, sizeof *line) : NULL;
    json_t *json = line ? json_deep_copy(sm_record_json(record)) : NULL;
    if (!json) goto failed;
    json_object_set_new(json, "status", json_string("error"));
    json_object_set_new(json, "why", json_string(SM_CRASHED_BY));
    char *text = json_dumps(json, JSON_COMPACT);
    const char *found = text ? strstr(text, place) : NULL;
    const size_t bytes = text ? strlen(text) : 0;
    line->text = found ? malloc(bytes + 2) : NULL;
    if (line->text) {
        memcpy(line->text, text, bytes);
        line->text[bytes] = '\n';
        line->bytes = bytes + 1;
        line->before = (size_t)(found - text) + strlen(SM_CRASHED_BY);
        snprintf(line->said, sizeof line->said, "\nslotmark bench: %.400s " SM_CRASHED_BY,
                 json_string_value(json_object_get(json, "case")));
    }
    free(text);
    if (line->text) {
        json_decref(json);
        return line;
    }
failed:
    json_decref(json);
    free(line);
    return NULL;
}

void sm_crash_line_destroy(struct sm_crash_line *line)
{
    if (!line) return;
    if (crash.at == line) crash.at = NULL;
    free(line->text);
    free(line);
}

void sm_crash_at(struct sm_crash_line *line)
{
    crash.at = line;
}

bool sm_crash_is(const json_t *record)
{
    const char *why = json_string_value(json_object_get(record, "why"));
    return why && !strncmp(why, SM_CRASHED_BY, strlen(SM_CRASHED_BY));
}
