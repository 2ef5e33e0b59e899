/* record_schema.h - the keys of a record and their types: one table for the writer and the reader. */
#ifndef SM_RECORD_SCHEMA_H
#define SM_RECORD_SCHEMA_H

#include <stddef.h>

struct sm_record_key {
    const char *name;
    char type; /* i integer, n number, s string, o object, a array; capital: never null */
};

extern const struct sm_record_key sm_record_keys[];
extern const size_t sm_record_key_count;

/* NULL: no such key. */
const struct sm_record_key *sm_record_key_named(const char *name);

#endif
