/* The doctor on counters: each one's state, whose fault it is, and which groups can run. */
#include <string.h>

#include "counter_formula.h"
#include "doctor.h"
#include "table.h"

enum { HELPS_MOST = 26 };

/* What would help, each once and by a letter, so that a counter takes one line. */
struct helps {
    const char *text[HELPS_MOST];
    size_t count;
};

static void help_letter(struct helps *helps, const struct sm_counter *c, char letter[2])
{
    const char *remedy = sm_counter_remedy(c);
    size_t i = 0;
    while (i < helps->count && strcmp(helps->text[i], remedy)) i++;
    if (i == helps->count && *remedy && i < HELPS_MOST) helps->text[helps->count++] = remedy;
    letter[0] = *remedy && i < HELPS_MOST ? (char)('a' + i) : 0;
    letter[1] = 0;
}

/* Who speaks, or why nobody does. */
static void explain(const struct sm_counter *c, bool whole, char *text, size_t bytes)
{
    if (c->state == SM_COUNTER_USABLE)
        snprintf(text, bytes, "%s", c->provider);
    else if (c->state == SM_COUNTER_MULTIPLEXED || (whole && *c->provider))
        snprintf(text, bytes, "%s: %s", c->provider, c->why);
    else
        snprintf(text, bytes, "%s", c->why);
}

static void counter_table(const struct sm_doctor *d, bool whole, struct helps *helps, bool markdown, FILE *out)
{
    struct sm_table table;
    const char *const columns[] = {"group", "counter", "state", "help", "provider, or why not"};
    sm_table_init(&table, 5, columns);
    for (size_t g = 0; g < d->group_count; g++)
        for (size_t i = 0; i < sm_counters_count(d->groups[g]); i++) {
            const struct sm_counter *c = sm_counters_at(d->groups[g], i);
            char text[640], letter[2];
            help_letter(helps, c, letter);
            explain(c, whole, text, sizeof text);
            const char *const row[] = {i && !markdown ? "" : sm_counters_group(d->groups[g])->name, c->name,
                                       sm_counter_state_name(c->state), letter, text};
            sm_table_add(&table, row);
        }
    sm_table_print(&table, markdown, out);
    sm_table_free(&table);
}

static void print_helps(const struct helps *helps, bool markdown, FILE *out)
{
    struct sm_table table;
    const char *const columns[] = {"help", "what would change it"};
    if (!helps->count) return;
    fputc('\n', out);
    sm_table_init(&table, 2, columns);
    for (size_t i = 0; i < helps->count; i++) {
        const char letter[] = {(char)('a' + i), 0};
        const char *const row[] = {letter, helps->text[i]};
        sm_table_add(&table, row);
    }
    sm_table_print(&table, markdown, out);
    sm_table_free(&table);
}

void sm_doctor_counter_table(const struct sm_doctor *d, bool markdown, FILE *out)
{
    struct helps helps = {0};
    counter_table(d, false, &helps, markdown, out);
    fprintf(out, "%s%s; help: see slotmark doctor --counters\n", markdown ? "\n" : "  ", d->papi);
}

struct search {
    const struct sm_counters *counters;
    const struct sm_counter *lacks; /* the first counter of a formula that has no values here */
};

static bool look_up(void *context, const char *name, double *value)
{
    struct search *s = context;
    *value = 1;
    for (size_t i = 0; i < sm_counters_count(s->counters); i++) {
        const struct sm_counter *c = sm_counters_at(s->counters, i);
        if (!strcmp(c->name, name) && !sm_counter_counts(c) && !s->lacks) s->lacks = c;
    }
    return true;
}

static const struct sm_counter *lacks(const struct sm_counters *counters, const struct sm_counter_metric *m)
{
    struct search s = {counters, NULL};
    const char *wrong;
    sm_formula_value(m->formula, look_up, &s, &wrong);
    return s.lacks;
}

/* How a group can run, and what counting it costs. */
static void group_text(const struct sm_counters *counters, char *text, size_t bytes)
{
    size_t count = 0, of = sm_counters_count(counters), passes = sm_counters_passes(counters);
    struct sm_counter_cost cost;
    for (size_t i = 0; i < of; i++) count += sm_counter_counts(sm_counters_at(counters, i));
    if (!count)
        snprintf(text, bytes, "cannot run: none of its %zu counters counts", of);
    else if (sm_counters_cost(counters, 0, &cost))
        snprintf(text, bytes, "%zu of %zu count, in %zu passes", count, of, passes);
    else
        snprintf(text, bytes, "%zu of %zu count, in %zu pass%s; a region costs %.1f us, a read %.2f us", count, of,
                 passes, passes == 1 ? "" : "es", 1e-3 * cost.region_ns, 1e-3 * cost.read_ns);
}

static void group_table(const struct sm_doctor *d, bool markdown, FILE *out)
{
    struct sm_table table;
    const char *const columns[] = {"group", "metric", "unit", "how, or why not"};
    sm_table_init(&table, 4, columns);
    for (size_t g = 0; g < d->group_count; g++) {
        const struct sm_counter_group *group = sm_counters_group(d->groups[g]);
        char text[320];
        group_text(d->groups[g], text, sizeof text);
        const char *const head[] = {group->name, "", "", text};
        sm_table_add(&table, head);
        for (size_t m = 0; m < group->metric_count; m++) {
            const struct sm_counter_metric *metric = &group->metrics[m];
            const struct sm_counter *c = lacks(d->groups[g], metric);
            if (c)
                snprintf(text, sizeof text, "%s is %s", c->name, sm_counter_state_name(c->state));
            else
                snprintf(text, sizeof text, "= %s", metric->formula);
            const char *const row[] = {markdown ? group->name : "", metric->name, metric->unit, text};
            sm_table_add(&table, row);
        }
    }
    sm_table_print(&table, markdown, out);
    sm_table_free(&table);
}

void sm_doctor_counters_print(const struct sm_doctor *d, bool markdown, FILE *out)
{
    fputs(markdown ? "## Counters, each judged by work of a known size\n\n"
                   : "Counters, each judged by work of a known size\n",
          out);
    struct helps helps = {0};
    counter_table(d, markdown, &helps, markdown, out);
    fprintf(out, "%s%s\n", markdown ? "\n" : "  ", d->papi);
    print_helps(&helps, markdown, out);
    fputs(markdown ? "\n## Groups, and what is worked out from them\n\n"
                   : "\nGroups, and what is worked out from them\n",
          out);
    group_table(d, markdown, out);
}

json_t *sm_doctor_counter_list(const struct sm_doctor *d)
{
    json_t *list = json_array();
    for (size_t g = 0; g < d->group_count; g++)
        for (size_t i = 0; i < sm_counters_count(d->groups[g]); i++) {
            const struct sm_counter *c = sm_counters_at(d->groups[g], i);
            json_array_append_new(
                list, json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:s,s:o}", "group", sm_counters_group(d->groups[g])->name,
                                "name", c->name, "unit", c->unit, "state", sm_counter_state_name(c->state), "provider",
                                sm_doctor_text(c->provider), "why", sm_doctor_text(c->why), "scope",
                                c->machine ? "machine" : "thread", "remedy", sm_doctor_text(sm_counter_remedy(c))));
        }
    return list;
}

void sm_doctor_counters_json(const struct sm_doctor *d, FILE *out)
{
    json_t *groups = json_array();
    for (size_t g = 0; g < d->group_count; g++) {
        const struct sm_counter_group *group = sm_counters_group(d->groups[g]);
        json_t *metrics = json_array();
        struct sm_counter_cost cost = {-1, -1};
        const size_t passes = sm_counters_passes(d->groups[g]);
        for (size_t m = 0; m < group->metric_count; m++) {
            const struct sm_counter *c = lacks(d->groups[g], &group->metrics[m]);
            json_array_append_new(metrics, json_pack("{s:s,s:s,s:s,s:o}", "name", group->metrics[m].name, "unit",
                                                     group->metrics[m].unit, "formula", group->metrics[m].formula,
                                                     "lacks", c ? json_string(c->name) : json_null()));
        }
        const bool told = passes && !sm_counters_cost(d->groups[g], 0, &cost);
        json_array_append_new(groups, json_pack("{s:s,s:s,s:I,s:o,s:o,s:o}", "name", group->name, "summary",
                                                group->summary, "passes", (json_int_t)passes, "region_ns",
                                                told ? json_real(cost.region_ns) : json_null(), "read_ns",
                                                told ? json_real(cost.read_ns) : json_null(), "metrics", metrics));
    }
    json_t *page = json_pack("{s:s,s:o,s:o}", "papi", d->papi, "counters", sm_doctor_counter_list(d), "groups", groups);
    json_dumpf(page, out, JSON_INDENT(1));
    fputc('\n', out);
    json_decref(page);
}
