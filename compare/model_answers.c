#include "model_answers.h"

#include <ctype.h>
#include <sha256.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_BYTES 65536

size_t sm_model_begin(const struct sm_model_side *side, const char *command, const char *model, const char **argv)
{
    size_t n = 0;
    argv[n++] = side->program;
    if (side->arm->plugin[0]) {
        argv[n++] = "--plugin";
        argv[n++] = side->arm->plugin;
    }
    argv[n++] = command;
    argv[n++] = model;
    if (side->arm->variant[0]) {
        argv[n++] = "--variant";
        argv[n++] = side->arm->variant;
    }
    return n;
}

void sm_model_last_line(const char *path, char *text, size_t bytes)
{
    char line[1024];
    FILE *in = fopen(path, "r");
    *text = '\0';
    while (in && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (*line) snprintf(text, bytes, "%.150s", line);
    }
    if (in) fclose(in);
}

/* Passes on the options that `wanted` (or that all but `unwanted`) name; each of them has a value. */
static size_t pass(const struct sm_models_request *r, const char *const *names, bool wanted, const char **argv,
                   size_t n)
{
    for (size_t i = 0; i < r->passed_count; i++) {
        const char *word = r->passed[i];
        const size_t length = strcspn(word, "=");
        bool named = false;
        for (size_t k = 0; names[k]; k++) named |= strlen(names[k]) == length && !strncmp(names[k], word, length);
        const bool valued = !word[length] && i + 1 < r->passed_count && r->passed[i + 1][0] != '-';
        if (named == wanted) argv[n++] = word;
        if (named == wanted && valued) argv[n++] = r->passed[i + 1];
        i += valued;
    }
    return n;
}

/* The lines "case: 12 7 9" that profile --print-tokens prints, cases left out. */
static size_t read_tokens(const char *path, char *tokens, size_t bytes)
{
    char line[8192];
    size_t used = 0;
    FILE *in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in)) {
        const char *at = strstr(line, ": ");
        if (!at || at[2 + strspn(at + 2, "0123456789 ")] != '\n' || !isdigit((unsigned char)at[2])) continue;
        const int n = snprintf(tokens + used, bytes - used, "%s", at + 2);
        if (n > 0 && (size_t)n < bytes - used) used += (size_t)n;
    }
    if (in) fclose(in);
    return used;
}

static int ask(const struct sm_model_side *side, const struct sm_models_request *r, const char *folder,
               const char *name, char *tokens)
{
    static const char *const sessions[] = {"--turns",     "--turns-file", "--buckets", "--prefill-buckets",
                                           "--when-full", "--gen",        "--trace",   NULL};
    const char *argv[SM_MODELS_ARGUMENTS_MOST + 32];
    char out[96], log[96];
    snprintf(out, sizeof out, "%s/records.jsonl", folder);
    snprintf(log, sizeof log, "%s/%s", folder, name);
    unlink(out);
    const char *const fixed[] = {"--max-seq", "512",   "--reps", "1",  "--counters", "none",           "--gen",
                                 "16",        "--out", out,      "-o", "csv",        "--print-tokens", NULL};
    size_t n = sm_model_begin(side, "profile", r->model, argv);
    for (size_t i = 0; fixed[i]; i++) argv[n++] = fixed[i];
    n = pass(r, sessions, false, argv, n);
    argv[n] = NULL;
    const int code = sm_command_run(argv, log, NULL);
    tokens[0] = '\0';
    if (code || !read_tokens(log, tokens, ANSWER_BYTES)) return code ? code : 1;
    return 0;
}

/* The first token that differs, from 1. */
static size_t first_difference(const char *a, const char *b)
{
    size_t token = 1;
    for (; *a && *a == *b; a++, b++) token += *a == ' ' || *a == '\n';
    return token;
}

static bool is_within_limits(const struct sm_model_side *b, const struct sm_models_request *r, const char *folder,
                             const char *log)
{
    static const char *const both[] = {"--recipe", "--kv", "--scale-in", "--scales", "--synthetic-format", NULL};
    const char *argv[SM_MODELS_ARGUMENTS_MOST + 32];
    char out[96];
    snprintf(out, sizeof out, "%s/records.jsonl", folder);
    unlink(out);
    size_t n = sm_model_begin(b, "verify", r->model, argv);
    argv[n++] = "--no-paths";
    argv[n++] = "--out";
    argv[n++] = out;
    n = pass(r, both, true, argv, n);
    argv[n] = NULL;
    return !sm_command_run(argv, log, NULL);
}

static bool are_same_program(const struct sm_model_side side[2])
{
    char hash[2][65];
    return !strcmp(side[0].arm->variant, side[1].arm->variant) && !strcmp(side[0].arm->plugin, side[1].arm->plugin) &&
           SHA256File(side[0].program, hash[0]) && SHA256File(side[1].program, hash[1]) && !strcmp(hash[0], hash[1]);
}

enum sm_model_answers sm_model_answers(const struct sm_model_side side[2], const struct sm_models_request *request,
                                       const char *folder, char note[200], char *reason, size_t reason_bytes)
{
    char *tokens[2] = {malloc(ANSWER_BYTES), malloc(ANSWER_BYTES)}, log[96], last[160];
    enum sm_model_answers result = SM_MODEL_ANSWERS_DIFFER;
    int code = 0, at = 0;
    note[0] = '\0';
    if (are_same_program(side)) {
        result = SM_MODEL_SAME_PROGRAM;
    } else if (!tokens[0] || !tokens[1]) {
        snprintf(reason, reason_bytes, "no memory for its answers");
    } else {
        for (at = 0; at < 2 && !code; at++) code = ask(&side[at], request, folder, at ? "b" : "a", tokens[at]);
        snprintf(log, sizeof log, "%s/%s", folder, at == 2 ? "b" : "a");
        if (code) {
            sm_model_last_line(log, last, sizeof last);
            snprintf(reason, reason_bytes, "%s's answers cannot be had: %s", at == 2 ? "B" : "A", last);
        } else if (!strcmp(tokens[0], tokens[1])) {
            result = SM_MODEL_ANSWERS_ALIKE;
        } else if (is_within_limits(&side[1], request, folder, log)) {
            snprintf(note, 200,
                     "greedy tokens differ from number %zu on; verify finds B within the limits of its recipe",
                     first_difference(tokens[0], tokens[1]));
            result = SM_MODEL_ANSWERS_ALIKE;
        } else {
            snprintf(reason, reason_bytes,
                     "greedy tokens differ from number %zu on, and verify does not find B within its limits",
                     first_difference(tokens[0], tokens[1]));
        }
    }
    free(tokens[0]);
    free(tokens[1]);
    return result;
}
