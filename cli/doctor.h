/* doctor.h - what slotmark doctor found, between the examination and the page. */
#ifndef SM_DOCTOR_H
#define SM_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "ceilings.h"
#include "clock.h"
#include "counters.h"
#include "machine.h"

enum { SM_DOCTOR_ADVICE = 16 };

struct sm_doctor {
    json_t *machine;
    struct sm_timer timer;
    double hz_least, hz_most; /* of the core, over a few looks; NAN: unknown */
    double load;              /* average of the last minute */
    char papi[200];
    size_t group_count;
    struct sm_counters *groups[SM_COUNTER_GROUPS_MOST];
    char group_why[512];         /* of a group that cannot be used; empty: none */
    struct sm_ceilings one, all; /* all.count 0: there is one thread only */
};

/* What would help: sentences, at most SM_DOCTOR_ADVICE. Returns how many. */
size_t sm_doctor_advice(const struct sm_doctor *d, char advice[][320]);

void sm_doctor_print(const struct sm_doctor *d, bool markdown, FILE *out);
void sm_doctor_json(const struct sm_doctor *d, FILE *out);

/* A text of JSON; null where there is none, or an empty one. A new reference. */
json_t *sm_doctor_text(const char *text);

/* Counters and groups: what the machine's page has of them, and a page of their own. */
void sm_doctor_counter_table(const struct sm_doctor *d, bool markdown, FILE *out);
json_t *sm_doctor_counter_list(const struct sm_doctor *d);
void sm_doctor_counters_print(const struct sm_doctor *d, bool markdown, FILE *out);
void sm_doctor_counters_json(const struct sm_doctor *d, FILE *out);

#endif
