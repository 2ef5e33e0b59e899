#include "planner_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

size_t planner_depth_of(size_t max_seq, size_t past, size_t tokens)
{
    const size_t depth = (past + tokens / 2) * SM_PLANNER_DEPTHS / max_seq;
    return depth < SM_PLANNER_DEPTHS ? depth : SM_PLANNER_DEPTHS - 1;
}

size_t planner_depth_slot(size_t max_seq, size_t depth)
{
    return (2 * depth + 1) * max_seq / (2 * (size_t)SM_PLANNER_DEPTHS);
}

size_t sm_planner_depth(size_t max_seq, size_t past, size_t tokens)
{
    return planner_depth_slot(max_seq, planner_depth_of(max_seq, past, tokens));
}

static int check_turns(const struct sm_planner_problem *p, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < p->turn_count; i++) {
        const struct sm_planner_turn *t = &p->turns[i];
        if (t->in && t->past < p->max_seq && t->in < p->max_seq && t->out < p->max_seq &&
            t->past + t->in + t->out < p->max_seq && t->weight > 0)
            continue;
        snprintf(why, why_bytes,
                 "a turn of %zu tokens in and %zu out behind %zu does not fit the %zu past slots of max_seq %zu", t->in,
                 t->out, t->past, p->max_seq - 1, p->max_seq);
        return -1;
    }
    return 0;
}

static int ask(const struct sm_planner_problem *p, enum sm_phase phase, size_t rows, size_t tokens, size_t past,
               double *ns, char *why, size_t why_bytes)
{
    *ns = p->costs.ns(p->costs.context, phase, rows, tokens, p->max_seq, past);
    if (isfinite(*ns) && *ns > 0) return 0;
    snprintf(why, why_bytes, "there is no cost of %s of %zu rows at max_seq %zu behind %zu tokens",
             sm_phase_name(phase), rows, p->max_seq, past);
    return -1;
}

/* Of a full call whose middle is at a slot, as far as it fits, what is not its tokens'. */
static int ask_around(const struct planner_table *t, enum sm_phase phase, size_t rows, size_t depth, double *ns,
                      char *why, size_t why_bytes)
{
    const struct sm_planner_problem *p = t->problem;
    const size_t slot = planner_depth_slot(p->max_seq, depth), most = p->max_seq - rows;
    const size_t past = slot < rows / 2 ? 0 : slot - rows / 2 < most ? slot - rows / 2 : most;
    if (ask(p, phase, rows, rows, past, ns, why, why_bytes)) return -1;
    *ns = fmax(0, *ns - (double)rows * t->token_ns[depth]);
    return 0;
}

static int ask_token(struct planner_table *t, size_t depth, char *why, size_t why_bytes)
{
    const struct sm_planner_problem *p = t->problem;
    const size_t slot = planner_depth_slot(p->max_seq, depth);
    double *ns = &t->token_ns[depth];
    *ns = p->costs.token_ns ? p->costs.token_ns(p->costs.context, p->max_seq, slot) : 0;
    if (isfinite(*ns) && *ns >= 0) return 0;
    snprintf(why, why_bytes, "there is no cost of a token at max_seq %zu around slot %zu", p->max_seq, slot);
    return -1;
}

static double bytes_of(const struct sm_planner_problem *p, enum sm_phase phase, size_t rows)
{
    return p->costs.bytes ? p->costs.bytes(p->costs.context, phase, rows, p->max_seq) : NAN;
}

static int read_costs(struct planner_table *t, char *why, size_t why_bytes)
{
    const struct sm_planner_problem *p = t->problem;
    for (size_t i = 0; i < p->prefill_count; i++) t->prefill_bytes[i] = bytes_of(p, SM_PHASE_PREFILL, p->prefill[i]);
    for (size_t d = 0; d < SM_PLANNER_DEPTHS; d++) {
        if (ask_token(t, d, why, why_bytes) || ask_around(t, SM_PHASE_DECODE, 1, d, &t->decode_ns[d], why, why_bytes))
            return -1;
        for (size_t i = 0; i < p->append_count; i++)
            if (ask_around(t, SM_PHASE_APPEND, p->append[i], d, &t->append_ns[d][i], why, why_bytes)) return -1;
    }
    for (size_t i = 0; i < p->append_count; i++) t->append_bytes[i] = bytes_of(p, SM_PHASE_APPEND, p->append[i]);
    t->decode_bytes = bytes_of(p, SM_PHASE_DECODE, 1);
    for (size_t i = 0; i < p->turn_count; i++) {
        const struct sm_planner_turn *turn = &p->turns[i];
        double ns = 0;
        if (turn->out && ask(p, SM_PHASE_DECODE, 1, 1, turn->past + turn->in + turn->out / 2, &ns, why, why_bytes))
            return -1;
        t->weight += turn->weight;
        t->decode_sum += turn->weight * (double)turn->out * ns;
    }
    return 0;
}

static int by_entry(const void *x, const void *y)
{
    const struct planner_entry *a = x, *b = y;
    if (a->depth != b->depth) return a->depth < b->depth ? -1 : 1;
    if (a->tokens != b->tokens) return a->tokens < b->tokens ? -1 : 1;
    return (a->room > b->room) - (a->room < b->room);
}

static int by_first(const void *x, const void *y)
{
    const struct planner_first *a = x, *b = y;
    return (a->tokens > b->tokens) - (a->tokens < b->tokens);
}

/* Turns that cost the same are one, with the weight of all. */
static void put_together(struct planner_table *t)
{
    size_t kept = 0;
    qsort(t->later, t->later_count, sizeof *t->later, by_entry);
    for (size_t i = 0; i < t->later_count; i++) {
        if (kept && !by_entry(&t->later[kept - 1], &t->later[i]))
            t->later[kept - 1].weight += t->later[i].weight;
        else
            t->later[kept++] = t->later[i];
    }
    t->later_count = kept;
    kept = 0;
    qsort(t->first, t->first_count, sizeof *t->first, by_first);
    for (size_t i = 0; i < t->first_count; i++) {
        if (kept && t->first[kept - 1].tokens == t->first[i].tokens)
            t->first[kept - 1].weight += t->first[i].weight;
        else
            t->first[kept++] = t->first[i];
    }
    t->first_count = kept;
}

/* More room than the largest bucket's padding needs is as good as that. */
static struct planner_entry entry_of(const struct sm_planner_problem *p, size_t past, size_t tokens, double weight)
{
    const size_t largest = p->append_count ? p->append[p->append_count - 1] : 1;
    const size_t room = p->max_seq - past - tokens;
    return (struct planner_entry){.depth = planner_depth_of(p->max_seq, past, tokens),
                                  .tokens = tokens,
                                  .room = room < largest ? room : largest,
                                  .weight = weight};
}

/* The arrays reach as far as any turn's tokens and their padding. */
static void measure_arrays(struct planner_table *t)
{
    const struct sm_planner_problem *p = t->problem;
    const size_t largest = p->append_count ? p->append[p->append_count - 1] : 1;
    size_t most[SM_PLANNER_DEPTHS] = {0};
    for (size_t i = 0; i < t->later_count; i++)
        if (t->later[i].tokens > most[t->later[i].depth]) most[t->later[i].depth] = t->later[i].tokens;
    for (size_t i = 0; i < p->prefill_count * t->first_count; i++)
        if (t->rest[i].tokens > most[t->rest[i].depth]) most[t->rest[i].depth] = t->rest[i].tokens;
    for (size_t i = 0; i < t->later_count; i++) t->tight[t->later[i].depth] |= t->later[i].room + 1 < largest;
    for (size_t i = 0; i < p->prefill_count * t->first_count; i++)
        t->tight[t->rest[i].depth] |= t->rest[i].tokens && t->rest[i].room + 1 < largest;
    for (size_t d = 0; d < SM_PLANNER_DEPTHS; d++)
        t->offset[d + 1] = t->offset[d] + (most[d] ? most[d] + (t->tight[d] ? largest : 1) : 0);
}

int planner_table_create(struct planner_table *t, const struct sm_planner_problem *p, bool with_rows, char *why,
                         size_t why_bytes)
{
    *t = (struct planner_table){.problem = p};
    if (check_turns(p, why, why_bytes) || read_costs(t, why, why_bytes)) return -1;
    t->later = calloc(p->turn_count + 1, sizeof *t->later);
    t->first = calloc(p->turn_count + 1, sizeof *t->first);
    if (!t->later || !t->first) goto no_memory;
    for (size_t i = 0; i < p->turn_count; i++) {
        const struct sm_planner_turn *turn = &p->turns[i];
        if (turn->past)
            t->later[t->later_count++] = entry_of(p, turn->past, turn->in, turn->weight);
        else
            t->first[t->first_count++] =
                (struct planner_first){.tokens = turn->in, .room = p->max_seq - turn->in, .weight = turn->weight};
    }
    put_together(t);
    t->rest = calloc(p->prefill_count * t->first_count + 1, sizeof *t->rest);
    t->prefill_ns = calloc(p->prefill_count * t->first_count + 1, sizeof *t->prefill_ns);
    if (!t->rest || !t->prefill_ns) goto no_memory;
    for (size_t s = 0; s < p->prefill_count; s++)
        for (size_t i = 0; i < t->first_count; i++) {
            const size_t rows = p->prefill[s], all = t->first[i].tokens, now = all < rows ? all : rows;
            if (ask(p, SM_PHASE_PREFILL, rows, now, 0, &t->prefill_ns[s * t->first_count + i], why, why_bytes))
                return -1;
            if (all > rows) t->rest[s * t->first_count + i] = entry_of(p, rows, all - rows, 0);
        }
    for (size_t d = 0; d < SM_PLANNER_DEPTHS; d++) t->tight[d] = with_rows;
    measure_arrays(t);
    return 0;
no_memory:
    snprintf(why, why_bytes, "there is no memory for %zu turns", p->turn_count);
    return -1;
}

void planner_table_free(struct planner_table *t)
{
    free(t->later);
    free(t->first);
    free(t->rest);
    free(t->prefill_ns);
    *t = (struct planner_table){0};
}

void planner_start(const struct planner_table *t, double *least)
{
    for (size_t d = 0; d < SM_PLANNER_DEPTHS; d++)
        for (size_t i = t->offset[d]; i < t->offset[d + 1]; i++)
            least[i] = (double)(i - t->offset[d]) * t->decode_ns[d];
}

/* A size less may be left over or paid for: at a depth where all turns have room, a call may cover what it exceeds. */
static void add_covering(double *least, size_t count, size_t rows, double ns)
{
    const size_t alone = rows < count ? rows : count - 1;
    for (size_t i = 1; i <= alone; i++) least[i] = ns < least[i] ? ns : least[i];
    for (size_t i = rows + 1; i < count; i++) {
        const double with = ns + least[i - rows];
        least[i] = with < least[i] ? with : least[i];
    }
}

static void add_exact(double *least, size_t count, size_t rows, double ns)
{
    for (size_t i = rows; i < count; i++) {
        const double with = ns + least[i - rows];
        least[i] = with < least[i] ? with : least[i];
    }
}

void planner_add(const struct planner_table *t, double *least, size_t candidate)
{
    const size_t rows = t->problem->append[candidate];
    for (size_t d = 0; d < SM_PLANNER_DEPTHS; d++) {
        const size_t count = t->offset[d + 1] - t->offset[d];
        if (!count) continue;
        if (t->tight[d])
            add_exact(least + t->offset[d], count, rows, t->append_ns[d][candidate]);
        else
            add_covering(least + t->offset[d], count, rows, t->append_ns[d][candidate]);
    }
}

/* The least of w values from each on, then of 2 w, 4 w, ... */
static void fill_window(const double *exact, double *window, size_t count)
{
    for (size_t i = 0; i < count; i++) window[i] = exact[i];
    for (size_t w = 1; w < PLANNER_WINDOW; w *= 2)
        for (size_t i = 0; i + w < count; i++) window[i] = window[i] < window[i + w] ? window[i] : window[i + w];
}

void planner_pad(const struct planner_table *t, const double *least, double *padded, double *window)
{
    for (size_t d = 0; d < SM_PLANNER_DEPTHS; d++) {
        double from_here = INFINITY;
        if (!t->tight[d]) continue;
        for (size_t i = t->offset[d + 1]; i-- > t->offset[d];) {
            from_here = least[i] < from_here ? least[i] : from_here;
            padded[i] = from_here;
        }
        fill_window(least + t->offset[d], window + t->offset[d], t->offset[d + 1] - t->offset[d]);
    }
}

/* The least of [from, to], which is longer than a window. */
static double least_of(const double *window, size_t from, size_t to)
{
    const size_t last = to + 1 - PLANNER_WINDOW;
    double least = window[last];
    for (; from < last; from += PLANNER_WINDOW) least = window[from] < least ? window[from] : least;
    return least;
}

double planner_cost(const struct planner_table *t, const struct planner_costs *c, const struct planner_entry *e,
                    double *rows)
{
    const size_t at = t->offset[e->depth] + e->tokens;
    const size_t room = e->room < c->largest - 1 ? e->room : c->largest - 1;
    const double tokens = (double)e->tokens * t->token_ns[e->depth];
    double least = c->least[at];
    size_t padding = 0;
    if (!t->tight[e->depth]) return tokens + least;
    if (!rows && room == c->largest - 1) return tokens + c->padded[at];
    if (!rows && room >= PLANNER_WINDOW) return tokens + least_of(c->window, at, at + room);
    for (size_t u = 1; u <= room; u++)
        if (c->least[at + u] < least) {
            least = c->least[at + u];
            padding = u;
        }
    if (rows) *rows = (double)(e->tokens + padding);
    return tokens + least;
}

static int by_value(const void *x, const void *y)
{
    const struct planner_sample *a = x, *b = y;
    return (a->value > b->value) - (a->value < b->value);
}

double planner_p95(struct planner_sample *samples, size_t count, double weight)
{
    double behind = 0;
    qsort(samples, count, sizeof *samples, by_value);
    for (size_t i = 0; i < count; i++) {
        behind += samples[i].weight;
        if (behind >= 0.95 * weight * (1 - 1e-12)) return samples[i].value;
    }
    return count ? samples[count - 1].value : NAN;
}
