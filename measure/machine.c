#include "machine.h"

json_t *sm_machine_json(void)
{
    return json_object();
}
