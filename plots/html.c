#include "html.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Bytes of the UTF-8 character at s, 0 where there is none. Beyond the zero at the end nothing is read. */
static size_t character(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    const size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0; /* too long a form; surrogates */
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
    return n;
}

/* C0 and C1 controls, and the marks that turn the direction of all text after them. */
static int is_control(const unsigned char *s, size_t n)
{
    if (n == 1) return (s[0] < 0x20 && s[0] != '\n' && s[0] != '\t') || s[0] == 0x7f;
    if (n == 2) return s[0] == 0xc2 && s[1] < 0xa0;
    if (n != 3 || s[0] != 0xe2) return 0;
    return (s[1] == 0x80 && s[2] >= 0xa8 && s[2] <= 0xae) || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

void sm_html_text(FILE *to, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t n;
    for (size_t i = 0; s[i]; i += n ? n : 1) {
        n = character(s + i);
        if (i + n > SM_HTML_MOST) {
            fputs("…", to);
            return;
        }
        if (!n || is_control(s + i, n))
            fputs("\xef\xbf\xbd", to);
        else if (n > 1)
            fwrite(s + i, 1, n, to);
        else
            switch (s[i]) {
            case '&': fputs("&amp;", to); break;
            case '<': fputs("&lt;", to); break;
            case '>': fputs("&gt;", to); break;
            case '"': fputs("&quot;", to); break;
            case '\'': fputs("&#39;", to); break;
            default: fputc(s[i], to);
            }
    }
}

static void address_part(FILE *to, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++)
        if ((*s >= '0' && *s <= '9') || (*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z') || strchr("-_.~/,", *s))
            fputc(*s, to);
        else
            fprintf(to, "%%%02X", *s);
}

static void number(FILE *to, double value)
{
    if (!isfinite(value)) return;
    if (fabs(value) >= 1000 && fabs(value) < 1e15)
        fprintf(to, "%.0f", value);
    else
        fprintf(to, "%.4g", value);
}

static void time_of(FILE *to, double ns)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    size_t unit = 0;
    if (!isfinite(ns)) return;
    for (; unit < 3 && fabs(ns) >= 999.5; unit++) ns /= 1000;
    fprintf(to, fabs(ns) >= 999.5 ? "%.0f %s" : "%.3g %s", ns, units[unit]);
}

void sm_html(FILE *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (const char *f = format; *f; f++) {
        if (*f != '%') {
            fputc(*f, to);
            continue;
        }
        switch (*++f) {
        case 's': sm_html_text(to, va_arg(args, const char *)); break;
        case 'r': fputs(va_arg(args, const char *), to); break;
        case 'u': address_part(to, va_arg(args, const char *)); break;
        case 'z': fprintf(to, "%zu", va_arg(args, size_t)); break;
        case 'n': number(to, va_arg(args, double)); break;
        case 't': time_of(to, va_arg(args, double)); break;
        default: fputc(*f, to);
        }
    }
    va_end(args);
}

void sm_html_table(FILE *to, const char *caption, const char *columns)
{
    sm_html(to,
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
            "aria-label=\"%s\">\n<table>\n<caption><span>%s</span></caption>\n"
            "<thead><tr>",
            caption, caption);
    for (const char *c = columns; *c;) {
        const int numeric = *c == '#';
        const size_t length = strcspn(c + numeric, "|");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)length, c + numeric);
        sm_html(to, "<th scope=\"col\"%r>%s</th>", numeric ? " class=\"n\"" : "", name);
        c += (size_t)numeric + length;
        c += *c == '|';
    }
    fputs("</tr></thead>\n<tbody>\n", to);
}

void sm_html_table_end(FILE *to)
{
    fputs("</tbody>\n</table>\n</div>\n", to);
}
