/* What could not be measured, and why: counters by state, cases that failed or were skipped, lines that are no record.
 */
#include <string.h>

#include "html.h"
#include "report_page.h"

static int counters(const struct sm_results *all, FILE *to)
{
    json_t *tally = json_object();
    int failed = tally ? 0 : -1;
    for (size_t i = 0; !failed && i < all->count; i++) {
        const json_t *list = sm_json_part(all->at[i].json, "counters");
        size_t c;
        json_t *counter;
        json_array_foreach(list, c, counter)
        {
            char key[700], part[4][200];
            const char *state = sm_json_text(counter, "state");
            if (!*state || !strcmp(state, "usable") || !strcmp(state, "multiplexed")) continue;
            sm_text_tidy(part[0], sizeof part[0], sm_json_text(counter, "name")); /* no tab but ours below */
            sm_text_tidy(part[1], sizeof part[1], state);
            sm_text_tidy(part[2], sizeof part[2], sm_json_text(counter, "why"));
            sm_text_tidy(part[3], sizeof part[3], sm_json_text(counter, "provider"));
            snprintf(key, sizeof key, "%.80s\t%.40s\t%.200s\t%.100s", part[0], part[1], part[2], part[3]);
            failed |= sm_tally(tally, key);
        }
    }
    const char *key;
    json_t *value;
    size_t rows = 0;
    if (json_object_size(tally))
        sm_html_table(to, "Counters that were not read", "counter|state|why|provider|#records");
    json_object_foreach(tally, key, value)
    {
        if (rows++ >= SM_REPORT_ROWS) continue;
        fputs("<tr>", to);
        for (const char *at = key; at;) {
            char part[400];
            const size_t length = strcspn(at, "\t");
            snprintf(part, sizeof part, "%.*s", (int)length, at);
            sm_html(to, "<td>%s</td>", part);
            at = at[length] ? at + length + 1 : NULL;
        }
        sm_html(to, "<td class=\"n\">%z</td></tr>\n", (size_t)json_integer_value(value));
    }
    if (rows) sm_html_table_end(to);
    if (rows > SM_REPORT_ROWS) sm_html(to, "<p>And %z more.</p>\n", rows - SM_REPORT_ROWS);
    json_decref(tally);
    return failed;
}

/* Cases that have no time, with the sentence that says why. */
static void untimed(const struct sm_results *all, FILE *to)
{
    size_t rows = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct sm_result *r = &all->at[i];
        const char *status = sm_result_text(r, "status"), *why = sm_result_text(r, "why");
        if (!strcmp(status, "ok")) continue;
        if (rows == 0) sm_html_table(to, "Cases that failed, were refused or skipped", "case|status|why");
        if (rows++ >= SM_REPORT_ROWS) continue;
        sm_html(to, "<tr><td class=\"w\"><a href=\"#filter=%u\">%s</a></td><td>%s</td><td class=\"w\">%s</td></tr>\n",
                sm_result_text(r, "case"), sm_result_text(r, "case"), *status ? status : "unknown",
                *why ? why : "the record does not say");
    }
    if (rows) sm_html_table_end(to);
    if (rows > SM_REPORT_ROWS)
        sm_html(to,
                "<p>And %z more: <a href=\"#filter=error\">failed</a>, <a href=\"#filter=skipped\">skipped</a>.</p>\n",
                rows - SM_REPORT_ROWS);
}

int sm_report_gaps(const struct sm_report *report, FILE *to)
{
    const struct sm_results *all = &report->all;
    size_t timeless = 0, no_ceiling = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct sm_result *r = &all->at[i];
        if (strcmp(sm_result_text(r, "status"), "ok")) continue;
        const char *kind = sm_result_text(r, "kind");
        timeless += (!strcmp(kind, "bench") || !strcmp(kind, "profile")) && !r->samples;
        no_ceiling += !strcmp(kind, "bench") && !*sm_result_text(r, "binding_ceiling");
    }
    fputs("<ul>\n", to);
    if (all->bad_lines)
        sm_html(to, "<li>%z of %z lines are no records and were left out. The first: <code>%s</code></li>\n",
                all->bad_lines, all->lines, all->first_bad);
    if (report->settled.other_machines)
        sm_html(to,
                "<li>%z records of other machines are in the table of cases, and not in the figures and headline "
                "numbers.</li>\n",
                report->settled.other_machines);
    if (timeless) sm_html(to, "<li>%z cases are said to be right and hold no time.</li>\n", timeless);
    if (no_ceiling)
        sm_html(to, "<li>%z timed kernels have no ceiling to be compared with: their share is left blank.</li>\n",
                no_ceiling);
    fputs("<li>A blank cell is a value that is not known. It is never a zero.</li>\n</ul>\n", to);
    const int failed = counters(all, to);
    untimed(all, to);
    return failed;
}
