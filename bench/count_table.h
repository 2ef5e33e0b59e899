/* count_table.h - the counts of a result file, for people and for other programs. */
#ifndef SM_COUNT_TABLE_H
#define SM_COUNT_TABLE_H

#include "bench_table.h"

/* Prints the last record of each case of kind "count". -1 with a sentence: the file cannot be read. */
int sm_count_show(const char *path, enum sm_bench_format format, char *why, size_t why_bytes);

#endif
