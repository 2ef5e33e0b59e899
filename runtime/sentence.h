/* sentence.h - the one sentence that says why a file was refused. */
#ifndef SM_SENTENCE_H
#define SM_SENTENCE_H

#include <stdarg.h>
#include <stddef.h>

/* Writes "DOING WHERE: ..." and returns -1. Control characters become '?': files give names, and a sentence goes to a
 * terminal. */
int sm_sentence(char *why, size_t why_bytes, const char *doing, const char *where, const char *format, va_list args)
    __attribute__((format(printf, 5, 0)));

#endif
