#include "report_page.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "templates.h"

struct options {
    const char *out, *templates;
    int force;
};

static void usage(FILE *to)
{
    fputs("usage: slotmark report [options] RESULTS...\n"
          "\n"
          "Writes one HTML page from result files (.jsonl, or folders that hold them): what was measured on what,\n"
          "the numbers that matter, figures with their tables, every case to filter and sort, what could not be\n"
          "measured and why, and what to do next. It opens from a file, without network, in any browser.\n"
          "\n"
          "  -o, --out FILE    where to (default: report.html beside the first result file)\n"
          "  --force           write over an earlier report; any other file is left alone\n"
          "  --templates DIR   gnuplot templates, report.css and report.js of your own: copy and change plots/*\n"
          "  --help            this text\n"
          "\n"
          "Links into the page: report.html#filter=attention%20i8&sort=median shows these cases, in this order.\n"
          "\n"
          "example: slotmark report results/latest && xdg-open results/latest/report.html\n",
          to);
}

static int fail(const char *sentence)
{
    fprintf(stderr, "slotmark report: %s\n", sentence);
    return 2;
}

/* -1: go on; else the exit code. */
static int parse(struct options *o, int argc, char **argv)
{
    static const struct option longs[] = {{"out", required_argument, NULL, 'o'},
                                          {"force", no_argument, NULL, 'f'},
                                          {"templates", required_argument, NULL, 't'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    char sentence[256];
    opterr = 0;
    optind = 0; /* glibc: start anew, whoever parsed before */
    for (int c; (c = getopt_long(argc, argv, ":ho:", longs, NULL)) != -1;) switch (c) {
        case 'o': o->out = optarg; break;
        case 'f': o->force = 1; break;
        case 't': o->templates = optarg; break;
        case 'h': usage(stdout); return 0;
        default:
            snprintf(sentence, sizeof sentence, "option '%.60s' %s: see slotmark report --help", argv[optind - 1],
                     c == ':' ? "needs a value" : "is unknown, ambiguous or takes no value");
            return fail(sentence);
        }
    if (optind == argc) return fail("no result file given: see slotmark report --help");
    return -1;
}

/* report.html beside the first result file or in the first folder, where nothing else was asked for. */
static int choose(const struct options *o, const char *first, char path[PATH_MAX])
{
    struct stat info;
    int n;
    if (o->out)
        n = snprintf(path, PATH_MAX, "%s", o->out);
    else if (!stat(first, &info) && S_ISDIR(info.st_mode))
        n = snprintf(path, PATH_MAX, "%s/report.html", first);
    else {
        const char *slash = strrchr(first, '/');
        n = snprintf(path, PATH_MAX, "%.*sreport.html", slash ? (int)(slash + 1 - first) : 0, first);
    }
    return n < 0 || n >= PATH_MAX ? -1 : 0;
}

/* Whether the page may be written: there is no such file, or --force and it is a report. */
static int permitted(const struct options *o, const char *path, char *why, size_t why_bytes)
{
    char start[sizeof SM_REPORT_MARK] = "";
    struct stat info;
    if (lstat(path, &info)) return 0; /* what else is wrong with it, opening will say */
    if (!o->force) {
        snprintf(why, why_bytes, "%.300s is there already: give another file with -o, or --force", path);
        return -1;
    }
    FILE *there = S_ISREG(info.st_mode) ? fopen(path, "re") : NULL;
    const size_t n = there ? fread(start, 1, sizeof start - 1, there) : 0;
    if (there) fclose(there);
    if (n == sizeof start - 1 && !memcmp(start, SM_REPORT_MARK, n)) return 0;
    snprintf(why, why_bytes, "%.300s is there already and no report: give another file with -o", path);
    return -1;
}

/* The page is whole before the file is touched. */
static int save(const struct options *o, const char *path, const char *page, size_t bytes, char *why, size_t why_bytes)
{
    if (permitted(o, path, why, why_bytes)) return -1;
    FILE *to = fopen(path, o->force ? "we" : "wxe");
    const int bad = !to || fwrite(page, 1, bytes, to) != bytes;
    if ((to && fclose(to)) || bad) {
        snprintf(why, why_bytes, "cannot write %.300s: %s", path, strerror(errno));
        if (to) unlink(path);
        return -1;
    }
    return 0;
}

static int make(struct sm_report *report, const struct options *o, const char *templates, const char *path, char *why,
                size_t why_bytes)
{
    char *style = sm_templates_read(templates, "report.css", why, why_bytes);
    char *script = style ? sm_templates_read(templates, "report.js", why, why_bytes) : NULL, *page = NULL;
    size_t bytes = 0;
    int exit_code = 2, lacking = 0;
    if (!script) goto out;
    report->style = style;
    report->script = script;
    lacking = sm_report_draw(report, templates);
    FILE *to = lacking < 0 ? NULL : open_memstream(&page, &bytes);
    const int bad = !to || sm_report_page(report, to) || ferror(to);
    if ((to && fclose(to)) || bad)
        snprintf(why, why_bytes, "no memory for the page of %zu records", report->all.count);
    else if (!save(o, path, page, bytes, why, why_bytes))
        exit_code = lacking ? 1 : 0;
out:
    free(page);
    free(script);
    free(style);
    return exit_code;
}

static void complain(const struct sm_report *report)
{
    for (size_t i = 0; i < report->figure_count; i++)
        if (report->figures[i].has_data && !report->figures[i].svg)
            fprintf(stderr, "slotmark report: %s\n", report->figures[i].missing);
    if (report->all.bad_lines)
        fprintf(stderr,
                "slotmark report: %zu of %zu lines are no records and were left out (the page names the first)\n",
                report->all.bad_lines, report->all.lines);
}

int report_main(int argc, char **argv)
{
    struct options o = {0};
    struct sm_report report = {0};
    char why[640] = "", templates[PATH_MAX] = "", path[PATH_MAX] = "";
    int exit_code = parse(&o, argc, argv);
    if (exit_code >= 0) return exit_code;
    exit_code = 2;

    if (choose(&o, argv[optind], path)) {
        snprintf(why, sizeof why, "the path of the page is too long");
        goto out;
    }
    if (permitted(&o, path, why, sizeof why)) goto out;
    for (int i = optind; i < argc; i++)
        if (sm_results_read(&report.all, argv[i], why, sizeof why)) goto out;
    if (report.all.count == 0) {
        snprintf(why, sizeof why, "no record in %.200s%s%s", argv[optind], report.all.bad_lines ? ": " : "",
                 report.all.first_bad);
        goto out;
    }
    if (sm_results_copy(&report.settled, &report.all)) {
        snprintf(why, sizeof why, "no memory for the results");
        goto out;
    }
    sm_results_settle(&report.settled);
    if (sm_templates_find(o.templates, templates, why, sizeof why)) goto out;
    exit_code = make(&report, &o, templates, path, why, sizeof why);
    complain(&report);
    if (exit_code < 2) printf("%s\n", path);
out:
    if (*why) fail(why);
    sm_report_destroy(&report);
    return exit_code;
}
