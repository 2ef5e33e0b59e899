/* immintrin.h - stands before the compiler's own header, so that every variant runs on any CPU.
 *
 * SIMDe supplies the intrinsics in portable C; lacking.h those that it has not, or has not exactly, and tiles.h those
 * of AMX. An intrinsic missing from all is added there, with a case in tests/emulate_cases.def; no kernel avoids it. */
#ifndef SM_EMULATE_IMMINTRIN_H
#define SM_EMULATE_IMMINTRIN_H

#define SIMDE_NO_NATIVE
#define SIMDE_NO_INLINE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>
#include <simde/x86/gfni.h>

#include "lacking.h"
#include "tiles.h"

#endif
