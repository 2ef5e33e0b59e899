/* What surrounds callgrind: the caches it is told to simulate, and what is read of its files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "callgrind.h"

static int power_of_two(size_t n)
{
    return n && !(n & (n - 1));
}

static void fitted_caches_can_be_simulated(void **unused)
{
    (void)unused;
    static const size_t bytes[] = {1024, 32768, 49152, 65536, 1310720, 39u << 20, 105u << 20, 260u << 20, SIZE_MAX};
    static const size_t ways[] = {0, 1, 8, 12, 13, 15, 16, 20, SIZE_MAX}, lines[] = {0, 1, 32, 64, 100, 128, SIZE_MAX};
    for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            for (size_t l = 0; l < sizeof lines / sizeof *lines; l++) {
                const struct sm_callgrind_cache c = sm_callgrind_cache_fit(bytes[b], ways[w], lines[l]);
                if (!c.bytes) {
                    assert_true(bytes[b] == 1024); /* too small for so many ways */
                    continue;
                }
                assert_true(c.bytes <= bytes[b] && c.bytes <= INT32_MAX);
                assert_true(power_of_two(c.line) && c.line >= 16);
                assert_true(c.bytes % (c.line * c.ways) == 0 && power_of_two(c.bytes / (c.line * c.ways)));
                if (bytes[b] < SIZE_MAX) assert_true(c.bytes > bytes[b] / 10 * 9);
            }
    const struct sm_callgrind_cache usual = sm_callgrind_cache_fit(49152, 12, 64); /* kept as it is */
    assert_int_equal(usual.bytes, 49152);
    assert_int_equal(usual.ways, 12);
    assert_int_equal(sm_callgrind_cache_fit(0, 8, 64).bytes, 0);
}

static char folder[] = "count.XXXXXX";

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void put_index(int index, const char *level, const char *type, const char *size, const char *ways)
{
    char name[64];
    const char *const values[][2] = {{"level", level},
                                     {"type", type},
                                     {"size", size},
                                     {"ways_of_associativity", ways},
                                     {"coherency_line_size", "64"}};
    snprintf(name, sizeof name, "%s/index%d", folder, index);
    assert_int_equal(mkdir(name, 0777), 0);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        snprintf(name, sizeof name, "index%d/%s", index, values[i][0]);
        put(name, values[i][1]);
    }
}

static void the_kernels_caches_are_simulated(void **unused)
{
    (void)unused;
    put_index(0, "1\n", "Data\n", "48K\n", "12\n");
    put_index(1, "1\n", "Instruction\n", "64K\n", "4\n");
    put_index(2, "2\n", "Unified\n", "1280K\n", "10\n");
    put_index(3, "3\n", "Unified\n", "39936K\n", "12\n");
    put_index(4, "nonsense\n", "Unified\n", "99999999999K\n", "-1\n");
    const struct sm_callgrind_geometry g = sm_callgrind_geometry_read(folder);
    assert_int_equal(g.d1.bytes, 48 << 10);
    assert_int_equal(g.d1.ways, 12);
    assert_int_equal(g.i1.bytes, 64 << 10);
    assert_int_equal(g.i1.ways, 4);
    assert_int_equal(g.ll.bytes, 39936 << 10); /* of 53248 sets, which is no power of two */
    assert_int_equal(g.ll.ways, 39);
    const struct sm_callgrind_geometry unknown = sm_callgrind_geometry_read("/no/such/folder");
    assert_true(unknown.i1.bytes && unknown.d1.bytes && unknown.ll.bytes);
}

#define EVENTS "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim\n"

static void totals_are_read(void **unused)
{
    (void)unused;
    char path[256], why[256] = "";
    struct sm_callgrind_counts c;
    snprintf(path, sizeof path, "%s/out", folder);
    put("out", "version: 1\n" EVENTS "summary: 1 1\n\ntotals: 1001 20 30 4 5 6 7 8 9 100 11 12 13\n");
    assert_int_equal(sm_callgrind_read(path, &c, why, sizeof why), 0);
    assert_int_equal(c.instructions, 1001);
    assert_int_equal(c.branches, 112);
    assert_int_equal(c.reads, 20);
    assert_int_equal(c.writes, 30);
    assert_int_equal(c.i1_misses, 4);
    assert_int_equal(c.d1_misses, 11);
    assert_int_equal(c.ll_misses, 24);
    static const char *const bad[] = {"",
                                      EVENTS,
                                      EVENTS "totals: 0\n",
                                      EVENTS "totals: 5\n", /* no jump into the kernel */
                                      EVENTS "totals: x\n",
                                      "events: Ir Dr\ntotals: 5 2\n",
                                      "totals: 1001 20 30 4 5 6 7 8 9 100 11 12 13\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put("out", bad[i]);
        if (!sm_callgrind_read(path, &c, why, sizeof why)) fail_msg("read as counts: %s", bad[i]);
        assert_true(strstr(why, "callgrind ") == why);
    }
    assert_int_equal(sm_callgrind_read("/no/such/file", &c, why, sizeof why), -1);
}

/* The first function is entered twice by its number, the second by its name; what they did themselves, and what others
 * called, is left out. */
static void functions_have_what_they_called(void **unused)
{
    (void)unused;
    char path[256], why[256] = "";
    struct sm_callgrind_counts c[3];
    snprintf(path, sizeof path, "%s/out", folder);
    put("out",
        "version: 1\n" EVENTS "fl=(1) ???\nfn=(7) step_2\n0 1 0 0 0 0 0 0 0 0 0 0 1\ncfn=(8) kernel\ncalls=3 0 \n"
        "0 100 20 30 4 5 6 7 8 9 10 11 12\nfn=(8)\n5 90 1 1\n+3 10\ncfn=(9) memcpy\ncalls=1 0\n* 50 1 1\n"
        "fn=(7)\ncfn=(8)\ncalls=1 0\n* 1000\nfn=(10) step_0\ncfn=(9)\ncalls=1 0\n-1 7 1\nfn=(11) step_9\n"
        "cfn=(9)\ncalls=1 0\n0 1\nfn=(12) step_x\ncfn=(9)\ncalls=1 0\n0 1\ntotals: 1250\n");
    assert_int_equal(sm_callgrind_read_callees(path, "step_", c, 3, why, sizeof why), 0);
    assert_int_equal(c[2].instructions, 1100);
    assert_int_equal(c[2].reads, 20);
    assert_int_equal(c[2].d1_misses, 11);
    assert_int_equal(c[0].instructions, 7);
    assert_int_equal(c[0].reads, 1);
    assert_int_equal(c[1].instructions, 0);
    put("out", "fn=(99999999999) step_1\nfn=(1\nfn=\ncalls=\n\ncfn=(2) step_0");
    assert_int_equal(sm_callgrind_read_callees(path, "step_", c, 3, why, sizeof why), -1);
    put("out", EVENTS "fn=(1) step_99999999999999999999\ncalls=1 0\n0 5\nfn=(2) step_1\ncalls=1 0\n");
    assert_int_equal(sm_callgrind_read_callees(path, "step_", c, 3, why, sizeof why), 0);
    assert_int_equal(c[0].instructions + c[1].instructions + c[2].instructions, 0);
    assert_int_equal(sm_callgrind_read_callees("/no/such/file", "step_", c, 3, why, sizeof why), -1);
}

static int make_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused)
{
    (void)unused;
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fitted_caches_can_be_simulated),
        cmocka_unit_test(the_kernels_caches_are_simulated),
        cmocka_unit_test(totals_are_read),
        cmocka_unit_test(functions_have_what_they_called),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
