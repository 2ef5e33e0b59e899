#include "planner_turns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "turns.h"

#define MOST_COUNT 1000000000ULL
#define MOST_TEXT (16U << 20)

void planner_turns_free(struct planner_turns *t)
{
    free(t->turn);
    free(t->session);
    *t = (struct planner_turns){0};
}

/* Room for one more turn, and for a session that begins with it and one that ends behind it. */
static int grow(struct planner_turns *t)
{
    if (t->count & (t->count + 1)) return 0; /* there is room up to the next power of two */
    const size_t room = 2 * (t->count + 1);
    struct sm_planner_turn *turn = realloc(t->turn, room * sizeof *turn);
    if (turn) t->turn = turn;
    size_t *session = realloc(t->session, (room + 1) * sizeof *session);
    if (session) t->session = session;
    return turn && session ? 0 : -1;
}

static int add(struct planner_turns *t, struct sm_planner_turn turn, bool first, char *why, size_t why_bytes)
{
    const size_t end = turn.past + turn.in + turn.out;
    if (t->count == SM_PLANNER_MOST_TURNS || grow(t)) {
        snprintf(why, why_bytes, t->count == SM_PLANNER_MOST_TURNS ? "more than %d turns" : "no memory for %d turns",
                 SM_PLANNER_MOST_TURNS);
        return -1;
    }
    if (end > SM_TURN_MOST_TOKENS) {
        snprintf(why, why_bytes, "the session has more than %d tokens", SM_TURN_MOST_TOKENS);
        return -1;
    }
    if (first) t->session[t->sessions++] = t->count;
    t->turn[t->count++] = turn;
    t->session[t->sessions] = t->count;
    if (end > t->longest) t->longest = end;
    t->weight += turn.weight;
    t->in += turn.weight * (double)turn.in;
    t->out += turn.weight * (double)turn.out;
    return 0;
}

static int read_lines(FILE *in, const char *path, struct planner_turns *t, char *why, size_t why_bytes)
{
    char reason[128];
    size_t number = 0, past = 0;
    int failed = 0;
    enum sm_turns_line line;
    struct sm_turn turn;
    while (!failed && (line = sm_turns_next(in, &turn)) != SM_TURNS_END) {
        number++;
        if (line == SM_TURNS_EMPTY) past = 0;
        if (line == SM_TURNS_EMPTY || line == SM_TURNS_COMMENT) continue;
        snprintf(reason, sizeof reason,
                 "not two numbers, the tokens that come in (1 to %d) and those generated after them",
                 SM_TURN_MOST_TOKENS);
        failed = line == SM_TURNS_WRONG ||
                 add(t, (struct sm_planner_turn){past, turn.prompt, turn.gen, 1}, !past, reason, sizeof reason);
        if (failed)
            snprintf(why, why_bytes, "'%.200s', line %zu: %s", path, number, reason);
        else
            past += turn.prompt + turn.gen;
    }
    return failed ? -1 : 0;
}

int planner_turns_read(struct planner_turns *t, const char *path, char *why, size_t why_bytes)
{
    *t = (struct planner_turns){0};
    FILE *in = fopen(path, "r");
    if (!in) {
        snprintf(why, why_bytes, "cannot read the turns of '%.200s': %s", path, strerror(errno));
        return -1;
    }
    int failed = read_lines(in, path, t, why, why_bytes);
    if (!failed && (ferror(in) || !t->count)) {
        snprintf(why, why_bytes, ferror(in) ? "cannot read '%.200s' to its end" : "'%.200s' holds no turn", path);
        failed = -1;
    }
    fclose(in);
    return failed;
}

/* A whole number of at most `most` at *at, which moves behind it. */
static int number(const char **at, unsigned long long most, unsigned long long *value)
{
    char *end;
    if (**at < '0' || **at > '9') return -1;
    errno = 0;
    *value = strtoull(*at, &end, 10);
    *at = end;
    return errno || *value > most ? -1 : 0;
}

static int parse_item(const char **at, struct sm_planner_turn *turn)
{
    unsigned long long in, out = 0, past = 0, count;
    if (number(at, SM_TURN_MOST_TOKENS, &in) || !in) return -1;
    if (**at == '+' && (++*at, number(at, SM_TURN_MOST_TOKENS, &out))) return -1;
    if (**at == '@' && (++*at, number(at, SM_TURN_MOST_TOKENS, &past))) return -1;
    if (**at != ':' || (++*at, number(at, MOST_COUNT, &count)) || !count) return -1;
    *turn = (struct sm_planner_turn){(size_t)past, (size_t)in, (size_t)out, (double)count};
    return 0;
}

static int parse(struct planner_turns *t, const char *text, char *why, size_t why_bytes)
{
    static const char apart[] = ", \t\r\n";
    const char *at = text + strspn(text, apart);
    char reason[128];
    while (*at) {
        struct sm_planner_turn turn;
        const char *begin = at;
        snprintf(reason, sizeof reason, "not IN+OUT@PAST:COUNT, such as 100+50:7 or 30+80@400:12");
        if (parse_item(&at, &turn) || (*at && !strchr(apart, *at)) || add(t, turn, true, reason, sizeof reason)) {
            char item[61];
            const size_t bytes = strcspn(begin, apart);
            snprintf(item, sizeof item, "%.*s", (int)(bytes < 60 ? bytes : 60), begin);
            for (char *c = item; *c; c++) /* it may be any file, and the sentence goes to a terminal */
                if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) *c = '?';
            snprintf(why, why_bytes, "the histogram's '%s' is refused: %s", item, reason);
            return -1;
        }
        at += strspn(at, apart);
    }
    if (t->count) return 0;
    snprintf(why, why_bytes, "the histogram holds no turn");
    return -1;
}

int planner_turns_histogram(struct planner_turns *t, const char *text, char *why, size_t why_bytes)
{
    *t = (struct planner_turns){0};
    FILE *in = fopen(text, "r");
    if (!in && errno != ENOENT && errno != ENAMETOOLONG) {
        snprintf(why, why_bytes, "cannot read the histogram '%.200s': %s", text, strerror(errno));
        return -1;
    }
    if (!in) return parse(t, text, why, why_bytes);
    char *held = malloc(MOST_TEXT);
    const size_t bytes = held ? fread(held, 1, MOST_TEXT, in) : 0;
    int failed = -1;
    if (!held || ferror(in) || bytes == MOST_TEXT) {
        snprintf(why, why_bytes,
                 !held        ? "there is no memory for the histogram '%.200s'"
                 : ferror(in) ? "cannot read the histogram '%.200s'"
                              : "the histogram '%.200s' is larger than 16 MiB",
                 text);
    } else {
        held[bytes] = 0;
        failed = parse(t, held, why, why_bytes);
    }
    free(held);
    fclose(in);
    return failed;
}
