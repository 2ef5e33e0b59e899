/* The page as a whole: head, policy, sections in order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sha2.h>

#include "html.h"
#include "report_page.h"

static void base64(const uint8_t *bytes, size_t n, char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const uint32_t three =
            (uint32_t)bytes[i] << 16 | (i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0) | (i + 2 < n ? bytes[i + 2] : 0);
        for (int d = 0; d < 4; d++) *text++ = digits[three >> (18 - 6 * d) & 63];
        if (i + 1 >= n) text[-2] = '=';
        if (i + 2 >= n) text[-1] = '=';
    }
    *text = 0;
}

/* Nothing is loaded from anywhere, and of scripts only ours runs. */
static void policy(const struct sm_report *report, FILE *to)
{
    SHA2_CTX context;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    char text[2 * SHA256_DIGEST_LENGTH];
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)report->script, strlen(report->script));
    SHA256Final(digest, &context);
    base64(digest, sizeof digest, text);
    fprintf(to,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            "img-src data:; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'\">\n",
            text);
}

static const struct {
    const char *id, *title;
} sections[] = {{"numbers", "Headline numbers"},   {"figures", "Figures"},      {"cases", "All cases"},
                {"gaps", "Not measured, and why"}, {"next", "What to do next"}, {"commands", "To measure it again"}};

static void begin(FILE *to, size_t i)
{
    fprintf(to, "<section id=\"%s\" aria-labelledby=\"%s-heading\">\n<h2 id=\"%s-heading\">%s</h2>\n", sections[i].id,
            sections[i].id, sections[i].id, sections[i].title);
}

static void end(FILE *to)
{
    fputs("</section>\n", to);
}

static void head(const struct sm_report *report, FILE *to)
{
    fputs(SM_REPORT_MARK "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", to);
    policy(report, to);
    sm_html(to,
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
            "<title>slotmark report</title>\n<style>\n%r</style>\n</head>\n<body>\n"
            "<a class=\"skip\" href=\"#numbers\">Skip to the numbers</a>\n<header>\n<h1>slotmark report</h1>\n"
            "<p>What static shapes cost in LLM inference on this machine.</p>\n",
            report->style);
}

static void navigation(FILE *to)
{
    fputs("</header>\n<nav aria-label=\"Sections\"><ul>\n", to);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        fprintf(to, "<li><a href=\"#%s\">%s</a></li>\n", sections[i].id, sections[i].title);
    fputs("</ul></nav>\n<main>\n", to);
}

static void case_table(FILE *to)
{
    static const struct {
        const char *key, *label;
        int numeric;
    } columns[] = {{"case", "case", 0},          {"kind", "kind", 0},         {"status", "status", 0},
                   {"median", "median", 1},      {"spread", "&plusmn; %", 1}, {"rate", "tokens/s", 1},
                   {"share", "% of ceiling", 1}, {"threads", "threads", 1},   {"started", "started", 0}};
    fputs("<noscript><p class=\"notice\">The table of all cases needs JavaScript; everything else on this page does "
          "not.</p></noscript>\n"
          "<div id=\"browser\" hidden>\n<form id=\"controls\" role=\"search\"><label for=\"filter\">Filter: words that "
          "must all occur, such as <em>attention i8 error</em></label>\n"
          "<input id=\"filter\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\"></form>\n"
          "<p id=\"count\" role=\"status\"></p>\n"
          "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"All cases\">\n<table id=\"table\">\n"
          "<caption><span>Every record. The button of a case shows the whole of it; the buttons of the columns "
          "sort.</span>"
          "</caption>\n<thead><tr>",
          to);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        fprintf(to, "<th scope=\"col\"%s data-key=\"%s\"><button type=\"button\">%s</button></th>",
                columns[i].numeric ? " class=\"n\"" : "", columns[i].key, columns[i].label);
    fputs("</tr></thead>\n<tbody id=\"rows\"></tbody>\n</table>\n</div>\n"
          "<p class=\"pages\"><button type=\"button\" id=\"previous\">Previous</button>\n"
          "<button type=\"button\" id=\"following\">Next</button></p>\n</div>\n",
          to);
}

int sm_report_page(const struct sm_report *report, FILE *to)
{
    int failed = 0;
    head(report, to);
    failed |= sm_report_about(report, to);
    navigation(to);
    begin(to, 0);
    failed |= sm_report_models(report, to) | sm_report_kernels(report, to);
    sm_report_quality(report, to);
    end(to);
    begin(to, 1);
    failed |= sm_report_figures(report, to);
    end(to);
    begin(to, 2);
    case_table(to);
    end(to);
    begin(to, 3);
    failed |= sm_report_gaps(report, to);
    end(to);
    begin(to, 4);
    failed |= sm_report_advice(report, to);
    end(to);
    begin(to, 5);
    failed |= sm_report_commands(report, to);
    end(to);
    fputs("</main>\n<script type=\"application/json\" id=\"data\">", to);
    failed |= sm_report_data(report, to);
    fprintf(to, "</script>\n<script>%s</script>\n</body>\n</html>\n", report->script);
    return failed ? -1 : 0;
}
