#include "sweep.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rates.h"

#define LINE_BYTES 4096

static bool chosen(const struct sm_strings *list, const char *name)
{
    if (!list->count) return true;
    for (size_t i = 0; i < list->count; i++)
        if (!fnmatch(list->value[i], name, 0)) return true;
    return false;
}

/* attention_f16 -> "f16"; NULL where the family has no KV type. */
static const char *kv_type(const struct sm_family *family)
{
    if (strcmp(family->group, "attention") && strcmp(family->group, "cache_write")) return NULL;
    const char *last = strrchr(family->name, '_');
    return last ? last + 1 : NULL;
}

/* The axis that a name on the command line means for this family, or -1. */
static int axis_of(const struct sm_family *family, const char *name)
{
    const int axis = sm_dim_index(family, name);
    if (axis >= 0 || strcmp(name, "vocab")) return axis;
    const bool logits = !strcmp(family->group, "softcap") || !strcmp(family->name, "argmax");
    return logits ? sm_dim_index(family, "cols") : -1;
}

static bool has_model_axes(const struct sm_family *family)
{
    return (sm_dim_index(family, "out") >= 0 && sm_dim_index(family, "in") >= 0) ||
           (sm_dim_index(family, "head_dim") >= 0 && sm_dim_index(family, "kv_heads") >= 0);
}

/* Whether the command line is about this family at all. */
static bool family_wanted(const struct sm_family *family, const struct sm_sweep_choice *choice)
{
    if (!chosen(&choice->families, family->name) || !chosen(&choice->groups, family->group)) return false;
    if (choice->kv.count && !(kv_type(family) && chosen(&choice->kv, kv_type(family)))) return false;
    if (choice->families.count || choice->groups.count) return true;
    if (choice->shape_of && !has_model_axes(family)) return false;
    for (size_t i = 0; i < choice->override_count; i++)
        if (axis_of(family, choice->overrides[i].axis) < 0) return false;
    return true;
}

int sm_sweep_override(struct sm_sweep_choice *choice, const char *axis, const struct sm_list *values, char *why,
                      size_t why_bytes)
{
    struct sm_sweep_override *o = NULL;
    for (size_t i = 0; i < choice->override_count; i++)
        if (!strcmp(choice->overrides[i].axis, axis)) o = &choice->overrides[i];
    if (!o) {
        if (choice->override_count == SM_SWEEP_OVERRIDES_MOST) {
            snprintf(why, why_bytes, "values for more than %d axes", SM_SWEEP_OVERRIDES_MOST);
            return -1;
        }
        o = &choice->overrides[choice->override_count++];
        o->axis = axis;
        o->values.count = 0;
    }
    for (size_t i = 0; i < values->count; i++) {
        if (o->values.count == SM_LIST_MOST) {
            snprintf(why, why_bytes, "more than %d values for '%s'", SM_LIST_MOST, axis);
            return -1;
        }
        o->values.value[o->values.count++] = values->value[i];
    }
    return 0;
}

static bool axis_known(const char *name)
{
    for (size_t i = 0; i < sm_family_count(); i++)
        if (axis_of(sm_family_at(i), name) >= 0) return true;
    return false;
}

int sm_sweep_override_text(struct sm_sweep_choice *choice, const char *text, char *why, size_t why_bytes)
{
    while (*text) {
        const size_t length = strcspn(text, ";"), name = strcspn(text, "=");
        char values[LINE_BYTES], reason[256];
        struct sm_list list = {0};
        if (name >= length || !name || length >= sizeof values) {
            snprintf(why, why_bytes, "'%.*s' is not of the form axis=values", (int)(length < 80 ? length : 80), text);
            return -1;
        }
        snprintf(values, sizeof values, "%.*s", (int)(length - name - 1), text + name + 1);
        if (sm_parse_list(values, &list, reason, sizeof reason)) {
            snprintf(why, why_bytes, "axis '%.*s': %s", (int)name, text, reason);
            return -1;
        }
        /* the axis names of the registry outlive the command line's text */
        const char *axis = NULL;
        for (size_t i = 0; i < sm_family_count() && !axis; i++)
            for (size_t d = 0; d < sm_family_at(i)->dim_count && !axis; d++)
                if (strlen(sm_family_at(i)->dims[d].name) == name &&
                    !strncmp(sm_family_at(i)->dims[d].name, text, name))
                    axis = sm_family_at(i)->dims[d].name;
        if (!axis) {
            snprintf(why, why_bytes, "no family has an axis '%.*s'", (int)name, text);
            return -1;
        }
        if (sm_sweep_override(choice, axis, &list, why, why_bytes)) return -1;
        text += length + (text[length] == ';');
    }
    return 0;
}

static void line_start(struct sm_sweep_line *line, const struct sm_family *family)
{
    memset(line, 0, sizeof *line);
    line->family = family;
    for (size_t d = 0; d < family->dim_count; d++) {
        line->values[d].count = 1;
        line->values[d].value[0] = family->dims[d].standard;
        line->same[d] = -1;
    }
}

/* One word of a line, `key=values`, for one family. */
static int line_word(struct sm_sweep_line *line, const char *word, char *why, size_t why_bytes)
{
    const struct sm_family *family = line->family;
    const char *equals = strchr(word, '=');
    char key[64];
    if (!equals || equals == word || (size_t)(equals - word) >= sizeof key) {
        snprintf(why, why_bytes, "'%s' is not of the form name=values", word);
        return -1;
    }
    snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
    const char *values = equals + 1;
    if (!strcmp(key, "variant")) return sm_parse_strings(values, &line->variants, NULL, why, why_bytes);
    if (!strcmp(key, "threads")) return sm_parse_list(values, &line->threads, why, why_bytes);
    if (!strcmp(key, "shape")) {
        line->shape = values;
        return 0;
    }
    const int axis = axis_of(family, key);
    if (axis < 0) {
        snprintf(why, why_bytes, "family %s has no axis '%s'", family->name, key);
        return -1;
    }
    line->named[axis] = true;
    if (*values != '@') return sm_parse_list(values, &line->values[axis], why, why_bytes);
    line->same[axis] = sm_dim_index(family, values + 1);
    if (line->same[axis] >= 0 && line->same[axis] != axis) return 0;
    snprintf(why, why_bytes, "'%s': family %s has no other axis '%s'", word, family->name, values + 1);
    return -1;
}

static int apply_overrides(struct sm_sweep_line *line, const struct sm_sweep_choice *choice, char *why,
                           size_t why_bytes)
{
    for (size_t i = 0; i < choice->override_count; i++) {
        const int axis = axis_of(line->family, choice->overrides[i].axis);
        if (axis < 0) continue;
        const struct sm_dim *dim = &line->family->dims[axis];
        line->values[axis] = choice->overrides[i].values;
        line->same[axis] = -1;
        line->named[axis] = true;
        for (size_t v = 0; v < line->values[axis].count; v++) {
            const int64_t value = line->values[axis].value[v];
            if (value >= dim->least && value <= dim->most) continue;
            snprintf(why, why_bytes, "%s=%lld is outside %lld..%lld, the range of family %s", dim->name,
                     (long long)value, (long long)dim->least, (long long)dim->most, line->family->name);
            return -1;
        }
    }
    if (choice->variants.count) line->variants = choice->variants;
    if (choice->threads.count) line->threads = choice->threads;
    if (choice->shape_of) line->shape = choice->shape_of;
    return 0;
}

static int check_ranges(const struct sm_sweep_line *line, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < line->threads.count; i++) {
        const int64_t threads = line->threads.value[i];
        if (threads >= 1 && threads <= SM_TEAM_MOST) continue;
        snprintf(why, why_bytes, "threads=%lld: a team has 1 to %d threads", (long long)threads, SM_TEAM_MOST);
        return -1;
    }
    for (size_t d = 0; d < line->family->dim_count; d++) {
        const struct sm_dim *dim = &line->family->dims[d];
        for (size_t v = 0; line->same[d] < 0 && v < line->values[d].count; v++) {
            const int64_t value = line->values[d].value[v];
            if (value >= dim->least && value <= dim->most) continue;
            snprintf(why, why_bytes, "%s=%lld is outside %lld..%lld, the range of family %s", dim->name,
                     (long long)value, (long long)dim->least, (long long)dim->most, line->family->name);
            return -1;
        }
    }
    return 0;
}

/* words[0] names families; each gets a line of its own. */
static int one_line(char **words, size_t count, const struct sm_sweep_choice *choice, bool *listed,
                    struct sm_bench_cases *cases, char *why, size_t why_bytes)
{
    struct sm_strings patterns = {0};
    if (sm_parse_strings(words[0], &patterns, NULL, why, why_bytes)) return -1;
    size_t found = 0;
    for (size_t i = 0; i < sm_family_count(); i++) {
        const struct sm_family *family = sm_family_at(i);
        if (!chosen(&patterns, family->name)) continue;
        found++;
        listed[i] = true;
        struct sm_sweep_line *line = malloc(sizeof *line);
        if (!line) {
            snprintf(why, why_bytes, "no memory");
            return -1;
        }
        line_start(line, family);
        int bad = 0;
        for (size_t w = 1; w < count && !bad; w++) bad = line_word(line, words[w], why, why_bytes);
        if (!bad && family_wanted(family, choice))
            bad = apply_overrides(line, choice, why, why_bytes) || check_ranges(line, why, why_bytes) ||
                  sm_sweep_expand(line, choice, cases, why, why_bytes);
        free(line);
        if (bad) return -1;
    }
    if (found) return 0;
    snprintf(why, why_bytes, "no family is named '%s'", words[0]);
    return -1;
}

static int check_choice(const struct sm_sweep_choice *choice, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < choice->families.count; i++) {
        bool found = false;
        for (size_t f = 0; f < sm_family_count(); f++)
            found |= !fnmatch(choice->families.value[i], sm_family_at(f)->name, 0);
        if (found) continue;
        snprintf(why, why_bytes, "no family is named '%s'; `slotmark list` shows them", choice->families.value[i]);
        return -1;
    }
    for (size_t i = 0; i < choice->groups.count; i++) {
        bool found = false;
        for (size_t f = 0; f < sm_family_count(); f++)
            found |= !fnmatch(choice->groups.value[i], sm_family_at(f)->group, 0);
        if (found) continue;
        snprintf(why, why_bytes, "no group of families is named '%s'", choice->groups.value[i]);
        return -1;
    }
    for (size_t i = 0; i < choice->override_count; i++) {
        if (axis_known(choice->overrides[i].axis)) {
            bool used = false;
            for (size_t f = 0; f < sm_family_count(); f++)
                used |=
                    family_wanted(sm_family_at(f), choice) && axis_of(sm_family_at(f), choice->overrides[i].axis) >= 0;
            if (used) continue;
        }
        snprintf(why, why_bytes, "no family among those chosen has an axis '%s'", choice->overrides[i].axis);
        return -1;
    }
    return 0;
}

static int parse_lines(char *copy, const char *where, const struct sm_sweep_choice *choice, bool *listed,
                       struct sm_bench_cases *cases, char *why, size_t why_bytes)
{
    size_t number = 0;
    for (char *at = copy, *next; at; at = next) {
        next = strchr(at, '\n');
        if (next) *next++ = 0;
        number++;
        at[strcspn(at, "#")] = 0;
        char *words[SM_MAX_DIMS + 8], *rest = NULL, reason[512];
        size_t count = 0;
        for (char *w = strtok_r(at, " \t\r", &rest); w; w = strtok_r(NULL, " \t\r", &rest)) {
            if (count == sizeof words / sizeof *words) {
                snprintf(why, why_bytes, "%s:%zu: more words than a family has axes", where, number);
                return -1;
            }
            words[count++] = w;
        }
        if (count && one_line(words, count, choice, listed, cases, reason, sizeof reason)) {
            snprintf(why, why_bytes, "%s:%zu: %s", where, number, reason);
            return -1;
        }
    }
    return 0;
}

int sm_sweep_parse(const char *text, const char *where, const struct sm_sweep_choice *choice,
                   struct sm_bench_cases *cases, char *why, size_t why_bytes)
{
    if (check_choice(choice, why, why_bytes)) return -1;
    char *copy = strdup(text);
    bool *listed = calloc(sm_family_count() + 1, sizeof *listed);
    int result = -1;
    if (!copy || !listed) {
        snprintf(why, why_bytes, "%s: no memory", where);
        goto out;
    }
    result = parse_lines(copy, where, choice, listed, cases, why, why_bytes);
    for (size_t i = 0; i < sm_family_count() && !result; i++) {
        char name[128], *words[] = {name};
        snprintf(name, sizeof name, "%s", sm_family_at(i)->name);
        if (!listed[i]) result = one_line(words, 1, choice, listed, cases, why, why_bytes);
    }
out:
    free(copy);
    free(listed);
    return result;
}

int sm_sweep_load(const char *path, const struct sm_sweep_choice *choice, struct sm_bench_cases *cases, char *why,
                  size_t why_bytes)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(why, why_bytes, "reading the sweep '%s': %s", path, strerror(errno));
        return -1;
    }
    errno = 0;
    const ssize_t got = getdelim(&text, &size, 0, file);
    int result = -1;
    if (ferror(file))
        snprintf(why, why_bytes, "reading the sweep '%s': %s", path, strerror(errno ? errno : EIO));
    else
        result = sm_sweep_parse(got > 0 ? text : "", path, choice, cases, why, why_bytes);
    free(text);
    fclose(file);
    return result;
}
