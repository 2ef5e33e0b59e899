#include "svg.h"

#include <string.h>

#include "html.h"

struct reader {
    const char *at;
    const struct sm_svg_page *page;
    int pictures; /* <svg> seen */
    int linking;  /* within a spot that is a link */
};

static int listed(const char *const *list, const char *name, size_t length)
{
    for (; *list; list++)
        if (strlen(*list) == length && !strncmp(*list, name, length)) return 1;
    return 0;
}

static const char *const elements[] = {"svg",     "g",        "defs",    "path",     "circle",      "rect",
                                       "line",    "use",      "polygon", "polyline", "text",        "tspan",
                                       "ellipse", "clipPath", "filter",  "feFlood",  "feComposite", NULL};
static const char *const attributes[] = {"viewBox",
                                         "transform",
                                         "d",
                                         "x",
                                         "y",
                                         "x1",
                                         "y1",
                                         "x2",
                                         "y2",
                                         "dx",
                                         "dy",
                                         "r",
                                         "rx",
                                         "ry",
                                         "cx",
                                         "cy",
                                         "width",
                                         "height",
                                         "points",
                                         "fill",
                                         "fill-opacity",
                                         "fill-rule",
                                         "stroke",
                                         "color",
                                         "stroke-width",
                                         "stroke-linecap",
                                         "stroke-linejoin",
                                         "stroke-dasharray",
                                         "stroke-opacity",
                                         "opacity",
                                         "font-size",
                                         "font-weight",
                                         "font-style",
                                         "text-anchor",
                                         "filterUnits",
                                         "flood-color",
                                         "flood-opacity",
                                         "result",
                                         "in",
                                         "in2",
                                         "operator",
                                         NULL};

static int is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct reader *r)
{
    while (is_space(*r->at)) r->at++;
}

static size_t name_length(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_");
}

/* The value may stand in the page: nothing that ends it, no address. */
static int plain(const char *value, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (strchr("<>\"'&\\", value[i]) || (length - i >= 4 && !strncmp(value + i, "url(", 4))) return 0;
    return 1;
}

/* One attribute, its name at r->at, in a tag of a picture: written, changed or left out. -1: malformed. */
static int attribute(struct reader *r, FILE *to)
{
    const char *name = r->at;
    const size_t length = name_length(name);
    r->at += length;
    skip_space(r);
    if (!length || *r->at != '=') return -1;
    r->at++;
    skip_space(r);
    const char quote = *r->at;
    if (quote != '"' && quote != '\'') return -1;
    const char *value = r->at + 1, *end = strchr(value, quote);
    if (!end) return -1;
    r->at = end + 1;
    int bytes = (int)(end - value);
    if (end - value > 1 << 24) return -1;
    if (!plain(value, (size_t)bytes)) {
        static const char filter[] = "filter:url(#";
        const size_t start = sizeof filter - 1;
        if (length != 5 || strncmp(name, "style", 5) || strncmp(value, filter, start)) return 0;
        const int inner = (int)name_length(value + start);
        if (inner > 0 && bytes == (int)start + inner + 1 && end[-1] == ')')
            fprintf(to, " filter=\"url(#%s-%.*s)\"", r->page->prefix, inner, value + start);
        return 0;
    }
    if (length == 2 && !strncmp(name, "id", 2))
        fprintf(to, " id=\"%s-%.*s\"", r->page->prefix, bytes, value);
    else if (length == 10 && !strncmp(name, "xlink:href", 10) && *value == '#')
        fprintf(to, " href=\"#%s-%.*s\"", r->page->prefix, bytes - 1, value + 1);
    else if (listed(attributes, name, length))
        fprintf(to, " %.*s=\"%.*s\"", (int)length, name, bytes, value);
    return 0;
}

static void accessible(struct reader *r, FILE *to)
{
    sm_html(to, "<title id=\"%s-title\">%s</title><desc id=\"%s-desc\">%s</desc>", r->page->prefix, r->page->title,
            r->page->prefix, r->page->description);
}

/* A tag, r->at behind its "<". */
static int tag(struct reader *r, FILE *to)
{
    const int closing = *r->at == '/';
    r->at += closing;
    const char *name = r->at;
    const size_t length = name_length(name);
    if (!listed(elements, name, length)) return -1;
    const int picture = length == 3 && !strncmp(name, "svg", 3);
    if (picture && !closing && r->pictures++) return -1;
    r->at += length;
    fprintf(to, "<%s%.*s", closing ? "/" : "", (int)length, name);
    if (picture && !closing)
        fprintf(to, " role=\"img\" aria-labelledby=\"%s-title %s-desc\"", r->page->prefix, r->page->prefix);
    for (skip_space(r); *r->at && *r->at != '>' && *r->at != '/'; skip_space(r))
        if (closing || attribute(r, to)) return -1;
    if (*r->at == '/') {
        fputc('/', to);
        r->at++;
    }
    if (*r->at != '>') return -1;
    r->at++;
    fputc('>', to);
    if (picture && !closing) accessible(r, to);
    return picture && closing;
}

/* gnuplot's own titles and descriptions: "gnuplot_plot_1" helps nobody. 1: skipped. */
static int skip_element(struct reader *r, const char *open, const char *close)
{
    if (strncmp(r->at, open, strlen(open)) != 0) return 0;
    const char *end = strstr(r->at, close);
    if (!end) return 0;
    r->at = end + strlen(close);
    return 1;
}

/* A spot: gnuplot makes it a group that asks a script for its text, which is the number of a row. 1: it was one, and
 * r->at is behind its tag. */
static int spot(struct reader *r, FILE *to)
{
    static const char start[] = "<g onmousemove=\"gnuplot_svg.showHypertext(evt,'";
    const size_t length = sizeof start - 1;
    if (strncmp(r->at, start, length) != 0 || r->linking) return 0;
    const size_t digits = strspn(r->at + length, "0123456789");
    const char *end = strchr(r->at, '>');
    if (!digits || digits > 9 || r->at[length + digits] != '\'' || !end) return 0;
    size_t row = 0;
    for (size_t i = 0; i < digits; i++) row = 10 * row + (size_t)(r->at[length + i] - '0');
    r->linking = r->page->link && !r->page->link(r->page->state, to, row);
    if (!r->linking) fputs("<g>", to);
    r->at = end + 1;
    return 1;
}

static int spot_end(struct reader *r, FILE *to)
{
    if (!r->linking || strncmp(r->at, "</g>", 4) != 0) return 0;
    fputs("</a>", to);
    r->at += 4;
    r->linking = 0;
    return 1;
}

int sm_svg_inline(FILE *to, const char *svg, const struct sm_svg_page *page)
{
    struct reader r = {.page = page};
    r.at = strstr(svg, "<svg");
    if (!r.at) return -1;
    while (*r.at) {
        if (*r.at != '<') {
            if (*r.at == '>') return -1;
            fputc(*r.at++, to);
            continue;
        }
        if (skip_element(&r, "<title>", "</title>") || skip_element(&r, "<desc>", "</desc>")) continue;
        if (spot(&r, to) || spot_end(&r, to)) continue;
        r.at++;
        const int done = tag(&r, to);
        if (done) return done > 0 ? 0 : -1;
    }
    return -1;
}
