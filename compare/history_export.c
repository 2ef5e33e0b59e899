/* A history as rows, for other programs: CSV, JSON, JSON lines, SQL. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "history_sql.h"

const char *const sm_history_forms[] = {"csv", "json", "jsonl", "sql", NULL};
enum form { FORM_CSV, FORM_JSON, FORM_JSON_LINES, FORM_SQL };

#define TIME(seconds) "strftime('%Y-%m-%dT%H:%M:%SZ', " seconds ", 'unixepoch')"

/* A row for each comparison, and one for each figure of others: "imported", without a verdict. */
static const char comparisons[] = "SELECT 'paired' AS source, s.id AS session, " TIME(
    "s.started") " AS started, s.purpose AS purpose, s.a_identity AS "
                 "base, s.b_identity AS build, s.threads AS threads, c.kernel AS kernel, c.control AS control, "
                 "c.verdict AS verdict, "
                 "c.reason AS reason, percent(c.effect) AS change_percent, percent(c.low) AS low_percent, "
                 "percent(c.high) AS "
                 "high_percent, c.level AS level, c.p AS p, (SELECT count(*) FROM launch l WHERE l.session = c.session "
                 "AND l.ordinal "
                 "= c.ordinal) AS launches, NULL AS value, NULL AS unit, NULL AS spread FROM comparison c JOIN session "
                 "s ON s.id = "
                 "c.session UNION ALL SELECT 'imported', i.id, " TIME(
                     "i.started") ", i.format, NULL, i.build, NULL, f.name, 0, NULL, "
                                  "NULL, NULL, NULL, NULL, NULL, NULL, f.samples, f.value, f.unit, f.spread FROM "
                                  "figure f JOIN import i ON i.id = "
                                  "f.import ORDER BY started, session, kernel, control";

static const char launches[] =
    "SELECT l.session AS session, c.kernel AS kernel, c.control AS control, l.anew AS anew, l.n AS n, l.d AS "
    "log_ratio, "
    "l.a_ns AS a_ns, l.b_ns AS b_ns FROM launch l JOIN comparison c ON c.session = l.session AND c.ordinal = l.ordinal "
    "JOIN session s ON s.id = l.session ORDER BY s.started, s.rowid, l.ordinal, l.anew, l.n";

static void percent(sqlite3_context *context, int count, sqlite3_value **value)
{
    (void)count;
    if (sqlite3_value_type(value[0]) == SQLITE_NULL)
        sqlite3_result_null(context);
    else
        sqlite3_result_double(context, 100 * expm1(sqlite3_value_double(value[0])));
}

static void put_delimited(sqlite3_stmt *s, int i, enum form form, FILE *out)
{
    const char quote = form == FORM_SQL ? '\'' : '"';
    switch (sqlite3_column_type(s, i)) {
    case SQLITE_NULL: fputs(form == FORM_SQL ? "NULL" : "", out); break;
    case SQLITE_INTEGER: fprintf(out, "%lld", sqlite3_column_int64(s, i)); break;
    case SQLITE_FLOAT: fprintf(out, "%.9g", sqlite3_column_double(s, i)); break;
    default:
        fputc(quote, out);
        for (const char *c = sm_history_text(s, i); *c; c++) {
            if (*c == quote) fputc(quote, out);
            fputc(*c, out);
        }
        fputc(quote, out);
    }
}

static void put_names(sqlite3_stmt *s, FILE *out)
{
    for (int i = 0; i < sqlite3_column_count(s); i++) fprintf(out, "%s%s", i ? "," : "", sqlite3_column_name(s, i));
}

static int put_object(sqlite3_stmt *s, FILE *out)
{
    json_t *o = json_object();
    for (int i = 0; i < sqlite3_column_count(s); i++) {
        const int type = sqlite3_column_type(s, i);
        const double x = sqlite3_column_double(s, i);
        json_t *value = type == SQLITE_INTEGER                ? json_integer(sqlite3_column_int64(s, i))
                        : type == SQLITE_FLOAT && isfinite(x) ? json_real(x)
                        : type == SQLITE_TEXT                 ? json_string(sm_history_text(s, i))
                                                              : NULL;
        json_object_set_new(o, sqlite3_column_name(s, i), value ? value : json_null());
    }
    const int bad = !o || json_dumpf(o, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(o);
    return bad;
}

static int put_row(sqlite3_stmt *s, enum form form, bool first, FILE *out)
{
    if (form == FORM_JSON || form == FORM_JSON_LINES) {
        if (form == FORM_JSON && !first) fputs(",\n", out);
        const int bad = put_object(s, out);
        if (form == FORM_JSON_LINES) fputc('\n', out);
        return bad;
    }
    if (form == FORM_SQL) {
        fputs("INSERT INTO slotmark_history(", out);
        put_names(s, out);
        fputs(") VALUES (", out);
    }
    for (int i = 0; i < sqlite3_column_count(s); i++) {
        if (i) fputc(',', out);
        put_delimited(s, i, form, out);
    }
    fputs(form == FORM_SQL ? ");\n" : "\n", out);
    return 0;
}

static int put_all(sqlite3_stmt *s, enum form form, FILE *out)
{
    int code = SQLITE_ROW, bad = 0;
    if (form == FORM_JSON) fputs("[", out);
    if (form == FORM_SQL) fputs("CREATE TABLE IF NOT EXISTS slotmark_history(", out);
    if (form == FORM_SQL || form == FORM_CSV) put_names(s, out);
    if (form == FORM_SQL || form == FORM_CSV) fputs(form == FORM_SQL ? ");\n" : "\n", out);
    for (bool first = true; !bad && (code = sqlite3_step(s)) == SQLITE_ROW; first = false)
        bad = put_row(s, form, first, out);
    if (form == FORM_JSON) fputs("]\n", out);
    return bad ? -1 : code;
}

int sm_history_export(struct sm_history *h, int form, bool of_launches, FILE *out, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    if (sqlite3_create_function(h->db, "percent", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, percent, NULL, NULL) ||
        sqlite3_prepare_v2(h->db, of_launches ? launches : comparisons, -1, &s, NULL))
        return sm_history_refuse(h, "reading the history", why, why_bytes);
    const int code = put_all(s, (enum form)form, out);
    sqlite3_finalize(s);
    if (code != SQLITE_DONE && code != -1) return sm_history_refuse(h, "reading the history", why, why_bytes);
    if (code == SQLITE_DONE && !ferror(out)) return 0;
    snprintf(why, why_bytes, "the rows could not be written to their end");
    return -1;
}
