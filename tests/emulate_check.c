/* Emulated intrinsics against the instructions themselves, those on tiles where the CPU has them; exits with 77 on a
 * CPU that lacks others. */
#include "emulate_check.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cpu.h"
#include "random.h"

#define ROUNDS 2000

/* Operands of one kind a round: any bits, usual floats, floats at the edges, halves of integers, small integers. */
static void fill(struct sm_random *r, int kind, unsigned char *in)
{
    static const float edges[] = {0.0f,      -0.0f,      1.0f,      -1.0f,    0.5f,     1.5f,      2.5f,  -2.5f,
                                  0x1p-149f, 0x1p127f,   -0x1p127f, 1e10f,    -1e10f,   65504,     65520, 0x1p-24f,
                                  0x1p-25f,  0x1.8p-25f, 0x1p31f,   -0x1p31f, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < SM_OPERANDS * SM_OPERAND_BYTES; i += 4) {
        float f;
        uint32_t bits = (uint32_t)sm_random_u64(r);
        switch (kind) {
        case 1: f = sm_random_normal(r), memcpy(&bits, &f, 4); break;
        case 2: f = edges[sm_random_below(r, sizeof edges / sizeof *edges)], memcpy(&bits, &f, 4); break;
        case 3: f = (float)((int)sm_random_below(r, 2001) - 1000) / 2, memcpy(&bits, &f, 4); break;
        case 4: bits = sm_random_below(r, 512) - 256; break;
        default: break;
        }
        memcpy(in + i, &bits, 4);
    }
    if (kind) { /* a mask of any bits all the same */
        const uint64_t mask = sm_random_u64(r) << 32 ^ sm_random_u64(r);
        memcpy(in + 3 * SM_OPERAND_BYTES, &mask, sizeof mask);
    }
}

static int floats_come_out(const char *name)
{
    const size_t n = strlen(name);
    return !strstr(name, "_cmp") &&
           (!strcmp(name + n - 3, "_ps") || !strcmp(name + n - 3, "_ss") || !strcmp(name + n - 3, "f32"));
}

static int same(const char *name, const unsigned char *a, const unsigned char *b)
{
    if (!memcmp(a, b, SM_RESULT_BYTES)) return 1;
    if (!floats_come_out(name)) return 0;
    for (size_t i = 0; i < SM_RESULT_BYTES; i += 4) {
        float x, y;
        memcpy(&x, a + i, 4);
        memcpy(&y, b + i, 4);
        if (memcmp(a + i, b + i, 4) && !(isnan(x) && isnan(y))) return 0;
    }
    return 1;
}

int main(void)
{
    _Alignas(64) unsigned char in[SM_OPERANDS * SM_OPERAND_BYTES];
    const int tiles = !(SM_NEEDS_amx & ~sm_cpu_hardware());
    int cases = 0, wrong = 0;
    if (SM_NEEDS_avx512vnni & ~sm_cpu_hardware()) {
        printf("not run: this CPU lacks avx512vnni\n");
        return 77;
    }
    for (const struct sm_emulate_case *n = sm_native_cases, *e = sm_emulated_cases; n->name; n++, e++) {
        struct sm_random r = {1};
        if (!tiles && !strncmp(n->name, "_tile", 5)) continue;
        cases++;
        for (int round = 0; round < ROUNDS; round++) {
            unsigned char native[SM_RESULT_BYTES] = {0}, emulated[SM_RESULT_BYTES] = {0};
            fill(&r, round % 5, in);
            n->run(in, native);
            e->run(in, emulated);
            if (same(n->name, native, emulated)) continue;
            printf("FAIL %s, operands of kind %d\n", n->name, round % 5);
            for (size_t i = 0; i < SM_RESULT_BYTES; i += 4)
                if (memcmp(native + i, emulated + i, 4))
                    printf("  at byte %zu: %02x%02x%02x%02x, emulated %02x%02x%02x%02x\n", i, native[i + 3],
                           native[i + 2], native[i + 1], native[i], emulated[i + 3], emulated[i + 2], emulated[i + 1],
                           emulated[i]);
            wrong++;
            break;
        }
    }
    printf("%d intrinsics%s, %d of them emulated wrongly\n", cases, tiles ? "" : ", none on tiles", wrong);
    return wrong != 0;
}
