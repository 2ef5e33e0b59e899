/* The parent's side of a launch: a process, its deadline, and what it answered. */
#include "duet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "random.h"
#include "stats.h"

#define ANSWER_BYTES 16384
#define ENVIRONMENT_MOST 4096

struct child {
    char number[6 + SM_MAX_DIMS][32];
    char *argv[19 + SM_MAX_DIMS];
};

static void build_arguments(const struct sm_duet_job *job, struct child *c)
{
    size_t n = 0, k = 0;
    const char *const fixed[] = {"slotmark",     "compare",      SM_DUET_WORD, job->object[0],  job->object[1],
                                 job->plugin[0], job->plugin[1], job->family,  job->variant[0], job->variant[1]};
    for (; n < sizeof fixed / sizeof *fixed; n++) c->argv[n] = (char *)(uintptr_t)fixed[n];
    snprintf(c->number[k], sizeof c->number[k], "%" PRIu64, job->seed);
    c->argv[n++] = c->number[k++];
    snprintf(c->number[k], sizeof c->number[k], "%zu", job->threads);
    c->argv[n++] = c->number[k++];
    snprintf(c->number[k], sizeof c->number[k], "%.9f", job->slice_s);
    c->argv[n++] = c->number[k++];
    snprintf(c->number[k], sizeof c->number[k], "%zu", job->pairs);
    c->argv[n++] = c->number[k++];
    snprintf(c->number[k], sizeof c->number[k], "%.9f", job->planted);
    c->argv[n++] = c->number[k++];
    snprintf(c->number[k], sizeof c->number[k], "%d", job->apart);
    c->argv[n++] = c->number[k++];
    for (size_t i = 0; i < job->dims; i++, k++) {
        snprintf(c->number[k], sizeof c->number[k], "%" PRId64, job->shape.dim[i]);
        c->argv[n++] = c->number[k];
    }
    c->argv[n] = NULL;
}

extern char **environ;

/* The user's environment and one variable of a random length: it moves the stack (Mytkowicz et al. 2009). */
static char **random_environment(uint64_t seed)
{
    struct sm_random random = {seed ^ 0x5bd1e995u};
    size_t count = 0;
    while (environ[count]) count++;
    const size_t length = sm_random_below(&random, ENVIRONMENT_MOST);
    char **copy = calloc(count + 2, sizeof *copy);
    char *word = malloc(length + 32);
    if (!copy || !word) {
        free(copy);
        free(word);
        return NULL;
    }
    memcpy(copy + 1, environ, count * sizeof *copy);
    const int n = snprintf(word, 32, "SLOTMARK_PADDING=");
    memset(word + n, 'x', length);
    word[(size_t)n + length] = '\0';
    copy[0] = word;
    return copy;
}

static void free_environment(char **environment)
{
    if (!environment) return;
    free(environment[0]);
    free(environment);
}

static void broken(struct sm_duet_launch *launch, const char *why)
{
    launch->status = SM_DUET_BROKEN;
    snprintf(launch->why, sizeof launch->why, "%s", why);
}

/* Reads until the end or the deadline. False: the deadline came first. */
static bool read_answer(int fd, char *text, size_t bytes, double limit_s)
{
    const uint64_t deadline = sm_clock_ns() + (uint64_t)(limit_s * 1e9);
    size_t used = 0;
    for (;;) {
        const uint64_t now = sm_clock_ns();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (now >= deadline) break;
        const int ready = poll(&p, 1, (int)((deadline - now) / 1000000) + 1);
        if (ready < 0 && errno != EINTR) break;
        if (ready <= 0) continue;
        const ssize_t n = read(fd, text + used, bytes - 1 - used);
        if (n < 0 && errno == EINTR) continue;
        if (n > 0) used += (size_t)n;
        if (n <= 0 || used == bytes - 1) {
            text[used] = '\0';
            return true;
        }
    }
    text[used] = '\0';
    return false;
}

static void summarise(double (*seconds)[2], size_t pairs, struct sm_duet_launch *launch)
{
    double x[SM_DUET_PAIRS_MOST];
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < pairs; k++) x[k] = seconds[k][i];
        launch->ns[i] = 1e9 * sm_median(x, pairs) / launch->calls;
    }
    for (size_t k = 0; k < pairs; k++) x[k] = log(seconds[k][1] / seconds[k][0]);
    launch->d = sm_median(x, pairs);
    launch->pairs = pairs;
    if (!isfinite(launch->d)) broken(launch, "a slice took no time at all");
}

static void understand(char *text, struct sm_duet_launch *launch)
{
    double seconds[SM_DUET_PAIRS_MOST][2];
    size_t pairs;
    int migrated, shared, at;
    char *line = strchr(text, '\n');
    if (line) *line++ = '\0';
    if (!strncmp(text, "wrong ", 6) || !strncmp(text, "refused ", 8)) {
        launch->status = text[0] == 'w' ? SM_DUET_WRONG : SM_DUET_REFUSED;
        snprintf(launch->why, sizeof launch->why, "%s", strchr(text, ' ') + 1);
        return;
    }
    if (!line || sscanf(text, "ok %" SCNu32 " %zu %d %d", &launch->calls, &pairs, &migrated, &shared) != 4 ||
        !launch->calls || !pairs || pairs > SM_DUET_PAIRS_MOST) {
        broken(launch, "its answer makes no sense");
        return;
    }
    launch->migrated = migrated;
    launch->shared = shared;
    for (size_t k = 0; k < pairs; k++, line += at)
        if (sscanf(line, "%lf %lf\n%n", &seconds[k][0], &seconds[k][1], &at) != 2) {
            broken(launch, "its answer is cut short");
            return;
        }
    summarise(seconds, pairs, launch);
}

static void describe_end(int status, struct sm_duet_launch *launch)
{
    char text[128];
    if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "a kernel or a workload crashed (signal %d, %s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, sizeof text, "the launch ended with exit code %d", WEXITSTATUS(status));
    broken(launch, text);
}

void sm_duet_run(const struct sm_duet_job *job, double limit_s, struct sm_duet_launch *launch)
{
    struct child child;
    char text[ANSWER_BYTES];
    int fd[2], status = 0;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    *launch = (struct sm_duet_launch){.status = SM_DUET_OK};
    build_arguments(job, &child);
    if (pipe2(fd, O_CLOEXEC)) {
        broken(launch, strerror(errno));
        return;
    }
    char **environment = random_environment(job->seed);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd[1], 1);
    const int failed =
        environment ? posix_spawn(&pid, "/proc/self/exe", &actions, NULL, child.argv, environment) : ENOMEM;
    posix_spawn_file_actions_destroy(&actions);
    free_environment(environment);
    close(fd[1]);
    if (failed) {
        close(fd[0]);
        broken(launch, strerror(failed));
        return;
    }
    const bool answered = read_answer(fd[0], text, sizeof text, limit_s);
    close(fd[0]);
    if (!answered) kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (!answered)
        broken(launch, "the launch did not end in its time");
    else if (!WIFEXITED(status) || WEXITSTATUS(status))
        describe_end(status, launch);
    else
        understand(text, launch);
}
