/* The doctor's page. */
#include <math.h>
#include <string.h>

#include "build.h"
#include "cpu.h"
#include "doctor.h"
#include "lacking.h"
#include "record.h"
#include "table.h"

static void heading(const char *text, bool markdown, FILE *out)
{
    fprintf(out, markdown ? "\n## %s\n\n" : "\n%s\n", text);
}

static const char *known(const json_t *machine, const char *key)
{
    const char *text = json_string_value(json_object_get(machine, key));
    return text ? text : "not visible here";
}

static void add(struct sm_table *table, const char *name, const char *text)
{
    const char *const row[] = {name, text};
    sm_table_add(table, row);
}

/* "48 KiB"; "?" for none. */
static const char *size_text(size_t bytes, char *text, size_t text_bytes)
{
    if (!bytes)
        snprintf(text, text_bytes, "?");
    else if (bytes < 1 << 20)
        snprintf(text, text_bytes, "%zu KiB", bytes >> 10);
    else if (bytes < 1 << 30)
        snprintf(text, text_bytes, "%zu MiB", bytes >> 20);
    else
        snprintf(text, text_bytes, "%.1f GiB", (double)bytes / (1 << 30));
    return text;
}

static void add_features(struct sm_table *table, const struct sm_doctor *d)
{
    char text[512];
    size_t used = 0, i;
    const json_t *features = json_object_get(d->machine, "features"), *word;
    text[0] = 0;
    json_array_foreach(features, i, word) if (used < sizeof text) used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", json_string_value(word));
    add(table, "instructions", text);
    snprintf(text, sizeof text, "%s (this CPU reaches %s; SLOTMARK_CPU lowers it)",
             sm_cpu_level_name(sm_cpu_features()), sm_machine_isa());
    add(table, "dispatch level", text);
}

static void add_clocks(struct sm_table *table, const struct sm_doctor *d)
{
    char text[256];
    if (isfinite(d->hz_most))
        snprintf(text, sizeof text,
                 "%.3f GHz by a chain of multiplies (lowest of 20 looks %.3f); governor %s, turbo %s", d->hz_most / 1e9,
                 d->hz_least / 1e9, known(d->machine, "governor"), known(d->machine, "turbo"));
    else
        snprintf(text, sizeof text, "unknown: no ruler for this architecture");
    add(table, "core clock", text);
    const double tsc = json_number_value(json_object_get(d->machine, "tsc_hz"));
    if (tsc > 0) {
        snprintf(text, sizeof text, "%.3f GHz: tsc_ticks, never called cycles", tsc / 1e9);
        add(table, "time-stamp counter", text);
    }
    snprintf(text, sizeof text, "%.0f ns a reading, %.0f ns steps: a sample needs at least %.0f us", d->timer.cost_ns,
             d->timer.resolution_ns, fmax(d->timer.cost_ns, d->timer.resolution_ns));
    add(table, "timer", text);
    snprintf(text, sizeof text, "%.2f on %d threads", d->load, sm_machine()->threads);
    add(table, "load", isfinite(d->load) ? text : "not visible here");
}

static void print_machine(const struct sm_doctor *d, bool markdown, FILE *out)
{
    const struct sm_machine *m = sm_machine();
    const struct sm_build *b = sm_build();
    struct sm_table table;
    char text[512], size[4][32];
    const char *const no_heading[] = {"", ""};
    sm_table_init(&table, 2, no_heading);
    snprintf(text, sizeof text, "%s (%s), %d cores, %d threads", known(d->machine, "cpu"), known(d->machine, "vendor"),
             m->cores, m->threads);
    add(&table, "cpu", text);
    snprintf(text, sizeof text, "%s, %s", known(d->machine, "kernel"),
             m->virtualised ? known(d->machine, "hypervisor") : "not a guest");
    if (m->virtualised) strncat(text, " guest", sizeof text - strlen(text) - 1);
    add(&table, "system", text);
    add_features(&table, d);
    snprintf(text, sizeof text, "L1d %s, L2 %s, L3 %s shared by %d threads", size_text(m->l1d_bytes, size[0], 32),
             size_text(m->l2_bytes, size[1], 32), size_text(m->l3_bytes, size[2], 32), m->l3_threads);
    add(&table, "caches (kernel)", text);
    const json_int_t nodes = json_integer_value(json_object_get(d->machine, "numa_nodes"));
    snprintf(text, sizeof text, "%s, huge pages: %s, NUMA: ", size_text(m->memory_bytes, size[3], 32),
             known(d->machine, "huge_pages"));
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, nodes > 0 ? "%lld node%s" : "not visible here", (long long)nodes,
             nodes == 1 ? "" : "s");
    add(&table, "memory", text);
    add_clocks(&table, d);
    snprintf(text, sizeof text, "slotmark %s%s, %s %s", b->version, b->dirty == 1 ? " with local changes" : "",
             b->compiler, b->flags);
    add(&table, "build", text);
    sm_table_print(&table, markdown, out);
    sm_table_free(&table);
}

/* "12.3 G": what the unit column calls B/s or multiply-adds/s; "" for no value. */
static const char *rate_text(const struct sm_ceiling *c, char *text, size_t bytes)
{
    *text = 0;
    if (c && !strcmp(c->unit, "multiply-adds/cycle"))
        snprintf(text, bytes, "%.1f", c->value);
    else if (c && c->value >= 999.5e9)
        snprintf(text, bytes, "%.2f T", c->value / 1e12);
    else if (c)
        snprintf(text, bytes, "%.1f G", c->value / 1e9);
    return text;
}

static void print_memory(const struct sm_doctor *d, const char *all, bool markdown, FILE *out)
{
    static const char *const levels[] = {"l1", "l2", "l3", "dram"};
    static const char *const kinds[] = {"read", "write", "copy", "update", "stream"};
    struct sm_table table;
    const char *const columns[] = {"B/s", "working set", "read", "write", "copy", "update", "stream"};
    sm_table_init(&table, 7, columns);
    for (int c = 1; c < 7; c++) table.right[c] = true;
    for (int team = 0; team < (d->all.count ? 2 : 1); team++)
        for (int l = 0; l < 4; l++) {
            const struct sm_ceilings *from = team ? &d->all : &d->one;
            char name[64], size[32], value[5][32];
            const char *row[7] = {name, size};
            snprintf(name, sizeof name, "%s, %s", levels[l], team ? all : "1 thread");
            size[0] = 0;
            for (int k = 0; k < 5; k++) {
                char key[32];
                snprintf(key, sizeof key, "%s_%s", levels[l], kinds[k]);
                const struct sm_ceiling *c = sm_ceiling_named(from, key);
                if (c) size_text(c->bytes, size, sizeof size);
                row[2 + k] = rate_text(c, value[k], sizeof value[k]);
            }
            sm_table_add(&table, row);
        }
    sm_table_print(&table, markdown, out);
    sm_table_free(&table);
}

static void print_arithmetic(const struct sm_doctor *d, const char *all, bool markdown, FILE *out)
{
    struct sm_table table;
    char title[64];
    snprintf(title, sizeof title, "a second, %s", all);
    const char *const columns[] = {"multiply-adds", "a cycle", "a second, 1 thread", d->all.count ? title : "", ""};
    sm_table_init(&table, 5, columns);
    for (int c = 1; c < 4; c++) table.right[c] = true;
    for (size_t i = 0; i < d->one.count; i++) {
        const struct sm_ceiling *c = &d->one.item[i];
        if (strcmp(c->unit, "multiply-adds/cycle") || c->why == sm_ceiling_lacks) continue;
        char rate[48], text[3][32];
        snprintf(rate, sizeof rate, "%s_rate", c->name);
        const char *const row[] = {c->name, rate_text(isfinite(c->value) ? c : NULL, text[0], 32),
                                   rate_text(sm_ceiling_named(&d->one, rate), text[1], 32),
                                   rate_text(sm_ceiling_named(&d->all, rate), text[2], 32), c->why};
        sm_table_add(&table, row);
    }
    sm_table_print(&table, markdown, out);
    sm_lacking_print(&d->one, "multiply-adds/cycle", out);
    sm_table_free(&table);
}

void sm_doctor_print(const struct sm_doctor *d, bool markdown, FILE *out)
{
    char advice[SM_DOCTOR_ADVICE][320], all[32];
    snprintf(all, sizeof all, "%d threads", d->all.threads);
    fputs(markdown ? "# slotmark doctor\n" : "slotmark doctor\n", out);
    heading("Machine", markdown, out);
    print_machine(d, markdown, out);
    heading("Counters, each judged by work of a known size", markdown, out);
    sm_doctor_counter_table(d, markdown, out);
    heading("Ceilings, measured just now", markdown, out);
    print_memory(d, all, markdown, out);
    fputc('\n', out);
    print_arithmetic(d, all, markdown, out);
    heading("What would help", markdown, out);
    const size_t count = sm_doctor_advice(d, advice);
    struct sm_table table;
    const char *const none[] = {"", ""};
    sm_table_init(&table, 2, none);
    for (size_t i = 0; i < count; i++)
        if (markdown)
            fprintf(out, "- %s\n", advice[i]);
        else
            add(&table, "-", advice[i]);
    if (!count) fputs("  nothing: this machine shows all there is to measure\n", out);
    sm_table_print(&table, false, out);
    sm_table_free(&table);
}

json_t *sm_doctor_text(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

static json_t *ceilings_json(const struct sm_ceilings *c)
{
    json_t *list = json_array();
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(list, json_pack("{s:s,s:o,s:s,s:i,s:I,s:o}", "name", c->item[i].name, "value",
                                              sm_record_number(c->item[i].value), "unit", c->item[i].unit, "threads",
                                              c->item[i].threads, "bytes", (json_int_t)c->item[i].bytes, "why",
                                              sm_doctor_text(c->item[i].why)));
    return list;
}

void sm_doctor_json(const struct sm_doctor *d, FILE *out)
{
    char advice[SM_DOCTOR_ADVICE][320];
    const size_t count = sm_doctor_advice(d, advice);
    json_t *sentences = json_array(), *ceilings = ceilings_json(&d->one), *all = ceilings_json(&d->all);
    for (size_t i = 0; i < count; i++) json_array_append_new(sentences, json_string(advice[i]));
    json_array_extend(ceilings, all);
    json_decref(all);
    json_t *page =
        json_pack("{s:O,s:s,s:o,s:o,s:o,s:o,s:o,s:s,s:o,s:o,s:o}", "machine", d->machine, "version",
                  sm_build()->version, "timer_cost_ns", sm_record_number(d->timer.cost_ns), "timer_resolution_ns",
                  sm_record_number(d->timer.resolution_ns), "core_hz_least", sm_record_number(d->hz_least),
                  "core_hz_most", sm_record_number(d->hz_most), "load_average", sm_record_number(d->load), "papi",
                  d->papi, "counters", sm_doctor_counter_list(d), "ceilings", ceilings, "advice", sentences);
    json_dumpf(page, out, JSON_INDENT(1));
    fputc('\n', out);
    json_decref(page);
}
