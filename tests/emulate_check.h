/* emulate_check.h - what emulate_check.c and the two builds of emulate_cases.c share. */
#ifndef SM_EMULATE_CHECK_H
#define SM_EMULATE_CHECK_H

#define SM_OPERAND_BYTES 64
#define SM_OPERANDS 4
#define SM_STORED_BYTES 1024                   /* that a store may write, a whole tile at most */
#define SM_RESULT_BYTES (64 + SM_STORED_BYTES) /* the result, then what was stored */

struct sm_emulate_case {
    const char *name;
    /* in: SM_OPERANDS operands, 64-byte aligned; out: SM_RESULT_BYTES */
    void (*run)(const unsigned char *in, unsigned char *out);
};

/* In the same order, ended by a NULL name. */
extern const struct sm_emulate_case sm_native_cases[], sm_emulated_cases[];

#endif
