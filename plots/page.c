#include "page.h"

#include <string.h>

static void text(FILE *to, const char *s)
{
    for (; *s; s++) switch (*s) {
        case '&': fputs("&amp;", to); break;
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '"': fputs("&quot;", to); break;
        case '\'': fputs("&#39;", to); break;
        default: fputc(*s, to);
        }
}

static void element(FILE *to, const char *open, const char *s, const char *close)
{
    if (!*s) return;
    fputs(open, to);
    text(to, s);
    fputs(close, to);
    fputc('\n', to);
}

static void head(const struct sm_page *page, FILE *to)
{
    fputs(SM_PAGE_MARK
          "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>slotmark figures</title>\n"
          "<style>\nbody { font: 16px/1.5 \"DejaVu Sans\", system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; "
          "padding: 0 1rem; color: #222; background: #fff }\n"
          "figure { margin: 2.5rem 0 } figcaption { max-width: 45rem }\nimg { max-width: 100%; height: auto }\n"
          "code { background: #f2f2f2; padding: 0.1rem 0.3rem; overflow-wrap: anywhere }\n"
          ".foot { color: #666; font-size: 0.85rem }\n"
          ".notice { border-left: 0.4rem solid #E69F00; background: #fdf6e6; padding: 0.6rem 1rem }\n"
          "</style>\n</head>\n<body>\n<h1>slotmark figures</h1>\n",
          to);
    if (page->synthetic)
        fputs("<p class=\"notice\"><strong>Synthetic weights.</strong> A model shown here has the shape of the real "
              "one but made-up weights: its speed is meaningful, its answers are not.</p>\n",
              to);
    for (const char *line = page->notices; *line;) {
        char one[400];
        const size_t length = strcspn(line, "\n");
        snprintf(one, sizeof one, "%.*s", (int)(length < 390 ? length : 390), line);
        element(to, "<p class=\"notice\">", one, "</p>");
        line += length + (line[length] == '\n');
    }
}

static void link_to(FILE *to, const char *name, const char *ending)
{
    fprintf(to, " <a href=\"%s.%s\">%s</a>", name, ending, ending);
}

static void one_figure(const struct sm_page *page, const struct sm_page_figure *f, FILE *to)
{
    const char *name = f->figure->name;
    fprintf(to, "<figure id=\"%s\">\n", name);
    element(to, "<h2>", f->figure->title, "</h2>");
    if (f->drawn) {
        fprintf(to, "<img src=\"%s.%s\" width=\"900\" height=\"560\" alt=\"", name, page->svg ? "svg" : "png");
        text(to, f->figure->title);
        fputs("\">\n", to);
    }
    fputs("<figcaption>\n", to);
    element(to, "<p>", f->figure->see, "</p>");
    element(to, "<p>", f->finding, "</p>");
    if (f->table && *f->missing) element(to, "<p class=\"notice\">No picture: ", f->missing, "</p>");
    if (!f->table) {
        fputs("<p class=\"notice\">Not drawn: ", to);
        text(to, f->missing);
        fputs(" To measure it: <code>", to);
        text(to, f->figure->command);
        fputs("</code></p>\n", to);
    } else {
        fputs("<p class=\"foot\">", to);
        text(to, f->subtitle);
        fputs("<br>\n", to);
        text(to, f->foot);
        fputs("<br>Files:", to);
        if (f->drawn && page->svg) link_to(to, name, "svg");
        if (f->drawn && page->png) link_to(to, name, "png");
        link_to(to, name, "tsv");
        fputs("</p>\n", to);
    }
    fputs("</figcaption>\n</figure>\n", to);
}

int sm_page_write(const struct sm_page *page, FILE *to)
{
    head(page, to);
    for (size_t i = 0; i < page->count; i++) one_figure(page, &page->figures[i], to);
    fputs("</body>\n</html>\n", to);
    return ferror(to) ? -1 : 0;
}
