/* Forms for programs: JSON and JUnit's XML. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "machine.h"
#include "record.h"
#include "report.h"

#define SCHEMA_VERSION 1

static json_t *numbers(const double *x, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, sm_record_number(x[i]));
    return list;
}

static json_t *arm_json(const struct sm_arm *a)
{
    return json_pack("{s:s, s:s, s:s?, s:s?}", "spec", a->spec, "identity", a->identity, "variant",
                     a->variant[0] ? a->variant : NULL, "built", a->built[0] ? a->built : NULL);
}

static json_t *comparison_json(const struct sm_comparison *c)
{
    const struct sm_report_row row = sm_report_row(c);
    json_t *j = json_pack("{s:s, s:s, s:b, s:s, s:s?, s:I, s:I}", "id", c->id, "family", c->family, "control",
                          c->control, "verdict", sm_verdict_word(c->verdict), "reason", c->reason[0] ? c->reason : NULL,
                          "launches", (json_int_t)c->launches, "dropped", (json_int_t)c->dropped);
    if (!j) return NULL;
    json_object_set_new(j, "a_ns", sm_record_number(row.ns[0]));
    json_object_set_new(j, "b_ns", sm_record_number(row.ns[1]));
    json_object_set_new(j, "change_percent", sm_record_number(row.change));
    json_object_set_new(j, "low_percent", sm_record_number(row.low));
    json_object_set_new(j, "high_percent", sm_record_number(row.high));
    const bool rates = c->tokens > 0;
    json_object_set_new(j, "a_tokens_s", sm_record_number(rates ? 1e9 * c->tokens / row.ns[0] : NAN));
    json_object_set_new(j, "b_tokens_s", sm_record_number(rates ? 1e9 * c->tokens / row.ns[1] : NAN));
    const bool counted = c->instructions[0] > 0 && c->instructions[1] > 0;
    json_object_set_new(j, "a_instructions", sm_record_number(counted ? c->instructions[0] : NAN));
    json_object_set_new(j, "b_instructions", sm_record_number(counted ? c->instructions[1] : NAN));
    json_object_set_new(j, "uncounted", c->uncounted[0] ? json_string(c->uncounted) : json_null());
    json_object_set_new(j, "level", sm_record_number(c->looks ? c->estimate.level : NAN));
    json_object_set_new(j, "p", sm_record_number(c->looks ? c->p_overall : NAN));
    json_object_set_new(j, "detectable_percent", sm_record_number(c->launches ? 100 * c->detectable : NAN));
    json_object_set_new(j, "layout", json_string(c->randomised ? "placed anew for each launch" : "as built"));
    json_object_set_new(j, "as_built_percent", sm_record_number(c->randomised ? 100 * expm1(c->as_built.effect) : NAN));
    json_object_set_new(j, "as_built_log_ratios", numbers(c->as_built_d, c->as_built_launches));
    json_object_set_new(j, "log_ratios", numbers(c->d, c->launches));
    json_object_set_new(j, "a_launch_ns", numbers(c->ns[0], c->launches));
    json_object_set_new(j, "b_launch_ns", numbers(c->ns[1], c->launches));
    return j;
}

int sm_report_json(const struct sm_report *r, FILE *out)
{
    const struct sm_rounds_options *o = r->options;
    const struct sm_rounds_result *s = r->result;
    char end[200];
    sm_report_end(r, end, sizeof end);
    json_t *list = json_array();
    for (size_t i = 0; i < r->pairing->count; i++) json_array_append_new(list, comparison_json(&r->pairing->list[i]));
    json_t *j = json_pack(
        "{s:s, s:i, s:s, s:s, s:i, s:o, s:o, s:o, s:{s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I}, s:{s:o, s:o, s:I, s:I, "
        "s:b, s:b, s:b, s:f, s:I}, s:o}",
        "schema", "slotmark-compare", "version", SCHEMA_VERSION, "command", r->command, "end", end, "exit",
        sm_report_exit(r), "machine", sm_machine_json(), "a", arm_json(&r->arm[0]), "b", arm_json(&r->arm[1]),
        "options", "tolerance", o->tolerance, "floor", o->floor, "alpha", o->alpha, "false_discovery_rate",
        o->discovery, "slice_s", o->slice_s, "pairs", (json_int_t)o->pairs, "threads", (json_int_t)o->threads, "seed",
        (json_int_t)o->seed, "session", "floor", sm_record_number(s->floor), "control_worst",
        sm_record_number(s->control_worst), "controls", (json_int_t)s->controls, "launches", (json_int_t)s->launches,
        "noisy", s->noisy, "out_of_time", s->out_of_time, "interrupted", s->interrupted, "seconds", s->seconds,
        "measured", (json_int_t)s->measured, "comparisons", list);
    if (!j) return -1;
    json_object_set_new(j, "note", r->note && *r->note ? json_string(r->note) : json_null());
    const int bad = json_dumpf(j, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) || fputc('\n', out) < 0;
    json_decref(j);
    return bad ? -1 : 0;
}

static void xml_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '<' || c == '>' || c == '&' || c == '"')
            fprintf(out, "&#%d;", c);
        else
            fputc(c < ' ' ? ' ' : c, out);
    }
}

/* One test case a kernel: failed ones and proved regressions are failures, what is not comparable is skipped. */
void sm_report_junit(const struct sm_report *r, FILE *out)
{
    const size_t failures = sm_report_count(r, SM_VERDICT_FAILED) + sm_report_count(r, SM_VERDICT_SLOWER);
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"slotmark %s\" tests=\"%zu\" "
            "failures=\"%zu\" time=\"%.1f\">\n",
            r->command, sm_report_compared(r), failures, r->result->seconds);
    for (size_t i = 0; i < r->pairing->count; i++) {
        const struct sm_comparison *c = &r->pairing->list[i];
        const struct sm_report_row row = sm_report_row(c);
        if (c->control) continue;
        fprintf(out, "  <testcase classname=\"%s\" name=\"", c->family);
        xml_text(out, c->id);
        fprintf(out, "\">");
        if (c->verdict == SM_VERDICT_SLOWER)
            fprintf(out, "<failure message=\"slower: %+.2f %% [%+.2f, %+.2f]\"/>", row.change, row.low, row.high);
        if (c->verdict == SM_VERDICT_FAILED) {
            fprintf(out, "<failure message=\"");
            xml_text(out, c->reason);
            fprintf(out, "\"/>");
        }
        if (c->verdict == SM_VERDICT_REFUSED || c->verdict == SM_VERDICT_INCONCLUSIVE)
            fprintf(out, "<skipped message=\"%s\"/>", sm_verdict_word(c->verdict));
        fprintf(out, "<system-out>%s</system-out></testcase>\n",
                c->verdict == SM_VERDICT_SLOWER_WITHIN   ? "slower, within the tolerance"
                : c->verdict == SM_VERDICT_FASTER_WITHIN ? "faster, within the tolerance"
                                                         : sm_verdict_word(c->verdict));
    }
    fprintf(out, "</testsuite>\n");
}
