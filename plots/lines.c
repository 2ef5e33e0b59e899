#include "lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE ((size_t)16 << 20) /* a record with the times of 100,000 tokens takes 2 MB */

/* Lines in memory at once, beside the records; those that are no longer than usual keep their room for the next. */
enum { LINES_AT_ONCE = 512, LINES_ALONE = 64, BYTES_AT_ONCE = 4 << 20, ROOM_KEPT = 16 << 10, CHUNK = 64 << 10 };

enum { PARTS = 3, SHARED = 64, SHARED_BYTES_MOST = 64 << 10 };
static const char *const part_keys[PARTS] = {"machine", "build", "ceilings"};

struct line {
    char *text;
    size_t bytes, room;
    int too_long, blank; /* and passed over */
    json_t *record;      /* or NULL and the error */
    json_error_t error;
};

/* A part that was taken apart, and its text: a slot for each remainder of the text's hash. */
struct shared {
    char *text;
    size_t bytes;
    json_t *json;
};

struct reader {
    FILE *file;
    char chunk[CHUNK];
    size_t at, filled;
    struct line lines[LINES_AT_ONCE];
    struct shared shared[SHARED];
};

/* Adds text to a line, as far as a line may go. -1: no memory. */
static int append(struct line *line, const char *text, size_t bytes)
{
    if (bytes > MAX_LINE - line->bytes) {
        line->too_long = 1;
        bytes = MAX_LINE - line->bytes;
    }
    if (line->bytes + bytes > line->room) {
        size_t room = line->room ? line->room : 4096;
        while (room < line->bytes + bytes) room *= 2;
        char *grown = realloc(line->text, room);
        if (!grown) return -1;
        line->text = grown;
        line->room = room;
    }
    if (bytes) memcpy(line->text + line->bytes, text, bytes);
    line->bytes += bytes;
    return 0;
}

/* The next line, however long, in bounded memory. 0; 1 at the end of the file; -1: no memory. */
static int next_line(struct reader *r, struct line *line)
{
    line->bytes = 0;
    line->too_long = 0;
    for (int begun = 0;; begun = 1) {
        if (r->at == r->filled) {
            r->at = 0;
            r->filled = fread(r->chunk, 1, CHUNK, r->file);
            if (r->filled == 0) return begun ? 0 : 1;
        }
        const char *text = r->chunk + r->at, *end = memchr(text, '\n', r->filled - r->at);
        const size_t bytes = end ? (size_t)(end - text) : r->filled - r->at;
        r->at += bytes + (end != NULL);
        if (append(line, text, bytes)) return -1;
        if (end) return 0;
    }
}

static int is_blank(const struct line *line)
{
    for (size_t i = 0; i < line->bytes; i++)
        if (!strchr(" \t\r", line->text[i]) || !line->text[i]) return 0;
    return 1;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
    return at;
}

/* Behind the string that begins at `at`, or end. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\') at++;
    return at < end ? at + 1 : end;
}

/* Behind the value that begins at `at`: as far as brackets and strings tell, what it is worth is seen later. */
static const char *skip_value(const char *at, const char *end)
{
    size_t depth = 0;
    while (at < end) {
        const char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
        } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
            return at;
        } else {
            depth += c == '{' || c == '[';
            depth -= c == '}' || c == ']';
            at++;
        }
        if (depth == 0 && (c == '"' || c == '}' || c == ']')) return at;
    }
    return end;
}

/* The parts of an object that others may have as well. Which are there; 0 too where the text is unusual in any way. */
static unsigned find_parts(const char *at, const char *end, const char *from[PARTS], const char *to[PARTS])
{
    unsigned found = 0;
    at = skip_space(at, end);
    if (at == end || *at != '{') return 0;
    do {
        const char *key = skip_space(at + 1, end);
        if (key == end || *key != '"') return 0;
        at = skip_string(key++, end);
        const size_t length = (size_t)(at - key) - 1;
        if (at == end || memchr(key, '\\', length)) return 0;
        at = skip_space(at, end);
        if (at == end || *at != ':') return 0;
        const char *value = skip_space(at + 1, end);
        at = skip_value(value, end);
        for (unsigned i = 0; i < PARTS; i++) {
            if (strlen(part_keys[i]) != length || memcmp(part_keys[i], key, length) != 0) continue;
            from[i] = value; /* of two the last one counts, as with jansson */
            to[i] = at;
            if (value < end && *value == '{' && at - value < SHARED_BYTES_MOST) found |= 1u << i;
        }
        at = skip_space(at, end);
    } while (at < end && *at == ',');
    return found;
}

/* The part with this text, which is another's as well. NULL: no JSON, or no memory. */
static json_t *share(struct reader *r, const char *text, size_t bytes)
{
    uint64_t hash = 14695981039346656037u;
    json_t *json = NULL;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    struct shared *slot = &r->shared[(hash >> 32) % SHARED];
#pragma omp critical(sm_lines_share)
    if (slot->bytes == bytes && !memcmp(slot->text, text, bytes)) json = json_incref(slot->json);
    if (json) return json;

    char *copy = malloc(bytes);
    json = copy ? json_loadb(text, bytes, 0, NULL) : NULL;
    if (!json) {
        free(copy);
        return NULL;
    }
    memcpy(copy, text, bytes);
#pragma omp critical(sm_lines_share)
    {
        free(slot->text);
        json_decref(slot->json);
        *slot = (struct shared){copy, bytes, json_incref(json)};
    }
    return json;
}

/* The record from its own text, in which null stands for each part, and the parts. NULL: some of it is no JSON. */
static json_t *put_together(struct reader *r, const struct line *line)
{
    const char *from[PARTS], *to[PARTS], *end = line->text + line->bytes, *at = line->text;
    unsigned found = find_parts(at, end, from, to);
    char *own = found ? malloc(line->bytes) : NULL;
    size_t used = 0;
    if (!own) return NULL;
    while (at < end) {
        unsigned next = PARTS;
        for (unsigned i = 0; i < PARTS; i++)
            if (found >> i & 1 && from[i] >= at && (next == PARTS || from[i] < from[next])) next = i;
        const char *stop = next < PARTS ? from[next] : end;
        memcpy(own + used, at, (size_t)(stop - at));
        used += (size_t)(stop - at);
        at = next < PARTS ? to[next] : end;
        if (next < PARTS && to[next] - stop < 4) {
            memcpy(own + used, stop, (size_t)(to[next] - stop)); /* {}: shorter than null */
            used += (size_t)(to[next] - stop);
            found &= ~(1u << next);
        } else if (next < PARTS) {
            memcpy(own + used, "null", 4);
            used += 4;
        }
    }
    json_t *record = json_loadb(own, used, 0, NULL);
    free(own);
    for (unsigned i = 0; record && i < PARTS; i++) {
        if (!(found >> i & 1)) continue;
        if (!json_object_set_new(record, part_keys[i], share(r, from[i], (size_t)(to[i] - from[i])))) continue;
        json_decref(record);
        record = NULL;
    }
    return record;
}

/* Nearly all the time of a figure goes into this. */
static void parse_lines(struct reader *r, size_t count)
{
#pragma omp parallel for schedule(dynamic) if (count > LINES_ALONE)
    for (size_t i = 0; i < count; i++) {
        struct line *line = &r->lines[i];
        line->blank = !line->too_long && is_blank(line);
        line->record = line->too_long || line->blank ? NULL : put_together(r, line);
        if (line->too_long || line->blank || line->record) continue;
        line->record = json_loadb(line->text, line->bytes, 0, &line->error);
    }
}

/* As many lines as one round takes. Their count; *state as of next_line. */
static size_t fill(struct reader *r, int *state)
{
    size_t count = 0, bytes = 0;
    while (count < LINES_AT_ONCE && bytes < BYTES_AT_ONCE && !(*state = next_line(r, &r->lines[count])))
        bytes += r->lines[count++].bytes;
    return count;
}

static int hand_over(struct line *line, size_t number, sm_line_take *take, void *state)
{
    struct sm_line one = {line->record, line->too_long ? "longer than 16 MiB" : line->error.text, line->blank};
    line->record = NULL;
    return take(state, number, &one);
}

int sm_lines_read(FILE *file, sm_line_take *take, void *state)
{
    struct reader *r = calloc(1, sizeof *r);
    size_t number = 0;
    int reached = r ? 0 : -1;
    if (r) r->file = file;
    json_object_seed(0); /* once, before threads would */
    while (reached == 0) {
        const size_t count = fill(r, &reached);
        parse_lines(r, count);
        for (size_t i = 0; i < count; i++) {
            struct line *line = &r->lines[i];
            number++;
            if (reached < 0 || hand_over(line, number, take, state)) reached = -1;
            json_decref(line->record); /* of those after a failure */
            if (line->room <= ROOM_KEPT) continue;
            free(line->text);
            *line = (struct line){0};
        }
    }
    for (size_t i = 0; r && i < LINES_AT_ONCE; i++) free(r->lines[i].text);
    for (size_t i = 0; r && i < SHARED; i++) {
        free(r->shared[i].text);
        json_decref(r->shared[i].json);
    }
    free(r);
    return reached < 0 ? -1 : 0;
}
