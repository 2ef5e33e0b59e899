#include "bench_counters.h"

#include <stdlib.h>
#include <string.h>

#include "bench_rows.h"

enum { COLUMNS_MOST = 16, CELL = 24 };

/* The counters that have a value in some record, in order of appearance. */
struct columns {
    size_t count;
    const json_t *first[COLUMNS_MOST];
};

static void find_columns(json_t *records, struct columns *columns)
{
    size_t i, k;
    json_t *record, *counter;
    json_array_foreach(records, i, record)
    {
        json_array_foreach(json_object_get(record, "counters"), k, counter)
        {
            const char *name = sm_row_text(counter, "name");
            size_t c = 0;
            while (c < columns->count && strcmp(sm_row_text(columns->first[c], "name"), name)) c++;
            if (c < columns->count || c == COLUMNS_MOST || !json_is_number(json_object_get(counter, "value"))) continue;
            columns->first[columns->count++] = counter;
        }
    }
}

/* A number, with how much of the time was counted, or the state in its place. */
static const char *cell(const json_t *record, const char *name, char *text, size_t bytes)
{
    size_t k;
    json_t *counter;
    *text = 0;
    json_array_foreach(json_object_get(record, "counters"), k, counter)
    {
        if (strcmp(sm_row_text(counter, "name"), name)) continue;
        const json_t *value = json_object_get(counter, "value"), *share = json_object_get(counter, "share");
        if (!json_is_number(value))
            snprintf(text, bytes, "%s", sm_row_text(counter, "state"));
        else if (json_is_number(share))
            snprintf(text, bytes, "%.5g (%.0f %%)", json_number_value(value), 100 * json_number_value(share));
        else
            snprintf(text, bytes, "%.5g%s", json_number_value(value),
                     strcmp(sm_row_text(counter, "state"), "multiplexed") ? "" : " (mux)");
    }
    return text;
}

static void print_table(struct sm_row *const *rows, size_t count, const struct columns *columns, FILE *out)
{
    char text[SM_ROW_SHAPE_BYTES];
    fputs(
        "\nCounters of a call, the team's sum (in brackets: the part of the time that was counted, where others shared "
        "the PMU):\n\n| case | t |",
        out);
    for (size_t c = 0; c < columns->count; c++) {
        const char *unit = sm_row_text(columns->first[c], "unit");
        const bool bare = !strcmp(unit, "1");
        fprintf(out, " %s%s%s |", sm_row_text(columns->first[c], "name"), bare ? "" : ", ", bare ? "" : unit);
    }
    fputs("\n|:-----|--:|", out);
    for (size_t c = 0; c < columns->count; c++) fputs("--:|", out);
    fputc('\n', out);
    for (size_t i = 0; i < count; i++) {
        const json_t *r = rows[i]->record;
        if (!json_array_size(json_object_get(r, "counters"))) continue;
        sm_row_shape(rows, 0, count, r, true, text, sizeof text);
        fprintf(out, "| %s/%s %s %s | %.0f |", sm_row_text(r, "family"), sm_row_text(r, "variant"), text,
                sm_row_text(r, "cache_state"), sm_row_number(r, "threads"));
        for (size_t c = 0; c < columns->count; c++)
            fprintf(out, " %s |", cell(r, sm_row_text(columns->first[c], "name"), text, CELL));
        fputc('\n', out);
    }
    for (size_t c = 0; c < columns->count; c++)
        if (!json_is_true(json_object_get(columns->first[c], "derived")))
            fprintf(out, "%s%s: %s, %s", c ? "; " : "\n", sm_row_text(columns->first[c], "name"),
                    sm_row_text(columns->first[c], "state"), sm_row_text(columns->first[c], "provider"));
    fputc('\n', out);
}

/* "instructions absent: this machine shows no PMU", each once. */
static void print_states(json_t *records, FILE *out)
{
    json_t *told = json_object(), *record, *counter;
    size_t i, k;
    json_array_foreach(records, i, record)
    {
        json_array_foreach(json_object_get(record, "counters"), k, counter)
        {
            char key[400];
            if (json_is_number(json_object_get(counter, "value")) || json_is_true(json_object_get(counter, "derived")))
                continue; /* a metric says no more than its counters */
            snprintf(key, sizeof key, "%s: %s", sm_row_text(counter, "state"), sm_row_text(counter, "why"));
            const char *before = json_string_value(json_object_get(told, key));
            const char *name = sm_row_text(counter, "name"), *at = before ? strstr(before, name) : NULL;
            const size_t n = strlen(name);
            if (at && (at == before || at[-1] == ' ') && (!at[n] || at[n] == ',')) continue;
            json_object_set_new(told, key, json_sprintf("%s%s%s", before ? before : "", before ? ", " : "", name));
        }
    }
    const char *state;
    json_t *names;
    json_object_foreach(told, state, names) fprintf(out, "\nnot counted: %s (%s)", json_string_value(names), state);
    if (json_object_size(told)) fputs(": slotmark doctor --counters\n", out);
    json_decref(told);
}

void sm_bench_counters_print(json_t *records, FILE *out)
{
    struct columns columns = {0};
    struct sm_row *storage = NULL, **rows = sm_rows_sorted(records, &storage);
    find_columns(records, &columns);
    if (rows && columns.count) print_table(rows, json_array_size(records), &columns, out);
    print_states(records, out);
    free(rows);
    free(storage);
}

const char *sm_bench_counters_text(const json_t *record, char *text, size_t bytes)
{
    size_t k, used = 0;
    json_t *counter;
    *text = 0;
    json_array_foreach(json_object_get(record, "counters"), k, counter)
    {
        const json_t *value = json_object_get(counter, "value");
        if (used >= bytes) break;
        used += (size_t)snprintf(text + used, bytes - used, "%s%s=%s", k ? ";" : "", sm_row_text(counter, "name"),
                                 sm_row_text(counter, "state"));
        if (json_is_number(value) && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, ":%.7g", json_number_value(value));
    }
    return text;
}
