#include "progress.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS = 96, PLAIN_EVERY_S = 5 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *sm_duration_text(double seconds, char *text, size_t bytes)
{
    const long s = seconds > 0 && seconds < 1e9 ? lround(seconds) : 0;
    if (s < 3600)
        snprintf(text, bytes, "%ld:%02ld", s / 60, s % 60);
    else
        snprintf(text, bytes, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    return text;
}

void sm_progress_begin(struct sm_progress *p, FILE *out, double total_s)
{
    *p = (struct sm_progress){.out = out, .started_s = now_s(), .printed_s = -1e9, .total_s = total_s};
}

/* The estimate, corrected by how it did so far once a tenth (or three seconds) can speak for the rest. */
static double left_s(const struct sm_progress *p, double done_s)
{
    const double elapsed = now_s() - p->started_s, left = p->total_s - done_s;
    const int can_tell = done_s > 0.1 * p->total_s || elapsed > 3;
    return can_tell && done_s > 0 ? left * elapsed / done_s : left;
}

void sm_progress_show(struct sm_progress *p, double done_s, const char *text)
{
    if (!p->out) return;
    const int terminal = isatty(fileno(p->out));
    const double now = now_s();
    if (!terminal && now - p->printed_s < PLAIN_EVERY_S) return;
    if (terminal && p->printed_s < 0) p->width = COLUMNS; /* over what somebody else's line left */
    p->printed_s = now;

    char left[32], line[256];
    const int percent = p->total_s > 0 ? (int)(100 * fmin(done_s / p->total_s, 1)) : 0;
    int n = snprintf(line, sizeof line, "%3d%%  %s left  %s", percent,
                     sm_duration_text(left_s(p, done_s), left, sizeof left), text);
    if (n > COLUMNS) n = COLUMNS;
    if (terminal) {
        fprintf(p->out, "\r%.*s%*s", n, line, p->width > n ? p->width - n : 0, "");
        p->width = n;
    } else {
        fprintf(p->out, "%.*s\n", n, line);
    }
    fflush(p->out);
}

void sm_progress_clear(struct sm_progress *p)
{
    if (p->out && p->width) {
        fprintf(p->out, "\r%*s\r", p->width, "");
        fflush(p->out);
        p->width = 0;
    }
}
