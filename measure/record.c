#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "build.h"
#include "machine.h"
#include "record_schema.h"

struct sm_record {
    json_t *json;
    char fault[128]; /* the first wrong use; empty: none */
};

static json_t *command_line;

void sm_record_command(int argc, char *const *argv)
{
    json_decref(command_line);
    size_t bytes = sizeof "slotmark"; /* stands for argv[0], whatever that is */
    for (int i = 1; i < argc; i++) bytes += strlen(argv[i]) + 1;
    char *text = malloc(bytes);
    size_t used = 0;
    for (int i = 0; text && i < argc; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? " " : "", i ? argv[i] : "slotmark");
    /* Bytes that are not UTF-8 cannot stand in JSON; a command line may hold them. */
    for (size_t i = 0; i < used; i++)
        if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7e) text[i] = '?';
    command_line = text ? json_stringn(text, used) : NULL;
    free(text);
}

static json_t *string_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *build_json(void)
{
    const struct sm_build *b = sm_build();
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "version", string_or_null(b->version), "commit",
                     string_or_null(b->commit), "dirty", b->dirty < 0 ? json_null() : json_boolean(b->dirty),
                     "compiler", string_or_null(b->compiler), "flags", string_or_null(b->flags), "type",
                     string_or_null(b->type));
}

static void fault(struct sm_record *record, const char *what, const char *key)
{
    if (!*record->fault) snprintf(record->fault, sizeof record->fault, "%s '%s'", what, key);
}

struct sm_record *sm_record_create(const char *kind, const char *case_id)
{
    struct sm_record *record = calloc(1, sizeof *record);
    if (!record) return NULL;
    record->json = json_object();
    if (!record->json) {
        free(record);
        return NULL;
    }
    for (size_t i = 0; i < sm_record_key_count; i++)
        json_object_set_new(record->json, sm_record_keys[i].name, json_null());

    char now[32];
    const time_t seconds = time(NULL);
    struct tm utc;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    sm_record_set_integer(record, "schema", SM_RECORD_SCHEMA);
    sm_record_set_string(record, "kind", kind);
    sm_record_set_string(record, "case", case_id);
    sm_record_set_string(record, "status", "ok");
    sm_record_set_string(record, "started", now);
    sm_record_set_string(record, "unit", "ns");
    sm_record_set_json(record, "command", command_line ? json_incref(command_line) : NULL);
    sm_record_set_json(record, "build", build_json());
    sm_record_set_json(record, "machine", sm_machine_json());
    return record;
}

void sm_record_destroy(struct sm_record *record)
{
    if (!record) return;
    json_decref(record->json);
    free(record);
}

json_t *sm_record_json(struct sm_record *record)
{
    return record->json;
}

void sm_record_set_json(struct sm_record *record, const char *key, json_t *value)
{
    if (!sm_record_key_named(key)) {
        fault(record, "there is no key", key);
        json_decref(value);
        return;
    }
    if (json_object_set_new(record->json, key, value ? value : json_null())) fault(record, "no memory for", key);
}

void sm_record_set_string(struct sm_record *record, const char *key, const char *value)
{
    json_t *json = string_or_null(value);
    if (!json) fault(record, "text that is not UTF-8 in", key);
    sm_record_set_json(record, key, json);
}

void sm_record_set_integer(struct sm_record *record, const char *key, int64_t value)
{
    sm_record_set_json(record, key, json_integer(value));
}

json_t *sm_record_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void sm_record_set_number(struct sm_record *record, const char *key, double value)
{
    sm_record_set_json(record, key, sm_record_number(value));
}

void sm_record_set_numbers(struct sm_record *record, const char *key, const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, sm_record_number(values[i]))) fault(record, "no memory for", key);
    sm_record_set_json(record, key, array);
}

void sm_record_put_json(struct sm_record *record, const char *key, const char *member, json_t *value)
{
    const struct sm_record_key *k = sm_record_key_named(key);
    if (!k || k->type != 'o') {
        fault(record, "there is no object", key);
        json_decref(value);
        return;
    }
    json_t *object = json_object_get(record->json, key);
    if (!json_is_object(object)) {
        sm_record_set_json(record, key, json_object());
        object = json_object_get(record->json, key);
    }
    if (json_object_set_new(object, member, value ? value : json_null())) fault(record, "no memory for", key);
}

void sm_record_put_string(struct sm_record *record, const char *key, const char *member, const char *value)
{
    sm_record_put_json(record, key, member, string_or_null(value));
}

void sm_record_put_integer(struct sm_record *record, const char *key, const char *member, int64_t value)
{
    sm_record_put_json(record, key, member, json_integer(value));
}

void sm_record_fail(struct sm_record *record, const char *status, const char *why)
{
    sm_record_set_string(record, "status", status);
    sm_record_set_string(record, "why", why);
    for (const char *const *key = (const char *const[]){"samples", "iterations", "token_ns", "steps", NULL}; *key;
         key++)
        sm_record_set_json(record, *key, NULL);
}

static void append_to(struct sm_record *record, const char *key, json_t *item)
{
    json_t *array = json_object_get(record->json, key);
    if (!json_is_array(array)) {
        sm_record_set_json(record, key, json_array());
        array = json_object_get(record->json, key);
    }
    if (json_array_append_new(array, item)) fault(record, "no memory for", key);
}

void sm_record_add_step(struct sm_record *record, const char *label, double ns, int64_t calls)
{
    append_to(record, "steps",
              json_pack("{s:s,s:o,s:I}", "label", label, "ns", sm_record_number(ns), "calls", (json_int_t)calls));
}

void sm_record_add_step_part(struct sm_record *record, const char *part, double ns, int64_t calls)
{
    const json_t *steps = json_object_get(record->json, "steps");
    json_t *step = json_array_get(steps, json_array_size(steps) - 1);
    if (!json_object_get(step, "parts")) json_object_set_new(step, "parts", json_array());
    if (json_array_append_new(
            json_object_get(step, "parts"),
            json_pack("{s:s,s:o,s:I}", "part", part, "ns", sm_record_number(ns), "calls", (json_int_t)calls)))
        fault(record, "no step to add to, or no memory for", part);
}

void sm_record_add_ceiling(struct sm_record *record, const char *name, double value, const char *unit, int threads)
{
    sm_record_put_json(record, "ceilings", name,
                       json_pack("{s:o,s:s,s:i}", "value", sm_record_number(value), "unit", unit, "threads", threads));
}

void sm_record_add_counter(struct sm_record *record, const char *name, double value, const char *unit,
                           const char *provider, const char *state, const char *why, const char *scope)
{
    const bool counts = !strcmp(state, "usable") || !strcmp(state, "multiplexed");
    append_to(record, "counters",
              json_pack("{s:s,s:o,s:o,s:o,s:s,s:o,s:o}", "name", name, "value",
                        counts ? sm_record_number(value) : json_null(), "unit", string_or_null(unit), "provider",
                        string_or_null(provider), "state", state, "why", string_or_null(why), "scope",
                        string_or_null(scope)));
}

void sm_record_counter_put(struct sm_record *record, const char *member, json_t *value)
{
    json_t *counters = json_object_get(record->json, "counters");
    json_t *counter = json_array_get(counters, json_array_size(counters) - 1);
    if (json_object_set_new(counter, member, value)) fault(record, "no counter to add to, or no memory for", member);
}

static int make_folders(const char *path, char *why, size_t why_bytes)
{
    char *copy = strdup(path);
    int result = copy ? 0 : -1;
    for (char *slash = copy ? strchr(copy + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(copy, 0777) && errno != EEXIST) {
            snprintf(why, why_bytes, "cannot make the folder '%s' for results: %s", copy, strerror(errno));
            result = -1;
            break;
        }
        *slash = '/';
    }
    free(copy);
    return result;
}

int sm_records_claim(const char *path, char *why, size_t why_bytes)
{
    if (make_folders(path, why, why_bytes)) return -1;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return close(fd);
    if (errno == EEXIST)
        snprintf(why, why_bytes, "'%s' is there already; name another --out, or go on with --resume %s", path, path);
    else
        snprintf(why, why_bytes, "cannot make the result file '%s': %s", path, strerror(errno));
    return -1;
}

/* A line cut short by a kill must not swallow the next one. */
static bool ends_in_mid_line(int fd)
{
    struct stat st;
    char last = '\n';
    return !fstat(fd, &st) && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
}

static int write_lines(int fd, const char *lines, size_t bytes, const char *path, char *why, size_t why_bytes)
{
    const ssize_t written = write(fd, lines, bytes);
    if (written == (ssize_t)bytes) return 0;
    snprintf(why, why_bytes, "cannot append to '%s': %s", path,
             written < 0 ? strerror(errno) : "only a part could be written; is the disk full?");
    return -1;
}

static int add_line(FILE *text, const struct sm_record *record, char *why, size_t why_bytes)
{
    if (*record->fault) {
        snprintf(why, why_bytes, "cannot write a record: %s", record->fault);
        return -1;
    }
    if (sm_record_check(record->json, why, why_bytes)) return -1;
    if (json_dumpf(record->json, text, JSON_COMPACT) || fputc('\n', text) == EOF) {
        snprintf(why, why_bytes, "cannot write a record as JSON: out of memory");
        return -1;
    }
    return 0;
}

int sm_records_append(struct sm_record *const *records, size_t count, const char *path, char *why, size_t why_bytes)
{
    int result = -1, fd = -1;
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory) {
        snprintf(why, why_bytes, "cannot append to '%s': out of memory", path);
        return -1;
    }
    fputc('\n', memory); /* written only after a torn line */
    for (size_t i = 0; i < count; i++)
        if (add_line(memory, records[i], why, why_bytes)) {
            fclose(memory);
            goto done;
        }
    if (fclose(memory)) {
        snprintf(why, why_bytes, "cannot append to '%s': out of memory", path);
        goto done;
    }
    if (make_folders(path, why, why_bytes)) goto done;
    fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        snprintf(why, why_bytes, "cannot open '%s' to append a result: %s", path, strerror(errno));
        goto done;
    }
    const size_t skip = ends_in_mid_line(fd) ? 0 : 1;
    result = write_lines(fd, text + skip, bytes - skip, path, why, why_bytes);
done:
    if (fd >= 0 && close(fd) && result == 0) {
        snprintf(why, why_bytes, "cannot append to '%s': %s", path, strerror(errno));
        result = -1;
    }
    free(text);
    return result;
}

int sm_record_append(struct sm_record *record, const char *path, char *why, size_t why_bytes)
{
    return sm_records_append(&record, 1, path, why, why_bytes);
}
