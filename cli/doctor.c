/* slotmark doctor: what this machine is, what can be measured on it, and what would make results better. */
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "doctor.h"
#include "output.h"
#include "progress.h"

static int is_group(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name);
    return n > 6 && !strcmp(entry->d_name + n - 6, ".group");
}

static void probe_counters(struct sm_doctor *d)
{
    struct dirent **entries = NULL;
    const int count = scandir(sm_counter_folder(), &entries, is_group, alphasort);
    if (count < 0) snprintf(d->group_why, sizeof d->group_why, "cannot read the folder '%s'", sm_counter_folder());
    for (int i = 0; i < count; i++) {
        char path[1024];
        struct sm_counter_group group;
        snprintf(path, sizeof path, "%s/%s", sm_counter_folder(), entries[i]->d_name);
        if (sm_counter_group_load(path, &group, d->group_why, sizeof d->group_why) == 0 &&
            d->group_count < SM_DOCTOR_GROUPS) {
            d->group_names[d->group_count] = strdup(group.name);
            d->groups[d->group_count] = sm_counters_create(&group, 0);
            if (d->groups[d->group_count] && d->group_names[d->group_count]) d->group_count++;
        }
        free(entries[i]);
    }
    free(entries);
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
    probe_counters(d);
    sm_progress_show(&p, 0.5, "ceilings of one thread");
    int failed = sm_ceilings_measure(&d->one, 1, SM_CEILINGS_QUICK, why, why_bytes);
    sm_progress_show(&p, 0.5 + ceilings_s, "ceilings of all threads");
    if (!failed && threads > 1) failed = sm_ceilings_measure(&d->all, threads, SM_CEILINGS_QUICK, why, why_bytes);
    sm_progress_clear(&p);
    return failed;
}

static void forget(struct sm_doctor *d)
{
    for (size_t i = 0; i < d->group_count; i++) {
        sm_counters_destroy(d->groups[i]);
        free(d->group_names[i]);
    }
    json_decref(d->machine);
}

int doctor_main(int argc, char **argv)
{
    static struct sm_doctor d;
    static const struct sm_output_command command = {
        .name = "doctor",
        .summary = "Examines this machine: facts, clocks, which counters really count, the ceilings of memory and "
                   "arithmetic, and what would make results better. Takes a few seconds; run it on an idle machine.",
        .example = "slotmark doctor -o md > doctor.md",
    };
    char why[512];
    int output, code = 0;
    if (!sm_output_parse(&command, argc, argv, &output, &code)) return code;
    if (examine(&d, stderr, why, sizeof why)) {
        fprintf(stderr, "slotmark doctor: %s\n", why);
        code = 2;
    } else if (output == SM_OUTPUT_JSON) {
        sm_doctor_json(&d, stdout);
    } else {
        sm_doctor_print(&d, output == SM_OUTPUT_MARKDOWN, stdout);
    }
    forget(&d);
    return code;
}
