/* What was measured, on what, when, by which build and with which commands. */
#include <math.h>
#include <string.h>

#include "html.h"
#include "report_page.h"

typedef void describe_fn(const struct sm_result *r, char *text, size_t bytes);

static void machine(const struct sm_result *r, char *text, size_t bytes)
{
    const json_t *m = sm_json_part(r->json, "machine");
    const double cores = sm_json_number(m, "cores"), memory = sm_json_number(m, "memory_bytes");
    const char *cpu = sm_json_text(m, "cpu"), *isa = sm_json_text(m, "isa"), *kernel = sm_json_text(m, "kernel"),
               *hypervisor = sm_json_text(m, "hypervisor");
    char count[32] = "", size[32] = "";
    if (cores >= 1 && cores < 1e6) snprintf(count, sizeof count, ", %.0f core%s", cores, cores > 1 ? "s" : "");
    if (memory > 0 && memory < 1e18) snprintf(size, sizeof size, ", %.1f GiB", memory / (1 << 30));
    snprintf(text, bytes, "%.100s%s%s%.20s%s%s%.60s%s%.40s", *cpu ? cpu : "unknown machine", count, *isa ? ", " : "",
             isa, size, *kernel ? ", " : "", kernel, *hypervisor ? ", guest of " : "", hypervisor);
}

static void build(const struct sm_result *r, char *text, size_t bytes)
{
    const json_t *b = sm_json_part(r->json, "build");
    const char *version = sm_json_text(b, "version"), *commit = sm_json_text(b, "commit"),
               *compiler = sm_json_text(b, "compiler"), *flags = sm_json_text(b, "flags"),
               *type = sm_json_text(b, "type");
    *text = 0;
    if (!b) return;
    snprintf(text, bytes, "slotmark %.40s%s%.12s%s%s%.60s%s%.120s%s%.30s", version, *commit ? ", commit " : "", commit,
             json_is_true(json_object_get(b, "dirty")) ? " and changes that no commit holds" : "",
             *compiler ? ", " : "", compiler, *flags ? " " : "", flags, *type ? ", " : "", type);
}

static void model(const struct sm_result *r, char *text, size_t bytes)
{
    const json_t *m = sm_json_part(r->json, "model");
    const char *arch = sm_json_text(m, "arch"), *formats = sm_json_text(m, "formats");
    const double parameters = sm_json_number(m, "parameters");
    char name[64], size[40] = "";
    *text = 0;
    if (!m) return;
    sm_result_model(r, name, sizeof name);
    if (parameters > 0 && parameters < 1e15) snprintf(size, sizeof size, ", %.4g million parameters", parameters / 1e6);
    snprintf(text, bytes, "%s%s%.40s%s%s%.100s%s", name, *arch ? ", " : "", arch, size, *formats ? ", " : "", formats,
             json_is_true(json_object_get(m, "synthetic"))
                 ? ", synthetic weights: its speed is meaningful, its answers are not"
                 : "");
}

/* One entry for each description there is. */
static int facts(const struct sm_report *report, FILE *to, const char *term, describe_fn *describe)
{
    json_t *tally = json_object();
    char text[600];
    int failed = tally ? 0 : -1;
    for (size_t i = 0; !failed && i < report->all.count; i++) {
        char tidy[600];
        describe(&report->all.at[i], text, sizeof text);
        sm_text_tidy(tidy, sizeof tidy, text);
        if (*tidy) failed = sm_tally(tally, tidy);
    }
    const char *key;
    json_t *value;
    size_t n = 0;
    if (json_object_size(tally)) sm_html(to, "<div><dt>%s</dt>", term);
    json_object_foreach(tally, key, value)
    {
        if (n++ < 12) sm_html(to, "<dd>%s</dd>", key);
    }
    if (n > 12) sm_html(to, "<dd>and %z more</dd>", n - 12);
    if (n) fputs("</div>\n", to);
    json_decref(tally);
    return failed;
}

static size_t with_status(const struct sm_results *all, const char *status)
{
    size_t n = 0;
    for (size_t i = 0; i < all->count; i++) n += !strcmp(sm_result_text(&all->at[i], "status"), status);
    return n;
}

static void when(const struct sm_results *all, FILE *to)
{
    const char *first = "", *last = "";
    for (size_t i = 0; i < all->count; i++) {
        const char *started = sm_result_text(&all->at[i], "started");
        if (!*started) continue;
        if (!*first || strcmp(started, first) < 0) first = started;
        if (strcmp(started, last) > 0) last = started;
    }
    if (*first)
        sm_html(to, "<div><dt>When (UTC)</dt><dd>%s%s%s</dd></div>\n", first, strcmp(first, last) ? " to " : "",
                strcmp(first, last) ? last : "");
}

int sm_report_about(const struct sm_report *report, FILE *to)
{
    const struct sm_results *all = &report->all;
    const size_t right = with_status(all, "ok"), wrong = with_status(all, "error"),
                 skipped = with_status(all, "skipped");
    fputs("<dl class=\"facts\">\n", to);
    sm_html(to, "<div><dt>Cases</dt><dd>%z records in %z file%s: %z measured, %z failed, %z skipped%s</dd></div>\n",
            all->count, all->files, all->files == 1 ? "" : "s", right, wrong, skipped,
            right + wrong + skipped < all->count ? ", others of no known status" : "");
    int failed = facts(report, to, "Machine", machine);
    when(all, to);
    failed |= facts(report, to, "Build", build) | facts(report, to, "Model", model);
    fputs("</dl>\n", to);
    return failed;
}

int sm_report_commands(const struct sm_report *report, FILE *to)
{
    json_t *tally = json_object();
    int failed = tally ? 0 : -1;
    for (size_t i = 0; !failed && i < report->all.count; i++) {
        const char *command = sm_result_text(&report->all.at[i], "command");
        if (*command) failed = sm_tally(tally, command);
    }
    const char *key;
    json_t *value;
    size_t n = 0;
    if (!json_object_size(tally)) fputs("<p>The records do not say which commands made them.</p>\n", to);
    json_object_foreach(tally, key, value)
    {
        if (n++ >= 50) continue;
        sm_html(to, "<pre tabindex=\"0\"><code>%s</code></pre>\n<p class=\"foot\">made %z of the records</p>\n", key,
                (size_t)json_integer_value(value));
    }
    if (n > 50) sm_html(to, "<p>And %z more commands: see the records.</p>\n", n - 50);
    json_decref(tally);
    return failed;
}
