/* build.h - what this program was built from, as recorded with every result. */
#ifndef SM_BUILD_H
#define SM_BUILD_H

struct sm_build {
    const char *version;  /* of the project, with the described commit where known */
    const char *commit;   /* NULL: built outside a repository */
    int dirty;            /* 1: tracked files differed from the commit; 0: not; -1: unknown */
    const char *compiler; /* "gcc 12.2.0" */
    const char *flags;    /* of the C files at large; a variant's ISA flags come on top */
    const char *type;     /* "Release" */
};

const struct sm_build *sm_build(void);

#endif
