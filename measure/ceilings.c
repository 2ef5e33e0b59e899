#include "ceilings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "ceiling_team.h"
#include "clock.h"
#include "machine.h"

enum { GRAIN = 2048, ROUNDS = 9, FULL_ROUNDS = 5, MIB = 1 << 20, HUGE_PAGE = 2 * MIB, TEAM_MOST = SM_PIN_MOST };
enum { L1, L2, L3, DRAM, LEVELS };
enum { SIZES = 3, WAYS = 6 };

static const char *const kinds[] = {"read", "write", "copy", "update", "stream"};

static struct sm_ceiling *add(struct sm_ceilings *out, const char *unit, int threads)
{
    struct sm_ceiling *c = &out->item[out->count++];
    *c = (struct sm_ceiling){.value = NAN, .unit = unit, .threads = threads, .core_hz = NAN};
    return c;
}

struct level {
    const char *name;
    size_t bytes[SIZES]; /* of each worker; 0: no such size, or no such level, or nobody knows its size */
    const char *why;     /* there is no first one */
    bool own;            /* of each core */
};

static size_t round_down(size_t bytes)
{
    return bytes / GRAIN * GRAIN;
}

/* Working sets that fit well into a level and miss the one before. Which size is fastest differs: Zen 5 reads 46 bytes
 * a cycle from L2 at an eighth of its size and 62 at five eighths, where others already suffer from pages that share
 * its sets; so several are tried. */
static void choose_levels(struct level *level, size_t threads, enum sm_ceilings_effort effort)
{
    const struct sm_machine *m = sm_machine();
    const char *unknown = "the kernel does not show a cache of this level";
    const size_t l1 = m->l1d_bytes, l2 = m->l2_bytes, own = 2 * l2, most = m->l3_bytes / threads / 2;
    size_t l3 = 32 * (size_t)MIB / threads; /* no more in all: a guest may be allowed a part of the cache only */
    if (l3 < own) l3 = own;
    level[L1] = (struct level){"l1", {round_down(l1 / 4 * 3), round_down(l1 / 2)}, unknown, true};
    level[L2] =
        (struct level){"l2", {round_down(l2 / 2), round_down(l2 / 8 * 5), round_down(l2 / 8 * 3)}, unknown, true};
    level[L3] = (struct level){"l3", {m->l3_bytes ? round_down(l3 < most ? l3 : most) : 0}, unknown, false};
    if (m->l3_bytes && level[L3].bytes[0] < own)
        level[L3] =
            (struct level){"l3", {0}, "a thread's share of the last cache is no larger than its own cache", false};

    const size_t last = m->l3_bytes ? m->l3_bytes : l2 * threads;
    size_t all = (size_t)sm_ceilings_past((double)last);
    if (all < 128 * (size_t)MIB) all = 128 * (size_t)MIB;
    if (effort == SM_CEILINGS_FULL) all *= 2;
    level[DRAM] = (struct level){"dram", {round_down(all / threads)}, NULL, false};
    if (m->memory_bytes && all > m->memory_bytes / 3)
        level[DRAM] = (struct level){"dram", {0}, "the memory is too small to go beyond the last cache", false};
}

/* Ways to move bytes at one level: the best one counts. */
struct memory_row {
    const struct level *level;
    size_t *at; /* not own: where in the level's set the next bytes are taken */
    enum sm_memory_kind ways[WAYS];
    size_t count;
    double per_cycle; /* own: the most bytes a cycle of a core so far */
    struct sm_ceiling *ceiling;
};

static void keep_better(struct memory_row *row, const struct sm_ceiling_job *job, int threads,
                        struct sm_ceiling_seen seen)
{
    struct sm_ceiling *c = row->ceiling;
    const double bytes = (double)job->passes * (double)sm_memory_moved(job->kind, job->bytes),
                 rate = bytes * threads / seen.ns * 1e9;
    row->per_cycle = fmax(row->per_cycle, bytes / seen.cycles);
    if (!(c->value >= rate)) {
        c->value = rate;
        c->bytes = (job->span ? job->span : job->bytes) * (size_t)threads;
        c->why = NULL;
    }
    if (row->per_cycle > 0) c->core_hz = c->value / (threads * row->per_cycle);
}

/* A level that each core has to itself, by sets of each size. */
static void measure_near(struct memory_row *row, struct sm_ceiling_team *team, int round)
{
    const double want_ns = 0.4e6; /* many short ones: one of them is undisturbed */
    for (size_t i = 0; i < SIZES && row->level->bytes[i]; i++) {
        struct sm_ceiling_job job = {
            .kind = row->ways[0], .bytes = row->level->bytes[i], .repetitions = 3, .own = true};
        /* other pages in each round: those of one place may crowd into the same sets */
        job.offset = round_down((team->share - job.bytes) / ROUNDS * (size_t)round);
        job.passes = sm_ceiling_passes(team, job, want_ns);
        keep_better(row, &job, team->threads, sm_ceiling_run(team, &job));
    }
}

/* One that they share: short pieces of the whole set, one after another, so that what is taken next was last touched a
 * whole set ago, and one of them is undisturbed. */
static void measure_far(struct memory_row *row, struct sm_ceiling_team *team, int round)
{
    const struct level *level = row->level;
    const bool beyond = !strcmp(level->name, "dram");
    const size_t grain = 16 * GRAIN, pieces = beyond ? 8 : 4, most = 16 * (size_t)MIB;
    size_t piece = level->bytes[0] / pieces / grain * grain;
    if (piece > most) piece = most;
    if (!piece || (beyond && round % 3)) return;
    struct sm_ceiling_job job = {.bytes = piece, .span = level->bytes[0] / piece * piece, .passes = 1};
    if (!beyond || row->ways[0] == SM_MEMORY_READ) { /* into the cache; or what is written there out of it first */
        job.kind = SM_MEMORY_READ;
        job.offset = *row->at;
        job.repetitions = (int)(job.span / piece) - 1;
        sm_ceiling_run(team, &job);
    }
    job.repetitions = beyond ? 8 : 4;
    for (size_t i = 0; i < row->count; i++) {
        job.kind = row->ways[i];
        job.offset = *row->at;
        keep_better(row, &job, team->threads, sm_ceiling_run(team, &job));
        *row->at = (*row->at + (size_t)(job.repetitions + 1) * piece) % job.span;
    }
}

/* One way to do arithmetic, on one core and on all. */
struct scheme_row {
    struct sm_ceiling_job job;
    double all_per_cycle; /* the most work a cycle of the team's cores so far */
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
    row.per_cycle->why = row.rate->why = "this CPU lacks the instructions";
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
    row->all_per_cycle = fmax(row->all_per_cycle, work / all.cycles);
    if (row->all_per_cycle > 0) row->rate->core_hz = row->rate->value / (team->threads * row->all_per_cycle);

    struct sm_ceiling_team one = {.threads = 1, .pin = team->pin};
    const struct sm_ceiling_seen alone = team->threads > 1 ? sm_ceiling_run(&one, &row->job) : all;
    if (isfinite(alone.cycles)) row->per_cycle->value = fmax(row->per_cycle->value, work / alone.cycles);
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

static struct memory_row row_of(const struct level *level, size_t *at, enum sm_memory_kind kind, bool beyond,
                                struct sm_ceiling *ceiling)
{
    static const struct {
        size_t count;
        enum sm_memory_kind ways[WAYS];
    } far[] = {[SM_MEMORY_READ] = {6,
                                   {SM_MEMORY_READ, SM_MEMORY_READ_4, SM_MEMORY_READ_16, SM_MEMORY_READ_AHEAD,
                                    SM_MEMORY_READ_4_AHEAD, SM_MEMORY_READ_16_AHEAD}},
               [SM_MEMORY_WRITE] = {2, {SM_MEMORY_WRITE, SM_MEMORY_WRITE_8}},
               [SM_MEMORY_COPY] = {2, {SM_MEMORY_COPY, SM_MEMORY_COPY_STREAM}},
               [SM_MEMORY_UPDATE] = {1, {SM_MEMORY_UPDATE}},
               [SM_MEMORY_STREAM] = {1, {SM_MEMORY_STREAM}}};
    struct memory_row row = {.level = level, .at = at, .ways = {kind}, .count = 1, .ceiling = ceiling};
    if (level->own) return row;
    memcpy(row.ways, far[kind].ways, sizeof row.ways);
    row.count = kind == SM_MEMORY_COPY && !beyond ? 1 : far[kind].count;
    return row;
}

/* All that is measured in rounds: what disturbs for a while disturbs none of it in all rounds. */
struct rounds {
    struct level level[LEVELS];
    size_t at[LEVELS];
    struct memory_row memory[LEVELS * (SM_MEMORY_STREAM + 1)];
    struct scheme_row scheme[SM_CEILINGS_MOST / 2];
    size_t memories, schemes;
    size_t share; /* of each worker */
};

static void plan_memory(struct rounds *r, struct sm_ceilings *out, const struct sm_ceiling_team *team, int first,
                        enum sm_ceilings_effort effort)
{
    choose_levels(r->level, (size_t)team->threads, effort);
    r->share = GRAIN;
    for (int l = first; l < LEVELS; l++) {
        for (size_t i = 0; i < SIZES; i++)
            if (r->level[l].bytes[i] > r->share) r->share = r->level[l].bytes[i];
        for (int k = 0; k <= SM_MEMORY_STREAM; k++) {
            if (k == SM_MEMORY_STREAM && l != DRAM) continue; /* goes past the caches whatever its size */
            struct sm_ceiling *c = add(out, "B/s", team->threads);
            snprintf(c->name, sizeof c->name, "%s_%s", r->level[l].name, kinds[k]);
            c->why = r->level[l].why;
            r->memory[r->memories++] = row_of(&r->level[l], &r->at[l], (enum sm_memory_kind)k, l == DRAM, c);
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
    for (size_t i = 0; i < r->memories; i++)
        (r->memory[i].level->own ? measure_near : measure_far)(&r->memory[i], team, round);
    for (size_t i = 0; i < r->schemes; i++) measure_scheme(&r->scheme[i], team);
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
    plan_memory(&r, out, team, L1, effort);
    const size_t bytes = r.share * (size_t)team->threads + HUGE_PAGE;
    drop_kept(); /* never both: together they would be two thirds of a small machine's memory */
    char *memory = take_memory(team, r.share, bytes);
    if (!memory) return no_memory(bytes, why, why_bytes);
    while ((scheme = sm_scheme_at(r.schemes))) r.scheme[r.schemes++] = scheme_row_of(out, team, scheme);
    for (int round = 0; round < ROUNDS; round++) measure_round(&r, team, round);
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

void sm_ceilings_best(struct sm_ceilings *ceilings, const struct sm_ceilings *other)
{
    for (size_t i = 0; i < ceilings->count; i++) {
        struct sm_ceiling *c = &ceilings->item[i];
        const struct sm_ceiling *o = sm_ceiling_named(other, c->name);
        if (o && (!isfinite(c->value) || (strcmp(c->unit, "s") ? o->value > c->value : o->value < c->value))) *c = *o;
    }
}

int sm_ceilings_refresh(struct sm_ceilings *ceilings, char *why, size_t why_bytes)
{
    static struct sm_pin pin;
    struct sm_ceiling_team team = {.threads = ceilings->threads};
    struct sm_ceilings fresh = {.count = 0};
    struct rounds r = {.memories = 0};
    if (!sm_pin_plan(&pin, team.threads, why, why_bytes)) team.pin = &pin;
    plan_memory(&r, &fresh, &team, L3, SM_CEILINGS_QUICK);
    const size_t bytes = r.share * (size_t)team.threads + HUGE_PAGE;
    if (!take_kept(&team, r.share, bytes)) return no_memory(bytes, why, why_bytes);
    /* a third of the rounds is enough to see whether they have changed */
    for (int round = 0; round < ROUNDS / 3; round++) measure_round(&r, &team, round);
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
