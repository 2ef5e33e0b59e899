#include "ceilings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "ceiling_memory.h"
#include "clock.h"
#include "machine.h"

enum { GRAIN = 2048, FULL_ROUNDS = 5, MIB = 1 << 20, HUGE_PAGE = 2 * MIB, TEAM_MOST = SM_PIN_MOST };

#define SETTLE_NS 1.5e9 /* at most, for what was disturbed */

const char *const sm_ceiling_lacks = "this CPU lacks the instructions";

static const char *const kinds[] = {"read", "write", "copy", "update", "stream"};

static struct sm_ceiling *add(struct sm_ceilings *out, const char *unit, int threads)
{
    struct sm_ceiling *c = &out->item[out->count++];
    *c = (struct sm_ceiling){.value = NAN, .unit = unit, .threads = threads, .core_hz = NAN};
    return c;
}

/* One way to do arithmetic, on one core and on all. */
struct scheme_row {
    struct sm_ceiling_job job;
    struct sm_settle all, alone;
    struct sm_ceiling *per_cycle, *rate;
};

static struct scheme_row scheme_row_of(struct sm_ceilings *out, const struct sm_ceiling_team *team,
                                       const struct sm_scheme *scheme)
{
    const bool values = !strcmp(scheme->unit, "values");
    struct scheme_row row = {.job = {.scheme = scheme, .repetitions = 2, .own = true}};
    row.per_cycle = add(out, values ? "values/cycle" : "multiply-adds/cycle", 1);
    row.rate = add(out, values ? "values/s" : "multiply-adds/s", team->threads);
    snprintf(row.per_cycle->name, sizeof row.per_cycle->name, "%s", scheme->name);
    snprintf(row.rate->name, sizeof row.rate->name, "%s_rate", scheme->name);
    row.all = (struct sm_settle){.name = row.rate->name, .threads = sm_ceiling_peers(team->threads)};
    row.alone = (struct sm_settle){.name = row.per_cycle->name, .threads = 1};
    row.per_cycle->why = row.rate->why = sm_ceiling_lacks;
    if (sm_scheme_runs(scheme)) row.job.passes = sm_ceiling_passes(team, row.job, 0.25e6);
    return row;
}

static void measure_scheme(struct scheme_row *row, struct sm_ceiling_team *team)
{
    if (!row->job.passes) return;
    const double work = (double)row->job.passes * row->job.scheme->work;
    const struct sm_ceiling_seen all = sm_ceiling_run(team, &row->job);
    row->rate->value = fmax(row->rate->value, work * team->threads / all.ns * 1e9);
    row->rate->why = NULL;
    sm_settle_see(&row->all, sm_ceiling_pace(work, all));
    if (isfinite(all.cycles)) row->rate->core_hz = row->rate->value / (team->threads * sm_settle_value(&row->all));

    struct sm_ceiling_team one = {.threads = 1, .pin = team->pin};
    const struct sm_ceiling_seen alone = team->threads > 1 ? sm_ceiling_run(&one, &row->job) : all;
    sm_settle_see(&row->alone, sm_ceiling_pace(work, alone));
    if (isfinite(alone.cycles)) row->per_cycle->value = sm_settle_value(&row->alone);
    row->per_cycle->why = isfinite(row->per_cycle->value) ? NULL : "the core clock is not known";
}

/* Each worker touches its own share first, so that it lies near to it. */
static char *take_memory(struct sm_ceiling_team *team, size_t share, size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE); /* the ceiling, not the cost of small pages */
    team->memory = memory + (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    team->share = share;
    const struct sm_ceiling_job touch = {.kind = SM_MEMORY_WRITE, .bytes = share, .passes = 1, .repetitions = 0};
    sm_ceiling_run(team, &touch);
    return memory;
}

/* What refreshes measure on: they come beside every cold row, and to touch it first costs more than they do. */
static struct {
    char *memory; /* NULL: none yet */
    size_t bytes;
    struct sm_ceiling_team team;
} area;

static void drop_kept(void)
{
    if (area.memory) munmap(area.memory, area.bytes);
    area.memory = NULL;
}

static bool take_kept(struct sm_ceiling_team *team, size_t share, size_t bytes)
{
    if (!area.memory || area.bytes != bytes || area.team.threads != team->threads) {
        drop_kept();
        area.team = *team;
        area.bytes = bytes;
        area.memory = take_memory(&area.team, share, bytes);
    }
    team->memory = area.team.memory;
    team->share = share;
    return area.memory != NULL;
}

/* All that is measured in rounds: what disturbs for a while disturbs none of it in all rounds. */
struct rounds {
    struct sm_ceiling_level level[SM_LEVELS];
    size_t at[SM_LEVELS];
    struct sm_ceiling_row memory[SM_LEVELS * (SM_MEMORY_STREAM + 1)];
    struct scheme_row scheme[SM_CEILINGS_MOST / 2];
    size_t memories, schemes;
    size_t share; /* of each worker */
};

static void plan_memory(struct rounds *r, struct sm_ceilings *out, const struct sm_ceiling_team *team, int first,
                        enum sm_ceilings_effort effort)
{
    sm_ceiling_levels(r->level, (size_t)team->threads, effort);
    r->share = GRAIN;
    for (int l = first; l < SM_LEVELS; l++) {
        for (size_t i = 0; i < SM_LEVEL_SIZES; i++)
            if (r->level[l].bytes[i] > r->share) r->share = r->level[l].bytes[i];
        for (int k = 0; k <= SM_MEMORY_STREAM; k++) {
            if (k == SM_MEMORY_STREAM && l != SM_LEVEL_DRAM) continue; /* goes past the caches whatever its size */
            struct sm_ceiling *c = add(out, "B/s", team->threads);
            snprintf(c->name, sizeof c->name, "%s_%s", r->level[l].name, kinds[k]);
            c->why = r->level[l].why;
            r->memory[r->memories++] =
                sm_ceiling_row_of(&r->level[l], &r->at[l], (enum sm_memory_kind)k, l == SM_LEVEL_DRAM, c);
        }
    }
}

static int no_memory(size_t bytes, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "cannot measure ceilings: no memory for %zu MiB", bytes / MIB);
    return -1;
}

static void measure_round(struct rounds *r, struct sm_ceiling_team *team, int round)
{
    for (size_t i = 0; i < r->memories; i++) sm_ceiling_row_measure(&r->memory[i], team, round);
    for (size_t i = 0; i < r->schemes; i++) measure_scheme(&r->scheme[i], team);
}

/* What a core does by itself and was disturbed, again: in turn, so that all have as much of the time. False: nothing
 * was. */
static bool measure_disturbed(struct rounds *r, struct sm_ceiling_team *team, int round)
{
    bool any = false;
    for (size_t i = 0; i < r->memories; i++) {
        struct sm_ceiling_row *row = &r->memory[i];
        if (!row->level->own || !row->level->bytes[0] || sm_settled(&row->settle)) continue;
        sm_ceiling_row_measure(row, team, round);
        any = true;
    }
    for (size_t i = 0; i < r->schemes; i++) {
        struct scheme_row *row = &r->scheme[i];
        if (!row->job.passes || (sm_settled(&row->all) && sm_settled(&row->alone))) continue;
        measure_scheme(row, team);
        any = true;
    }
    return any;
}

static void regions(int threads, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
#pragma omp parallel num_threads(threads)
        __asm__ volatile("" : : : "memory");
    }
}

static void barriers(int threads, uint64_t count)
{
#pragma omp parallel num_threads(threads)
    for (uint64_t i = 0; i < count; i++) {
#pragma omp barrier
    }
}

/* What one of them costs: best of several, of so many that the clock's own cost is nothing. */
static void measure_team(struct sm_ceilings *out, const char *name, void (*run)(int threads, uint64_t count),
                         int threads)
{
    struct sm_ceiling *c = add(out, "s", threads);
    const int repetitions = 10;
    uint64_t count = 1;
    double best = INFINITY;
    snprintf(c->name, sizeof c->name, "%s", name);
    for (double ns = 0; ns < 50e3 && count < 1u << 20; count *= 2) {
        const uint64_t start = sm_clock_ns();
        run(threads, count);
        ns = (double)(sm_clock_ns() - start);
    }
    for (int r = 0; r < repetitions; r++) {
        const uint64_t start = sm_clock_ns();
        run(threads, count);
        best = fmin(best, (double)(sm_clock_ns() - start));
    }
    c->value = best / (double)count * 1e-9;
}

static int measure_all(struct sm_ceilings *out, struct sm_ceiling_team *team, enum sm_ceilings_effort effort, char *why,
                       size_t why_bytes)
{
    const struct sm_scheme *scheme;
    struct rounds r = {.memories = 0};
    memset(out, 0, sizeof *out);
    out->threads = team->threads;
    plan_memory(&r, out, team, SM_LEVEL_L1, effort);
    const size_t bytes = r.share * (size_t)team->threads + HUGE_PAGE;
    drop_kept(); /* never both: together they would be two thirds of a small machine's memory */
    char *memory = take_memory(team, r.share, bytes);
    if (!memory) return no_memory(bytes, why, why_bytes);
    while ((scheme = sm_scheme_at(r.schemes))) r.scheme[r.schemes++] = scheme_row_of(out, team, scheme);
    int round = 0;
    while (round < SM_CEILING_ROUNDS) measure_round(&r, team, round++);
    const uint64_t start = sm_clock_ns();
    while ((double)(sm_clock_ns() - start) < SETTLE_NS && measure_disturbed(&r, team, round)) round++;
    munmap(memory, bytes);
    team->memory = NULL;
    measure_team(out, "omp_fork", regions, team->threads);
    measure_team(out, "omp_barrier", barriers, team->threads);
    return 0;
}

double sm_ceilings_past(double cache_bytes)
{
    const double enough = 512.0 * MIB;
    return fmax(fmin(8 * cache_bytes, enough), 2.1 * cache_bytes);
}

int sm_ceilings_measure(struct sm_ceilings *out, int threads, enum sm_ceilings_effort effort, char *why,
                        size_t why_bytes)
{
    static struct sm_pin pin;
    static struct sm_ceilings again;
    struct sm_ceiling_team team = {.threads = threads};
    memset(out, 0, sizeof *out);
    if (threads < 1 || threads > TEAM_MOST) {
        snprintf(why, why_bytes, "cannot measure ceilings with %d threads: 1 to %d are possible", threads, TEAM_MOST);
        return -1;
    }
    if (!sm_pin_plan(&pin, threads, why, why_bytes)) team.pin = &pin;
    if (measure_all(out, &team, effort, why, why_bytes)) return -1;
    /* a neighbour on the same core stays for seconds: in other rounds it may be gone */
    for (int round = 1; effort == SM_CEILINGS_FULL && round < FULL_ROUNDS; round++) {
        if (measure_all(&again, &team, effort, why, why_bytes)) return -1;
        sm_ceilings_best(out, &again);
    }
    return 0;
}

bool sm_ceilings_disturbed(const struct sm_ceilings *ceilings)
{
    for (size_t i = 0; i < ceilings->count; i++) {
        const struct sm_ceiling *c = &ceilings->item[i];
        const double per_cycle = strstr(c->unit, "/cycle") ? c->value : c->value / (c->threads * c->core_hz);
        if (isfinite(per_cycle) && sm_settle_low(c->name, sm_ceiling_peers(c->threads), per_cycle)) return true;
    }
    return false;
}

int sm_ceilings_measure_again(struct sm_ceilings *several, size_t count, enum sm_ceilings_effort effort, char *why,
                              size_t why_bytes)
{
    static struct sm_ceilings once_more;
    for (size_t i = 0; i < count; i++) {
        if (!sm_ceilings_disturbed(&several[i])) continue;
        if (sm_ceilings_measure(&once_more, several[i].threads, effort, why, why_bytes)) return -1;
        sm_ceilings_best(&several[i], &once_more);
    }
    return 0;
}

/* What a core does by itself is used at other clocks than it was seen at, so it counts by the cycle. */
static bool is_better(const struct sm_ceiling *a, const struct sm_ceiling *b)
{
    if (!isfinite(b->value)) return true;
    if (a->core_hz > 0 && b->core_hz > 0) return a->value / a->core_hz > b->value / b->core_hz;
    return strcmp(a->unit, "s") ? a->value > b->value : a->value < b->value;
}

void sm_ceilings_best(struct sm_ceilings *ceilings, const struct sm_ceilings *other)
{
    for (size_t i = 0; i < ceilings->count; i++) {
        struct sm_ceiling *c = &ceilings->item[i];
        const struct sm_ceiling *o = sm_ceiling_named(other, c->name);
        if (o && is_better(o, c)) *c = *o;
    }
}

int sm_ceilings_refresh(struct sm_ceilings *ceilings, char *why, size_t why_bytes)
{
    static struct sm_pin pin;
    struct sm_ceiling_team team = {.threads = ceilings->threads};
    struct sm_ceilings fresh = {.count = 0};
    struct rounds r = {.memories = 0};
    if (!sm_pin_plan(&pin, team.threads, why, why_bytes)) team.pin = &pin;
    plan_memory(&r, &fresh, &team, SM_LEVEL_L3, SM_CEILINGS_QUICK);
    const size_t bytes = r.share * (size_t)team.threads + HUGE_PAGE;
    if (!take_kept(&team, r.share, bytes)) return no_memory(bytes, why, why_bytes);
    /* a third of the rounds is enough to see whether they have changed */
    for (int round = 0; round < SM_CEILING_ROUNDS / 3; round++) measure_round(&r, &team, round);
    for (size_t i = 0; i < ceilings->count; i++)
        for (size_t f = 0; f < fresh.count; f++)
            if (!strcmp(ceilings->item[i].name, fresh.item[f].name)) ceilings->item[i] = fresh.item[f];
    return 0;
}

const struct sm_ceilings *sm_ceilings(int threads)
{
    enum { KEPT = 8 };
    static struct sm_ceilings kept[KEPT];
    static int next;
    char why[256];
    for (int i = 0; i < KEPT; i++)
        if (kept[i].threads == threads && threads > 0) return &kept[i];
    struct sm_ceilings *slot = &kept[next];
    if (sm_ceilings_measure(slot, threads, SM_CEILINGS_QUICK, why, sizeof why)) return NULL;
    next = (next + 1) % KEPT;
    return slot;
}

const struct sm_ceiling *sm_ceiling_named(const struct sm_ceilings *ceilings, const char *name)
{
    for (size_t i = 0; ceilings && i < ceilings->count; i++)
        if (!strcmp(ceilings->item[i].name, name) && isfinite(ceilings->item[i].value)) return &ceilings->item[i];
    return NULL;
}

const char *sm_ceilings_level(double bytes, int threads)
{
    const struct sm_machine *m = sm_machine();
    const double sizes[] = {(double)m->l1d_bytes * threads, (double)m->l2_bytes * threads, (double)m->l3_bytes};
    static const char *const names[] = {"l1", "l2", "l3"};
    static const double reach[] = {4, 4, 2};
    for (size_t i = 0; i < 3; i++)
        if (sizes[i] > 0 && bytes <= reach[i] * sizes[i]) return names[i];
    return "dram";
}

void sm_ceilings_record(const struct sm_ceilings *ceilings, struct sm_record *record)
{
    for (size_t i = 0; ceilings && i < ceilings->count; i++) {
        const struct sm_ceiling *c = &ceilings->item[i];
        if (isfinite(c->value)) sm_record_add_ceiling(record, c->name, c->value, c->unit, c->threads);
    }
}
