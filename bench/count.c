#include "count.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count_region.h"
#include "count_table.h"
#include "cpu.h"
#include "instances.h"
#include "machine.h"
#include "timed.h"

struct counting {
    struct sm_callgrind tool;
    char out[SM_CALLGRIND_PATH_BYTES]; /* the result file; empty: nothing is counted */
};

static void put_counts(struct sm_record *r, const struct sm_callgrind_counts *counted, size_t threads)
{
    struct sm_callgrind_counts sum = {0};
    json_t *by_thread = json_array();
    for (size_t i = 0; i < threads; i++) {
        sm_callgrind_add(&sum, &counted[i]);
        json_array_append_new(by_thread, json_integer((json_int_t)counted[i].instructions));
    }
    sm_callgrind_record(r, &sum, 1, threads > 1 ? "team" : "thread 0");
    sm_record_put_json(r, "callgrind", "instructions_by_thread", by_thread);
}

/* The answer of the team in this process, which rounds as the machine does. 0, or -1 and why. */
static int check(const struct sm_bench_case *c, struct sm_record *r, char *why, size_t why_bytes)
{
    const size_t memory = sm_machine()->memory_bytes;
    struct sm_bench_case hot = *c;
    struct sm_instances set;
    hot.cold = false;
    if (sm_instances_create(&set, &hot, NAN, NAN, memory ? (double)memory : NAN, why, why_bytes)) return -1;
    int result = -1;
    if (sm_instances_prepare(&set) || sm_instances_run(&set, set.count)) {
        snprintf(why, why_bytes, "no memory or threads to check its answer");
    } else {
        const char *damage;
        const double error = sm_instances_judge(&set, &damage);
        sm_record_set_number(r, "error", error);
        if (damage)
            snprintf(why, why_bytes, "wrong: it %s", damage);
        else if (!(error <= 1))
            snprintf(why, why_bytes, "wrong: the error is %g tolerances", error);
        else
            result = 0;
    }
    sm_instances_destroy(&set);
    return result;
}

/* By thread; the jump of the region is taken off. */
static int read_threads(const struct sm_callgrind *tool, size_t threads, pid_t pid, struct sm_callgrind_counts *counted,
                        char *why, size_t why_bytes)
{
    for (size_t i = 0; i < threads; i++) {
        char path[SM_CALLGRIND_PATH_BYTES + 64];
        sm_callgrind_file(tool, pid, i + 1, path, sizeof path);
        if (sm_callgrind_read(path, &counted[i], why, why_bytes)) return -1;
        counted[i].instructions -= SM_COUNT_REGION_INSTRUCTIONS;
        counted[i].branches -= SM_COUNT_REGION_BRANCHES;
    }
    return 0;
}

/* One call of the case, by thread, in a child: its words are what count_child.c reads. */
static enum sm_callgrind_outcome run_child(const struct sm_callgrind *tool, const struct sm_bench_case *c,
                                           struct sm_callgrind_counts *counted, char *why, size_t why_bytes)
{
    char shape[SM_MAX_DIMS * 24] = "", threads[24], seed[24], sweep[24], said[256];
    size_t used = 0;
    for (size_t d = 0; d < c->family->dim_count; d++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld", d ? "," : "", (long long)c->shape.dim[d]);
    snprintf(threads, sizeof threads, "%zu", c->threads);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->seed);
    snprintf(sweep, sizeof sweep, "%zu", c->cold ? tool->geometry.ll.bytes : 0);
    snprintf(said, sizeof said, "%s/%s", c->family->name, c->variant->name);
    char bench[] = "bench", counted_word[] = "--counted", family[64], variant[64];
    snprintf(family, sizeof family, "%s", c->family->name);
    snprintf(variant, sizeof variant, "%s", c->variant->name);
    char *const words[] = {bench, counted_word, family, variant, shape, threads, seed, sweep};
    const struct sm_callgrind_child child = {.words = words,
                                             .word_count = sizeof words / sizeof *words,
                                             .toggle = SM_COUNT_SYMBOL,
                                             .dump_after = SM_COUNT_SYMBOL, /* a file for each part */
                                             .said = said};
    pid_t pid;
    const enum sm_callgrind_outcome outcome = sm_callgrind_run(tool, &child, &pid, why, why_bytes);
    if (outcome != SM_CALLGRIND_DONE) return outcome;
    return read_threads(tool, c->threads, pid, counted, why, why_bytes) ? SM_CALLGRIND_FAILED : SM_CALLGRIND_DONE;
}

/* NULL, or what status the record fails with. */
static const char *count(const struct sm_callgrind *tool, const struct sm_bench_case *c, struct sm_record *r,
                         bool *interrupted, char *why, size_t why_bytes)
{
    struct sm_callgrind_counts *counted = calloc(c->threads, sizeof *counted);
    const char *status = "error";
    if (!counted) {
        snprintf(why, why_bytes, "no memory for its counts");
    } else if (!check(c, r, why, why_bytes)) {
        switch (run_child(tool, c, counted, why, why_bytes)) {
        case SM_CALLGRIND_DONE:
            put_counts(r, counted, c->threads);
            status = NULL;
            break;
        case SM_CALLGRIND_REFUSED: status = "skipped"; break;
        case SM_CALLGRIND_FAILED: break;
        case SM_CALLGRIND_INTERRUPTED: *interrupted = true; break;
        }
    }
    free(counted);
    return status;
}

static enum sm_case_outcome run_one(void *context, const struct sm_case *one, struct sm_case_results *results,
                                    char *why, size_t why_bytes)
{
    struct counting *k = context;
    const struct sm_bench_case *c = one->payload;
    struct sm_record *r = sm_record_create("count", c->id);
    const char *status = "skipped";
    char reason[768];
    bool interrupted = false;
    if (!r) {
        snprintf(why, why_bytes, "%s: no memory", c->id);
        return SM_CASE_BROKEN;
    }
    sm_timed_describe(r, c);
    sm_record_set_string(r, "unit", NULL); /* of samples, of which a count has none */
    sm_callgrind_record_tool(r, &k->tool);
    if (c->variant->needs & ~SM_COUNT_FEATURES)
        snprintf(reason, sizeof reason, "%s needs %s instructions, which %s cannot run", c->variant->name,
                 c->variant->isa, k->tool.version);
    else if (c->refused)
        snprintf(reason, sizeof reason, "%s", c->refused);
    else
        status = count(&k->tool, c, r, &interrupted, reason, sizeof reason);
    if (interrupted || (status && sm_cases_interrupted())) {
        sm_record_destroy(r);
        return SM_CASE_DROPPED;
    }
    const bool wrong = status && !strcmp(status, "error");
    if (status) sm_record_fail(r, status, reason);
    snprintf(k->out, sizeof k->out, "%s", sm_cases_out(results));
    sm_case_result(results, r);
    return wrong ? SM_CASE_WRONG : SM_CASE_DONE;
}

int sm_count_cases(const struct sm_cases *cases, const struct sm_case_options *options, enum sm_bench_format format,
                   char *why, size_t why_bytes)
{
    if (options->dry_run) return sm_cases_run(cases, options, run_one, NULL, why, why_bytes);
    struct counting *k = calloc(1, sizeof *k);
    int code = 2;
    if (!k) {
        snprintf(why, why_bytes, "no memory");
        return 2;
    }
    if (!sm_callgrind_open(&k->tool, why, why_bytes)) {
        code = sm_cases_run(cases, options, run_one, k, why, why_bytes);
        const char *out = *k->out ? k->out : options->resume;
        if (code != 2 && out && sm_count_show(out, format, why, why_bytes)) code = 2;
    }
    sm_callgrind_close(&k->tool);
    free(k);
    return code;
}

double sm_count_estimate(const struct sm_bench_case *c)
{
    if (c->refused) return 0.001;
    const double ops = c->workload->ops(&c->shape);
    /* start-up; three calls at tens of times their natural time, and making and packing the operands likewise */
    return 1 + 3 * ops * (c->variant->needs ? 2e-8 : 1e-7) + 4e-7 * (double)c->workload->footprint(&c->shape);
}
