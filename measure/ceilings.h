/* ceilings.h - what this machine can do at most: bytes a second by memory level, multiply-adds and functions by scheme.
 *
 * Measured, not looked up: best of several, the first dropped, in the process that uses them. What a core has to itself
 * (L1, L2, arithmetic) is the sum of each worker's best, taken until the best of them agree, and is also known per
 * cycle, by the clock that was seen right before and after. What cores share is the best of several ways to move it:
 * one stream a core, several side by side, with software that fetches ahead and without. Names:
 *
 *   l1_read l1_write l1_copy l1_update, l2_..., l3_..., dram_...   B/s of all threads together; a copy counts what
 *                       it reads and what it writes; what a write fetches first is not counted. dram_copy is the
 *                       better of a copy through the caches and one that writes past them, as memcpy does. An
 *                       update reads and writes the same lines, and counts both
 *   dram_stream         B/s written past the caches
 *   fma_f32_<isa>       multiply-adds/cycle of one core (core_cycles_est): f32, fused (any: mul, then add)
 *   madd_i16_<isa>      the same for int16 pairs into int32
 *   maddubs_i8_<isa>    the same for unsigned x signed bytes: maddubs, madd by ones, add
 *   maddubs_i4_<isa>    the same where products are summed in 16 bits eight at a time, as 4-bit weights allow
 *   dpwssd_i16_<isa>    the same for int16 pairs in one instruction
 *   dpbusd_i8_<isa>     the same for unsigned x signed bytes in one instruction
 *   dpbf16_<isa>        the same for pairs of bfloat16 into f32
 *   exp_f32_<isa>       values/cycle of one core: exp of vectors by the fewest instructions that give it to 2e-6
 *   tanh_f32_<isa>      the same for tanh, from that exp and a division: what a sigmoid takes, too
 *   narrow8_f32_<isa>   the same for floats to int8 and their sums, and the largest magnitude (ceiling_narrow.h)
 *   narrow16_f32_<isa>  the same for floats to int16, clamped, and their sums
 *   narrow16_i16_<isa>  the same for int16 of another scale
 *   ..._rate            multiply-adds/s or values/s of all threads together
 *   omp_fork            s that a parallel region of the team costs which does nothing, its end included
 *   omp_barrier         s that a barrier costs inside one
 *
 * Memory levels are those of the kernel's cache directory. In a guest it may report the host's: then l3
 * and dram are what working sets of the stated bytes really got. */
#ifndef SM_CEILINGS_H
#define SM_CEILINGS_H

#include <stddef.h>

#include "record.h"

struct sm_ceiling {
    char name[32];
    double value;     /* NAN: not measured, why says the reason */
    const char *unit; /* "B/s", "multiply-adds/cycle", "multiply-adds/s", "values/cycle", "values/s", "s" */
    int threads;
    size_t bytes;   /* working set of all threads together; 0: none */
    double core_hz; /* the clock that it moves with: value / (threads * core_hz) is what a core does in a cycle. L1, L2
                       and arithmetic in a second; else NAN */
    const char *why;
};

#define SM_CEILINGS_MOST 80

struct sm_ceilings {
    int threads;
    size_t count;
    struct sm_ceiling item[SM_CEILINGS_MOST];
};

/* The reason of every scheme that needs another CPU. */
extern const char *const sm_ceiling_lacks;

/* About a second and a half a team; the best of five times that, on more memory, about nine. Each time up to a second
 * and a half more while neighbours disturb what a core does by itself (settle.h). */
enum sm_ceilings_effort { SM_CEILINGS_QUICK, SM_CEILINGS_FULL };

/* Bytes that, touched in turn, go past a cache of that size. It keeps up to its own size of a set that is larger: eight
 * times as much can gain an eighth at most. Half a GiB is enough for caches that nobody has to himself, as a guest's.
 */
double sm_ceilings_past(double cache_bytes);

/* Measures with a team of that many threads, each pinned for the while. *out always holds every name.
 * -1 with a sentence: no memory, or threads is not positive. */
int sm_ceilings_measure(struct sm_ceilings *out, int threads, enum sm_ceilings_effort effort, char *why,
                        size_t why_bytes);

/* Whether something that a core does by itself was seen in this process as more than three hundredths faster, three
 * times: a neighbour was there all the while. */
bool sm_ceilings_disturbed(const struct sm_ceilings *ceilings);

/* Measures those of several that were disturbed once more, and keeps the better of each. */
int sm_ceilings_measure_again(struct sm_ceilings *several, size_t count, enum sm_ceilings_effort effort, char *why,
                              size_t why_bytes);

/* Measures L3 and DRAM again, quickly: neighbours move them by a third from minute to minute. Keeps the memory for the
 * next time. 0, or -1 and a sentence, and all is as it was. */
int sm_ceilings_refresh(struct sm_ceilings *ceilings, char *why, size_t why_bytes);

/* Keeps the better of the two for each name; of what moves with the cores' clock, the one that does more in a cycle. */
void sm_ceilings_best(struct sm_ceilings *ceilings, const struct sm_ceilings *other);

/* The quick ones, measured at the first call for each number of threads and kept for this process; not for
 * several threads at once. NULL: they cannot be measured. */
const struct sm_ceilings *sm_ceilings(int threads);

/* NULL: no such name, or no value. */
const struct sm_ceiling *sm_ceiling_named(const struct sm_ceilings *ceilings, const char *name);

/* The level whose bandwidth binds a team that touches so many bytes over and over: "l1", "l2", "l3", "dram". A set up
 * to four times the size of L1 or L2, or twice the last cache's, still hits it often (a rate of 1.2 times L3's was seen
 * at 3.4 times L2's size), so the boundary is drawn there: a share may be understated, never a rate called impossible
 * because part of it came from nearer. */
const char *sm_ceilings_level(double bytes, int threads);

/* Adds all that have a value to a record. */
void sm_ceilings_record(const struct sm_ceilings *ceilings, struct sm_record *record);

#endif
