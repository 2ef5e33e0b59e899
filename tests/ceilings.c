/* The loops behind the ceilings touch what they claim and nothing else; every name has a value or a reason. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ceiling_kernels.h"
#include "ceiling_team.h"
#include "ceilings.h"
#include "clock.h"
#include "settle.h"

enum { BYTES = 16384, PAGE = 4096 };

/* BYTES of memory between two pages that may not be touched. */
static char *fenced(void)
{
    char *p = mmap(NULL, BYTES + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(mprotect(p + PAGE, BYTES, PROT_READ | PROT_WRITE), 0);
    return p + PAGE;
}

static void loops_cover_their_bytes_and_no_more(void **state)
{
    (void)state;
    char *memory = fenced();
    for (size_t bytes = 2048; bytes <= BYTES; bytes *= 2) {
        char *last = memory + BYTES - bytes; /* up against the fence */
        for (int kind = 0; kind < SM_MEMORY_KINDS; kind++) {
            memset(memory, 0x55, BYTES);
            for (size_t i = 0; i < bytes / 2; i++) last[i] = (char)(i * 7 % 251 + 1);
            char before[BYTES];
            memcpy(before, memory, BYTES);
            const size_t moved = kind == SM_MEMORY_UPDATE ? 2 * bytes : bytes;
            assert_int_equal(sm_memory_run((enum sm_memory_kind)kind, last, bytes, 3), 3 * moved);
            assert_memory_equal(memory, before, BYTES - bytes);
            const bool writes = kind == SM_MEMORY_WRITE || kind == SM_MEMORY_STREAM || kind == SM_MEMORY_WRITE_8;
            const bool copies = kind == SM_MEMORY_COPY || kind == SM_MEMORY_COPY_STREAM;
            if (!writes && !copies && kind != SM_MEMORY_UPDATE) assert_memory_equal(memory, before, BYTES);
            if (copies) {
                assert_memory_equal(last, before + BYTES - bytes, bytes / 2);
                assert_memory_equal(last + bytes / 2, last, bytes / 2);
            }
            if (kind == SM_MEMORY_UPDATE) /* each byte, by something odd */
                for (size_t i = 0; i < bytes; i++) assert_int_not_equal(last[i], before[BYTES - bytes + i]);
            if (!writes) continue;
            /* everywhere, and no zeros, which some CPUs write faster */
            memset(last, 0, bytes);
            sm_memory_run((enum sm_memory_kind)kind, last, bytes, 1);
            for (size_t i = 0; i < bytes; i++) assert_int_not_equal(last[i], 0);
        }
    }
    munmap(memory - PAGE, BYTES + 2 * PAGE);
}

static void schemes_run_where_they_can(void **state)
{
    (void)state;
    const struct sm_scheme *scheme;
    for (size_t i = 0; (scheme = sm_scheme_at(i)); i++) {
        assert_true(scheme->work > 0);
        if (sm_scheme_runs(scheme)) scheme->run(10);
    }
}

static void every_ceiling_has_a_value_or_a_reason(void **state)
{
    (void)state;
    static struct sm_ceilings c;
    char why[256] = "";
    assert_int_equal(sm_ceilings_measure(&c, 0, SM_CEILINGS_QUICK, why, sizeof why), -1);
    assert_true(*why);
    if (sm_ceilings_measure(&c, 1, SM_CEILINGS_QUICK, why, sizeof why)) fail_msg("%s", why);
    assert_true(c.count >= 17);
    for (size_t i = 0; i < c.count; i++) {
        assert_true(isfinite(c.item[i].value) ? c.item[i].value > 0 && !c.item[i].why : c.item[i].why != NULL);
        for (size_t j = 0; j < i; j++) assert_string_not_equal(c.item[i].name, c.item[j].name);
    }
    struct sm_record *record = sm_record_create("ceiling", "x");
    sm_ceilings_record(&c, record);
    assert_int_equal(sm_record_check(sm_record_json(record), why, sizeof why), 0);
    assert_non_null(json_object_get(json_object_get(sm_record_json(record), "ceilings"), "dram_read"));
    assert_null(sm_ceiling_named(&c, "l9_read"));
    sm_record_destroy(record);
}

/* Small caches, and those of whole hosts. */
static void a_set_goes_past_the_cache(void **state)
{
    (void)state;
    const double mib = 1024 * 1024;
    assert_true(sm_ceilings_past(32 * mib) == 256 * mib);
    assert_true(sm_ceilings_past(96 * mib) == 512 * mib);
    assert_true(fabs(sm_ceilings_past(300 * mib) - 630 * mib) < mib);
}

/* What a core does in a cycle is known of all that it does alone, in that unit of its name, and of nothing else. */
static void own_ceilings_know_their_clock(void **state)
{
    (void)state;
    const struct sm_ceilings *c = sm_ceilings(1);
    const double hz = sm_core_hz();
    assert_non_null(c);
    if (!isfinite(hz)) skip();
    for (size_t i = 0; i < c->count; i++) {
        const struct sm_ceiling *one = &c->item[i];
        const size_t length = strlen(one->name);
        const bool rate = length > 5 && !strcmp(one->name + length - 5, "_rate");
        const bool near = !strncmp(one->name, "l1_", 3) || !strncmp(one->name, "l2_", 3);
        if (!isfinite(one->value)) continue;
        assert_int_equal(isfinite(one->core_hz) != 0, rate || near);
        if (!rate) continue;
        char name[32]; /* by a team of one both come from the same repetitions */
        snprintf(name, sizeof name, "%.*s", (int)length - 5, one->name);
        const struct sm_ceiling *per_cycle = sm_ceiling_named(c, name);
        assert_non_null(per_cycle);
        const double ratio = one->value / (one->core_hz * per_cycle->value);
        assert_true(ratio > 0.999 && ratio < 1.001);
    }
}

/* The clock beside a job, as a neighbour on the core would have it: the same, while the job takes longer; here it ticks
 * faster while the job takes as long. It takes far more than a true one, of which this machine may have several. */
static enum neighbour { ALONE, FOR_A_WHILE, ALWAYS, SLIP } neighbour;
static int glances, last_disturbed;
static bool nothing_is_repeated;

bool __real_sm_settled(const struct sm_settle *s);
bool __wrap_sm_settled(const struct sm_settle *s);

bool __wrap_sm_settled(const struct sm_settle *s)
{
    return nothing_is_repeated || __real_sm_settled(s);
}

double __real_sm_core_hz_glance(void);
double __wrap_sm_core_hz_glance(void);

double __wrap_sm_core_hz_glance(void)
{
    const double hz = __real_sm_core_hz_glance();
    glances++;
    if (neighbour == ALWAYS) return 8 * hz;
    if (neighbour == SLIP) return glances <= 1000 && glances % 500 < 8 ? hz / 8 : hz; /* looks that were disturbed */
    if (neighbour == ALONE || glances > last_disturbed) return hz;
    return hz * (8 + 4 * fmod(glances / 150 * 0.618, 1)); /* no two moments alike */
}

static void measure_beside(struct sm_ceilings *out, enum neighbour who)
{
    char why[256];
    neighbour = who;
    glances = 0;
    if (sm_ceilings_measure(out, 1, SM_CEILINGS_QUICK, why, sizeof why)) fail_msg("%s", why);
    neighbour = ALONE;
}

/* What a core does by itself in a cycle is the same but for what true neighbours take: the played one left an eighth.
 */
static bool as_fast(const struct sm_ceilings *a, const struct sm_ceilings *b)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct sm_ceiling *one = &a->item[i], *other = sm_ceiling_named(b, one->name);
        const bool cycles = strstr(one->unit, "/cycle") != NULL;
        if (!other || !(cycles || isfinite(one->core_hz))) continue;
        const double ratio =
            cycles ? one->value / other->value : one->value / one->core_hz / (other->value / other->core_hz);
        if (!(ratio > 0.25)) {
            print_message("%s: %.3f of what it was\n", one->name, ratio);
            return false;
        }
    }
    return true;
}

enum {
    TRIES = 5
}; /* the machine that runs this has neighbours of its own, and may stop it for longer than it measures */

/* A neighbour all through the rounds that are always made, then none: there are more rounds, until it is seen alone. */
static void a_disturbed_measurement_goes_on(void **state)
{
    (void)state;
    static struct sm_ceilings alone, disturbed;
    bool right = false;
    if (!isfinite(sm_core_hz())) skip();
    for (int i = 0; i < TRIES && !right; i++) {
        nothing_is_repeated = true;
        measure_beside(&alone, ALONE);
        nothing_is_repeated = false;
        last_disturbed = glances;
        measure_beside(&disturbed, FOR_A_WHILE);
        right = glances > last_disturbed && as_fast(&disturbed, &alone);
    }
    assert_true(right);
}

/* One that stays: the measurement ends, what is known tells that it was low, and it is made again. */
static void a_disturbed_measurement_is_made_again(void **state)
{
    (void)state;
    static struct sm_ceilings several[2];
    char why[256];
    bool right = false;
    if (!isfinite(sm_core_hz())) skip();
    for (int i = 0; i < TRIES && !right; i++) {
        measure_beside(&several[0], ALWAYS);
        measure_beside(&several[1], ALONE);
        assert_true(sm_ceilings_disturbed(&several[0]));
        if (sm_ceilings_measure_again(several, 2, SM_CEILINGS_QUICK, why, sizeof why)) fail_msg("%s", why);
        right = as_fast(&several[0], &several[1]);
    }
    assert_true(right);
}

/* A core seems to do eight times as much in a cycle, twice: that raises no ceiling. */
static void a_slip_of_the_clock_raises_nothing(void **state)
{
    (void)state;
    static struct sm_ceilings alone, slipped;
    bool right = false;
    if (!isfinite(sm_core_hz())) skip();
    for (int i = 0; i < TRIES && !right; i++) {
        measure_beside(&alone, ALONE);
        measure_beside(&slipped, SLIP);
        right = as_fast(&alone, &slipped);
    }
    assert_true(right);
}

static void see(struct sm_settle *s, double a, double b, double c)
{
    sm_settle_see(s, a);
    sm_settle_see(s, b);
    sm_settle_see(s, c);
}

static void three_sightings_settle_a_figure(void **state)
{
    (void)state;
    struct sm_settle one = {.name = "three", .threads = 1};
    see(&one, 16, 12, 15.9);
    assert_false(sm_settled(&one)); /* twice as fast as that */
    sm_settle_see(&one, 15.95);
    assert_true(sm_settled(&one));
    struct sm_settle low = {.name = "three", .threads = 1}; /* steadily, but slower than is known */
    see(&low, 12, 12, 12);
    assert_false(sm_settled(&low));
    assert_true(sm_settle_low("three", 1, 12));
    sm_settle_see(&low, 15.8);
    assert_false(sm_settled(&low));
    see(&low, 15.8, 15.9, 12);
    assert_true(sm_settled(&low));
}

/* A core of a larger team can do no more than one that is alone, and may do less. */
static void a_larger_team_is_no_measure_of_itself_alone(void **state)
{
    (void)state;
    struct sm_settle two = {.name = "team", .threads = 2}, one = {.name = "team", .threads = 1};
    see(&two, 10, 10, 10);
    assert_true(sm_settle_low("team", 1, 9));
    see(&one, 16, 16, 16);
    assert_false(sm_settle_low("team", 2, 10));
    struct sm_settle odd = {.name = "once",
                            .threads = 1}; /* what was seen once is no measure: the clock may have erred */
    see(&odd, 20, 10, 10);
    assert_false(sm_settle_low("once", 1, 10));
}

/* How many rounds fill a time does not come from the first ones of a process, in which Linux makes room for tiles: as
 * many as a moment later, in most of several processes, since a few may be held up. */
static void a_first_use_does_not_count(void **state)
{
    (void)state;
    const struct sm_scheme *tiles = NULL;
    for (size_t i = 0; sm_scheme_at(i); i++)
        if (!strcmp(sm_scheme_at(i)->isa, "amx")) tiles = sm_scheme_at(i);
    if (!tiles || !sm_scheme_runs(tiles)) skip();
    const struct sm_ceiling_team team = {.threads = 1};
    const struct sm_ceiling_job job = {.scheme = tiles, .own = true};
    int right = 0;
    for (int i = 0; i < 10; i++) {
        const pid_t child = fork();
        if (!child) {
            const uint64_t first = sm_ceiling_passes(&team, job, 0.1e6), then = sm_ceiling_passes(&team, job, 0.1e6);
            _exit(first < then / 2);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        right += WIFEXITED(status) && !WEXITSTATUS(status);
    }
    assert_true(right > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_use_does_not_count), /* the first: this process has used no tiles yet */
        cmocka_unit_test(loops_cover_their_bytes_and_no_more),
        cmocka_unit_test(schemes_run_where_they_can),
        cmocka_unit_test(every_ceiling_has_a_value_or_a_reason),
        cmocka_unit_test(a_set_goes_past_the_cache),
        cmocka_unit_test(own_ceilings_know_their_clock),
        cmocka_unit_test(three_sightings_settle_a_figure),
        cmocka_unit_test(a_larger_team_is_no_measure_of_itself_alone),
        cmocka_unit_test(a_disturbed_measurement_goes_on),
        cmocka_unit_test(a_disturbed_measurement_is_made_again),
        cmocka_unit_test(a_slip_of_the_clock_raises_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
