/* turns.h - a session of several turns: how many tokens come in at each, and how many are generated after them. */
#ifndef SM_TURNS_H
#define SM_TURNS_H

#include <stddef.h>
#include <stdio.h>

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

/* What the next line of such a file is. One that holds a 0, or more than SM_TURN_LINE_BYTES before a comment, is wrong:
 * it is not read to its end. */
#define SM_TURN_LINE_BYTES 256
enum sm_turns_line { SM_TURNS_END, SM_TURNS_WRONG, SM_TURNS_EMPTY, SM_TURNS_COMMENT, SM_TURNS_TURN };
enum sm_turns_line sm_turns_next(FILE *in, struct sm_turn *turn);

/* What they need in the cache: all tokens. */
size_t sm_turns_tokens(const struct sm_turns *turns);

/* As sm_turns_parse reads it, cut with "..." where it is too long. */
const char *sm_turns_text(const struct sm_turns *turns, char *text, size_t bytes);

#endif
