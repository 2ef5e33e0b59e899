/* Counts as they stand in records. */
#include "callgrind.h"

static const struct {
    const char *name;
    size_t at;
    bool exact; /* not the work of a simulation */
} fields[] = {{"instructions", offsetof(struct sm_callgrind_counts, instructions), true},
              {"branches", offsetof(struct sm_callgrind_counts, branches), true},
              {"memory_reads", offsetof(struct sm_callgrind_counts, reads), true},
              {"memory_writes", offsetof(struct sm_callgrind_counts, writes), true},
              {"sim_l1i_misses", offsetof(struct sm_callgrind_counts, i1_misses), false},
              {"sim_l1d_misses", offsetof(struct sm_callgrind_counts, d1_misses), false},
              {"sim_ll_misses", offsetof(struct sm_callgrind_counts, ll_misses), false}};

static uint64_t field(const struct sm_callgrind_counts *counts, size_t i)
{
    return *(const uint64_t *)(const void *)((const char *)counts + fields[i].at);
}

void sm_callgrind_add(struct sm_callgrind_counts *sum, const struct sm_callgrind_counts *more)
{
    sum->instructions += more->instructions;
    sum->branches += more->branches;
    sum->reads += more->reads;
    sum->writes += more->writes;
    sum->i1_misses += more->i1_misses;
    sum->d1_misses += more->d1_misses;
    sum->ll_misses += more->ll_misses;
}

/* An integer where the calls do not differ. */
static json_t *mean(uint64_t value, uint64_t calls)
{
    return value % calls ? json_real((double)value / (double)calls) : json_integer((json_int_t)(value / calls));
}

void sm_callgrind_record(struct sm_record *record, const struct sm_callgrind_counts *counts, uint64_t calls,
                         const char *scope)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        sm_record_add_counter(record, fields[i].name, 0, "1", "callgrind", "usable", NULL, scope);
        json_t *counters = json_object_get(sm_record_json(record), "counters");
        json_t *counter = json_array_get(counters, json_array_size(counters) - 1);
        json_object_set_new(counter, "value", mean(field(counts, i), calls));
        json_object_set_new(counter, "exact", json_boolean(fields[i].exact));
    }
}

json_t *sm_callgrind_json(const struct sm_callgrind_counts *counts, uint64_t calls)
{
    json_t *json = json_object();
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        json_object_set_new(json, fields[i].name, mean(field(counts, i), calls));
    return json;
}

static json_t *cache_json(const struct sm_callgrind_cache *cache)
{
    return json_pack("{s:I,s:I,s:I}", "bytes", (json_int_t)cache->bytes, "ways", (json_int_t)cache->ways, "line",
                     (json_int_t)cache->line);
}

void sm_callgrind_record_tool(struct sm_record *record, const struct sm_callgrind *tool)
{
    sm_record_put_string(record, "callgrind", "valgrind", tool->version);
    sm_record_put_json(record, "callgrind", "i1", cache_json(&tool->geometry.i1));
    sm_record_put_json(record, "callgrind", "d1", cache_json(&tool->geometry.d1));
    sm_record_put_json(record, "callgrind", "ll", cache_json(&tool->geometry.ll));
}
