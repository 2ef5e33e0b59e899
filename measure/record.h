/* record.h - one result: a JSON object on one line, appended to a result file as it happens.
 *
 * Every key below is in every record; null where it has no meaning or is not known (never a made-up 0).
 * Readers recompute summaries (median, spread) from the raw samples. Later versions fill and append keys,
 * they never rename one.
 *
 *   schema            1
 *   kind              "bench", "count", "profile", "verify", "cost", "plan", "ceiling" or "trial"
 *   case              what was measured: family/variant/shape/t<threads>/<cache state>; the join key
 *   status, why       "ok"; "error" or "skipped" with a sentence
 *   started           UTC, "2026-01-31T12:00:00Z"; command: the command line
 *   order             {"order":"stated"|"random","seed":7,"position":3} of the case in its run; "in_turns_with": how
 *                     many others' samples were taken in turns with its own
 *   family group variant layout isa    which implementation ran
 *   shape             {"rows":1,...}, the family's axes
 *   threads           in the team; cache_state "hot" or "cold"
 *   model             {"name","file","bytes","sha256","arch","parameters","synthetic","formats",
 *                     "conversions":[{"from","to","tensors","relative_rms","max_error"}],
 *                     "scales": where static scales of activations come from, or null}
 *   recipe            "native", "float", "w4c-a16", ...: weights.h; phase "prefill", "append" or "decode"
 *   scale_in          of a model's run: where the attention scale is applied: "scores", or folded into "q" or "k"
 *   max_seq bucket kv_type n_prompt n_gen n_depth padding_side
 *   unit              "ns"; samples [per call or per token, raw]; iterations [calls in each sample]
 *   token_ns          [every decoded token, in order]
 *   ops ops_unit bytes footprint       of one call
 *   error error_after units of the tolerance, before and after timing
 *   steps             [{"label":"attention","ns":..,"calls":..}]; of a profile also "ops","bytes" of one run, "ceiling"
 *                     that binds, "share" of it, and "why" there is none, or none that is possible
 *                     (profiles/step_limits.h); label "unexplained" for the rest; where layers are
 *                     of several kinds also "parts":[{"part":"full donor","ns":..,"calls":..}] of each
 *   memory            {"weights_bytes","cache_bytes","arena_bytes","peak_rss_bytes"}, the peak while it was
 *                     measured, loading and packing left out; load_s pack_s seconds
 *   counters          [{"name","value","unit","provider","state","why","scope"}], value null unless the
 *                     state is usable or multiplexed; then "share" is the part of the time that was counted. scope:
 *                     "thread 0", "team" or "machine". "derived": true of a metric, whose provider is its formula
 *   witnesses         {"cpu_ns":[..],"involuntary_switches":[..],"page_faults":[..],"migrations":[..],
 *                     "steal_ms","load_average","core_hz","core_hz_before","core_hz_after","core_hz_samples":[[before,after],..],
 *                     "cpus":[0,1] each thread was pinned to, null: not pinned, "flags":["preempted"]}
 *   ceilings          {"dram_read":{"value","unit","threads"}}; binding_ceiling: the name of one of them
 *   ridge             of a matmul in bench: {"rows","memory","dram_rows","scheme"}: rows at which reading the weights
 *                     takes as long as multiplying, from the level that holds them and from DRAM (bench/ridge.h)
 *   reconciliation    of a profile: {"steps":[{"label","model_ns","replay_ns","alone_ns","cold_ns","barriers",
 *                     "cause"}],"call_ns","around_ns","barrier_ns"}, least times of one call's steps in the model,
 *                     in a replay of the call, and alone (profiles/reconcile.h)
 *   turn              of a session of turns: {"turn":2,"of":3,"way":"buckets"|"decode"|"decode-loop"|"re-prefill"|
 *                     "exact","past","tokens","when_full","policy","turns","append_buckets":[..],
 *                     "prefill_buckets":[..],"calls":[{"phase","rows","tokens","past","policy"}],"peir"}; samples are
 *                     times to the turn's first token, bucket is the rows of all calls
 *   quality           what verify says: {"against","fed","verdict","why","departs","peir","mean","max","kl","rows",
 *                     "agree","ties","limits","steps":[{"turn","phase","past","tokens","shapes","ns","peir",..}],
 *                     "full","layers":[..],"paths","perplexity"}; peir is a ratio, samples the times of its decodes
 *   plan              of slotmark plan.
 * {"role":"plan","objective","max_seq","turns","costs","limits","best","usual":[..], "curve":[..],"memory","searched"},
 * sets being {"name","calls":"best"|"smallest","plans","prefill":
 *                     [..],"append":[..],"mean_ns","ttft_ns","p95_ns","arena_bytes","tokens","rows"}; and of one
 * session by one set {"role":"replay","set","calls","file","session","prefill","append","turns":[{"past","in",
 *                     "out","calls":[{"phase","rows","tokens","ns","predicted_ns"}],"ttft_ns","predicted_ttft_ns",
 *                     "decode_ns","predicted_decode_ns"}]}; samples are the times to first token; "reference_ns" and
 *                     "reference_table_ns": of calls of the cost table made after it, and what the table says of them
 *   callgrind         of a count: {"valgrind":"valgrind-3.19.0","i1","d1","ll":{"bytes","ways","line"} simulated,
 *                     "instructions_by_thread":[..]}; its counters have "exact": true where no simulation made them
 *   cost              of a model's static shape: {"role":"fit"|"held-out"|"steps"|"table","attention":"literal"|"skip",
 *                     "round"}; of steps also "spread": how far such calls differ, a share; and of a table what the
 *                     points say together: profiles/cost_table.h, costs_findings.h
 *   trial             of a calibration of the comparer: {"class","planted" [share of the work],"placed" [elsewhere],
 *                     "verdict","seconds","as_built_log_ratios","log_ratios"}
 *   build             {"version","commit","dirty","compiler","flags","type"}; of bench --compilers also "kernels":
 *                     {"compiler","flags"} of the build that the kernel is from
 *   machine           {"cpu",...}: machine.h
 *
 * "cycles" is never a tick of the time-stamp counter: tsc_ticks and core_cycles_est are the only names.
 *
 * Errors: a setter cannot fail on its own; a wrong key or lack of memory is remembered, and
 * sm_record_append refuses the record with a sentence. Functions that return int return 0 or -1. */
#ifndef SM_RECORD_H
#define SM_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SM_RECORD_SCHEMA 1

struct sm_record;

/* A record with every key, build, machine, command and the time filled in, status "ok". NULL: no memory. */
struct sm_record *sm_record_create(const char *kind, const char *case_id);
void sm_record_destroy(struct sm_record *record);

/* JSON has no infinity and no NaN: both are "not known", null. A new reference. */
json_t *sm_record_number(double value);

/* Top-level keys. A number that is not finite, a NULL string and a NULL json become null. */
void sm_record_set_string(struct sm_record *record, const char *key, const char *value);
void sm_record_set_integer(struct sm_record *record, const char *key, int64_t value);
void sm_record_set_number(struct sm_record *record, const char *key, double value);
void sm_record_set_numbers(struct sm_record *record, const char *key, const double *values, size_t count);
void sm_record_set_json(struct sm_record *record, const char *key, json_t *value); /* takes the reference */

/* A member of an object-valued key ("shape", "memory", "model", "witnesses"), which comes to be as needed. */
void sm_record_put_string(struct sm_record *record, const char *key, const char *member, const char *value);
void sm_record_put_integer(struct sm_record *record, const char *key, const char *member, int64_t value);
void sm_record_put_json(struct sm_record *record, const char *key, const char *member, json_t *value);

/* status "error" or "skipped", and the sentence that says why; an error takes its samples away, because
 * a time is never shown beside a wrong answer. */
void sm_record_fail(struct sm_record *record, const char *status, const char *why);

void sm_record_add_step(struct sm_record *record, const char *label, double ns, int64_t calls);
/* Of the step added last, what a part of the model took: "part" of its "parts". */
void sm_record_add_step_part(struct sm_record *record, const char *part, double ns, int64_t calls);
void sm_record_add_ceiling(struct sm_record *record, const char *name, double value, const char *unit, int threads);
/* value is dropped (null) unless state is "usable" or "multiplexed". */
void sm_record_add_counter(struct sm_record *record, const char *name, double value, const char *unit,
                           const char *provider, const char *state, const char *why, const char *scope);

/* One more member of the counter added last; takes the reference. */
void sm_record_counter_put(struct sm_record *record, const char *member, json_t *value);

/* The record itself, borrowed, for those who need more than the setters. */
json_t *sm_record_json(struct sm_record *record);

/* The command line that every record of this process will carry. Call once, first in main. */
void sm_record_command(int argc, char *const *argv);

/* Appends the record as one line, in one write, making folders and file as needed. A file whose last
 * line was cut short gets its line end first. */
int sm_record_append(struct sm_record *record, const char *path, char *why, size_t why_bytes);
/* The same for several: all their lines in one write. */
int sm_records_append(struct sm_record *const *records, size_t count, const char *path, char *why, size_t why_bytes);

/* Makes an empty result file, and its folders, for a run that starts; of two runs at once one gets it. -1, and a
 * sentence, when it is there already. */
int sm_records_claim(const char *path, char *why, size_t why_bytes);

struct sm_records_summary {
    size_t lines;   /* that hold something */
    size_t records; /* handed over */
    size_t torn;    /* lines cut short by a kill, passed over; say so to the user */
};

/* Calls visit for every record of a file, in order; visit returns 0 to go on, anything else to stop
 * (no error). -1 with a sentence for a file that cannot be read, or a line that is no record of ours. */
typedef int sm_record_visit_fn(void *context, const json_t *record);
int sm_records_read(const char *path, sm_record_visit_fn *visit, void *context, struct sm_records_summary *summary,
                    char *why, size_t why_bytes);

/* 0 when json is a record of this schema: the keys that are there have their types. */
int sm_record_check(const json_t *json, char *why, size_t why_bytes);

#endif
