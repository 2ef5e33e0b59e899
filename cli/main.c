/* slotmark: a thin dispatcher. Each command is a main of its own, in its own room. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "arm.h"
#include "bench.h"
#include "build.h"
#include "compilers.h"
#include "cpu.h"
#include "plugin_load.h"
#include "record.h"

#define SM_COMMAND(name, line) int name##_main(int argc, char **argv);
#include "commands.def"
#undef SM_COMMAND

static const struct command {
    const char *name, *line;
    int (*main)(int argc, char **argv);
} commands[] = {
#define SM_COMMAND(name, line) {#name, line, name##_main},
#include "commands.def"
#undef SM_COMMAND
};
static const struct sm_bench_builder compilers = {sm_compiler_name, sm_compiler_kernels, sm_compiler_flags};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
    fprintf(out, "usage: slotmark COMMAND [OPTION]...\n\n"
                 "Measures what static shapes cost in LLM inference on this CPU.\n\n");
    for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].line);
    fprintf(out, "\n  slotmark COMMAND --help   its options, with an example\n"
                 "  slotmark --version        version, commit, compiler, flags\n"
                 "  slotmark --plugin FILE.so COMMAND ...   with variants from outside: see kernels/plugin.h\n\n"
                 "SLOTMARK_CPU=any|avx2|avx512|avx512vnni|amx lowers the instruction set that is used.\n");
}

static void print_version(void)
{
    const struct sm_build *b = sm_build();
    printf("slotmark %s%s\n%s %s, %s\n", b->version, b->dirty == 1 ? ", with local changes" : "", b->compiler, b->flags,
           b->type);
}

static int unknown(const char *name)
{
    const char *names[COMMANDS + 1];
    for (int i = 0; i < COMMANDS; i++) names[i] = commands[i].name;
    names[COMMANDS] = NULL;
    const char *near = sm_nearest(name, names);
    fprintf(stderr, "slotmark: there is no command '%.60s'", name);
    if (near)
        fprintf(stderr, "; did you mean '%s'?\n", near);
    else
        fprintf(stderr, "; see slotmark --help\n");
    return 2;
}

/* Workers that wait for each other by spinning for long starve the one that is still at work when the machine has
 * anything else to do: a tenth of the speed was seen. So they spin for some tens of microseconds and sleep then,
 * unless the user has said otherwise. OpenMP reads this before main, hence the second start. */
static void settle_waiting(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    if (setenv("GOMP_SPINCOUNT", "500", 1)) return;
    execv("/proc/self/exe", argv);
}

/* Where a standard stream is closed, the next file opened would take its number, and what is printed would end up in
 * that file: in a result file, say. Opened for reading, the number is taken and writing to it still fails. */
static void occupy_standard_streams(void)
{
    int fd;
    do fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= 2);
    if (fd > 2) close(fd);
}

/* Global options stand before the command. 0 and what is left of the arguments, or -1 and a sentence. */
static int load_plugins(int *argc, char ***argv, char *why, size_t why_bytes)
{
    while (*argc > 1 && !strncmp((*argv)[1], "--plugin", 8)) {
        const char *path = (*argv)[1][8] == '=' ? (*argv)[1] + 9 : NULL;
        int used = 1;
        if (!path && !(*argv)[1][8] && *argc > 2) {
            path = (*argv)[2];
            used = 2;
        }
        if (!path || !*path) {
            snprintf(why, why_bytes, "--plugin needs the path of a shared object");
            return -1;
        }
        if (sm_plugin_load(path, why, why_bytes)) return -1;
        sm_arm_plugin(path);
        *argv += used; /* argv[0] of what is left is an argument that is done with */
        *argc -= used;
    }
    return 0;
}

static int run(int argc, char **argv)
{
    char **all = argv, why[512];
    const int count = argc;
    if (argc > 1 && !strncmp(argv[1], "--plugin", 8)) {
        settle_waiting(all);
        if (load_plugins(&argc, &argv, why, sizeof why)) {
            fprintf(stderr, "slotmark: %s\n", why);
            return 2;
        }
    }
    if (argc < 2) {
        print_help(stdout);
        return 0;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        print_help(stdout);
        return 0;
    }
    if (!strcmp(name, "--version")) {
        print_version();
        return 0;
    }
    const char *wrong = sm_cpu_check();
    if (wrong) {
        fprintf(stderr, "slotmark: %s\n", wrong);
        return 2;
    }
    settle_waiting(all);
    sm_record_command(count, all);
    sm_bench_build_by(&compilers);
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(name, commands[i].name)) return commands[i].main(argc - 1, argv + 1);
    return unknown(name);
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    const int code = run(argc, argv);
    if (!fflush(stdout) && !ferror(stdout)) return code;
    fprintf(stderr, "slotmark: standard output could not be written to its end\n");
    return code ? code : 2;
}
