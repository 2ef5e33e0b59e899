#include "sentence.h"

#include <stdio.h>

int sm_sentence(char *why, size_t why_bytes, const char *doing, const char *where, const char *format, va_list args)
{
    const int n = snprintf(why, why_bytes, "%s %s: ", doing, where);
    if (n >= 0 && (size_t)n < why_bytes) vsnprintf(why + n, why_bytes - (size_t)n, format, args);
    for (size_t i = 0; i < why_bytes && why[i]; i++)
        if ((unsigned char)why[i] < ' ' || why[i] == '\x7f') why[i] = '?';
    return -1;
}
