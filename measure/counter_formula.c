#include "counter_formula.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 16 }; /* parentheses in parentheses */

struct formula {
    const char *at;
    sm_formula_named_fn *named;
    void *context;
    const char *wrong;
    int depth;
};

static double sum(struct formula *f);

static double fail(struct formula *f, const char *wrong)
{
    if (!f->wrong) f->wrong = wrong;
    return NAN;
}

static char next(struct formula *f)
{
    f->at += strspn(f->at, " \t");
    return *f->at;
}

/* Decimal, with an exponent or without: strtod alone would take hexadecimal numbers and infinities. */
static double number(struct formula *f)
{
    static const char digits[] = "0123456789";
    char text[40], *end;
    size_t n = strspn(f->at, "0123456789.");
    if (f->at[n] == 'e' || f->at[n] == 'E') {
        const size_t sign = f->at[n + 1] == '+' || f->at[n + 1] == '-';
        n += 1 + sign + strspn(f->at + n + 1 + sign, digits);
    }
    if (n >= sizeof text) return fail(f, "a number of the formula is too long");
    memcpy(text, f->at, n);
    text[n] = 0;
    f->at += n;
    const double value = strtod(text, &end);
    return *end || !isfinite(value) ? fail(f, "a number of the formula is none") : value;
}

static double name(struct formula *f)
{
    char text[32];
    size_t n = 0;
    double value = NAN;
    while (isalnum((unsigned char)f->at[n]) || f->at[n] == '_') n++;
    if (n >= sizeof text) return fail(f, "a name of the formula is too long");
    memcpy(text, f->at, n);
    text[n] = 0;
    f->at += n;
    return f->named(f->context, text, &value) ? value : fail(f, "the formula names what is no counter above it");
}

static double factor(struct formula *f)
{
    const char c = next(f);
    if (isdigit((unsigned char)c) || c == '.') return number(f);
    if (isalpha((unsigned char)c) || c == '_') return name(f);
    if (c != '(') return fail(f, "the formula lacks a value");
    if (f->depth == DEEPEST) return fail(f, "the formula has too many parentheses");
    f->depth++;
    f->at++;
    const double value = sum(f);
    f->depth--;
    if (next(f) != ')') return fail(f, "the formula lacks a ')'");
    f->at++;
    return value;
}

static double product(struct formula *f)
{
    double value = factor(f);
    for (char c = next(f); !f->wrong && (c == '*' || c == '/'); c = next(f)) {
        f->at++;
        const double other = factor(f);
        if (c == '*')
            value *= other;
        else
            value = fpclassify(other) == FP_ZERO ? NAN : value / other;
    }
    return value;
}

static double sum(struct formula *f)
{
    double value = product(f);
    for (char c = next(f); !f->wrong && (c == '+' || c == '-'); c = next(f)) {
        f->at++;
        const double other = product(f);
        value = c == '+' ? value + other : value - other;
    }
    return value;
}

double sm_formula_value(const char *text, sm_formula_named_fn *named, void *context, const char **wrong)
{
    struct formula f = {.at = text, .named = named, .context = context};
    const double value = sum(&f);
    if (next(&f)) fail(&f, "the formula goes on where it should end");
    *wrong = f.wrong;
    return f.wrong || !isfinite(value) ? NAN : value;
}
