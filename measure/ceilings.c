#include "ceilings.h"

#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "ceiling_kernels.h"
#include "clock.h"
#include "machine.h"

enum { GRAIN = 2048, ROUNDS = 9, FULL_ROUNDS = 5, MIB = 1 << 20, HUGE_PAGE = 2 * MIB, TEAM_MOST = SM_PIN_MOST };
enum { L1, L2, L3, DRAM, LEVELS };
enum { SIZES = 3, WAYS = 6 };

static const char *const kinds[] = {"read", "write", "copy", "stream"};

/* A team at work: each worker has its share of the memory, or the same scheme. */
struct team {
    int threads;
    const struct sm_pin *pin; /* NULL: stay where the system puts us */
    char *memory;
    size_t share; /* bytes from one worker's memory to the next one's */
};

struct job {
    const struct sm_scheme *scheme; /* NULL: memory */
    enum sm_memory_kind kind;
    size_t offset, bytes; /* of each worker's memory, in one pass */
    size_t span;          /* 0: all passes there; or each repetition takes the next bytes of so many, round and round */
    uint64_t passes;
    int repetitions; /* one more is made, and dropped */
    bool own;        /* the workers share nothing that they need */
};

/* What a team's repetitions came to. */
struct seen {
    double ns;     /* of one in which all do it */
    double cycles; /* of a core's own clock; INFINITY: not own, or the clock is not known */
};

/* A worker's best repetitions. */
struct worker {
    double ns, cycles;
    double apart; /* how far the clocks before and after that one of `cycles` differ */
};

static void do_job(const struct job *job, char *memory, int repetition)
{
    const size_t at = job->span ? (job->offset + (size_t)repetition * job->bytes) % job->span : job->offset;
    if (job->scheme)
        job->scheme->run(job->passes);
    else
        sm_memory_run(job->kind, memory + at, job->bytes, job->passes);
}

/* The fewest cycles where the clock stood still, within a hundredth; failing that, where it moved least. */
static void count_cycles(struct worker *best, double ns, double hz_before, double hz_after)
{
    const double still = 0.01, apart = fabs(hz_after - hz_before) / hz_before;
    const double cycles = ns * 1e-9 * (hz_before + hz_after) / 2;
    if (apart < still ? best->apart >= still || cycles < best->cycles : apart < best->apart) {
        best->cycles = cycles;
        best->apart = apart;
    }
}

/* Best of the repetitions. A repetition takes as long as its slowest worker; where they share nothing, each has a best
 * of its own, and what is returned is the time in which a team of such workers does as much. The clock of a core is
 * seen right before and after each of its repetitions: a guest's moves by a tenth within a run. */
static struct seen run_team(struct team *team, const struct job *job)
{
    double best = INFINITY, slowest = 0, own_rates = 0, own_per_cycle = 0;
#pragma omp parallel num_threads(team->threads)
    {
        const int t = omp_get_thread_num();
        struct worker own = {INFINITY, INFINITY, INFINITY};
        char why[128];
        cpu_set_t before;
        const int pinned =
            team->pin && !sched_getaffinity(0, sizeof before, &before) && !sm_pin_self(team->pin, t, why, sizeof why);
        double hz = job->own ? sm_core_hz_glance() : NAN;
        for (int r = 0; r <= job->repetitions; r++) {
#pragma omp single
            slowest = 0;
            const uint64_t start = sm_clock_ns();
            do_job(job, team->memory + (size_t)t * team->share, r);
            const double ns = (double)(sm_clock_ns() - start);
            if (job->own) {
                const double hz_before = hz;
                hz = sm_core_hz_glance();
                if (r > 0) count_cycles(&own, ns, hz_before, hz);
            }
            if (r > 0) own.ns = fmin(own.ns, ns);
#pragma omp critical(sm_ceilings)
            slowest = fmax(slowest, ns);
#pragma omp barrier
#pragma omp single
            if (r > 0) best = fmin(best, slowest);
        }
#pragma omp critical(sm_ceilings)
        {
            own_rates += 1 / own.ns;
            own_per_cycle += 1 / own.cycles;
        }
        if (pinned) sched_setaffinity(0, sizeof before, &before);
    }
    return (struct seen){job->own ? team->threads / own_rates : best, team->threads / own_per_cycle};
}

/* How many passes fill the time, by one worker alone: more until a tenth of it is seen. */
static uint64_t passes_for(const struct team *team, struct job job, double want_ns)
{
    for (job.passes = 1; job.passes < 1u << 30; job.passes *= 4) {
        const uint64_t start = sm_clock_ns();
        do_job(&job, team->memory, 0);
        const double ns = (double)(sm_clock_ns() - start);
        if (ns >= want_ns / 10) return (uint64_t)fmax(1, (double)job.passes * want_ns / ns);
    }
    return job.passes;
}

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

static void keep_better(struct memory_row *row, const struct job *job, int threads, struct seen seen)
{
    struct sm_ceiling *c = row->ceiling;
    const double bytes = (double)job->passes * (double)job->bytes, rate = bytes * threads / seen.ns * 1e9;
    row->per_cycle = fmax(row->per_cycle, bytes / seen.cycles);
    if (!(c->value >= rate)) {
        c->value = rate;
        c->bytes = (job->span ? job->span : job->bytes) * (size_t)threads;
        c->why = NULL;
    }
    if (row->per_cycle > 0) c->core_hz = c->value / (threads * row->per_cycle);
}

/* A level that each core has to itself. */
static void measure_near(struct memory_row *row, struct team *team, int round)
{
    const double want_ns = 0.4e6; /* many short ones: one of them is undisturbed */
    size_t sizes = 0;
    while (sizes < SIZES && row->level->bytes[sizes]) sizes++;
    if (!sizes) return;
    struct job job = {.kind = row->ways[0], .bytes = row->level->bytes[(size_t)round % sizes], .own = true};
    /* other pages in each round: those of one place may crowd into the same sets */
    job.offset = round_down((team->share - job.bytes) / ROUNDS * (size_t)round);
    job.repetitions = 4;
    job.passes = passes_for(team, job, want_ns);
    keep_better(row, &job, team->threads, run_team(team, &job));
}

/* One that they share: short pieces of the whole set, one after another, so that what is taken next was last touched a
 * whole set ago, and one of them is undisturbed. */
static void measure_far(struct memory_row *row, struct team *team, int round)
{
    const struct level *level = row->level;
    const bool beyond = !strcmp(level->name, "dram");
    const size_t grain = 16 * GRAIN, pieces = beyond ? 8 : 4, most = 16 * (size_t)MIB;
    size_t piece = level->bytes[0] / pieces / grain * grain;
    if (piece > most) piece = most;
    if (!piece || (beyond && round % 3)) return;
    struct job job = {.bytes = piece, .span = level->bytes[0] / piece * piece, .passes = 1};
    if (!beyond || row->ways[0] == SM_MEMORY_READ) { /* into the cache; or what is written there out of it first */
        job.kind = SM_MEMORY_READ;
        job.offset = *row->at;
        job.repetitions = (int)(job.span / piece) - 1;
        run_team(team, &job);
    }
    job.repetitions = beyond ? 8 : 4;
    for (size_t i = 0; i < row->count; i++) {
        job.kind = row->ways[i];
        job.offset = *row->at;
        keep_better(row, &job, team->threads, run_team(team, &job));
        *row->at = (*row->at + (size_t)(job.repetitions + 1) * piece) % job.span;
    }
}

static void measure_scheme(struct sm_ceilings *out, struct team *team, const struct sm_scheme *scheme)
{
    const bool values = !strcmp(scheme->unit, "values");
    struct sm_ceiling *per_cycle = add(out, values ? "values/cycle" : "multiply-adds/cycle", 1);
    struct sm_ceiling *rate = add(out, values ? "values/s" : "multiply-adds/s", team->threads);
    snprintf(per_cycle->name, sizeof per_cycle->name, "%s", scheme->name);
    snprintf(rate->name, sizeof rate->name, "%s_rate", scheme->name);
    per_cycle->why = rate->why = "this CPU lacks the instructions";
    if (!sm_scheme_runs(scheme)) return;
    struct job job = {.scheme = scheme, .repetitions = 12, .own = true};
    job.passes = passes_for(team, job, 0.25e6);
    const double work = (double)job.passes * scheme->work;
    const struct seen all = run_team(team, &job);
    rate->value = work * team->threads / all.ns * 1e9;
    if (isfinite(all.cycles)) rate->core_hz = all.cycles / all.ns * 1e9;
    rate->why = NULL;

    struct team one = {.threads = 1, .pin = team->pin};
    const struct seen alone = team->threads > 1 ? run_team(&one, &job) : all;
    per_cycle->why = "the core clock is not known";
    if (!isfinite(alone.cycles)) return;
    per_cycle->value = work / alone.cycles;
    per_cycle->why = NULL;
}

/* Each worker touches its own share first, so that it lies near to it. */
static char *take_memory(struct team *team, size_t share, size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE); /* the ceiling, not the cost of small pages */
    team->memory = memory + (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    team->share = share;
    const struct job touch = {.kind = SM_MEMORY_WRITE, .bytes = share, .passes = 1, .repetitions = 0};
    run_team(team, &touch);
    return memory;
}

/* What refreshes measure on: they come beside every cold row, and to touch it first costs more than they do. */
static struct {
    char *memory; /* NULL: none yet */
    size_t bytes;
    struct team team;
} area;

static void drop_kept(void)
{
    if (area.memory) munmap(area.memory, area.bytes);
    area.memory = NULL;
}

static bool take_kept(struct team *team, size_t share, size_t bytes)
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
               [SM_MEMORY_STREAM] = {1, {SM_MEMORY_STREAM}}};
    struct memory_row row = {.level = level, .at = at, .ways = {kind}, .count = 1, .ceiling = ceiling};
    if (level->own) return row;
    memcpy(row.ways, far[kind].ways, sizeof row.ways);
    row.count = kind == SM_MEMORY_COPY && !beyond ? 1 : far[kind].count;
    return row;
}

/* The levels from `first` on, in rounds: what disturbs for a while disturbs none of them in all rounds. A third of the
 * rounds is enough to see whether those that others share have changed. */
static int measure_memory(struct sm_ceilings *out, struct team *team, int first, enum sm_ceilings_effort effort,
                          char *why, size_t why_bytes)
{
    const bool again = first > L1;
    struct level levels[LEVELS];
    struct memory_row rows[LEVELS * 4];
    size_t share = GRAIN, count = 0, at[LEVELS] = {0};
    choose_levels(levels, (size_t)team->threads, effort);
    for (int l = first; l < LEVELS; l++) {
        for (size_t i = 0; i < SIZES; i++)
            if (levels[l].bytes[i] > share) share = levels[l].bytes[i];
        for (int k = 0; k <= SM_MEMORY_STREAM; k++) {
            if (k == SM_MEMORY_STREAM && l != DRAM) continue; /* goes past the caches whatever its size */
            struct sm_ceiling *c = add(out, "B/s", team->threads);
            snprintf(c->name, sizeof c->name, "%s_%s", levels[l].name, kinds[k]);
            c->why = levels[l].why;
            rows[count++] = row_of(&levels[l], &at[l], (enum sm_memory_kind)k, l == DRAM, c);
        }
    }
    const size_t bytes = share * (size_t)team->threads + HUGE_PAGE;
    if (!again) drop_kept(); /* never both: together they would be two thirds of a small machine's memory */
    char *memory = again ? NULL : take_memory(team, share, bytes);
    if (again ? !take_kept(team, share, bytes) : !memory) {
        snprintf(why, why_bytes, "cannot measure ceilings: no memory for %zu MiB", bytes / MIB);
        return -1;
    }
    for (int round = 0; round < (again ? ROUNDS / 3 : ROUNDS); round++) {
        for (size_t i = 0; i < count; i++) (rows[i].level->own ? measure_near : measure_far)(&rows[i], team, round);
    }
    if (memory) munmap(memory, bytes);
    team->memory = NULL;
    return 0;
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

static int measure_all(struct sm_ceilings *out, struct team *team, enum sm_ceilings_effort effort, char *why,
                       size_t why_bytes)
{
    const struct sm_scheme *scheme;
    memset(out, 0, sizeof *out);
    out->threads = team->threads;
    if (measure_memory(out, team, L1, effort, why, why_bytes)) return -1;
    for (size_t i = 0; (scheme = sm_scheme_at(i)); i++) measure_scheme(out, team, scheme);
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
    struct team team = {.threads = threads};
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
    struct team team = {.threads = ceilings->threads};
    struct sm_ceilings fresh = {.count = 0};
    if (!sm_pin_plan(&pin, team.threads, why, why_bytes)) team.pin = &pin;
    if (measure_memory(&fresh, &team, L3, SM_CEILINGS_QUICK, why, why_bytes)) return -1;
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
