/* in_order.h - SM_IN_ORDER(sum): the sum so far is complete before anything is added to it below.
 *
 * gcc 12 regroups integer sums into trees, and then keeps a register for each product that waits for its turn: with 16
 * registers it spills them. No instruction results. Emulated vectors are in no register, and need none. */
#ifndef SM_IN_ORDER_H
#define SM_IN_ORDER_H

#if defined(SM_EMULATED)
#define SM_IN_ORDER(sum) ((void)(sum))
#else
#define SM_IN_ORDER(sum) __asm__("" : "+x"(sum))
#endif

#endif
