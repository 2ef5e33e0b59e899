#include "turns.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A whole number; NULL when there is none, or it is out of range. */
static const char *read_number(const char *at, size_t least, size_t *value)
{
    char *end;
    if (!isdigit((unsigned char)*at)) return NULL;
    errno = 0;
    const unsigned long long v = strtoull(at, &end, 10);
    if (errno || v < least || v > SM_TURN_MOST_TOKENS) return NULL;
    *value = (size_t)v;
    return end;
}

static int add(struct sm_turns *turns, struct sm_turn turn)
{
    if (turns->count == SM_TURNS_MOST) return -1;
    turns->turn[turns->count++] = turn;
    return 0;
}

int sm_turns_parse(const char *text, struct sm_turns *turns, char *why, size_t why_bytes)
{
    const char *at = text;
    turns->count = 0;
    do {
        struct sm_turn turn;
        const char *begin = at += at != text, *end = read_number(at, 1, &turn.prompt);
        if (end) end = *end == '+' ? read_number(end + 1, 0, &turn.gen) : NULL;
        if (!end || (*end && *end != ',')) {
            snprintf(why, why_bytes,
                     "turn %zu of '%.80s' is '%.*s', not PROMPT+GENERATED such as 300+40 (a prompt has 1 to %d tokens)",
                     turns->count + 1, text, (int)strcspn(begin, ","), begin, SM_TURN_MOST_TOKENS);
            return -1;
        }
        if (add(turns, turn)) {
            snprintf(why, why_bytes, "'%.80s' has more than %d turns", text, SM_TURNS_MOST);
            return -1;
        }
        at = end;
    } while (*at == ',');
    return 0;
}

static const char *skip_space(const char *at)
{
    while (isspace((unsigned char)*at)) at++;
    return at;
}

static int read_turn(const char *at, struct sm_turn *turn)
{
    at = read_number(at, 1, &turn->prompt);
    if (!at || !isspace((unsigned char)*at)) return -1;
    at = read_number(skip_space(at), 0, &turn->gen);
    return at && !*skip_space(at) ? 0 : -1;
}

enum sm_turns_line sm_turns_next(FILE *in, struct sm_turn *turn)
{
    char line[SM_TURN_LINE_BYTES];
    size_t n = 0;
    bool comment = false;
    int c;
    while ((c = getc(in)) != EOF && c != '\n') {
        comment |= c == '#';
        if (!c || (!comment && n == sizeof line - 1)) return SM_TURNS_WRONG;
        if (!comment) line[n++] = (char)c;
    }
    line[n] = 0;
    const char *at = skip_space(line);
    if (*at) return read_turn(at, turn) ? SM_TURNS_WRONG : SM_TURNS_TURN;
    return comment ? SM_TURNS_COMMENT : c == EOF ? SM_TURNS_END : SM_TURNS_EMPTY;
}

int sm_turns_read(const char *path, struct sm_turns *turns, char *why, size_t why_bytes)
{
    FILE *in = fopen(path, "r");
    size_t number = 0;
    int result = -1;
    enum sm_turns_line line;
    struct sm_turn turn;
    turns->count = 0;
    if (!in) {
        snprintf(why, why_bytes, "cannot read the turns of '%s': %s", path, strerror(errno));
        return -1;
    }
    while ((line = sm_turns_next(in, &turn)) != SM_TURNS_END) {
        number++;
        if (line == SM_TURNS_WRONG) {
            snprintf(why, why_bytes,
                     "'%s', line %zu: not two numbers, the tokens of a prompt (1 to %d) and those generated after it",
                     path, number, SM_TURN_MOST_TOKENS);
            goto done;
        }
        if (line == SM_TURNS_TURN && add(turns, turn)) {
            snprintf(why, why_bytes, "'%s', line %zu: more than %d turns", path, number, SM_TURNS_MOST);
            goto done;
        }
    }
    if (ferror(in) || !turns->count)
        snprintf(why, why_bytes, ferror(in) ? "cannot read '%s' to its end" : "'%s' holds no turn", path);
    else
        result = 0;
done:
    fclose(in);
    return result;
}

size_t sm_turns_tokens(const struct sm_turns *turns)
{
    size_t sum = 0;
    for (size_t i = 0; i < turns->count; i++) sum += turns->turn[i].prompt + turns->turn[i].gen;
    return sum;
}

const char *sm_turns_text(const struct sm_turns *turns, char *text, size_t bytes)
{
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < turns->count; i++) {
        char one[48];
        const size_t length =
            (size_t)snprintf(one, sizeof one, "%s%zu+%zu", i ? "," : "", turns->turn[i].prompt, turns->turn[i].gen);
        const size_t room = i + 1 < turns->count ? sizeof "..." : 1;
        if (used + length + room > bytes) {
            snprintf(text + used, bytes - used, "...");
            break;
        }
        memcpy(text + used, one, length + 1);
        used += length;
    }
    return text;
}
