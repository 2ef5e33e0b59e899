/* in_order.h - how a kernel keeps compilers from arrangements that need more registers than there are.
 *
 * SM_IN_ORDER(sum): the sum so far is complete before anything is added to it below.
 *
 * gcc 12 regroups integer sums into trees, and then keeps a register for each product that waits for its turn: with 16
 * registers it spills them. No instruction results. "v" is any vector register, "x" only the first 16 of 32. Emulated
 * vectors are in no register, and need none.
 *
 * SM_IN_MEMORY(sum): the sum is stored now, and loaded when it is next needed, instead of held in a register. */
#ifndef SM_IN_ORDER_H
#define SM_IN_ORDER_H

#if defined(SM_EMULATED)
#define SM_IN_ORDER(sum) ((void)(sum))
#define SM_IN_MEMORY(sum) ((void)(sum))
#else
#define SM_IN_ORDER(sum) __asm__("" : "+v"(sum))
#define SM_IN_MEMORY(sum) __asm__("" : "+m"(sum))
#endif

#endif
