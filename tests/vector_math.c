/* exp, exp2 and tanh of vector_math_avx2.h and vector_math_avx512.h against libm's double: every exponent with edge
 * and random mantissas, and the range where they vary, densely. Built once for each ISA (SM_LANES 8 or 16);
 * exits with 77 on a CPU that lacks it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cpu.h"
#include "random.h"

#if SM_LANES == 16
#include "vector_math_avx512.h"
#define NEEDS SM_NEEDS_avx512
#else
#include "vector_math_avx2.h"
#define NEEDS SM_NEEDS_avx2
#endif

#define MANTISSAS 4096
#define DENSE (1 << 20)

struct function {
    const char *name;
    void (*run)(float *y, const float *x);
    double (*exact)(double x);
    double bound; /* in ulp */
    double worst, worst_at;
    int failures;
};

static void run_exp(float *y, const float *x)
{
#if SM_LANES == 16
    _mm512_storeu_ps(y, sm_exp_avx512(_mm512_loadu_ps(x)));
#else
    _mm256_storeu_ps(y, sm_exp_avx2(_mm256_loadu_ps(x)));
#endif
}

static void run_exp2(float *y, const float *x)
{
#if SM_LANES == 16
    _mm512_storeu_ps(y, sm_exp2_avx512(_mm512_loadu_ps(x)));
#else
    _mm256_storeu_ps(y, sm_exp2_avx2(_mm256_loadu_ps(x)));
#endif
}

static void run_tanh(float *y, const float *x)
{
#if SM_LANES == 16
    _mm512_storeu_ps(y, sm_tanh_avx512(_mm512_loadu_ps(x)));
#else
    _mm256_storeu_ps(y, sm_tanh_avx2(_mm256_loadu_ps(x)));
#endif
}

static double ulp_of(double exact)
{
    int e;
    frexp(exact, &e);
    return ldexp(1, (e - 1 < -126 ? -126 : e - 1) - 23);
}

static void fail(struct function *f, float x, float got, const char *what)
{
    if (f->failures++ < 5)
        fprintf(stderr, "FAIL %s(%.9g = %a) = %.9g: %s\n", f->name, (double)x, (double)x, (double)got, what);
}

static void judge(struct function *f, float x, float got)
{
    const int is_exp = f->run == run_exp;
    if (isnan(x)) {
        if (!isnan(got)) fail(f, x, got, "lost a NaN");
        return;
    }
    if (f->run == run_exp2 && x >= 128) return;
    if (is_exp && x < -104 && (got != 0 || signbit(got))) fail(f, x, got, "not exactly 0 below -104");
    if (f->run == run_exp2 && x < -150 && (got != 0 || signbit(got))) fail(f, x, got, "not exactly 0 below -150");
    if (f->run == run_exp2 && x == 0 && got != 1) fail(f, x, got, "not exactly 1 at 0");
    if (f->run == run_tanh && (fabsf(got) > 1 || signbit(got) != signbit(x)))
        fail(f, x, got, "above 1 or of the wrong sign");
    const double exact = f->exact((double)x);
    if (exact > 0x1.fffffefffffffp127) { /* rounds to infinity */
        if (!isinf(got)) fail(f, x, got, "not infinite");
        return;
    }
    const double ulps = fabs((double)got - exact) / ulp_of(exact);
    if (!(ulps <= f->bound)) fail(f, x, got, "past the stated bound");
    if (!(ulps <= f->worst)) f->worst = ulps, f->worst_at = (double)x;
}

static void try_all(struct function *f, const float *x)
{
    float y[SM_LANES];
    f->run(y, x);
    for (int i = 0; i < SM_LANES; i++) judge(f, x[i], y[i]);
}

static void every_exponent(struct function *f, struct sm_random *r)
{
    for (uint32_t top = 0; top < 512; top++)
        for (uint32_t m = 0; m < MANTISSAS; m += SM_LANES) {
            float x[SM_LANES];
            for (uint32_t i = 0; i < SM_LANES; i++) {
                const uint32_t edges[] = {0, 1, 0x7fffff, 0x7ffffe, 0x400000, 0x3fffff};
                const uint32_t mantissa = m + i < 6 ? edges[m + i] : (uint32_t)sm_random_u64(r) & 0x7fffff;
                const uint32_t bits = top << 23 | mantissa;
                memcpy(&x[i], &bits, sizeof bits);
            }
            try_all(f, x);
        }
}

static void densely(struct function *f, struct sm_random *r, float from, float to)
{
    for (int n = 0; n < DENSE; n += SM_LANES) {
        float x[SM_LANES];
        for (int i = 0; i < SM_LANES; i++) x[i] = from + (to - from) * (0.5f + 0.5f * sm_random_unit(r));
        try_all(f, x);
    }
}

/* Apart from main, whose first instructions may be of the ISA too: a sanitizer's clear its shadow of these variables.
 */
static __attribute__((noinline)) int try_functions(void)
{
    struct function functions[] = {{.name = "exp", .run = run_exp, .exact = exp, .bound = SM_EXP_ULP},
                                   {.name = "exp2", .run = run_exp2, .exact = exp2, .bound = SM_EXP2_ULP},
                                   {.name = "tanh", .run = run_tanh, .exact = tanh, .bound = SM_TANH_ULP}};
    struct sm_random r = {1};
    int failures = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        struct function *f = &functions[i];
        every_exponent(f, &r);
        densely(f, &r, -105, 90);
        densely(f, &r, -88, -86);
        densely(f, &r, -151, 128);
        densely(f, &r, -127, -125);
        densely(f, &r, -10, 10);
        densely(f, &r, -1, 1);
        printf("%s, %d lanes: worst error %.3f ulp at %a (%.9g), stated %g\n", f->name, SM_LANES, f->worst, f->worst_at,
               f->worst_at, f->bound);
        failures += f->failures;
    }
    return failures;
}

int main(void)
{
    if (NEEDS & ~sm_cpu_features()) {
        printf("skipped: this CPU lacks the ISA of %d lanes\n", SM_LANES);
        return 77;
    }
    return try_functions() != 0;
}
