/* machine.h - what is known about the machine, each fact null where this guest does not show it. */
#ifndef SM_MACHINE_H
#define SM_MACHINE_H

#include <jansson.h>

/* The "machine" object of a record, a new reference; gathered once. */
json_t *sm_machine_json(void);

#endif
