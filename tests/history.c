/* A history: what is stored comes back, verdicts follow from their launches, kills and damage lose little and crash
 * nothing; and the change points of series whose steps are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "change_points.h"
#include "history.h"
#include "random.h"

enum { KERNELS = 12 };

static char path[64], other[64];

static int make_paths(void **state)
{
    (void)state;
    char folder[] = "/tmp/slotmark-history-XXXXXX";
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/one.sqlite", folder);
    snprintf(other, sizeof other, "%s/two.sqlite", folder);
    return 0;
}

static int remove_paths(void **state)
{
    (void)state;
    char command[160];
    path[strrchr(path, '/') - path] = '\0';
    snprintf(command, sizeof command, "rm -rf %s", path);
    return system(command);
}

/* With what SQLite keeps beside it. */
static void remove_file(const char *at)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s%s", at, ends[i]);
        unlink(name);
    }
}

static const struct sm_arm arms[2] = {{.spec = "a", .identity = "aaaaaaa"}, {.spec = "b", .identity = "bbbbbbb"}};

/* A session of drawn launches, stored as it goes. Kernel 3 is slower by 5 %, kernel 5 only as built. */
static void store_session(struct sm_history *h, const char *purpose, uint64_t seed, double effect)
{
    const struct sm_rounds_options o = {.tolerance = 0.01, .floor = 0.0025, .alpha = 0.05, .discovery = 0.05};
    struct sm_comparison *list = calloc(KERNELS, sizeof *list);
    struct sm_pairing p = {list, KERNELS};
    struct sm_rounds_result r = {.compared = KERNELS - 1};
    struct sm_random random = {seed};
    char why[256];
    assert_int_equal(sm_history_begin(h, purpose, arms, &o, why, sizeof why), 0);
    for (size_t i = 0; i < KERNELS; i++) {
        struct sm_comparison *c = &list[i];
        c->ordinal = i;
        c->control = i == KERNELS - 1;
        snprintf(c->id, sizeof c->id, "family/variant/rows=%zu", i);
        snprintf(c->family, sizeof c->family, "family");
        while (c->verdict == SM_VERDICT_OPEN) {
            const double truth = i == 3 || (i == 5 && !c->randomised) ? 0.05 : i ? 0 : effect;
            c->d[c->launches] = truth + 0.001 * (double)sm_random_normal(&random);
            c->ns[0][c->launches] = c->ns[1][c->launches] = 100;
            c->launches++;
            assert_true(sm_history_launch(h, c));
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
    const struct sm_report report = {.command = purpose, .arm = arms, .pairing = &p, .options = &o, .result = &r};
    assert_int_equal(sm_history_end(h, &report, why, sizeof why), 0);
    free(list);
}

static struct sm_history *opened(const char *at)
{
    struct sm_history *h = NULL;
    char why[256] = "";
    if (sm_history_open(&h, at, why, sizeof why)) fail_msg("%s", why);
    return h;
}

static void stored_launches_give_the_stored_verdicts(void **state)
{
    (void)state;
    struct sm_history *h = opened(path);
    char why[256], session[16];
    store_session(h, "compare", 1, 0);
    snprintf(session, sizeof session, "%s", sm_history_session(h));
    assert_int_equal(sm_history_check(h, session, why, sizeof why), 0);
    sm_history_close(h);
    h = opened(path); /* and after it was closed */
    assert_int_equal(sm_history_check(h, session, why, sizeof why), 0);
    assert_int_equal(sm_history_check(h, "nosuch", why, sizeof why), -1);
    assert_non_null(strstr(why, "no finished session"));
    assert_int_equal(sm_history_show(h, "nosuch", stderr, why, sizeof why), -1);
    sm_history_close(h);
    char command[256]; /* a verdict that was tampered with is noticed */
    snprintf(command, sizeof command,
             "printf \"UPDATE comparison SET verdict = 'same' WHERE ordinal = 3;\" | sqlite3 %s 2>/dev/null", path);
    if (system(command)) return; /* no sqlite3 program here */
    h = opened(path);
    assert_int_equal(sm_history_check(h, session, why, sizeof why), 1);
    sm_history_close(h);
}

struct points {
    size_t n;
    double last;
};

static bool count_points(void *state, const char *kernel, const struct sm_history_point *point)
{
    struct points *p = state;
    assert_string_equal(kernel, "family/variant/rows=0");
    assert_string_equal(point->build, "bbbbbbb");
    p->n++;
    p->last = point->effect;
    return true;
}

static void histories_merge_and_forget(void **state)
{
    (void)state;
    struct sm_history *a = opened(path), *b = opened(other);
    char why[256];
    struct points p = {0};
    store_session(b, "record", 2, 0);
    store_session(b, "record", 3, 0.02);
    assert_int_equal(sm_history_merge(a, other, why, sizeof why), 2);
    assert_int_equal(sm_history_merge(a, other, why, sizeof why), 0);
    assert_int_equal(sm_history_series(a, "aaaaaaa", "family/variant/rows=0", count_points, &p, why, sizeof why), 0);
    assert_int_equal(p.n, 2);
    assert_true(fabs(p.last - 0.02) < 0.002);
    assert_int_equal(sm_history_prune(a, 1, why, sizeof why), 0);
    assert_int_equal(sm_history_prune(b, -1, why, sizeof why), 2);
    sm_history_close(a);
    sm_history_close(b);
}

/* Killed at any point, the file opens, and every launch but the one in flight is there. */
static void a_killed_session_keeps_its_launches(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++) {
        remove_file(other);
        int fd[2];
        assert_int_equal(pipe(fd), 0);
        const pid_t child = fork();
        if (!child) {
            const struct sm_rounds_options o = {0};
            struct sm_history *h;
            char why[256];
            struct sm_comparison c = {.id = "k", .family = "f"};
            if (sm_history_open(&h, other, why, sizeof why) ||
                sm_history_begin(h, "compare", arms, &o, why, sizeof why))
                _exit(1);
            if (write(fd[1], sm_history_session(h), 12) != 12) _exit(1);
            for (;; c.ordinal++)
                for (c.launches = 1; c.launches <= 8; c.launches++)
                    if (!sm_history_launch(h, &c) || write(fd[1], "x", 1) != 1) _exit(1);
        }
        close(fd[1]);
        char session[13] = "", told[4096];
        assert_int_equal(read(fd[0], session, 12), 12);
        usleep(5000u * (unsigned)(round + 1));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        long n = 0, got;
        while ((got = read(fd[0], told, sizeof told)) > 0) n += got;
        close(fd[0]);
        struct sm_history *h = opened(other);
        char why[256], *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        assert_int_equal(sm_history_list(h, 5, out, why, sizeof why), 0);
        fclose(out);
        long kept = -1;
        const char *at = strstr(text, "bbbbbbb  ");
        assert_non_null(at);
        assert_int_equal(sscanf(at, "bbbbbbb  %ld launches", &kept), 1);
        assert_true(kept == n || kept == n + 1);
        assert_non_null(strstr(text, "not finished"));
        free(text);
        sm_history_close(h);
    }
}

static void damaged_files_are_refused_or_read(void **state)
{
    (void)state;
    struct sm_random random = {9};
    struct sm_history *h = opened(path);
    sm_history_close(h);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    static unsigned char whole[1 << 20], mutated[1 << 20];
    const size_t bytes = fread(whole, 1, sizeof whole, f);
    fclose(f);
    assert_true(bytes > 1000 && bytes < sizeof whole);
    size_t refused = 0;
    for (int i = 0; i < 300; i++) {
        memcpy(mutated, whole, bytes);
        size_t length = bytes;
        if (i % 5 == 0) length = sm_random_below(&random, (uint32_t)bytes);
        for (uint32_t k = 0; k < 1 + sm_random_below(&random, 40) && length; k++)
            mutated[sm_random_below(&random, (uint32_t)(i % 2 && length > 200 ? 200 : length))] =
                (unsigned char)sm_random_u64(&random);
        remove_file(other);
        f = fopen(other, "wb");
        assert_true(f && fwrite(mutated, 1, length, f) == length);
        fclose(f);
        char why[256] = "", session[16] = "x";
        FILE *nowhere = fopen("/dev/null", "w");
        if (sm_history_open(&h, other, why, sizeof why)) {
            assert_true(strlen(why) > 10);
            refused++;
        } else {
            struct points p = {0};
            (void)sm_history_list(h, 50, nowhere, why, sizeof why);
            (void)sm_history_show(h, session, nowhere, why, sizeof why);
            (void)sm_history_check(h, session, why, sizeof why);
            (void)sm_history_series(h, "none", NULL, count_points, &p, why, sizeof why);
            sm_history_close(h);
        }
        fclose(nowhere);
    }
    assert_true(refused > 20 && refused < 290);
    remove_file(other);
}

/* Series of 100 points with a deviation of 1 %. */
static size_t count_cuts(struct sm_random *random, double step, size_t at, double rho, size_t *right)
{
    double z[100], noise = 0;
    size_t cuts[16];
    for (size_t i = 0; i < 100; i++) {
        noise = rho * noise + sqrt(1 - rho * rho) * 0.01 * (double)sm_random_normal(random);
        z[i] = noise + (i >= at ? step : 0);
    }
    const size_t n = sm_change_points(z, 100, 1, cuts, 16);
    for (size_t k = 0; k < n && k < 16; k++) *right += cuts[k] + 2 >= at && cuts[k] <= at + 2;
    return n;
}

static void steps_are_found_and_flat_series_are_not_cut(void **state)
{
    (void)state;
    struct sm_random random = {31};
    size_t white = 0, correlated = 0, two = 0, five = 0, ignored = 0;
    for (int i = 0; i < 300; i++) {
        white += count_cuts(&random, 0, 50, 0, &ignored) > 0;
        correlated += count_cuts(&random, 0, 50, 0.5, &ignored) > 0;
        size_t right = 0;
        count_cuts(&random, 0.02, 20 + (size_t)i % 60, 0, &right);
        two += right > 0;
        right = 0;
        count_cuts(&random, 0.05, 20 + (size_t)i % 60, 0, &right);
        five += right > 0;
    }
    assert_true(white <= 300 * 12 / 100);      /* 7 % in the reference study */
    assert_true(correlated <= 300 * 35 / 100); /* 22 % */
    assert_true(two >= 300 * 85 / 100);        /* 97 % */
    assert_int_equal(five, 300);
}

/* The dynamic programme against all ways to cut a short series. */
static double cost_of(const double *z, size_t begin, size_t end)
{
    const double level = sm_level(z, begin, end);
    double sum = 0;
    for (size_t i = begin; i < end; i++) sum += fabs(z[i] - level);
    return sum;
}

static void the_cut_is_the_best_of_all(void **state)
{
    (void)state;
    struct sm_random random = {32};
    for (int trial = 0; trial < 300; trial++) {
        double z[9];
        size_t cuts[4];
        for (size_t i = 0; i < 9; i++) z[i] = (double)sm_random_normal(&random) + (i >= 5 ? 3 : 0);
        const size_t n = sm_change_points(z, 9, 0, cuts, 4); /* no penalty: as many cuts as help */
        double best = cost_of(z, 0, 9), got;
        for (size_t a = 3; a <= 6; a++) best = fmin(best, cost_of(z, 0, a) + cost_of(z, a, 9));
        best = fmin(best, cost_of(z, 0, 3) + cost_of(z, 3, 6) + cost_of(z, 6, 9));
        got = n == 0   ? cost_of(z, 0, 9)
              : n == 1 ? cost_of(z, 0, cuts[0]) + cost_of(z, cuts[0], 9)
                       : cost_of(z, 0, cuts[0]) + cost_of(z, cuts[0], cuts[1]) + cost_of(z, cuts[1], 9);
        assert_true(n <= 2 && fabs(got - best) < 1e-9);
    }
    size_t cuts[2];
    assert_int_equal(sm_change_points((const double[]){1, 2, 3, 4, 5}, 5, 1, cuts, 2), 0);
    assert_true(isnan(sm_level(NULL, 0, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_launches_give_the_stored_verdicts),
        cmocka_unit_test(histories_merge_and_forget),
        cmocka_unit_test(a_killed_session_keeps_its_launches),
        cmocka_unit_test(damaged_files_are_refused_or_read),
        cmocka_unit_test(steps_are_found_and_flat_series_are_not_cut),
        cmocka_unit_test(the_cut_is_the_best_of_all),
    };
    return cmocka_run_group_tests(tests, make_paths, remove_paths);
}
