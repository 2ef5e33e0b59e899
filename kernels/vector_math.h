/* vector_math.h - the constants of exp and tanh that vector_math_avx2.h and vector_math_avx512.h share.
 *
 * exp: x = n ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts so that n times the first is exact; then
 * 1 + r + r^2 (C2 + C3 r + ...), the minimax polynomial of SLEEF's expf. tanh: x P(x^2) / Q(x^2) of degree 4 over 4,
 * whose relative error on 0..SM_TANH_END is 0.49 * 2^-24 (the least that linear programming over both finds, P and Q
 * being 1 at 0) and which is at least 1 at the end; rounding adds up to 5.4 * 2^-24. */
#ifndef SM_VECTOR_MATH_H
#define SM_VECTOR_MATH_H

/* Largest error in units of the last place of the exact value, rounded up from what the test finds. */
#define SM_EXP_ULP 1.0
#define SM_EXP2_ULP 1.1
#define SM_TANH_ULP 6.0

#define SM_LOG2_E 1.44269504088896341f
#define SM_LN2_HIGH 0.693359375f
#define SM_LN2_LOW (-2.12194440054690583e-4f)
/* 2^r - 1 = r (C1 + C2 r + ...) for |r| <= 1/2: minimax of the relative error, 0.05 * 2^-24 of it */
#define SM_EXP2_C1 0.693147182f
#define SM_EXP2_C2 0.240226477f
#define SM_EXP2_C3 0.0555035956f
#define SM_EXP2_C4 0.00961849932f
#define SM_EXP2_C5 0.00133909716f
#define SM_EXP2_C6 0.000153293237f
#define SM_EXP2_WHOLE 0x1.8p23f /* added to |x| < 2^22, it leaves x rounded to whole in the low bits */
/* 2^r = C0 + C1 r + ... for |r| <= 1/2: minimax of the relative error beside that C0, 2.3 * 2^-24 of it */
#define SM_EXP2_SHORT_C0 0x1.000002p0f
#define SM_EXP2_SHORT_C1 0.693147421f
#define SM_EXP2_SHORT_C2 0.240219206f
#define SM_EXP2_SHORT_C3 0.0554971099f
#define SM_EXP2_SHORT_C4 0.00968467724f
#define SM_EXP2_SHORT_C5 0.00136502262f
#define SM_EXP_C2 0.5f
#define SM_EXP_C3 0.166666671633720397949219f
#define SM_EXP_C4 0.0416664853692054748535156f
#define SM_EXP_C5 0.00833336077630519866943359f
#define SM_EXP_C6 0.00139304355252534151077271f
#define SM_EXP_C7 0.000198527617612853646278381f

#define SM_TANH_END 9.02f /* from 9.011 on tanh rounds to 1 */
#define SM_TANH_P2 1.336549819e-1f
#define SM_TANH_P4 3.477101214e-3f
#define SM_TANH_P6 2.030434371e-5f
#define SM_TANH_P8 1.293464891e-8f
#define SM_TANH_Q2 4.669881463e-1f
#define SM_TANH_Q4 2.580675296e-2f
#define SM_TANH_Q6 3.255360643e-4f
#define SM_TANH_Q8 7.603982795e-7f

#endif
