/* slotmark doctor: what this machine is, what can be measured on it, and what would make results better. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "doctor.h"
#include "output.h"
#include "progress.h"

/* The groups that are asked for, or all of the counters' folder; what cannot be used is told, the rest goes on. */
static void probe_counters(struct sm_doctor *d, char *const *names, size_t count)
{
    static char all[] = "all";
    static struct sm_counter_group groups[SM_COUNTER_GROUPS_MOST];
    size_t found = 0;
    for (size_t i = 0; i < (count ? count : 1); i++)
        sm_counter_groups_add(count ? names[i] : all, groups, SM_COUNTER_GROUPS_MOST, &found, d->group_why,
                              sizeof d->group_why);
    for (size_t i = 0; i < found; i++)
        if ((d->groups[d->group_count] = sm_counters_create(&groups[i], 0))) d->group_count++;
    sm_counters_papi(d->papi, sizeof d->papi);
}

static void look_at_clocks(struct sm_doctor *d)
{
    enum { LOOKS = 20 };
    d->timer = sm_clock_timer();
    d->hz_least = INFINITY;
    d->hz_most = 0;
    for (int i = 0; i < LOOKS; i++) {
        const double hz = sm_core_hz();
        d->hz_least = fmin(d->hz_least, hz);
        d->hz_most = fmax(d->hz_most, hz);
    }
    if (getloadavg(&d->load, 1) != 1) d->load = NAN;
}

static int examine(struct sm_doctor *d, FILE *progress_out, char *why, size_t why_bytes)
{
    struct sm_progress p;
    const int threads = sm_machine()->threads > 1 ? sm_machine()->threads : 1;
    const double ceilings_s = 2;
    sm_progress_begin(&p, progress_out, 0.5 + 2 * ceilings_s);
    sm_progress_show(&p, 0, "clocks");
    d->machine = sm_machine_json();
    look_at_clocks(d);
    sm_progress_show(&p, 0.1, "counters: each is given work of a known size");
    probe_counters(d, NULL, 0);
    sm_progress_show(&p, 0.5, "ceilings of one thread");
    int failed = sm_ceilings_measure(&d->one, 1, SM_CEILINGS_QUICK, why, why_bytes);
    sm_progress_show(&p, 0.5 + ceilings_s, "ceilings of all threads");
    if (!failed && threads > 1) failed = sm_ceilings_measure(&d->all, threads, SM_CEILINGS_QUICK, why, why_bytes);
    sm_progress_clear(&p);
    return failed;
}

static void forget(struct sm_doctor *d)
{
    for (size_t i = 0; i < d->group_count; i++) sm_counters_destroy(d->groups[i]);
    json_decref(d->machine);
}

/* --counters: nothing else. A group that was named and cannot be used is a mistake. */
static int counters_alone(struct sm_doctor *d, const struct sm_output *output)
{
    probe_counters(d, output->rest.operands, output->rest.operand_count);
    if (*d->group_why) fprintf(stderr, "slotmark doctor: %s\n", d->group_why);
    if (!d->group_count) return 2;
    if (output->format == SM_OUTPUT_JSON)
        sm_doctor_counters_json(d, stdout);
    else
        sm_doctor_counters_print(d, output->format == SM_OUTPUT_MARKDOWN, stdout);
    return *d->group_why ? 2 : 0;
}

int doctor_main(int argc, char **argv)
{
    static struct sm_doctor d;
    static const struct sm_output_command command = {
        .name = "doctor",
        .usage = "[OPTION]... [--counters [FILE.group | FOLDER]...]",
        .summary = "Examines this machine: facts, clocks, which counters really count, the ceilings of memory and\n"
                   "arithmetic, and what would make results better. Takes a few seconds; run it on an idle machine.",
        .example = "slotmark doctor -o md > doctor.md",
        .flag = "counters",
        .flag_help = "counters and groups alone: each one's state, why, and what would change it",
        .takes_time = true,
        .operands_most = SM_COUNTER_GROUPS_MOST,
    };
    char why[512];
    struct sm_output output;
    int code = 0;
    if (!sm_output_parse(&command, argc, argv, &output, &code)) return code;
    if (output.flag) {
        code = counters_alone(&d, &output);
    } else if (output.rest.operand_count) {
        fprintf(stderr, "slotmark doctor: '%s' is not expected (a group of counters goes with --counters)\n",
                output.rest.operands[0]);
        code = 2;
    } else if (examine(&d, output.quiet ? NULL : stderr, why, sizeof why)) {
        fprintf(stderr, "slotmark doctor: %s\n", why);
        code = 2;
    } else if (output.format == SM_OUTPUT_JSON) {
        sm_doctor_json(&d, stdout);
    } else {
        sm_doctor_print(&d, output.format == SM_OUTPUT_MARKDOWN, stdout);
    }
    forget(&d);
    return code;
}
