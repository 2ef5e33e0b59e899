#include "mutate.h"

#include <stdint.h>
#include <string.h>

static uint64_t seed = 20260131;

size_t mutate_below(size_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % n;
}

size_t mutate(char *text, size_t n, size_t room)
{
    static const char *const pieces[] = {"NaN",
                                         "-Infinity",
                                         "1e999",
                                         "1e308",
                                         "-1",
                                         "null",
                                         "[]",
                                         "{}",
                                         "\"</script>\"",
                                         "\"<!--\"",
                                         "99999999999999999999",
                                         "\"\\u2028\"",
                                         "[[[[[[[[",
                                         "\"\\ud800\"",
                                         "1e-320"};
    const size_t at = mutate_below(n), length = 1 + mutate_below(40);
    const char *piece = pieces[mutate_below(sizeof pieces / sizeof *pieces)];
    switch (mutate_below(4)) {
    case 0: text[at] = (char)mutate_below(256); return n;
    case 1:
        if (at + length >= n) return n;
        memmove(text + at, text + at + length, n - at - length);
        return n - length;
    case 2:
        if (at + length >= n || n + length > room) return n;
        memmove(text + at + length, text + at, n - at);
        return n + length;
    default: {
        char *colon = memchr(text + at, ':', n - at); /* the value of some key: most mutants stay records */
        if (!colon) return n;
        char *end = colon + 1 + strcspn(colon + 1, ",}]\n");
        const size_t tail = n - (size_t)(end - text), put = strlen(piece);
        if ((size_t)(colon + 1 - text) + put + tail > room) return n;
        memmove(colon + 1 + put, end, tail);
        memcpy(colon + 1, piece, put);
        return (size_t)(colon + 1 - text) + put + tail;
    }
    }
}
