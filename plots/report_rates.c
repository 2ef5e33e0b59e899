/* What a record says in tokens per second and as a share of its ceiling. */
#include <math.h>
#include <string.h>

#include "report_page.h"

double sm_result_tokens_per_s(const struct sm_result *r, double *padded)
{
    double real, computed;
    *padded = NAN;
    if (strcmp(sm_result_text(r, "kind"), "profile") || strcmp(sm_result_text(r, "status"), "ok")) return NAN;
    sm_result_tokens(r, &real, &computed);
    if (!(r->median > 0) || !(real > 0)) return NAN;
    *padded = computed * 1e9 / r->median;
    return real * 1e9 / r->median;
}

double sm_result_share(const struct sm_result *r)
{
    if (strcmp(sm_result_text(r, "status"), "ok")) return NAN;
    const json_t *limit = sm_json_part(sm_json_part(r->json, "ceilings"), sm_result_text(r, "binding_ceiling"));
    const double value = sm_json_number(limit, "value");
    const char *unit = sm_json_text(limit, "unit");
    if (!(value > 0) || !(r->median > 0)) return NAN;
    if (!strcmp(unit, "B/s")) return sm_result_number(r, "bytes") / (r->median * 1e-9) / value;
    const double cycles = r->median * 1e-9 * sm_result_core_hz(r) * sm_result_number(r, "threads");
    return cycles > 0 ? sm_result_number(r, "ops") / cycles / value : NAN;
}

int sm_tally(json_t *tally, const char *text)
{
    const json_int_t n = json_integer_value(json_object_get(tally, text));
    return json_object_set_new_nocheck(tally, text, json_integer(n + 1));
}
