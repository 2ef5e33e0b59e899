/* arguments.h - the command lines of all commands: one table of options, one parser, one help text.
 *
 *     struct sm_list max_seq = SM_LIST(256, 1024);
 *     const struct sm_argument options[] = {
 *         {"max-seq", 0, SM_ARGUMENT_LIST, &max_seq, NULL, "LIST", "cache lengths, e.g. 256,1024 or 128..8192*2"},
 *         SM_CASE_ARGUMENTS(&cases),
 *         SM_ARGUMENTS_END,
 *     };
 *     const struct sm_arguments spec = {"bench", "[OPTION]...", "times kernels", options, "example", 0, 0, false};
 *     switch (sm_arguments_parse(&spec, argc, argv, &rest, why, sizeof why)) {
 *     case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 0;
 *     case SM_ARGUMENTS_BAD: fprintf(stderr, "slotmark bench: %s\n", why); return 2;
 *     case SM_ARGUMENTS_OK: break;
 *     }
 *
 * argv[0] is the command's name. --help and -h are understood everywhere. Options and operands may be
 * mixed; `--` ends the options. A target keeps its value when its option is not given; a list given twice
 * is the second. Strings point into argv. */
#ifndef SM_ARGUMENTS_H
#define SM_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SM_LIST_MOST 256
#define SM_STRINGS_MOST 128

/* Whole numbers: `256,1024`, `1..8` (step 1), `1..9+2`, `128..8192*2`, and mixtures `1,2,4..64*2`. */
struct sm_list {
    size_t count;
    int64_t value[SM_LIST_MOST];
};
#define SM_LIST(...)                                                                                                   \
    {                                                                                                                  \
        sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                                                            \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

/* Words, `f16,i8`; they point into text. */
struct sm_strings {
    size_t count;
    const char *value[SM_STRINGS_MOST];
    char text[4096];
};

enum sm_argument_kind {
    SM_ARGUMENT_END,
    SM_ARGUMENT_FLAG,     /* bool: no value */
    SM_ARGUMENT_STRING,   /* const char * */
    SM_ARGUMENT_STRINGS,  /* struct sm_strings; each one of choices, where there are any */
    SM_ARGUMENT_INTEGER,  /* int64_t */
    SM_ARGUMENT_NUMBER,   /* double */
    SM_ARGUMENT_LIST,     /* struct sm_list */
    SM_ARGUMENT_SIZE,     /* int64_t, bytes: 4096, 64K, 2M, 1.5GiB (powers of 1024) */
    SM_ARGUMENT_DURATION, /* double, seconds: 90, 90s, 3m, 1h30m, 250ms */
    SM_ARGUMENT_CHOICE,   /* int: index into choices */
};

struct sm_argument {
    const char *name; /* "max-seq" for --max-seq */
    char letter;      /* 'o' for -o; 0: none */
    enum sm_argument_kind kind;
    void *target;
    const char *const *choices; /* NULL-ended; NULL: anything */
    const char *value;          /* the value's name in the help text: "LIST" */
    const char *help;           /* one line, with the unit and the standard value */
};
#define SM_ARGUMENTS_END                                                                                               \
    {                                                                                                                  \
        NULL, 0, SM_ARGUMENT_END, NULL, NULL, NULL, NULL                                                               \
    }

struct sm_arguments {
    const char *command; /* "bench" */
    const char *usage;   /* what follows the name: "[OPTION]... [-- GOOGLE_BENCHMARK_FLAG...]" */
    const char *summary; /* a sentence or a few lines */
    const struct sm_argument *options;
    const char *example; /* lines as to be typed; NULL: none */
    size_t operands_least, operands_most;
    bool passes_on; /* what stands after `--` is for somebody else (rest.passed), not operands */
};

struct sm_arguments_rest {
    char **operands;
    size_t operand_count;
    char **passed;
    size_t passed_count;
};

enum sm_arguments_result { SM_ARGUMENTS_OK, SM_ARGUMENTS_HELP, SM_ARGUMENTS_BAD };

/* BAD: why holds one sentence. rest may be NULL where no operand is allowed. */
enum sm_arguments_result sm_arguments_parse(const struct sm_arguments *spec, int argc, char **argv,
                                            struct sm_arguments_rest *rest, char *why, size_t why_bytes);
void sm_arguments_help(const struct sm_arguments *spec, FILE *out);

/* The parts, for values that come from elsewhere: 0, or -1 with a sentence. */
int sm_parse_list(const char *text, struct sm_list *list, char *why, size_t why_bytes);
int sm_parse_strings(const char *text, struct sm_strings *list, const char *const *choices, char *why,
                     size_t why_bytes);
int sm_parse_integer(const char *text, int64_t *value, char *why, size_t why_bytes);
int sm_parse_number(const char *text, double *value, char *why, size_t why_bytes);
int sm_parse_size(const char *text, int64_t *bytes, char *why, size_t why_bytes);
int sm_parse_duration(const char *text, double *seconds, char *why, size_t why_bytes);
int sm_parse_choice(const char *text, const char *const *choices, int *index, char *why, size_t why_bytes);

/* The word nearest to text by edits, or NULL when none is near. words is NULL-ended. */
const char *sm_nearest(const char *text, const char *const *words);

#endif
