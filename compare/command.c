#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void in_child(const char *const *argv, int in, int out, int err, const char *extra)
{
    if (in >= 0) dup2(in, 0);
    if (out >= 0) dup2(out, 1);
    if (err >= 0) dup2(err, 2);
    if (extra) putenv((char *)(uintptr_t)extra);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static pid_t start(const char *const *argv, int in, int out, int err, const char *extra)
{
    const pid_t pid = fork();
    if (pid == 0) in_child(argv, in, out, err, extra);
    return pid;
}

static int finish(pid_t pid)
{
    int status;
    if (pid < 0) return 127;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return 127;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int open_log(const char *log)
{
    return open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

int sm_command_run(const char *const *argv, const char *log, const char *extra)
{
    const int out = open_log(log), in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int code = finish(start(argv, in, out, out, extra));
    if (out >= 0) close(out);
    if (in >= 0) close(in);
    return code;
}

int sm_command_line(const char *const *argv, const char *extra, char *line, size_t bytes)
{
    int fd[2];
    size_t used = 0;
    *line = '\0';
    if (pipe2(fd, O_CLOEXEC)) return 127;
    const int quiet = open_log(NULL);
    const pid_t pid = start(argv, -1, fd[1], quiet, extra);
    close(fd[1]);
    for (;;) {
        char text[512];
        const ssize_t n = read(fd[0], text, sizeof text);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        const size_t room = bytes - 1 - used, take = (size_t)n < room ? (size_t)n : room;
        memcpy(line + used, text, take);
        used += take;
    }
    line[used] = '\0';
    line[strcspn(line, "\n")] = '\0';
    close(fd[0]);
    if (quiet >= 0) close(quiet);
    return finish(pid);
}

int sm_command_pipe(const char *const *from, const char *const *to, const char *log)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC)) return 127;
    const int out = open_log(log);
    const pid_t writer = start(from, -1, fd[1], out, NULL), reader = start(to, fd[0], out, out, NULL);
    close(fd[0]);
    close(fd[1]);
    const int wrote = finish(writer), read = finish(reader);
    if (out >= 0) close(out);
    return wrote ? wrote : read;
}
