#include "page_check.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 64

struct check {
    const char *at, *script;
    char stack[DEPTH][24];
    size_t depth;
    json_t *names, *wanted; /* ids there are, and those that something refers to */
    size_t scripts, tables, captions, pictures, titles;
    char *why;
    size_t why_bytes;
};

static int wrong(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int wrong(struct check *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(c->why, c->why_bytes, format, args);
    va_end(args);
    if (n > 0 && (size_t)n < c->why_bytes) snprintf(c->why + n, c->why_bytes - (size_t)n, " at: %.60s", c->at);
    return -1;
}

static int among(const char *word, const char *words)
{
    const size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at++)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return 1;
    return 0;
}

static const char elements[] =
    "html head meta link title style body a header h1 h2 h3 p nav ul li main section div span table caption thead "
    "tbody "
    "tr th td strong em code pre dl dt dd br figure figcaption details summary noscript form label input button script "
    "svg g defs path circle rect line use polygon polyline text tspan ellipse clipPath filter feFlood feComposite desc";
static const char attributes[] =
    "lang charset http-equiv content name rel href id class aria-label aria-labelledby role tabindex scope data-key "
    "type "
    "hidden for autocomplete spellcheck viewBox transform d x y x1 x2 y1 y2 dx dy r rx ry cx cy width height points "
    "fill "
    "fill-opacity fill-rule stroke color stroke-width stroke-linecap stroke-linejoin stroke-dasharray stroke-opacity "
    "opacity font-size font-weight font-style text-anchor filterUnits flood-color flood-opacity result in in2 operator "
    "filter";

static void copy(char *to, size_t room, const char *from, size_t length)
{
    snprintf(to, room, "%.*s", (int)length, from);
}

static int refer(struct check *c, const char *value)
{
    if (value[0] != '#') return strcmp(value, "data:,") ? wrong(c, "a reference to outside, %.60s", value) : 0;
    if (!strchr(value, '=')) json_object_set_new(c->wanted, value + 1, json_true());
    return 0;
}

static int attribute(struct check *c)
{
    char name[40], value[400];
    size_t length = strcspn(c->at, "= >/");
    copy(name, sizeof name, c->at, length);
    if (!among(name, attributes)) return wrong(c, "an attribute that no report has, %s", name);
    c->at += length;
    if (*c->at != '=') return !strcmp(name, "hidden") ? 0 : wrong(c, "an attribute without a value, %s", name);
    if (c->at[1] != '"') return wrong(c, "a value that is not quoted, of %s", name);
    const char *end = strchr(c->at + 2, '"');
    if (!end) return wrong(c, "a value without an end, of %s", name);
    copy(value, sizeof value, c->at + 2, (size_t)(end - c->at - 2));
    if (strpbrk(value, "<>")) return wrong(c, "markup in a value of %s", name);
    if (strstr(value, "url(") && strncmp(value, "url(#figure-", 12)) return wrong(c, "an address in %s", name);
    if (!strcmp(name, "href") && refer(c, value)) return -1;
    if (!strcmp(name, "for")) json_object_set_new(c->wanted, value, json_true());
    if (!strcmp(name, "aria-labelledby"))
        for (char *word = strtok(value, " "); word; word = strtok(NULL, " "))
            json_object_set_new(c->wanted, word, json_true());
    if (!strcmp(name, "id")) {
        if (json_object_get(c->names, value)) return wrong(c, "the name %.60s twice", value);
        json_object_set_new(c->names, value, json_true());
    }
    c->at = end + 1;
    return 0;
}

/* The inside of a script or style, which no markup ends but its own. */
static int raw(struct check *c, const char *name, const char *begin)
{
    char close[40];
    snprintf(close, sizeof close, "</%s>", name);
    const char *end = strstr(begin, close);
    if (!end) return wrong(c, "a %s without an end", name);
    const size_t bytes = (size_t)(end - begin);
    if (!strcmp(name, "script")) {
        if (c->scripts == 0)
            for (const char *s = begin; s < end; s++)
                if (strchr("<>&", *s) || (unsigned char)*s >= 0x80 || ((unsigned char)*s < 0x20 && *s != '\n'))
                    return wrong(c, "data with a character that is not safe, %02x", (unsigned char)*s);
        if (c->scripts == 1 && (bytes != strlen(c->script) || memcmp(begin, c->script, bytes) != 0))
            return wrong(c, "a script that is not ours");
        c->scripts++;
    }
    c->at = end;
    return 0;
}

static int open_tag(struct check *c)
{
    char name[24];
    const size_t length = strspn(c->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    copy(name, sizeof name, c->at, length);
    if (!length || !among(name, elements)) return wrong(c, "an element that no report has, %s", name);
    c->at += length;
    while (*c->at == ' ') {
        c->at++;
        if (*c->at != '>' && *c->at != '/' && *c->at != ' ' && attribute(c)) return -1;
    }
    const int closed = *c->at == '/';
    c->at += closed;
    if (*c->at != '>') return wrong(c, "a tag of %s without an end", name);
    c->at++;
    c->tables += !strcmp(name, "table");
    c->captions += !strcmp(name, "caption");
    c->pictures += !strcmp(name, "svg");
    c->titles += !strcmp(name, "title") && strcmp(c->stack[c->depth ? c->depth - 1 : 0], "a") != 0; /* a link's own */
    if (closed || among(name, "meta link br input")) return 0;
    if (c->depth == DEPTH) return wrong(c, "too deep a tree");
    copy(c->stack[c->depth++], sizeof c->stack[0], name, strlen(name));
    return among(name, "script style") ? raw(c, name, c->at) : 0;
}

static int close_tag(struct check *c)
{
    char name[24];
    const size_t length = strcspn(c->at, ">");
    copy(name, sizeof name, c->at, length);
    if (!c->depth || strcmp(c->stack[c->depth - 1], name))
        return wrong(c, "the end of %s in %s", name, c->depth ? c->stack[c->depth - 1] : "nothing");
    c->depth--;
    c->at += length + 1;
    return 0;
}

static int entity(struct check *c)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&plusmn;"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strncmp(c->at, known[i], strlen(known[i]))) return 0;
    return wrong(c, "an ampersand that is no entity");
}

static int text(struct check *c)
{
    const unsigned char byte = (unsigned char)*c->at;
    if (byte == '>') return wrong(c, "a stray >");
    if (byte == '&' && entity(c)) return -1;
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
        return wrong(c, "a control character, %02x", byte);
    c->at++;
    return 0;
}

static int finish(struct check *c)
{
    const char *name;
    json_t *value;
    if (c->depth) return wrong(c, "%s without an end", c->stack[c->depth - 1]);
    if (c->scripts != 2) return wrong(c, "%zu scripts", c->scripts);
    if (c->tables != c->captions) return wrong(c, "%zu tables with %zu captions", c->tables, c->captions);
    if (c->titles != c->pictures + 1) return wrong(c, "%zu pictures with %zu titles", c->pictures, c->titles - 1);
    json_object_foreach(c->wanted, name, value)
    {
        if (!json_object_get(c->names, name)) return wrong(c, "a reference to nothing, %s", name);
    }
    return 0;
}

int page_check(const char *page, const char *script, char *why, size_t why_bytes)
{
    static const char start[] = "<!DOCTYPE html>\n<!-- made by slotmark report -->\n<html lang=\"en\">";
    struct check c = {
        .script = script, .names = json_object(), .wanted = json_object(), .why = why, .why_bytes = why_bytes};
    int failed = 0;
    c.at = page;
    json_t *utf8 = json_string(page);
    if (strncmp(page, start, sizeof start - 1)) failed = wrong(&c, "another beginning");
    if (!utf8) failed = wrong(&c, "a page that is not UTF-8");
    if (!failed && !strstr(page, "default-src 'none'")) failed = wrong(&c, "no policy");
    c.at += strcspn(page, "\n") + 1;
    c.at += strcspn(c.at, "\n") + 1;
    while (!failed && *c.at) {
        if (*c.at != '<') {
            failed = text(&c);
            continue;
        }
        c.at++;
        if (*c.at == '/') {
            c.at++;
            failed = close_tag(&c);
        } else
            failed = open_tag(&c);
    }
    if (!failed) failed = finish(&c);
    json_decref(utf8);
    json_decref(c.names);
    json_decref(c.wanted);
    return failed;
}

/* A record as the page's script puts it together. NULL: it is none. */
static json_t *put_together(const json_t *row, const json_t *values)
{
    const json_t *keys = json_array_get(values, (size_t)json_integer_value(json_array_get(row, 0)));
    json_t *record = json_object();
    size_t i;
    json_t *key;
    json_array_foreach(keys, i, key)
    {
        json_t *value = json_array_get(values, (size_t)json_integer_value(json_array_get(row, i + 1)));
        json_object_set(record, json_string_value(key), value);
    }
    return record;
}

int page_check_records(const char *page, const char *lines, char *why, size_t why_bytes)
{
    static const char open[] = "<script type=\"application/json\" id=\"data\">";
    const char *begin = strstr(page, open), *end = begin ? strstr(begin, "</script>") : NULL;
    json_t *data = NULL;
    int failed = 0;
    size_t count = 0;
    if (end) data = json_loadb(begin + sizeof open - 1, (size_t)(end - begin) - sizeof open + 1, 0, NULL);
    const json_t *rows = json_object_get(data, "records"), *values = json_object_get(data, "values");
    for (const char *line = lines; !failed && *line; count++) {
        const size_t length = strcspn(line, "\n");
        json_t *record = json_loadb(line, length, 0, NULL), *again = put_together(json_array_get(rows, count), values);
        if (!json_equal(record, again)) {
            snprintf(why, why_bytes, "record %zu is another one in the page: %.200s", count, line);
            failed = -1;
        }
        json_decref(record);
        json_decref(again);
        line += length + (line[length] == '\n');
    }
    const size_t shown = json_array_size(json_object_get(data, "shown"));
    if (!failed && (json_array_size(rows) != count || shown != count)) {
        snprintf(why, why_bytes, "%zu records, %zu in the page, %zu shown", count, json_array_size(rows), shown);
        failed = -1;
    }
    json_decref(data);
    return failed;
}
