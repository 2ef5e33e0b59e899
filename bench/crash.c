#include "crash.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
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
    double seconds; /* its limit */
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
    volatile sig_atomic_t ticks; /* seconds of the timer since then: one while the process is stopped */
    struct sigaction earlier_alarm;
} crash;

static _Thread_local alignas(64) char stand[32768]; /* a frame with the tiles of AMX takes 11 KiB */
static _Thread_local bool standing;

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

static void tick_every(long seconds)
{
    const struct itimerval timer = {{seconds, 0}, {seconds, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Writes the line of the case that runs and begins anew; returns where that cannot be done. */
static void go_on_without(const char *by)
{
    const struct sm_crash_line *line = crash.at;
    const int fd = line ? open(crash.path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0) return;
    if (write_all(fd, line->text, line->before) || write_all(fd, by, strlen(by)) ||
        write_all(fd, line->text + line->before, line->bytes - line->before))
        return;
    (void)!write(2, line->said, strlen(line->said));
    (void)!write(2, by, strlen(by));
    (void)!write(2, "; going on without it\n", 22);
    tick_every(0); /* it would go on in the new process */
    sched_setaffinity(0, sizeof crash.cpus, &crash.cpus);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv("/proc/self/exe", crash.words);
}

static void on_signal(int number)
{
    const char *name = "";
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i].number == number) name = signals[i].name;
        signal(signals[i].number, SIG_DFL); /* another one, or the return to what raised this one, ends the process */
    }
    go_on_without(name);
}

static void on_tick(int number)
{
    (void)number;
    const struct sm_crash_line *line = crash.at;
    if (!line || ++crash.ticks <= line->seconds) return;
    crash.ticks = 0;
    go_on_without("a hang");
}

static void on_exit_called(void)
{
    if (crash.on) go_on_without("a call of exit");
}

/* Takes the place of the C library's, for plug-ins too: these end a process without a word to anyone. What exit itself
 * calls is the library's own. */
_Noreturn void _exit(int code)
{
    if (crash.on) go_on_without("a call of _exit");
    for (;;) syscall(SYS_exit_group, code);
}

_Noreturn void _Exit(int code)
{
    _exit(code);
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
    sm_crash_stand();
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i].number, &action, &crash.earlier[i]);
    const struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigaction(SIGALRM, &tick, &crash.earlier_alarm);
    tick_every(1);
    static bool registered;
    if (!registered) registered = !atexit(on_exit_called);
    crash.on = true;
}

void sm_crash_stand(void)
{
    if (standing) return;
    const stack_t stack = {.ss_sp = stand, .ss_size = sizeof stand};
    standing = !sigaltstack(&stack, NULL);
}

void sm_crash_end(void)
{
    if (crash.on) {
        tick_every(0);
        sigaction(SIGALRM, &crash.earlier_alarm, NULL);
    }
    for (int i = 0; crash.on && i < SIGNALS; i++) sigaction(signals[i].number, &crash.earlier[i], NULL);
    crash.on = false;
    crash.at = NULL;
}

struct sm_crash_line *sm_crash_line_create(struct sm_record *record, double seconds)
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
        line->seconds = seconds;
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
    crash.ticks = 0;
    crash.at = line;
}

bool sm_crash_is(const json_t *record)
{
    const char *why = json_string_value(json_object_get(record, "why"));
    return why && !strncmp(why, SM_CRASHED_BY, strlen(SM_CRASHED_BY));
}
