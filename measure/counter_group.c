/* Group files: a few lines of words; hostile until shown otherwise. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    if (*def->work && !sm_stimulus_named(def->work)) return "no such known work";
    if (*def->bare && sm_counter_bare_known(def->bare)) return "no such event of the system call";
    if (*def->software && sm_counter_software_known(def->software)) return "no such software counter";
    return NULL;
}

static const char *read_line(char *line, struct sm_counter_group *group)
{
    static const char summary[] = "summary ";
    line[strcspn(line, "#\r\n")] = 0;
    if (line[strspn(line, " \t")] == 0) return NULL;
    if (!strncmp(line, summary, sizeof summary - 1))
        return take(group->summary, sizeof group->summary, line + sizeof summary - 1) ? "the summary is too long"
                                                                                      : NULL;
    if (group->count == SM_COUNTERS_MOST) return "a group holds at most 8 counters: one pass over the work";
    for (size_t i = 0; i < group->count; i++)
        if (!strncmp(group->defs[i].name, line, strlen(group->defs[i].name)) &&
            strspn(line + strlen(group->defs[i].name), " \t"))
            return "this counter is there already";
    const char *wrong = read_def(line, &group->defs[group->count]);
    if (!wrong) group->count++;
    return wrong;
}

int sm_counter_group_load(const char *path, struct sm_counter_group *group, char *why, size_t why_bytes)
{
    memset(group, 0, sizeof *group);
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    snprintf(group->name, sizeof group->name, "%.*s", (int)strcspn(base, "."), base);
    FILE *f = fopen(path, "r");
    if (!f) {
        snprintf(why, why_bytes, "cannot read the counter group '%s': %s", path, strerror(errno));
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
