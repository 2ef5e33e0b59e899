/* mask_build.h - the additive mask of a static call: which columns count for which row.
 *
 * Columns are [past slots | now], `past_valid` of the past slots hold tokens, and rows [begin, begin + valid) of
 * the call are real (begin > 0 only in a left-padded prefill). Row i of a real token sits at position
 * past_valid + i - begin. Allowed (0, else `fill`):
 *     past column j:        j < past_valid  and  position(i) - j < window
 *     column past + j:      begin <= j <= i  and  i - j < window
 * and nothing at all for rows that are not real. window 0 means no window (static-contract: 1.4 to 1.6, 2.8).
 *
 *   mask  [rows][mask_stride], rows = now, the first past + rows floats of each row overwritten
 *
 * A part is rows x all columns. The caller promises: rows >= 1; past_valid <= past; begin + valid <= rows;
 * mask_stride >= past + rows. Every variant writes the same bits. */
#ifndef SM_MASK_BUILD_H
#define SM_MASK_BUILD_H

#include "registry.h"

struct sm_mask_build {
    float *mask;
    size_t mask_stride;
    size_t rows, past;
    size_t past_valid, begin, valid;
    size_t window;
    float fill;
};

enum { SM_MASK_BUILD_ROWS, SM_MASK_BUILD_MAX_SEQ, SM_MASK_BUILD_VALID, SM_MASK_BUILD_WINDOW, SM_MASK_BUILD_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_mask_build_##name;
#include "mask_build/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_mask_build;

#endif
