/* What callgrind wrote: a line of events, lines of costs under the function they belong to, and totals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callgrind.h"

#define LINE_BYTES 4096

/* The number in a line of costs of the event of that name; names and costs are separated by spaces. */
static uint64_t event(const char *names, const char *costs, const char *name)
{
    const size_t n = strlen(name);
    while (*names) {
        names += strspn(names, " ");
        const size_t length = strcspn(names, " \n");
        char *end;
        const uint64_t value = strtoull(costs, &end, 10); /* callgrind leaves out zeros at the end */
        if (length == n && !memcmp(names, name, n)) return value;
        names += length;
        names += *names == '\n';
        costs = end;
    }
    return 0;
}

static void add(struct sm_callgrind_counts *c, const char *names, const char *costs)
{
    c->instructions += event(names, costs, "Ir");
    c->branches += event(names, costs, "Bc") + event(names, costs, "Bi");
    c->reads += event(names, costs, "Dr");
    c->writes += event(names, costs, "Dw");
    c->i1_misses += event(names, costs, "I1mr");
    c->d1_misses += event(names, costs, "D1mr") + event(names, costs, "D1mw");
    c->ll_misses += event(names, costs, "ILmr") + event(names, costs, "DLmr") + event(names, costs, "DLmw");
}

static int has_all(const char *names)
{
    return strstr(names, " Ir ") && strstr(names, " Bc ") && strstr(names, " DLmw ");
}

int sm_callgrind_read(const char *path, struct sm_callgrind_counts *counts, char *why, size_t why_bytes)
{
    char line[LINE_BYTES], names[LINE_BYTES] = "";
    int found = 0;
    *counts = (struct sm_callgrind_counts){0};
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (!strncmp(line, "events: ", 8)) snprintf(names, sizeof names, "%s", line + 7);
        if (strncmp(line, "totals: ", 8) || !has_all(names)) continue;
        add(counts, names, line + 8);
        found = line[8] >= '0' && line[8] <= '9';
        break;
    }
    if (f) fclose(f);
    if (found && counts->instructions && counts->branches) return 0; /* its first function is entered by a jump */
    snprintf(why, why_bytes, found ? "callgrind saw no call of the kernel" : "callgrind wrote no totals of all events");
    return -1;
}

/* "fn=(12) name", or "fn=(12)" of a name given before: which function of the prefix it is, -1: none of them. */
static long function_of(const char *text, const char *prefix, long *ids, size_t id_count)
{
    char *end;
    const unsigned long id = *text == '(' ? strtoul(text + 1, &end, 10) : id_count;
    if (id >= id_count || *end != ')') return -1;
    if (end[1] == ' ') {
        const size_t n = strlen(prefix);
        ids[id] =
            !strncmp(end + 2, prefix, n) && end[2 + n] >= '0' && end[2 + n] <= '9' ? strtol(end + 2 + n, NULL, 10) : -1;
    }
    return ids[id];
}

int sm_callgrind_read_callees(const char *path, const char *prefix, struct sm_callgrind_counts *counts, size_t count,
                              char *why, size_t why_bytes)
{
    enum { IDS = 1 << 16 };
    char line[LINE_BYTES], names[LINE_BYTES] = "";
    long *ids = malloc(IDS * sizeof *ids), at = -1;
    int below = 0; /* the next line is of a call, all included */
    memset(counts, 0, count * sizeof *counts);
    for (size_t i = 0; ids && i < IDS; i++) ids[i] = -1;
    FILE *f = ids ? fopen(path, "r") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        if (!strncmp(line, "events: ", 8)) {
            snprintf(names, sizeof names, "%s", line + 7);
        } else if (!strncmp(line, "fn=", 3)) {
            at = function_of(line + 3, prefix, ids, IDS);
        } else if (!strncmp(line, "cfn=", 4)) {
            function_of(line + 4, prefix, ids, IDS);
        } else if (!strncmp(line, "calls=", 6)) {
            below = 1;
        } else if (below) {
            const char *costs = strchr(line, ' '); /* after the line of the source */
            if (costs && at >= 0 && (size_t)at < count) add(&counts[at], names, costs);
            below = 0;
        }
    }
    if (f) fclose(f);
    free(ids);
    if (has_all(names)) return 0;
    snprintf(why, why_bytes, "callgrind wrote no events");
    return -1;
}
