/* Group files: a few lines of words; hostile until shown otherwise. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "counter_formula.h"
#include "counter_step.h"
#include "counters.h"
#include "stimulus.h"

static int take(char *field, size_t bytes, const char *word)
{
    if (strlen(word) >= bytes) return -1;
    strcpy(field, strcmp(word, "-") ? word : "");
    return 0;
}

/* NULL, or what is wrong with the line. */
static const char *read_def(char *line, struct sm_counter_def *def)
{
    char *word[8], *rest = line;
    size_t n = 0;
    while (n < 8 && (word[n] = strtok_r(rest, " \t\r\n", &rest))) n++;
    if (n != 7) return "a counter has seven columns: name, unit, work, preset, generic, bare, software";
    if (take(def->name, sizeof def->name, word[0]) || take(def->unit, sizeof def->unit, word[1]) ||
        take(def->work, sizeof def->work, word[2]) || take(def->preset, sizeof def->preset, word[3]) ||
        take(def->generic, sizeof def->generic, word[4]) || take(def->bare, sizeof def->bare, word[5]) ||
        take(def->software, sizeof def->software, word[6]))
        return "a name is too long";
    if (!*def->name || !*def->unit) return "a counter needs a name and a unit";
    if (strspn(def->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(def->name) || *def->name < 'a')
        return "a name is of small letters, digits and _, a letter first";
    if (*def->work && !sm_stimulus_named(def->work)) return "no such known work";
    if (*def->bare && sm_counter_bare_known(def->bare)) return "no such event of the system call";
    if (*def->software && sm_counter_software_known(def->software)) return "no such software counter";
    return NULL;
}

/* What a formula may name: a counter above it, or what every call has. */
static bool known_name(void *context, const char *name, double *value)
{
    const struct sm_counter_group *group = context;
    *value = 1;
    for (size_t i = 0; i < group->count; i++)
        if (!strcmp(group->defs[i].name, name)) return true;
    for (const char *const *own = (const char *const[]){"time", "tokens", "ops", "line", NULL}; *own; own++)
        if (!strcmp(*own, name)) return true;
    return false;
}

static bool name_taken(const struct sm_counter_group *group, const char *name)
{
    double unused;
    for (size_t i = 0; i < group->metric_count; i++)
        if (!strcmp(group->metrics[i].name, name)) return true;
    return known_name((void *)(uintptr_t)group, name, &unused);
}

/* NAME UNIT = FORMULA */
static const char *read_metric(char *line, struct sm_counter_group *group)
{
    char *rest = line;
    const char *name = strtok_r(rest, " \t", &rest), *unit = strtok_r(rest, " \t", &rest),
               *equals = strtok_r(rest, " \t", &rest), *wrong;
    if (!equals || strcmp(equals, "=")) return "a metric is NAME UNIT = FORMULA";
    if (group->metric_count == SM_COUNTERS_MOST) return "a group holds at most 8 metrics";
    if (name_taken(group, name)) return "this name is there already";
    struct sm_counter_metric *m = &group->metrics[group->metric_count];
    rest += strspn(rest, " \t");
    if (take(m->name, sizeof m->name, name) || take(m->unit, sizeof m->unit, unit) ||
        take(m->formula, sizeof m->formula, rest))
        return "a name or formula is too long";
    sm_formula_value(m->formula, known_name, group, &wrong);
    if (!wrong) group->metric_count++;
    return wrong;
}

static const char *read_line(char *line, struct sm_counter_group *group)
{
    static const char summary[] = "summary ", metric[] = "metric ";
    line[strcspn(line, "#\r\n")] = 0;
    for (const char *c = line; *c; c++)
        if ((*c < ' ' && *c != '\t') || *c > '~') return "only printable ASCII is understood";
    if (line[strspn(line, " \t")] == 0) return NULL;
    if (!strncmp(line, summary, sizeof summary - 1))
        return take(group->summary, sizeof group->summary, line + sizeof summary - 1) ? "the summary is too long"
                                                                                      : NULL;
    if (!strncmp(line, metric, sizeof metric - 1)) return read_metric(line + sizeof metric - 1, group);
    if (group->count == SM_COUNTERS_MOST) return "a group holds at most 8 counters";
    const char *wrong = read_def(line, &group->defs[group->count]);
    if (!wrong && name_taken(group, group->defs[group->count].name)) wrong = "this name is there already";
    if (!wrong) group->count++;
    return wrong;
}

int sm_counter_group_load(const char *path, struct sm_counter_group *group, char *why, size_t why_bytes)
{
    memset(group, 0, sizeof *group);
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    snprintf(group->name, sizeof group->name, "%.*s", (int)strcspn(base, "."), base);
    struct stat info;
    const int found = !stat(path, &info), regular = found && S_ISREG(info.st_mode); /* a pipe could keep us waiting */
    FILE *f = regular ? fopen(path, "r") : NULL;
    if (!f) {
        snprintf(why, why_bytes, "cannot read the counter group '%s': %s", path,
                 found && !regular ? "it is no file" : strerror(errno));
        return -1;
    }
    char line[512];
    const char *wrong = NULL;
    int number = 0;
    while (!wrong && fgets(line, sizeof line, f)) {
        number++;
        wrong = strlen(line) == sizeof line - 1 ? "the line is too long" : read_line(line, group);
    }
    if (!wrong && ferror(f)) wrong = strerror(errno);
    if (!wrong && group->count == 0) wrong = "it names no counter";
    fclose(f);
    if (!wrong) return 0;
    snprintf(why, why_bytes, "cannot use line %d of the counter group '%s': %s", number, path, wrong);
    return -1;
}

const char *sm_counter_folder(void)
{
    const char *chosen = getenv("SLOTMARK_COUNTERS");
    return chosen && *chosen ? chosen : SM_COUNTER_FOLDER;
}

static int is_group(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name);
    return n > 6 && !strcmp(entry->d_name + n - 6, ".group");
}

static int add_file(const char *path, struct sm_counter_group *groups, size_t most, size_t *count, char *why,
                    size_t why_bytes)
{
    if (*count == most) {
        snprintf(why, why_bytes, "at most %zu groups of counters at once: '%s' is one more", most, path);
        return -1;
    }
    if (sm_counter_group_load(path, &groups[*count], why, why_bytes)) return -1;
    (*count)++;
    return 0;
}

static int add_folder(const char *folder, struct sm_counter_group *groups, size_t most, size_t *count, char *why,
                      size_t why_bytes)
{
    struct dirent **entries = NULL;
    const int found = scandir(folder, &entries, is_group, alphasort);
    int failed = 0;
    if (found <= 0) {
        snprintf(why, why_bytes, "there are no groups of counters (*.group) in the folder '%s'", folder);
        failed = -1;
    }
    for (int i = 0; i < found; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        failed |= add_file(path, groups, most, count, why, why_bytes);
        free(entries[i]);
    }
    free(entries);
    return failed;
}

int sm_counter_groups_add(const char *name, struct sm_counter_group *groups, size_t most, size_t *count, char *why,
                          size_t why_bytes)
{
    char path[4096];
    struct stat info;
    if (!strcmp(name, "all")) return add_folder(sm_counter_folder(), groups, most, count, why, why_bytes);
    if (strchr(name, '/'))
        snprintf(path, sizeof path, "%s", name);
    else
        snprintf(path, sizeof path, "%s/%s.group", sm_counter_folder(), name);
    if (!stat(path, &info) && S_ISDIR(info.st_mode)) return add_folder(path, groups, most, count, why, why_bytes);
    return add_file(path, groups, most, count, why, why_bytes);
}

int sm_counter_groups_named(const struct sm_strings *names, struct sm_counter_group *groups, size_t *count, char *why,
                            size_t why_bytes)
{
    *count = 0;
    if (names->count == 1 && !strcmp(names->value[0], "none")) return 0;
    for (size_t i = 0; i < names->count; i++)
        if (sm_counter_groups_add(names->value[i], groups, SM_COUNTER_GROUPS_MOST, count, why, why_bytes)) return -1;
    return 0;
}
