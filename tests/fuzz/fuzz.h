/* fuzz.h - what every fuzz target offers, as libFuzzer calls it: never crashes, hangs or leaks, whatever the bytes. */
#ifndef SM_FUZZ_H
#define SM_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
