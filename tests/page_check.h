/* page_check.h - whether a report page is what it claims: well-formed, closed to the outside, and true to its records.
 */
#ifndef SM_PAGE_CHECK_H
#define SM_PAGE_CHECK_H

#include <stddef.h>

/* Tags are balanced, of the kinds and with the attributes that a report uses; names are given once; every reference
 * stays in the page and, where it names a part, that part is there; tables have captions and pictures titles; there are
 * two scripts: data, and the one given, which the page's policy admits. -1: why says what is not so. */
int page_check(const char *page, const char *script, char *why, size_t why_bytes);

/* The page's data, put together again, are the records of these lines. */
int page_check_records(const char *page, const char *lines, char *why, size_t why_bytes);

#endif
