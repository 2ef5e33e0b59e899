#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"

static int bad(char *why, size_t why_bytes, const char *text, const char *wanted)
{
    snprintf(why, why_bytes, "'%.60s' is not %s", text, wanted);
    return -1;
}

/* A whole number at the start of text; *end behind it. */
static int integer_at(const char *text, int64_t *value, char **end)
{
    if (!isdigit((unsigned char)*text) && !(*text == '-' && isdigit((unsigned char)text[1]))) return -1;
    errno = 0;
    const long long v = strtoll(text, end, 10);
    *value = v;
    return errno ? -1 : 0;
}

int sm_parse_integer(const char *text, int64_t *value, char *why, size_t why_bytes)
{
    char *end;
    int64_t v;
    if (integer_at(text, &v, &end) || *end) return bad(why, why_bytes, text, "a whole number");
    *value = v;
    return 0;
}

int sm_parse_number(const char *text, double *value, char *why, size_t why_bytes)
{
    char *end;
    const double v = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text) || !isfinite(v))
        return bad(why, why_bytes, text, "a number");
    *value = v;
    return 0;
}

int sm_parse_size(const char *text, int64_t *bytes, char *why, size_t why_bytes)
{
    static const char *const units[] = {"", "K", "M", "G", "T", NULL};
    char *end;
    if (!isdigit((unsigned char)*text)) return bad(why, why_bytes, text, "a size such as 4096, 64K or 2GiB");
    double v = strtod(text, &end);
    if (strpbrk(text, "xX")) return bad(why, why_bytes, text, "a size such as 4096, 64K or 2GiB"); /* no hexadecimal */
    for (size_t i = 0; units[i]; i++, v *= 1024) {
        const size_t n = strlen(units[i]);
        if (strncasecmp(end, units[i], n)) continue;
        const char *tail = end + n;
        if (*tail && strcasecmp(tail, "iB") && strcasecmp(tail, "B")) continue;
        if (v >= 0x1p62) break;
        *bytes = (int64_t)v;
        return 0;
    }
    return bad(why, why_bytes, text, "a size such as 4096, 64K or 2GiB");
}

int sm_parse_duration(const char *text, double *seconds, char *why, size_t why_bytes)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}};
    double total = 0;
    const char *p = text;
    do {
        char *end;
        if (!isdigit((unsigned char)*p)) return bad(why, why_bytes, text, "a time such as 90s, 3m or 1h30m");
        const double v = strtod(p, &end);
        if (!*end && p == text) {
            total = v;
            p = end;
            break;
        }
        size_t u = 0;
        while (u < sizeof units / sizeof *units && strncmp(end, units[u].name, strlen(units[u].name))) u++;
        if (u == sizeof units / sizeof *units) return bad(why, why_bytes, text, "a time such as 90s, 3m or 1h30m");
        total += v * units[u].seconds;
        p = end + strlen(units[u].name);
    } while (*p);
    if (!isfinite(total) || total <= 0 || strpbrk(text, "xX")) /* hexadecimal is for strtod only */
        return bad(why, why_bytes, text, "a time such as 90s, 3m or 1h30m");
    *seconds = total;
    return 0;
}

static int add(struct sm_list *list, int64_t value, char *why, size_t why_bytes)
{
    if (list->count == SM_LIST_MOST) {
        snprintf(why, why_bytes, "a list may hold at most %d values", SM_LIST_MOST);
        return -1;
    }
    list->value[list->count++] = value;
    return 0;
}

/* first..last, with +step or *factor behind it; p stands behind the dots. */
static int add_range(struct sm_list *list, int64_t first, char *p, char **end, char *why, size_t why_bytes)
{
    int64_t last, step = 1;
    char how = '+';
    if (integer_at(p, &last, &p)) return bad(why, why_bytes, p, "the end of a range");
    if (*p == '+' || *p == '*') {
        how = *p;
        if (integer_at(p + 1, &step, &p)) return bad(why, why_bytes, p, "the step of a range");
    }
    if (step < (how == '*' ? 2 : 1) || first > last || (how == '*' && first < 1)) {
        snprintf(why, why_bytes, "a range goes up: first..last, first..last+step or first..last*factor");
        return -1;
    }
    for (int64_t v = first;;) {
        if (add(list, v, why, why_bytes)) return -1;
        if (how == '+' ? last - v < step : v > last / step) break;
        v = how == '+' ? v + step : v * step;
    }
    *end = p;
    return 0;
}

int sm_parse_list(const char *text, struct sm_list *list, char *why, size_t why_bytes)
{
    struct sm_list read = {0};
    const char *p = text;
    for (;;) {
        int64_t first;
        char *end;
        if (integer_at(p, &first, &end)) return bad(why, why_bytes, text, "a list such as 256,1024 or 128..8192*2");
        if (!strncmp(end, "..", 2)) {
            if (add_range(&read, first, end + 2, &end, why, why_bytes)) return -1;
        } else if (add(&read, first, why, why_bytes)) {
            return -1;
        }
        if (!*end) break;
        if (*end != ',') return bad(why, why_bytes, text, "a list such as 256,1024 or 128..8192*2");
        p = end + 1;
    }
    *list = read;
    return 0;
}

/* Edits between two words: one row of the table at a time. */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 64 };
    size_t row[MOST + 1];
    const size_t n = strlen(b);
    if (n > MOST || strlen(a) > MOST) return MOST;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t best = diagonal + (a[i] != b[j]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[n];
}

const char *sm_nearest(const char *text, const char *const *words)
{
    const char *best = NULL;
    size_t least = strlen(text) / 3 + 2;
    for (; *words; words++) {
        const size_t d = distance(text, *words);
        if (d < least) {
            least = d;
            best = *words;
        }
    }
    return best;
}

int sm_parse_choice(const char *text, const char *const *choices, int *index, char *why, size_t why_bytes)
{
    for (int i = 0; choices[i]; i++)
        if (!strcmp(text, choices[i])) {
            *index = i;
            return 0;
        }
    size_t used = (size_t)snprintf(why, why_bytes, "'%.60s' is none of", text);
    for (int i = 0; choices[i] && used < why_bytes; i++)
        used += (size_t)snprintf(why + used, why_bytes - used, "%s %s", i ? "," : "", choices[i]);
    const char *near = sm_nearest(text, choices);
    if (near && used < why_bytes) snprintf(why + used, why_bytes - used, "; did you mean '%s'?", near);
    return -1;
}

int sm_parse_strings(const char *text, struct sm_strings *list, const char *const *choices, char *why, size_t why_bytes)
{
    if (strlen(text) >= sizeof list->text) {
        snprintf(why, why_bytes, "a list of words may have at most %zu characters", sizeof list->text - 1);
        return -1;
    }
    strcpy(list->text, text);
    list->count = 0;
    for (char *p = list->text, *next; p; p = next) {
        int index;
        next = strchr(p, ',');
        if (next) *next++ = 0;
        if (!*p) return bad(why, why_bytes, text, "a list of words such as f16,i8");
        if (choices && sm_parse_choice(p, choices, &index, why, why_bytes)) return -1;
        if (list->count == SM_STRINGS_MOST) {
            snprintf(why, why_bytes, "a list may hold at most %d words", SM_STRINGS_MOST);
            return -1;
        }
        list->value[list->count++] = p;
    }
    return 0;
}
