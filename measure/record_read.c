#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"
#include "record_schema.h"

const struct sm_record_key sm_record_keys[] = {
    {"schema", 'I'},
    {"kind", 'S'},
    {"case", 'S'},
    {"status", 'S'},
    {"why", 's'},
    {"started", 's'},
    {"command", 's'},
    {"order", 'o'},
    {"family", 's'},
    {"group", 's'},
    {"variant", 's'},
    {"layout", 's'},
    {"isa", 's'},
    {"shape", 'o'},
    {"threads", 'i'},
    {"cache_state", 's'},
    {"model", 'o'},
    {"recipe", 's'},
    {"phase", 's'},
    {"max_seq", 'i'},
    {"bucket", 'i'},
    {"kv_type", 's'},
    {"n_prompt", 'i'},
    {"n_gen", 'i'},
    {"n_depth", 'i'},
    {"padding_side", 's'},
    {"unit", 's'},
    {"samples", 'a'},
    {"iterations", 'a'},
    {"token_ns", 'a'},
    {"ops", 'n'},
    {"ops_unit", 's'},
    {"bytes", 'n'},
    {"footprint", 'n'},
    {"error", 'n'},
    {"error_after", 'n'},
    {"steps", 'a'},
    {"memory", 'o'},
    {"load_s", 'n'},
    {"pack_s", 'n'},
    {"counters", 'a'},
    {"witnesses", 'o'},
    {"ceilings", 'o'},
    {"binding_ceiling", 's'},
    {"build", 'o'},
    {"machine", 'o'},
    {"scale_in", 's'},
    {"turn", 'o'},
    {"quality", 'o'},
    {"callgrind", 'o'},
    {"cost", 'o'},
    {"trial", 'o'},
    {"ridge", 'o'},
    {"plan", 'o'},
    {"reconciliation", 'o'},
};
const size_t sm_record_key_count = sizeof sm_record_keys / sizeof *sm_record_keys;

const struct sm_record_key *sm_record_key_named(const char *name)
{
    for (size_t i = 0; i < sm_record_key_count; i++)
        if (!strcmp(sm_record_keys[i].name, name)) return &sm_record_keys[i];
    return NULL;
}

static int has_type(const json_t *value, char type)
{
    switch (type) {
    case 'i':
    case 'I': return json_is_integer(value);
    case 'n': return json_is_number(value);
    case 's':
    case 'S': return json_is_string(value);
    case 'o': return json_is_object(value);
    default: return json_is_array(value);
    }
}

static int one_of(const json_t *value, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(json_string_value(value), *words)) return 1;
    return 0;
}

static int numbers_only(const json_t *array)
{
    size_t i;
    const json_t *item;
    json_array_foreach(array, i, item) if (!json_is_number(item) && !json_is_null(item)) return 0;
    return 1;
}

int sm_record_check(const json_t *json, char *why, size_t why_bytes)
{
    if (!json_is_object(json)) {
        snprintf(why, why_bytes, "not a record: not a JSON object");
        return -1;
    }
    for (size_t i = 0; i < sm_record_key_count; i++) {
        const struct sm_record_key *key = &sm_record_keys[i];
        const json_t *value = json_object_get(json, key->name);
        const int required = key->type < 'a';
        if (required ? has_type(value, key->type) : !value || json_is_null(value) || has_type(value, key->type))
            continue;
        snprintf(why, why_bytes, "not a record: key '%s' is missing or of the wrong type", key->name);
        return -1;
    }
    if (json_integer_value(json_object_get(json, "schema")) != SM_RECORD_SCHEMA) {
        snprintf(why, why_bytes, "a record of schema %lld; this program reads schema %d",
                 (long long)json_integer_value(json_object_get(json, "schema")), SM_RECORD_SCHEMA);
        return -1;
    }
    if (!one_of(json_object_get(json, "kind"), (const char *const[]){"bench", "count", "profile", "cost", "plan",
                                                                     "ceiling", "verify", "trial", NULL}) ||
        !one_of(json_object_get(json, "status"), (const char *const[]){"ok", "error", "skipped", NULL})) {
        snprintf(why, why_bytes, "not a record: its kind or its status is none of the known ones");
        return -1;
    }
    for (const char *const *key = (const char *const[]){"samples", "iterations", "token_ns", NULL}; *key; key++)
        if (!numbers_only(json_object_get(json, *key))) {
            snprintf(why, why_bytes, "not a record: '%s' holds something that is not a number", *key);
            return -1;
        }
    return 0;
}

/* Our own line, cut short: it begins as every record does and stops in mid-value. */
static int is_torn(const char *line, size_t bytes, const json_error_t *error)
{
    static const char head[] = "{\"schema\":";
    const size_t known = bytes < sizeof head - 1 ? bytes : sizeof head - 1;
    return !memcmp(line, head, known) &&
           (json_error_code(error) == json_error_premature_end_of_input || line[bytes - 1] != '}');
}

static int read_line(const char *line, size_t bytes, size_t number, const char *path, sm_record_visit_fn *visit,
                     void *context, struct sm_records_summary *summary, char *why, size_t why_bytes)
{
    json_error_t error;
    char reason[160];
    json_t *json = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!json && is_torn(line, bytes, &error)) {
        summary->torn++;
        return 0;
    }
    if (!json) {
        snprintf(why, why_bytes, "cannot read line %zu of '%s': %s", number, path, error.text);
        return -1;
    }
    int result = 0;
    if (sm_record_check(json, reason, sizeof reason)) {
        snprintf(why, why_bytes, "cannot use line %zu of '%s': %s", number, path, reason);
        result = -1;
    } else {
        summary->records++;
        if (visit && visit(context, json)) result = 1;
    }
    json_decref(json);
    return result;
}

static FILE *open_results(const char *path, char *why, size_t why_bytes)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        snprintf(why, why_bytes, "cannot read results from '%s': %s", path, strerror(errno));
        return NULL;
    }
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        snprintf(why, why_bytes, "cannot read results from '%s': not a file", path);
        close(fd);
        return NULL;
    }
    FILE *file = fdopen(fd, "r");
    if (!file) close(fd);
    return file;
}

int sm_records_read(const char *path, sm_record_visit_fn *visit, void *context, struct sm_records_summary *summary,
                    char *why, size_t why_bytes)
{
    struct sm_records_summary unused;
    if (!summary) summary = &unused;
    *summary = (struct sm_records_summary){0};
    FILE *file = open_results(path, why, why_bytes);
    if (!file) return -1;

    char *line = NULL;
    size_t capacity = 0;
    int result = 0;
    for (size_t number = 1; result == 0; number++) {
        const ssize_t bytes = getline(&line, &capacity, file);
        if (bytes < 0) {
            if (ferror(file)) {
                snprintf(why, why_bytes, "cannot read '%s' past line %zu: %s", path, number - 1, strerror(errno));
                result = -1;
            }
            break;
        }
        const size_t length = (size_t)bytes - (line[bytes - 1] == '\n');
        if (length == 0) continue;
        summary->lines++;
        result = read_line(line, length, number, path, visit, context, summary, why, why_bytes);
    }
    free(line);
    fclose(file);
    return result < 0 ? -1 : 0;
}
