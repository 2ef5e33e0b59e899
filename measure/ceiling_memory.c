#include "ceiling_memory.h"

#include <string.h>

#include "machine.h"

enum { GRAIN = 2048, MIB = 1 << 20 };

static size_t round_down(size_t bytes)
{
    return bytes / GRAIN * GRAIN;
}

/* Working sets that fit well into a level and miss the one before. Which size is fastest differs: Zen 5 reads 46 bytes
 * a cycle from L2 at an eighth of its size and 62 at five eighths, where others already suffer from pages that share
 * its sets; so several are tried. L3 binds all sets beyond L2's reach (sm_ceilings_level), and may give those half as
 * much again as half its size gets: neighbours take their part of it. */
void sm_ceiling_levels(struct sm_ceiling_level level[SM_LEVELS], size_t threads, enum sm_ceilings_effort effort)
{
    const struct sm_machine *m = sm_machine();
    const char *unknown = "the kernel does not show a cache of this level";
    const size_t l1 = m->l1d_bytes, l2 = m->l2_bytes, own = 2 * l2, most = m->l3_bytes / threads / 2;
    size_t l3 = 32 * (size_t)MIB / threads; /* no more in all: a guest may be allowed a part of the cache only */
    if (l3 < own) l3 = own;
    level[SM_LEVEL_L1] = (struct sm_ceiling_level){"l1", {round_down(l1 / 4 * 3), round_down(l1 / 2)}, unknown, true};
    level[SM_LEVEL_L2] = (struct sm_ceiling_level){
        "l2", {round_down(l2 / 2), round_down(l2 / 8 * 5), round_down(l2 / 8 * 3)}, unknown, true};
    level[SM_LEVEL_L3] =
        (struct sm_ceiling_level){"l3", {m->l3_bytes ? round_down(l3 < most ? l3 : most) : 0}, unknown, false};
    if (2 * own < level[SM_LEVEL_L3].bytes[0] / 2) {
        level[SM_LEVEL_L3].bytes[1] = round_down(level[SM_LEVEL_L3].bytes[0] / 2);
        level[SM_LEVEL_L3].bytes[2] = round_down(2 * own);
    }
    if (m->l3_bytes && level[SM_LEVEL_L3].bytes[0] < own)
        level[SM_LEVEL_L3] = (struct sm_ceiling_level){
            "l3", {0}, "a thread's share of the last cache is no larger than its own cache", false};

    const size_t last = m->l3_bytes ? m->l3_bytes : l2 * threads;
    size_t all = (size_t)sm_ceilings_past((double)last);
    if (all < 128 * (size_t)MIB) all = 128 * (size_t)MIB;
    if (effort == SM_CEILINGS_FULL) all *= 2;
    level[SM_LEVEL_DRAM] = (struct sm_ceiling_level){"dram", {round_down(all / threads)}, NULL, false};
    if (m->memory_bytes && all > m->memory_bytes / 3)
        level[SM_LEVEL_DRAM] =
            (struct sm_ceiling_level){"dram", {0}, "the memory is too small to go beyond the last cache", false};
}

/* Returns the bytes a cycle of a core, for what each has to itself. */
static double keep_better(struct sm_ceiling_row *row, const struct sm_ceiling_job *job, int threads,
                          struct sm_ceiling_seen seen)
{
    struct sm_ceiling *c = row->ceiling;
    const double bytes = (double)job->passes * (double)sm_memory_moved(job->kind, job->bytes),
                 rate = bytes * threads / seen.ns * 1e9;
    row->counted |= isfinite(seen.cycles);
    if (!(c->value >= rate)) {
        c->value = rate;
        c->bytes = (job->span ? job->span : job->bytes) * (size_t)threads;
        c->why = NULL;
    }
    return sm_ceiling_pace(bytes, seen);
}

/* A level that each core has to itself, by sets of each size. */
static void measure_near(struct sm_ceiling_row *row, struct sm_ceiling_team *team, int round)
{
    const double want_ns = 0.4e6; /* many short ones: one of them is undisturbed */
    double best = 0;
    for (size_t i = 0; i < SM_LEVEL_SIZES && row->level->bytes[i]; i++) {
        struct sm_ceiling_job job = {
            .kind = row->ways[0], .bytes = row->level->bytes[i], .repetitions = 3, .own = true};
        /* other pages in each round: those of one place may crowd into the same sets */
        job.offset = round_down((team->share - job.bytes) / SM_CEILING_ROUNDS * (size_t)(round % SM_CEILING_ROUNDS));
        job.passes = sm_ceiling_passes(team, job, want_ns);
        best = fmax(best, keep_better(row, &job, team->threads, sm_ceiling_run(team, &job)));
    }
    if (best > 0) sm_settle_see(&row->settle, best);
    const double per_cycle = row->counted ? sm_settle_value(&row->settle) : 0;
    if (per_cycle > 0) row->ceiling->core_hz = row->ceiling->value / (team->threads * per_cycle);
}

/* The last cache, whole sets over and over: to begin one takes as long as hundreds of KiB of it. */
static void measure_l3(struct sm_ceiling_row *row, struct sm_ceiling_team *team, int round)
{
    const size_t moved = 16 * (size_t)MIB / (size_t)team->threads;
    for (size_t i = 0; i < SM_LEVEL_SIZES && row->level->bytes[i]; i++) {
        struct sm_ceiling_job job = {.bytes = row->level->bytes[i], .repetitions = 4};
        job.passes = job.bytes < moved ? moved / job.bytes : 1;
        job.offset = round_down((team->share - job.bytes) / SM_CEILING_ROUNDS * (size_t)round);
        for (size_t w = 0; w < row->count; w++) {
            job.kind = row->ways[w];
            keep_better(row, &job, team->threads, sm_ceiling_run(team, &job));
        }
    }
}

/* Memory: short pieces of the whole set, one after another, so that what is taken next was last touched a whole set
 * ago, and one of them is undisturbed. */
static void measure_dram(struct sm_ceiling_row *row, struct sm_ceiling_team *team, int round)
{
    const size_t grain = 16 * GRAIN, pieces = 8, most = 16 * (size_t)MIB, set = row->level->bytes[0];
    size_t piece = set / pieces / grain * grain;
    if (piece > most) piece = most;
    if (!piece || round % 3) return;
    struct sm_ceiling_job job = {.bytes = piece, .span = set / piece * piece, .passes = 1};
    if (row->ways[0] == SM_MEMORY_READ) { /* what is written there goes out of the caches first */
        job.kind = SM_MEMORY_READ;
        job.offset = *row->at;
        job.repetitions = (int)(job.span / piece) - 1;
        sm_ceiling_run(team, &job);
    }
    job.repetitions = 8;
    for (size_t i = 0; i < row->count; i++) {
        job.kind = row->ways[i];
        job.offset = *row->at;
        keep_better(row, &job, team->threads, sm_ceiling_run(team, &job));
        *row->at = (*row->at + (size_t)(job.repetitions + 1) * piece) % job.span;
    }
}

void sm_ceiling_row_measure(struct sm_ceiling_row *row, struct sm_ceiling_team *team, int round)
{
    if (row->level->own)
        measure_near(row, team, round);
    else if (!strcmp(row->level->name, "l3"))
        measure_l3(row, team, round);
    else
        measure_dram(row, team, round);
}

int sm_ceiling_peers(int threads)
{
    const struct sm_machine *m = sm_machine();
    return m->virtualised && threads <= m->cores ? 1 : threads;
}

struct sm_ceiling_row sm_ceiling_row_of(const struct sm_ceiling_level *level, size_t *at, enum sm_memory_kind kind,
                                        bool beyond, struct sm_ceiling *ceiling)
{
    static const struct {
        size_t count;
        enum sm_memory_kind ways[SM_LEVEL_WAYS];
    } far[] = {[SM_MEMORY_READ] = {6,
                                   {SM_MEMORY_READ, SM_MEMORY_READ_4, SM_MEMORY_READ_16, SM_MEMORY_READ_AHEAD,
                                    SM_MEMORY_READ_4_AHEAD, SM_MEMORY_READ_16_AHEAD}},
               [SM_MEMORY_WRITE] = {2, {SM_MEMORY_WRITE, SM_MEMORY_WRITE_8}},
               [SM_MEMORY_COPY] = {2, {SM_MEMORY_COPY, SM_MEMORY_COPY_STREAM}},
               [SM_MEMORY_UPDATE] = {1, {SM_MEMORY_UPDATE}},
               [SM_MEMORY_STREAM] = {1, {SM_MEMORY_STREAM}}};
    struct sm_ceiling_row row = {.level = level,
                                 .at = at,
                                 .ways = {kind},
                                 .count = 1,
                                 .settle = {.name = ceiling->name, .threads = sm_ceiling_peers(ceiling->threads)},
                                 .ceiling = ceiling};
    if (level->own) return row;
    memcpy(row.ways, far[kind].ways, sizeof row.ways);
    row.count = kind == SM_MEMORY_COPY && !beyond ? 1 : far[kind].count;
    return row;
}
