#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const sm_gnuplot_terminals[] = {"dumb", "block", "sixel", NULL};

/* What the child needs to know, and no more: no HOME, so that nobody's ~/.gnuplot changes a figure. */
static void environment(const struct sm_gnuplot_job *job, char store[2][4200], char *envp[4])
{
    static char utf8[] = "LC_ALL=C.UTF-8";
    const char *path = getenv("PATH");
    snprintf(store[0], sizeof store[0], "PATH=%.4000s", path ? path : "/usr/bin:/bin");
    snprintf(store[1], sizeof store[1], "GNUPLOT_LIB=%.4000s", job->templates);
    envp[0] = store[0];
    envp[1] = store[1];
    envp[2] = utf8;
    envp[3] = NULL;
}

/* The first line of what gnuplot complained about. */
static void first_complaint(FILE *complaints, char *line, size_t bytes)
{
    char buffer[512];
    line[0] = 0;
    rewind(complaints);
    while (fgets(buffer, sizeof buffer, complaints)) {
        buffer[strcspn(buffer, "\n")] = 0;
        const char *text = buffer + strspn(buffer, " \t^");
        if (*text) snprintf(line, bytes, "%.300s", text);
    }
}

static int spawn(char *const argv[], char *const envp[], const char *folder, int complaints, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (!error) error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
    if (!error) error = posix_spawnp(child, "gnuplot", &actions, NULL, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* A picture being drawn. */
struct child {
    pid_t pid; /* 0: did not start, and why is said */
    FILE *complaints;
};

static int start(const struct sm_gnuplot_job *job, struct child *child, char *why, size_t why_bytes)
{
    char script[4400], data[80], output[80], store[2][4200], size[64];
    char *texts[3] = {strdup(job->title), strdup(job->subtitle), strdup(job->foot)};
    char format[16], program[] = "gnuplot", defaults[] = "-d", first[] = "-e", call[] = "-c";
    char *envp[4];
    int error = 0;

    *child = (struct child){.complaints = tmpfile()};
    snprintf(script, sizeof script, "%.4000s/%s.gp", job->templates, job->name);
    snprintf(data, sizeof data, "%.60s.tsv", job->name);
    snprintf(format, sizeof format, "%s", job->format);
    snprintf(output, sizeof output, "%.60s.%s", job->name, format);
    snprintf(size, sizeof size, "terminal_columns = %d; terminal_lines = %d", job->columns, job->lines);
    environment(job, store, envp);
    char *argv[] = {program, defaults, first,    size,     call,     script, data,
                    output,  format,   texts[0], texts[1], texts[2], NULL};
    fflush(stdout);
    if (!child->complaints || !texts[0] || !texts[1] || !texts[2])
        snprintf(why, why_bytes, "cannot draw %s: %s", job->name, strerror(errno));
    else if ((error = spawn(argv, envp, job->folder, fileno(child->complaints), &child->pid)) != 0)
        snprintf(why, why_bytes, "cannot draw %s: gnuplot does not start: %s (Debian: apt install gnuplot-nox)",
                 job->name, strerror(error));
    if (error) child->pid = 0;
    for (size_t i = 0; i < 3; i++) free(texts[i]);
    return child->pid ? 0 : -1;
}

static int finish(const struct sm_gnuplot_job *job, struct child *child, char *why, size_t why_bytes)
{
    int status, failed = -1;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    char complaint[320];
    first_complaint(child->complaints, complaint, sizeof complaint);
    if (WIFSIGNALED(status))
        snprintf(why, why_bytes, "gnuplot crashed (%s) when it drew %s.gp", strsignal(WTERMSIG(status)), job->name);
    else if (WEXITSTATUS(status) != 0)
        snprintf(why, why_bytes, "gnuplot failed to draw %s: %s", job->name,
                 *complaint ? complaint : "no reason given");
    else
        failed = 0;
    return failed;
}

int sm_gnuplot_draw(const struct sm_gnuplot_job *jobs, size_t count, char *why, size_t why_bytes)
{
    struct child *children = calloc(count + 1, sizeof *children); /* never of no bytes */
    char unsaid[1];
    int failed = 0;
    if (!children) {
        snprintf(why, why_bytes, "no memory to draw %s", jobs->name);
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        if (start(&jobs[i], &children[i], failed ? unsaid : why, failed ? sizeof unsaid : why_bytes)) failed = -1;
    for (size_t i = 0; i < count; i++) {
        if (children[i].pid &&
            finish(&jobs[i], &children[i], failed ? unsaid : why, failed ? sizeof unsaid : why_bytes))
            failed = -1;
        if (children[i].complaints) fclose(children[i].complaints);
    }
    free(children);
    return failed;
}
