/* The records as the page's script reads them. Records of one run repeat machine, build, ceilings and command, so each
 * distinct value is there once:
 *
 *     {"values": [..], "records": [[keys, value, value, ..], ..], "shown": [[..], ..]}
 *
 * keys and value are places in values, where keys is the list of a record's keys. shown is what the table computes
 * nothing of: median, relative spread, tokens/s, share of the ceiling, each null where there is none. Only ASCII, and
 * no < > & in it: nothing in it ends the element that it stands in. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

struct pool {
    json_t *places; /* text of a value -> its place */
    json_int_t next;
    FILE *values; /* the texts so far, separated by commas */
    char *text;
    size_t bytes;
};

static int is_markup(char c)
{
    return c == '<' || c == '>' || c == '&';
}

/* Markup characters stand only in strings, where an escape means the same. */
static void write_safe(FILE *to, const char *json)
{
    for (; *json; json++)
        if (is_markup(*json))
            fprintf(to, "\\u%04x", (unsigned)*json);
        else
            fputc(*json, to);
}

/* The place of a value; -1: no memory. */
static json_int_t place_of(struct pool *pool, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    if (!text) return -1;
    const json_t *known = json_object_get(pool->places, text);
    json_int_t place = known ? json_integer_value(known) : pool->next;
    if (!known) {
        if (place) fputs(",\n", pool->values);
        write_safe(pool->values, text);
        if (json_object_set_new_nocheck(pool->places, text, json_integer(place)))
            place = -1;
        else
            pool->next++;
    }
    free(text);
    return place;
}

static int write_record(struct pool *pool, json_t *record, FILE *to)
{
    json_t *keys = json_array(), *value;
    const char *key;
    int failed = keys ? 0 : -1;
    json_object_foreach(record, key, value) failed |= json_array_append_new(keys, json_string(key));
    json_int_t place = failed ? -1 : place_of(pool, keys);
    fprintf(to, "[%" JSON_INTEGER_FORMAT, place);
    json_object_foreach(record, key, value)
    {
        if (place < 0) break;
        place = place_of(pool, value);
        fprintf(to, ",%" JSON_INTEGER_FORMAT, place);
    }
    fputc(']', to);
    json_decref(keys);
    return place < 0 ? -1 : 0;
}

static void write_number(FILE *to, double value, const char *after)
{
    if (isfinite(value))
        fprintf(to, "%.6g%s", value, after);
    else
        fprintf(to, "null%s", after);
}

static void write_shown(const struct sm_result *r, FILE *to)
{
    double padded;
    const int right = !strcmp(sm_result_text(r, "status"), "ok"); /* no time beside a wrong answer */
    fputc('[', to);
    write_number(to, right ? r->median : NAN, ",");
    write_number(to, right && r->median > 0 ? (r->q3 - r->q1) / 2 / r->median : NAN, ",");
    write_number(to, sm_result_tokens_per_s(r, &padded), ",");
    write_number(to, sm_result_share(r), "]");
}

int sm_report_data(const struct sm_report *report, FILE *to)
{
    struct pool pool = {.places = json_object()};
    int failed = -1;
    pool.values = open_memstream(&pool.text, &pool.bytes);
    if (!pool.places || !pool.values) goto out;
    failed = 0;
    fputs("{\"records\": [\n", to);
    for (size_t i = 0; !failed && i < report->all.count; i++) {
        if (i) fputs(",\n", to);
        failed = write_record(&pool, report->all.at[i].json, to);
    }
    fputs("],\n\"shown\": [\n", to);
    for (size_t i = 0; !failed && i < report->all.count; i++) {
        if (i) fputs(",\n", to);
        write_shown(&report->all.at[i], to);
    }
    fputs("],\n\"values\": [\n", to);
    if (fclose(pool.values)) failed = -1;
    pool.values = NULL;
    if (!failed) fputs(pool.text ? pool.text : "", to);
    fputs("]}", to);
out:
    if (pool.values) fclose(pool.values);
    free(pool.text);
    json_decref(pool.places);
    return failed;
}
