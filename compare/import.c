/* A file of others: which kind it is, and figures from its entries. */
#include "import.h"

#include <errno.h>
#include <math.h>
#include <sha256.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_rows.h"
#include "stats.h"

#define FILE_MOST (256u << 20)

static int refuse(struct sm_import_rows *r, const char *sentence)
{
    snprintf(r->why, r->why_bytes, "%s", sentence);
    return -1;
}

int sm_import_add(struct sm_import_rows *r, const struct sm_import_row *row)
{
    if (!isfinite(row->value) || row->value < 0 || (row->kind != SM_IMPORT_SPREAD && !(row->value > 0))) {
        snprintf(r->why, r->why_bytes, "%.80s: %g is no time or rate", row->name, row->value);
        return -1;
    }
    if (r->count == r->room) {
        const size_t room = r->room ? 2 * r->room : 64;
        struct sm_import_row *list = realloc(r->list, room * sizeof *list);
        if (!list) return refuse(r, "out of memory");
        r->list = list;
        r->room = room;
    }
    r->list[r->count] = *row;
    r->list[r->count].order = r->count;
    r->count++;
    return 0;
}

/* The whole file with a NUL behind it; NULL and a sentence. */
static char *read_file(const char *path, size_t *bytes, char *why, size_t why_bytes)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t used = 0, room = 1 << 16, got = 1;
    if (!f) {
        snprintf(why, why_bytes, "importing %s: %s", path, strerror(errno));
        return NULL;
    }
    while (got) {
        char *larger = used + 1 >= room || !text ? realloc(text, room *= 2) : text;
        if (!larger || room > FILE_MOST) break;
        text = larger;
        got = fread(text + used, 1, room - used - 1, f);
        used += got;
    }
    const int broken = ferror(f);
    fclose(f);
    if (!got && !broken) {
        text[used] = '\0';
        *bytes = used;
        return text;
    }
    snprintf(why, why_bytes, "importing %s: %s", path,
             broken ? "it cannot be read" : "it is larger than 128 MiB, or there is no memory");
    free(text);
    return NULL;
}

static int read_array(struct sm_import_rows *r, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        char where[48];
        snprintf(where, sizeof where, "entry %zu", i + 1);
        if (sm_import_object(r, json_array_get(array, i), where)) return -1;
    }
    return 0;
}

/* An object a line. A last line that was cut short is one that was being written. */
static int read_lines(struct sm_import_rows *r, const char *text)
{
    size_t number = 0;
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        char where[48];
        json_error_t error;
        end = line + strcspn(line, "\n");
        number++;
        if (strspn(line, " \t\r") >= (size_t)(end - line)) continue;
        snprintf(where, sizeof where, "line %zu", number);
        json_t *object = json_loadb(line, (size_t)(end - line), 0, &error);
        if (!object && !*end && r->count) {
            r->import->passed_over++;
            break;
        }
        if (!object) {
            snprintf(r->why, r->why_bytes, "%s: %s", where, error.text);
            return -1;
        }
        const int bad = sm_import_object(r, object, where);
        json_decref(object);
        if (bad) return bad;
    }
    return 0;
}

static int read_text(struct sm_import_rows *r, const char *text, size_t bytes)
{
    const char *at = text + (strncmp(text, "\xef\xbb\xbf", 3) ? 0 : 3);
    at += strspn(at, " \t\r\n");
    if (strlen(text) != bytes) return refuse(r, "it is no text");
    if (!*at) return refuse(r, "it is empty");
    if (*at != '{' && *at != '[') return sm_import_sql(r, at);
    json_error_t error;
    json_t *whole = json_loads(at, 0, &error);
    if (!whole && *at == '{' && json_error_code(&error) == json_error_end_of_input_expected) return read_lines(r, at);
    if (!whole) {
        snprintf(r->why, r->why_bytes, "line %d: %s", error.line, error.text);
        return -1;
    }
    const int bad = json_is_array(whole) ? read_array(r, whole) : sm_import_object(r, whole, "it");
    json_decref(whole);
    return bad;
}

/* By build, name and unit, then as they came. */
static int by_figure(const void *a, const void *b)
{
    const struct sm_import_row *x = a, *y = b;
    int order = strcmp(x->build, y->build);
    if (!order) order = strcmp(x->name, y->name);
    if (!order) order = strcmp(x->unit, y->unit);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static bool same_figure(const struct sm_import_row *a, const struct sm_import_row *b)
{
    return !strcmp(a->build, b->build) && !strcmp(a->name, b->name) && !strcmp(a->unit, b->unit);
}

/* Of samples the median and their deviation; else the median or the mean that the file states. False: only a spread. */
static bool make_figure(struct sm_import_figure *f, const struct sm_import_row *rows, size_t n, double *room)
{
    const struct sm_import_row *stated = NULL;
    struct sm_summary summary;
    double spread = NAN;
    size_t samples = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].kind == SM_IMPORT_SAMPLE) room[samples++] = rows[i].value;
        if (rows[i].kind == SM_IMPORT_SPREAD) spread = rows[i].value;
        if (rows[i].kind == SM_IMPORT_MEDIAN || (rows[i].kind == SM_IMPORT_MEAN && !stated)) stated = &rows[i];
    }
    if (!samples && !stated) return false;
    *f = (struct sm_import_figure){.started = rows->started, .samples = samples ? samples : 1, .spread = spread};
    memcpy(f->name, rows->name, sizeof f->name);
    memcpy(f->unit, rows->unit, sizeof f->unit);
    memcpy(f->build, rows->build, sizeof f->build);
    f->value = stated ? stated->value : NAN;
    if (samples && !sm_summarise(room, samples, &summary)) {
        f->value = summary.median;
        if (samples > 1) f->spread = summary.deviation;
    }
    return isfinite(f->value);
}

static int make_figures(struct sm_import_rows *r)
{
    struct sm_import *to = r->import;
    double *room = malloc((r->count + 1) * sizeof *room);
    to->figures = malloc((r->count + 1) * sizeof *to->figures);
    if (!room || !to->figures) {
        free(room);
        return refuse(r, "out of memory");
    }
    if (r->count) qsort(r->list, r->count, sizeof *r->list, by_figure);
    for (size_t begin = 0, end; begin < r->count; begin = end) {
        for (end = begin + 1; end < r->count && same_figure(&r->list[begin], &r->list[end]);) end++;
        if (make_figure(&to->figures[to->count], &r->list[begin], end - begin, room)) to->count++;
    }
    free(room);
    return to->count ? 0 : refuse(r, "it holds no figure");
}

int sm_import_read(struct sm_import *import, const char *path, char *why, size_t why_bytes)
{
    char sentence[300] = "", hash[65];
    struct sm_import_rows r = {.import = import, .why = sentence, .why_bytes = sizeof sentence};
    size_t bytes = 0;
    *import = (struct sm_import){0};
    char *text = read_file(path, &bytes, why, why_bytes);
    if (!text) return -1;
    SHA256Data((const uint8_t *)text, bytes, hash);
    snprintf(import->id, sizeof import->id, "%.12s", hash);
    int bad = read_text(&r, text, bytes);
    if (!bad) bad = make_figures(&r);
    free(text);
    free(r.list);
    if (bad) snprintf(why, why_bytes, "importing %s: %s", path, sentence);
    return bad;
}

void sm_import_free(struct sm_import *import)
{
    free(import->machine);
    free(import->figures);
    *import = (struct sm_import){0};
}
