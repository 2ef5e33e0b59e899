/* Tiles belong to a thread: a team may use them at once, each thread its own, and so may a process that was forked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpu.h"
#include "registry.h"
#include "workload.h"

enum { TEAM = 4, TURNS = 20 };

/* The worst error of a family's variant by a team, in tolerances. */
static double error_of(const struct sm_family *f, const struct sm_variant *v, int threads)
{
    const struct sm_workload *w = sm_workload_named(f->name);
    struct sm_shape shape = {{0}};
    double worst = 0;
    for (size_t d = 0; d < f->dim_count; d++) shape.dim[d] = f->dims[d].standard;
    shape.dim[sm_dim_index(f, "rows")] = 50;
    shape.dim[sm_dim_index(f, "out")] = 500;
    shape.dim[sm_dim_index(f, "in")] = 736;
    void *work = w->create(&shape, SM_REGIME_EXACT, 1);
    const void *args = work ? w->prepare(work, v) : NULL;
    assert_non_null(args);
    for (int turn = 0; turn < TURNS; turn++) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (size_t i = 0; i < TEAM; i++) v->fn(args, f->split(&shape, TEAM, i));
        const double error = w->error(work, v);
        if (!(error <= worst)) worst = error;
    }
    w->destroy(work);
    return worst;
}

typedef double by_fn(const struct sm_family *f, const struct sm_variant *v);

static void check_each(by_fn *by)
{
    int count = 0;
    for (size_t i = 0; i < sm_family_count(); i++) {
        const struct sm_family *f = sm_family_at(i);
        for (size_t j = 0; j < f->variant_count; j++) {
            const struct sm_variant *v = &f->variants[j];
            if (!(v->needs & SM_CPU_AMX) || strncmp(f->name, "matmul", 6)) continue;
            count++;
            const double error = by(f, v);
            if (!(error <= 1)) fail_msg("%s/%s: error is %g tolerances", f->name, v->name, error);
        }
    }
    assert_true(count > 0);
}

static double by_team(const struct sm_family *f, const struct sm_variant *v)
{
    return error_of(f, v, TEAM);
}

static double by_child(const struct sm_family *f, const struct sm_variant *v)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) _exit(error_of(f, v, 1) <= 1 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status == 0 ? 0 : 2;
}

static void a_team_may_use_them(void **state)
{
    (void)state;
    if (SM_NEEDS_amx & ~sm_cpu_features()) skip();
    check_each(by_team);
}

static void a_child_may_use_them(void **state)
{
    (void)state;
    if (SM_NEEDS_amx & ~sm_cpu_features()) skip();
    check_each(by_child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_may_use_them), /* before this process has a team */
        cmocka_unit_test(a_team_may_use_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
