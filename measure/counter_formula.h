/* counter_formula.h - arithmetic of group files: + - * / ( ), numbers, and names. Its text is hostile. */
#ifndef SM_COUNTER_FORMULA_H
#define SM_COUNTER_FORMULA_H

#include <stdbool.h>

/* The value of a name, NAN where it has none now. false: there is no such name. */
typedef bool sm_formula_named_fn(void *context, const char *name, double *value);

/* NAN: a name has no value, or something was divided by nothing. *wrong: NULL, or what is wrong with the text. */
double sm_formula_value(const char *text, sm_formula_named_fn *named, void *context, const char **wrong);

#endif
