#include "tokens.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define MOST_TOKENS (1u << 24)

int sm_tokens_read(const char *path, size_t vocab, int32_t **tokens, size_t *count, char *why, size_t why_bytes)
{
    FILE *in = fopen(path, "r");
    size_t n = 0, room = 0;
    int32_t *list = NULL;
    *tokens = NULL;
    if (!in) {
        snprintf(why, why_bytes, "cannot read the tokens of '%s': %s", path, strerror(errno));
        return -1;
    }
    for (;;) {
        char word[32];
        long long value;
        char *end;
        if (fscanf(in, " %31[^ \t\r\n,]%*[ \t\r\n,]", word) != 1) break;
        errno = 0;
        value = strtoll(word, &end, 10);
        if (*end || errno || value < 0 || (unsigned long long)value >= vocab) {
            snprintf(why, why_bytes, "'%s': token %zu is '%s', not a number from 0 to %zu", path, n + 1, word,
                     vocab - 1);
            goto fail;
        }
        if (n == room) {
            room = room ? 2 * room : 1024;
            int32_t *more = n < MOST_TOKENS ? realloc(list, room * sizeof *list) : NULL;
            if (!more) {
                snprintf(why, why_bytes, "'%s' holds more tokens than can be read", path);
                goto fail;
            }
            list = more;
        }
        list[n++] = (int32_t)value;
    }
    if (ferror(in)) {
        snprintf(why, why_bytes, "cannot read the tokens of '%s' to their end", path);
        goto fail;
    }
    if (!n) {
        snprintf(why, why_bytes, "'%s' holds no token", path);
        goto fail;
    }
    fclose(in);
    *tokens = list;
    *count = n;
    return 0;
fail:
    fclose(in);
    free(list);
    return -1;
}

int32_t *sm_tokens_random(size_t count, size_t vocab, uint64_t seed)
{
    struct sm_random random = {seed};
    int32_t *list = malloc((count + 1) * sizeof *list);
    for (size_t i = 0; list && i < count; i++) list[i] = (int32_t)sm_random_below(&random, (uint32_t)vocab);
    return list;
}
