/* turns.h - a session of several turns: how many tokens come in at each, and how many are generated after them. */
#ifndef SM_TURNS_H
#define SM_TURNS_H

#include <stddef.h>

#define SM_TURNS_MOST 256
#define SM_TURN_MOST_TOKENS 1048576

struct sm_turn {
    size_t prompt, gen; /* prompt >= 1 */
};

struct sm_turns {
    size_t count;
    struct sm_turn turn[SM_TURNS_MOST];
};

/* "300+40,12+80,5+20". 0, or -1 and a sentence. */
int sm_turns_parse(const char *text, struct sm_turns *turns, char *why, size_t why_bytes);

/* The same from a file: a turn a line, its two numbers apart by white space; # starts a comment. The sentence names
 * the line. */
int sm_turns_read(const char *path, struct sm_turns *turns, char *why, size_t why_bytes);

/* One line of such a file, which is written over: 1: a turn; 0: nothing is on it; -1: it is neither. */
int sm_turns_line(char *line, struct sm_turn *turn);

/* What they need in the cache: all tokens. */
size_t sm_turns_tokens(const struct sm_turns *turns);

/* As sm_turns_parse reads it, cut with "..." where it is too long. */
const char *sm_turns_text(const struct sm_turns *turns, char *text, size_t bytes);

#endif
