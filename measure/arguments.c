#include "arguments.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MOST = 62, FIRST_CODE = 256, HELP_CODE = FIRST_CODE + OPTIONS_MOST, SCREEN = 96 };

static int set_value(const struct sm_argument *a, const char *text, char *why, size_t why_bytes)
{
    switch (a->kind) {
    case SM_ARGUMENT_FLAG: *(bool *)a->target = true; return 0;
    case SM_ARGUMENT_STRING:
        *(const char **)a->target = text;
        if (*text) return 0;
        snprintf(why, why_bytes, "its value is empty"); /* of a variable that is not set, most likely */
        return -1;
    case SM_ARGUMENT_STRINGS: return sm_parse_strings(text, a->target, a->choices, why, why_bytes);
    case SM_ARGUMENT_INTEGER: return sm_parse_integer(text, a->target, why, why_bytes);
    case SM_ARGUMENT_NUMBER: return sm_parse_number(text, a->target, why, why_bytes);
    case SM_ARGUMENT_LIST: return sm_parse_list(text, a->target, why, why_bytes);
    case SM_ARGUMENT_SIZE: return sm_parse_size(text, a->target, why, why_bytes);
    case SM_ARGUMENT_DURATION: return sm_parse_duration(text, a->target, why, why_bytes);
    case SM_ARGUMENT_CHOICE: return sm_parse_choice(text, a->choices, a->target, why, why_bytes);
    case SM_ARGUMENT_END: break;
    }
    return 0;
}

static const struct sm_argument *with_letter(const struct sm_argument *options, int letter)
{
    for (; options->kind != SM_ARGUMENT_END; options++)
        if (options->letter == letter) return options;
    return NULL;
}

/* The sentence for what getopt did not take. argv[optind - 1] is the culprit, or holds its letter. */
static void refuse(const struct sm_arguments *spec, char **argv, int result, char *why, size_t why_bytes)
{
    const char *names[OPTIONS_MOST + 2];
    size_t count = 0;
    for (const struct sm_argument *a = spec->options; a->kind != SM_ARGUMENT_END; a++) names[count++] = a->name;
    names[count++] = "help";
    names[count] = NULL;

    const char *given = argv[optind - 1];
    if (result == ':') {
        if (optopt >= FIRST_CODE)
            snprintf(why, why_bytes, "option '%.60s' needs a value", given);
        else
            snprintf(why, why_bytes, "option '-%c' needs a value", optopt);
        return;
    }
    if (optopt >= FIRST_CODE) { /* a known flag with =value */
        snprintf(why, why_bytes, "option '%.60s' takes no value", given);
        return;
    }
    if (optopt) {
        snprintf(why, why_bytes, "there is no option '-%c'; see slotmark %s --help", optopt, spec->command);
        return;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given + 2, "="), given + 2);
    for (size_t i = 0; i < count; i++)
        if (!strncmp(names[i], name, strlen(name))) {
            snprintf(why, why_bytes, "option '--%s' is the start of several; write it out", name);
            return;
        }
    const char *near = sm_nearest(name, names);
    if (near)
        snprintf(why, why_bytes, "there is no option '--%s'; did you mean '--%s'?", name, near);
    else
        snprintf(why, why_bytes, "there is no option '--%s'; see slotmark %s --help", name, spec->command);
}

static enum sm_arguments_result take_operands(const struct sm_arguments *spec, struct sm_arguments_rest *rest,
                                              char *why, size_t why_bytes)
{
    if (rest->operand_count > spec->operands_most) {
        snprintf(why, why_bytes, "'%.60s' is not expected here; see slotmark %s --help",
                 rest->operands[spec->operands_most], spec->command);
        return SM_ARGUMENTS_BAD;
    }
    if (rest->operand_count < spec->operands_least) {
        snprintf(why, why_bytes, "something is missing; usage: slotmark %s %s", spec->command, spec->usage);
        return SM_ARGUMENTS_BAD;
    }
    return SM_ARGUMENTS_OK;
}

enum sm_arguments_result sm_arguments_parse(const struct sm_arguments *spec, int argc, char **argv,
                                            struct sm_arguments_rest *rest, char *why, size_t why_bytes)
{
    struct option longs[OPTIONS_MOST + 2] = {{0}};
    char shorts[2 * OPTIONS_MOST + 3] = ":h";
    size_t used = 2, count = 0;
    for (const struct sm_argument *a = spec->options; a->kind != SM_ARGUMENT_END; a++) {
        if (count == OPTIONS_MOST) abort(); /* a table in the program, not input */
        const int has_value = a->kind != SM_ARGUMENT_FLAG;
        longs[count] = (struct option){a->name, has_value, NULL, FIRST_CODE + (int)count};
        count++;
        if (a->letter) shorts[used++] = a->letter;
        if (a->letter && has_value) shorts[used++] = ':';
    }
    shorts[used] = 0;
    longs[count] = (struct option){"help", no_argument, NULL, HELP_CODE};

    int own = argc; /* how much of argv is ours */
    if (spec->passes_on)
        for (own = 1; own < argc && strcmp(argv[own], "--");) own++;

    int c;
    opterr = 0;
    optind = 0; /* GNU: start afresh */
    while ((c = getopt_long(own, argv, shorts, longs, NULL)) != -1) {
        if (c == 'h' || c == HELP_CODE) return SM_ARGUMENTS_HELP;
        if (c == '?' || c == ':') {
            refuse(spec, argv, c, why, why_bytes);
            return SM_ARGUMENTS_BAD;
        }
        const struct sm_argument *a = c >= FIRST_CODE ? &spec->options[c - FIRST_CODE] : with_letter(spec->options, c);
        char reason[400];
        if (set_value(a, optarg, reason, sizeof reason)) {
            snprintf(why, why_bytes, "--%s: %s", a->name, reason);
            return SM_ARGUMENTS_BAD;
        }
    }
    struct sm_arguments_rest unused;
    if (!rest) rest = &unused;
    *rest = (struct sm_arguments_rest){argv + optind, (size_t)(own - optind), argv + own, 0};
    if (own < argc) {
        rest->passed = argv + own + 1;
        rest->passed_count = (size_t)(argc - own - 1);
    }
    return take_operands(spec, rest, why, why_bytes);
}

/* Words from column `indent` on, broken before the edge of the screen; the cursor is at the indent. */
static void wrap(const char *text, int indent, FILE *out)
{
    int column = indent;
    while (*text) {
        const int word = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + word > SCREEN) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", word, text);
        column += word;
        text += word;
        text += strspn(text, " \n");
    }
    fputc('\n', out);
}

static int left_side(const struct sm_argument *a, char *text, size_t bytes)
{
    char letter[8] = "    ";
    if (a->letter) snprintf(letter, sizeof letter, "-%c, ", a->letter);
    return snprintf(text, bytes, "  %s--%s%s%s", letter, a->name, a->value ? " " : "", a->value ? a->value : "");
}

void sm_arguments_help(const struct sm_arguments *spec, FILE *out)
{
    char left[96];
    int width = (int)strlen("  -h, --help");
    for (const struct sm_argument *a = spec->options; a->kind != SM_ARGUMENT_END; a++) {
        const int w = left_side(a, left, sizeof left);
        if (w > width && w <= 34) width = w;
    }
    fprintf(out, "usage: slotmark %s %s\n\n", spec->command, spec->usage);
    wrap(spec->summary, 0, out);
    fputc('\n', out);
    for (const struct sm_argument *a = spec->options; a->kind != SM_ARGUMENT_END; a++) {
        const int w = left_side(a, left, sizeof left);
        if (w > width)
            fprintf(out, "%s\n%*s", left, width + 2, "");
        else
            fprintf(out, "%-*s  ", width, left);
        wrap(a->help, width + 2, out);
    }
    fprintf(out, "%-*s  this text\n", width, "  -h, --help");
    if (spec->example) fprintf(out, "\nexample:\n  %s\n", spec->example);
}
