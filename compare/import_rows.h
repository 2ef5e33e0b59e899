/* import_rows.h - what a file says, entry by entry, before figures are made of it. Private to import*.c. */
#ifndef SM_IMPORT_ROWS_H
#define SM_IMPORT_ROWS_H

#include <jansson.h>

#include "import.h"

enum sm_import_kind { SM_IMPORT_SAMPLE, SM_IMPORT_MEDIAN, SM_IMPORT_MEAN, SM_IMPORT_SPREAD };

struct sm_import_row {
    char name[200], unit[24], build[96];
    long long started;
    enum sm_import_kind kind;
    double value;
    size_t order;
};

struct sm_import_rows {
    struct sm_import *import; /* format and machine are set on the way */
    struct sm_import_row *list;
    size_t count, room;
    char *why;
    size_t why_bytes;
};

/* A number that was read. 0, or -1 and a sentence: it is not above 0, the name is too long, no memory. */
int sm_import_add(struct sm_import_rows *rows, const struct sm_import_row *row);

/* One JSON object of a file: a whole result of Google Benchmark, a test of llama-bench, a record of ours. `where` names
 * it in sentences. 0, or -1 and a sentence. */
int sm_import_object(struct sm_import_rows *rows, const json_t *object, const char *where);

/* A text of SQL statements, as llama-bench prints them: run where they can do nothing else. 0, or -1 and a sentence. */
int sm_import_sql(struct sm_import_rows *rows, const char *text);

#endif
