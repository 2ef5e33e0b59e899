#include "history_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "random.h"

char fixture_store[64], fixture_other[64], fixture_file[64];
static char folder[32];

int fixture_make(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/slotmark-history-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(fixture_store, sizeof fixture_store, "%s/one.sqlite", folder);
    snprintf(fixture_other, sizeof fixture_other, "%s/two.sqlite", folder);
    snprintf(fixture_file, sizeof fixture_file, "%s/file", folder);
    return 0;
}

int fixture_remove(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

void fixture_remove_store(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

struct sm_history *fixture_open(const char *path)
{
    struct sm_history *h = NULL;
    char why[256] = "";
    if (sm_history_open(&h, path, why, sizeof why)) fail_msg("%s", why);
    return h;
}

const struct sm_arm fixture_arms[2] = {{.spec = "a", .identity = "aaaaaaa"}, {.spec = "b", .identity = "bbbbbbb"}};

int fixture_session(struct sm_history *h, const char *purpose, uint64_t seed, double effect, char *why,
                    size_t why_bytes)
{
    const struct sm_rounds_options o = {.tolerance = 0.01, .floor = 0.0025, .alpha = 0.05, .discovery = 0.05};
    struct sm_comparison *list = calloc(FIXTURE_KERNELS, sizeof *list);
    struct sm_pairing p = {list, FIXTURE_KERNELS};
    struct sm_rounds_result r = {.compared = FIXTURE_KERNELS - 1};
    struct sm_random random = {seed};
    assert_int_equal(sm_history_begin(h, purpose, fixture_arms, &o, why, why_bytes), 0);
    for (size_t i = 0; i < FIXTURE_KERNELS; i++) {
        struct sm_comparison *c = &list[i];
        c->ordinal = i;
        c->control = i == FIXTURE_KERNELS - 1;
        snprintf(c->id, sizeof c->id, "family/variant/rows=%zu", i);
        snprintf(c->family, sizeof c->family, "family");
        while (c->verdict == SM_VERDICT_OPEN) {
            const double truth = i == 3 || (i == 5 && !c->randomised) ? 0.05 : i ? 0 : effect;
            c->d[c->launches] = truth + 0.001 * (double)sm_random_normal(&random);
            c->ns[0][c->launches] = c->ns[1][c->launches] = 100;
            c->launches++;
            (void)sm_history_launch(h, c);
            if (c->launches != sm_look_launches[c->looks]) continue;
            const enum sm_finding f = sm_rounds_look(c, &o, r.compared);
            if (f != SM_OPEN && f != SM_SAME && !c->control && !c->randomised)
                sm_rounds_randomise(c);
            else if (f != SM_OPEN || c->looks == SM_LOOKS)
                c->verdict = SM_VERDICT_SAME;
        }
    }
    sm_rounds_decide(&p, &o, &r);
    assert_int_equal(list[3].verdict, SM_VERDICT_SLOWER);
    assert_int_equal(list[5].verdict, SM_VERDICT_LAYOUT);
    const struct sm_report report = {
        .command = purpose, .arm = fixture_arms, .pairing = &p, .options = &o, .result = &r};
    const int code = sm_history_end(h, &report, why, why_bytes);
    free(list);
    return code;
}

char *fixture_output(const char *command, int *status)
{
    char *text = calloc(1, 1 << 20);
    FILE *p = popen(command, "r");
    assert_true(text && p);
    text[fread(text, 1, (1 << 20) - 1, p)] = '\0';
    const int ended = pclose(p);
    *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
    return text;
}

void fixture_write(const char *text, size_t bytes)
{
    FILE *f = fopen(fixture_file, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    fclose(f);
}
