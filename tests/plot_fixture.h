/* plot_fixture.h - made-up records that exercise every figure. Shaped by formulas, never measured: the machine is
 * named "Fixture CPU" and the commit "fixture", so that no picture of it can pass for a result. */
#ifndef SM_PLOT_FIXTURE_H
#define SM_PLOT_FIXTURE_H

#include <stdio.h>

/* Writes the records of the kernels, of the models and of the ceilings, one a line. The same bytes each time. */
void plot_fixture_kernels(FILE *to);
void plot_fixture_models(FILE *to);

/* A comparison and a series of a history, as compare and trend print them with -o json. */
void plot_fixture_comparison(FILE *to);
void plot_fixture_series(FILE *to);

#endif
