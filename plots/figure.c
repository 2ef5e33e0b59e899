#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_COLUMNS "panel panel_label series series_label "

const struct sm_figure sm_figures[] = {
    {"attention", "Attention in decode: time against max_seq",
     "One token's attention over a static cache. Every column is paid for, so the time doubles with max_seq; a "
     "smaller KV type helps where memory, not arithmetic, is the limit.",
     KERNEL_COLUMNS "max_seq time_ns low_ns high_ns case",
     "slotmark bench --group attention --rows 1 --max-seq 256,512,1024,2048,4096 --head-dim 64,128,256,512",
     sm_figure_attention},
    {"bucket", "The bucket curve: what one more row costs",
     "Left: the time of a call. Right: the same for each row; the ring marks the knee, the smallest bucket within "
     "a tenth of the best time per row. Buckets left of it pay more for every row.",
     KERNEL_COLUMNS "rows time_ns low_ns high_ns row_ns row_low_ns row_high_ns knee case",
     "slotmark bench --group attention,matmul --max-seq 2048 --rows 1,2,4,8,16,32,64,128,256,512", sm_figure_bucket},
    {"matmul", "Matmul rate against rows",
     "How near each variant comes to what this machine can do. Dashed: the measured ceilings; the sloping one is "
     "memory, which binds while each weight read serves few rows.",
     "what " KERNEL_COLUMNS "rows rate low high limit unit case",
     "slotmark bench --group matmul --variant all --rows 1,2,4,8,16,32,64,128,256,512", sm_figure_matmul},
    {"roofline", "Roofline: work for a byte, and the rate it allows",
     "Each point is one case. Under a slope, memory is the limit: more rows would do more with each byte. Under a flat "
     "line it is arithmetic. What lies far below both has room left; a point above its roof did not do all of its "
     "work: a variant that skips what the mask hides.",
     "what " KERNEL_COLUMNS "intensity rate low high name variant case",
     "slotmark bench --group matmul,attention --rows 1,2,4,8,16,32,64,128,256,512", sm_figure_roofline},
    {"softcap", "Softcap: elements per nanosecond against columns",
     "A flat curve is arithmetic (tanh); a drop to the right is the row no longer fitting a cache.",
     KERNEL_COLUMNS "columns rate low high case",
     "slotmark bench --group softcap --variant all --vocab 32000,49152,128256,151936,262144", sm_figure_softcap},
    {"cache_write", "Cache write: time per row by layout",
     "What it costs to put one new row of keys or values into its slot. Transposed slots lie far apart: each "
     "element touches a cache line of its own until a bucket of rows fills the lines.",
     KERNEL_COLUMNS "rows row_ns low_ns high_ns case",
     "slotmark bench --group cache_write --variant all --max-seq 2048 --rows 1,2,4,8,16,32,64,128,256",
     sm_figure_cache_write},
    {"mask", "Mask tax: attention over columns that the mask hides",
     "Literal variants pay for every column whatever is valid, so their time is flat. Skipping ones pay for what "
     "they cannot prove hidden; the gap between the two is the tax.",
     KERNEL_COLUMNS "valid time_ns low_ns high_ns case",
     "slotmark bench --group attention --variant all --max-seq 2048 --rows 1 --valid 64,256,512,1024,1536,2047",
     sm_figure_mask},
    {"model", "Model speed against max_seq",
     "Solid: real tokens. Light: padded tokens, which are computed and thrown away. The gap in prefill is the "
     "padding tax of the static shape.",
     KERNEL_COLUMNS "max_seq threads padded tokens_per_s low high case",
     "slotmark profile MODEL --max-seq 512,1024,2048 --threads 1,2", sm_figure_model},
    {"steps", "Where the time goes, step by step",
     "Each bar is one phase at one max_seq, split by what the plan's steps did. The grey part on top is time that "
     "no step explains.",
     "panel panel_label bar bar_label label colour from to share ms limit_percent ceiling total_ns case",
     "slotmark profile MODEL --max-seq 512,1024,2048", sm_figure_steps},
    {"layers", "Where the time goes, by kind of layer",
     "Each bar is all layers of one kind, split by step. Full layers pay for every slot of max_seq, sliding ones for "
     "their window; consumers use the keys and values of a donor and compute none of their own.",
     "panel panel_label bar bar_label label colour from_ms to_ms ms layers case",
     "slotmark profile gemma-4-e2b --max-seq 512 --reps 1", sm_figure_layers},
    {"tokens", "Every token's time along the generation",
     "A static shape should give a flat band: the cost does not depend on how much is valid. Line: median. Dashed: "
     "95th percentile. Spikes are the machine, drifts are worth a look.",
     KERNEL_COLUMNS "generation token token_ms median_ms p95_ms case", "slotmark profile MODEL --gen 128",
     sm_figure_tokens},
    {"depth", "A token's time against the past behind it",
     "Line: median of neighbouring tokens; band: 5th to 95th percentile. Where masked slots are paid for, a curve is "
     "flat and lies higher with max_seq; where they are skipped, it rises with depth and max_seq does not matter.",
     KERNEL_COLUMNS "depth median_ms p5_ms p95_ms tokens case",
     "slotmark profile MODEL --max-seq 512,2048 --prompt-len 64,256,448 --gen 63", sm_figure_depth},
    {"counters", "What one token costs in events",
     "Counters of a model for each token. Where the machine has none, exact counts of a kernel under valgrind, for "
     "each "
     "row of its call: a variant that skips the mask executes less, a larger bucket reads less for each row.",
     "panel panel_label bar name value tokens case",
     "slotmark bench --count --family attention_f16 --variant all --max-seq 256,1024 --rows 1,8 --valid 127",
     sm_figure_counters},
    {"quality", "What a recipe costs in answers, and gains in speed",
     "Down is nearer to the reference, right is faster. Points carry their KV type. PEIR is the largest error of the "
     "logits as a share of their range; times are profile's, or else those of verify's own decodes.",
     KERNEL_COLUMNS "tokens_per_s low high value point source case",
     "slotmark verify MODEL --recipe native,float,w8c-a8 --kv f16,i8 --text FILE", sm_figure_quality},
    {"compare", "Two builds: how much each kernel changed",
     "A point is the change of the median, its line the interval that holds the true change. A line that crosses 0 "
     "says "
     "nothing; one within the grey band is a change that is accepted.",
     "row name change low high verdict side tolerance a_ns b_ns case",
     "slotmark compare HEAD~1 -o json --file results/compare.json", sm_figure_compare},
    {"history", "A history: each kernel's change against one build, and where it changed",
     "Points are builds with their intervals, bars the levels between changes. A change is a candidate until a "
     "comparison of the builds before and after confirms it.",
     "what panel panel_label x to build change low high state case",
     "slotmark trend ANCHOR --store results/history.sqlite -o json > results/trend.json", sm_figure_history},
    {"costs_bucket", "The bucket curve of a model: what one more row costs",
     "A call of a whole model by the rows of its bucket. Flat where reading the weights takes longer than a row's "
     "arithmetic: rows are free there, up to the knee M*. Points are least calls, bars reach up to the median. Dashed: "
     "the least that the measured ceilings allow.",
     "what series_label series rows time_ns low_ns high_ns row_ns row_low_ns row_high_ns case", "slotmark costs MODEL",
     sm_figure_costs_bucket},
    {"costs_padding", "Padding tax: what a bucket set makes of so many tokens",
     "1 is no tax: the tokens fill their buckets, or their rows are free. Just above a bucket the next one is paid for "
     "in full; a set of few buckets is cheap to plan and dear to run.",
     "panel panel_label y set x tokens tax ns exact_ns case", "slotmark costs MODEL", sm_figure_costs_padding},
    {"costs_mask", "Mask tax of a model: columns that the mask hides",
     "A decode that computes every column over one that skips what is hidden, at the same valid slots. By the "
     "fitted curves; the tax is high where max_seq is large and little of it is used.",
     "y max_seq x share valid tax literal_ns skip_ns case", "slotmark costs MODEL", sm_figure_costs_mask},
    {"costs_max_seq", "The price of max_seq, in time and in memory",
     "The same work under ever larger maximum settings. Solid: by the fitted curve with its error band; dotted: beyond "
     "what was measured, as steep as before, and no more than a guess. Memory is what the runtime would ask for.",
     "panel panel_label series series_label max_seq value low high how case",
     "slotmark costs MODEL --max-seq 512,2048,8192", sm_figure_costs_max_seq},
    {"plan", "The planner curve: best time for each number of plans",
     "The line is the least time that any set of so many plans reaches for these turns; where it turns flat, more "
     "plans "
     "buy nothing. A usual set lies above it by what it wastes on padding.",
     "panel panel_label series series_label plans value_ms prefill append point case",
     "slotmark plan MODEL --turns-file profiles/turns/short-chat.turns", sm_figure_plan},
    {"turns", "Time to first token, turn by turn",
     "Turns that are appended cost what comes in, not what is there already: prefilling everything anew rises with the "
     "turns, decoding the tokens one by one with their number. Bars: the middle half of the repetitions, or sessions.",
     KERNEL_COLUMNS "turn median_ms low_ms high_ms count case",
     "slotmark profile MODEL --turns 100+20,30+20,12+10 --buckets 8,32", sm_figure_turns},
    {"ceilings", "What this machine can do at most",
     "The measured ceilings that shares are counted against: bytes per second by memory level, multiply-adds per "
     "core cycle by arithmetic scheme.",
     "panel panel_label bar name value unit threads", "slotmark bench --group matmul", sm_figure_ceilings},
};
const size_t sm_figure_count = sizeof sm_figures / sizeof *sm_figures;

void sm_drawing_use(struct sm_drawing *d, const struct sm_result *r)
{
    if (d->used_count == d->used_capacity) {
        const size_t capacity = d->used_capacity ? 2 * d->used_capacity : 64;
        const struct sm_result **used = realloc(d->used, capacity * sizeof *used);
        if (!used) {
            d->table.failed = 1;
            return;
        }
        d->used = used;
        d->used_capacity = capacity;
    }
    d->used[d->used_count++] = r;
    if (json_is_true(json_object_get(sm_json_part(r->json, "model"), "synthetic"))) d->synthetic = 1;
}

/* Commits of the records used, each once, "+" where the tree had changes. */
static void list_commits(const struct sm_drawing *d, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < d->used_count; i++) {
        const json_t *build = sm_json_part(d->used[i]->json, "build");
        char commit[24];
        snprintf(commit, sizeof commit, "%.12s%s", sm_json_text(build, "commit"),
                 json_is_true(json_object_get(build, "dirty")) ? "+" : "");
        if (!*commit || strstr(text, commit)) continue;
        const int n = snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", commit);
        if (n < 0 || (used += (size_t)n) >= bytes) break;
    }
}

/* How many of the records were disturbed while measured, by their witnesses' own account. */
static size_t count_flagged(const struct sm_drawing *d)
{
    size_t flagged = 0;
    for (size_t i = 0; i < d->used_count; i++)
        flagged += json_array_size(json_object_get(sm_json_part(d->used[i]->json, "witnesses"), "flags")) > 0;
    return flagged;
}

void sm_drawing_foot(const struct sm_drawing *d, char *foot, size_t bytes)
{
    if (d->used_count == 0) return;
    const struct sm_result *newest = d->used[0];
    for (size_t i = 1; i < d->used_count; i++)
        if (strcmp(sm_result_text(d->used[i], "started"), sm_result_text(newest, "started")) > 0) newest = d->used[i];
    const json_t *machine = sm_json_part(newest->json, "machine");
    const char *cpu = sm_json_text(machine, "cpu");
    const double cores = sm_json_number(machine, "cores");
    const char *day = sm_result_text(newest, "started");
    char commits[80], count[32] = "", flags[80] = "", text[512];
    const size_t flagged = count_flagged(d);
    if (flagged)
        snprintf(flags, sizeof flags, " · %zu of %zu records disturbed while measured", flagged, d->used_count);
    list_commits(d, commits, sizeof commits);
    if (cores > 0 && cores < 1e6) snprintf(count, sizeof count, ", %.0f core%s", cores, cores > 1 ? "s" : "");
    snprintf(text, sizeof text, "%.64s%s%s%s%s%.10s%s%s", *cpu ? cpu : "unknown machine", count,
             *commits ? " · slotmark " : "", commits, *day ? " · " : "", day,
             d->synthetic ? " · synthetic weights" : "", flags);
    sm_text_tidy(foot, bytes, text);
}

void sm_result_conditions(const struct sm_result *r, char *text, size_t bytes)
{
    const double threads = sm_result_number(r, "threads");
    const char *state = sm_result_text(r, "cache_state");
    char count[32] = "unknown threads";
    if (threads >= 1 && threads < 1e6) snprintf(count, sizeof count, "%.0f thread%s", threads, threads > 1 ? "s" : "");
    snprintf(text, bytes, "%s%s%.20s%s", count, *state ? ", " : "", state, *state ? " operands" : "");
}

const char *sm_result_kv(const struct sm_result *r)
{
    const char *end = strrchr(sm_result_text(r, "family"), '_');
    return end ? end + 1 : "";
}

void sm_result_model(const struct sm_result *r, char *text, size_t bytes)
{
    const char *name = sm_json_text(sm_json_part(r->json, "model"), "name");
    const char *slash = strrchr(name, '/');
    if (slash && slash[1]) name = slash + 1;
    snprintf(text, bytes, "%.60s", *name ? name : "unnamed model");
    char *ending = strstr(text, ".gguf");
    if (ending && !ending[5]) *ending = 0;
}

void sm_drawing_destroy(struct sm_drawing *d)
{
    sm_figure_table_destroy(&d->table);
    free(d->used);
    *d = (struct sm_drawing){0};
}
