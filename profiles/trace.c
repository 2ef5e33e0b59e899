#include "trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

/* Of a step what outlives its plan. */
struct event {
    enum sm_label label;
    enum sm_layer_kind kind;
    size_t layer;
    const struct sm_family *family;
    const struct sm_variant *variant;
    uint64_t begin_ns, end_ns;
};

/* One thread's events. Its own cache lines: threads write at once. */
struct track {
    struct event *events;
    size_t count, room;
    bool lost; /* no memory: the rest is missing */
    char apart[64];
};

struct call {
    struct sm_chunk chunk;
    uint64_t end_ns;
};

struct sm_trace {
    struct track *tracks;
    size_t threads;
    struct call *calls;
    size_t call_count, call_room;
    bool lost;
};

struct sm_trace *sm_trace_create(size_t threads)
{
    struct sm_trace *t = calloc(1, sizeof *t);
    if (t) t->tracks = calloc(threads, sizeof *t->tracks);
    if (!t || !t->tracks) {
        free(t);
        return NULL;
    }
    t->threads = threads;
    return t;
}

void sm_trace_destroy(struct sm_trace *t)
{
    if (!t) return;
    for (size_t i = 0; i < t->threads; i++) free(t->tracks[i].events);
    free(t->tracks);
    free(t->calls);
    free(t);
}

static void on_share(void *state, const struct sm_step *step, size_t thread, uint64_t begin_ns, uint64_t end_ns)
{
    struct sm_trace *t = state;
    if (thread >= t->threads) return;
    struct track *track = &t->tracks[thread];
    if (track->count == track->room) {
        const size_t room = track->room ? 2 * track->room : 4096;
        struct event *events = realloc(track->events, room * sizeof *events);
        if (!events) {
            track->lost = true;
            return;
        }
        track->events = events;
        track->room = room;
    }
    track->events[track->count++] =
        (struct event){step->label, step->kind, step->layer, step->family, step->variant, begin_ns, end_ns};
}

static void on_done(void *state, const struct sm_chunk *chunk)
{
    struct sm_trace *t = state;
    if (t->call_count == t->call_room) {
        const size_t room = t->call_room ? 2 * t->call_room : 64;
        struct call *calls = realloc(t->calls, room * sizeof *calls);
        if (!calls) {
            t->lost = true;
            return;
        }
        t->calls = calls;
        t->call_room = room;
    }
    t->calls[t->call_count++] = (struct call){*chunk, sm_clock_ns()};
}

struct sm_run_hooks sm_trace_hooks(struct sm_trace *trace)
{
    return (struct sm_run_hooks){.share = on_share, .done = on_done, .state = trace};
}

/* Microseconds since the first event, to the nanosecond. */
static double since(uint64_t ns, uint64_t start)
{
    return (double)(ns - start) / 1e3;
}

static uint64_t first_ns(const struct sm_trace *t)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < t->threads; i++)
        if (t->tracks[i].count && t->tracks[i].events[0].begin_ns < first) first = t->tracks[i].events[0].begin_ns;
    for (size_t i = 0; i < t->call_count; i++)
        if (t->calls[i].end_ns - t->calls[i].chunk.ns < first) first = t->calls[i].end_ns - t->calls[i].chunk.ns;
    return first;
}

static void write_names(const struct sm_trace *t, const char *title, FILE *f)
{
    fprintf(f, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"");
    for (; *title; title++) fputc(*title == '"' || *title == '\\' || (unsigned char)*title < ' ' ? '?' : *title, f);
    fprintf(f, "\"}},\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"calls\"}}");
    for (size_t i = 0; i < t->threads; i++)
        fprintf(f,
                ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%zu,\"args\":{\"name\":\"thread %zu\"}}",
                i + 1, i);
}

static void write_step(const struct event *e, size_t thread, uint64_t start, FILE *f)
{
    fprintf(f,
            ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
            sm_label_name(e->label), sm_layer_kind_name(e->kind), thread + 1, since(e->begin_ns, start),
            (double)(e->end_ns - e->begin_ns) / 1e3);
    if (e->layer != SM_NO_LAYER) fprintf(f, "\"layer\":%zu,", e->layer);
    fprintf(f, "\"kernel\":\"%s/%s\"}}", e->family->name, e->variant->name);
}

int sm_trace_write(const struct sm_trace *t, const char *path, const char *title, char *why, size_t why_bytes)
{
    const uint64_t start = first_ns(t);
    bool lost = t->lost;
    for (size_t i = 0; i < t->threads; i++) lost |= t->tracks[i].lost;
    FILE *f = lost ? NULL : fopen(path, "wx"); /* nothing of the user's is overwritten */
    if (!f) {
        snprintf(why, why_bytes, "writing the trace %s: %s", path,
                 lost ? "there was no memory for all of its events" : strerror(errno));
        return -1;
    }
    fprintf(f, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    write_names(t, title, f);
    for (size_t i = 0; i < t->call_count; i++) {
        const struct sm_chunk *c = &t->calls[i].chunk;
        fprintf(f,
                ",\n{\"name\":\"%s\",\"cat\":\"call\",\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":%.3f,\"dur\":%.3f,"
                "\"args\":{\"rows\":%zu,\"tokens\":%zu,\"past\":%zu}}",
                sm_phase_name(c->phase), since(t->calls[i].end_ns - c->ns, start), (double)c->ns / 1e3, c->rows,
                c->count, c->past);
    }
    for (size_t i = 0; i < t->threads; i++)
        for (size_t k = 0; k < t->tracks[i].count; k++) write_step(&t->tracks[i].events[k], i, start, f);
    fprintf(f, "\n]}\n");
    const bool bad = ferror(f);
    if (fclose(f) || bad) {
        snprintf(why, why_bytes, "writing the trace %s: %s", path, strerror(errno));
        return -1;
    }
    return 0;
}
