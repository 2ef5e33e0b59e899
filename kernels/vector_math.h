/* vector_math.h - the constants of exp and tanh that vector_math_avx2.h and vector_math_avx512.h share.
 *
 * exp: x = n ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts so that n times the first is exact; then
 * 1 + r + r^2 (C2 + C3 r + ...), the minimax polynomial of SLEEF's expf. tanh: below SM_TANH_NEAR the odd minimax
 * polynomial of Cephes' tanhf, above it by exp. */
#ifndef SM_VECTOR_MATH_H
#define SM_VECTOR_MATH_H

/* Largest error in units of the last place of the exact value, rounded up from what the test finds. */
#define SM_EXP_ULP 1.0
#define SM_TANH_ULP 2.0

#define SM_LOG2_E 1.44269504088896341f
#define SM_LN2_HIGH 0.693359375f
#define SM_LN2_LOW (-2.12194440054690583e-4f)
#define SM_EXP_C2 0.5f
#define SM_EXP_C3 0.166666671633720397949219f
#define SM_EXP_C4 0.0416664853692054748535156f
#define SM_EXP_C5 0.00833336077630519866943359f
#define SM_EXP_C6 0.00139304355252534151077271f
#define SM_EXP_C7 0.000198527617612853646278381f

#define SM_TANH_NEAR 0.625f
#define SM_TANH_ONE 10.0f /* from 9.011 on tanh rounds to 1 */
#define SM_TANH_C1 (-3.33332819422e-1f)
#define SM_TANH_C3 1.33314422036e-1f
#define SM_TANH_C5 (-5.37397155531e-2f)
#define SM_TANH_C7 2.06390887954e-2f
#define SM_TANH_C9 (-5.70498872745e-3f)

#endif
