#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "captured.h"

int captured(int (*main)(int argc, char **argv), const char *const *texts, const char *path)
{
    char *argv[16] = {NULL};
    int argc = 0;
    for (; texts[argc]; argc++) {
        assert_true(argc < 15);
        assert_non_null(argv[argc] = strdup(texts[argc]));
    }
    fflush(NULL);
    const int keep_out = dup(1), keep_error = dup(2), file = open(path, O_CREAT | O_TRUNC | O_RDWR, 0666);
    assert_true(keep_out > 0 && keep_error > 0 && file > 0);
    dup2(file, 1);
    dup2(file, 2);
    const int code = main(argc, argv);
    fflush(NULL);
    dup2(keep_out, 1);
    dup2(keep_error, 2);
    close(keep_out);
    close(keep_error);
    close(file);
    for (int i = 0; i < argc; i++) free(argv[i]);
    return code;
}
