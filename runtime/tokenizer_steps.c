/* The steps of a tokenizer.json around its model: normaliser, splitter, decoder, and what is added around a text. What
 * is not known is refused by its name. */
#include <stdio.h>
#include <stdlib.h>

#include "tokenizer_parts.h"

#define MOST_DEPTH 8

typedef int step_fn(struct sm_tokenizer *t, const json_t *step, const char *type, const struct tok_why *why);

/* Does a step, or each of a sequence of them. */
static int walk(struct sm_tokenizer *t, const json_t *step, const char *list, step_fn *fn, int depth,
                const struct tok_why *why)
{
    const char *type = json_string_value(json_object_get(step, "type"));
    if (!step || json_is_null(step)) return 0;
    if (!type || depth > MOST_DEPTH) return tok_refuse(why, "a step of its %s has no type, or lies too deep", list);
    if (strcmp(type, "Sequence")) return fn(t, step, type, why);
    const json_t *steps = json_object_get(step, list);
    json_t *each;
    size_t i;
    json_array_foreach(steps, i, each)
    {
        if (walk(t, each, list, fn, depth + 1, why)) return -1;
    }
    return 0;
}

static bool flag(const json_t *step, const char *key, bool otherwise)
{
    const json_t *value = json_object_get(step, key);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static bool is(const char *text, const char *word)
{
    return text && !strcmp(text, word);
}

/* --- normaliser --- */

static int normaliser(struct sm_tokenizer *t, const json_t *step, const char *type, const struct tok_why *why)
{
    const json_t *pattern = json_object_get(step, "pattern");
    const char *from = json_string_value(json_object_get(pattern, "String"));
    const char *expression = json_string_value(json_object_get(pattern, "Regex"));
    const char *to = json_string_value(json_object_get(step, is(type, "Prepend") ? "prepend" : "content"));
    if (!is(type, "Prepend") && !is(type, "Replace"))
        return tok_refuse(why, "its normaliser %.40s cannot be done here", type);
    if (t->normals == TOK_MOST_STEPS) return tok_refuse(why, "it normalises in more than %d steps", TOK_MOST_STEPS);
    if (!to || (is(type, "Replace") && !expression && !(from && *from)))
        return tok_refuse(why, "its normaliser %s does not say what becomes what", type);
    struct tok_normal *normal = &t->normal[t->normals++];
    if (is(type, "Replace")) {
        if (expression && !(normal->code = tok_compile(expression, strlen(expression), why))) return -1;
        if (!expression && !(normal->from = strdup(from))) return tok_refuse(why, "out of memory");
    }
    normal->to = strdup(to);
    return normal->to ? 0 : tok_refuse(why, "out of memory");
}

/* --- splitter --- */

static int behaviour_named(const char *name, enum tok_behaviour *behaviour)
{
    static const char *const names[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) {
            *behaviour = (enum tok_behaviour)i;
            return 0;
        }
    return -1;
}

static int split(struct sm_tokenizer *t, const json_t *step, const struct tok_why *why)
{
    const json_t *pattern = json_object_get(step, "pattern");
    const char *text = json_string_value(json_object_get(pattern, "String"));
    const char *expression = json_string_value(json_object_get(pattern, "Regex"));
    char literal[512];
    enum tok_behaviour behaviour;
    if (behaviour_named(json_string_value(json_object_get(step, "behavior")), &behaviour) || (!text && !expression))
        return tok_refuse(why, "it splits at something, and does not say at what or how");
    if (text) {
        const int n = snprintf(literal, sizeof literal, "\\Q%s\\E", text);
        if (n < 0 || (size_t)n >= sizeof literal || strstr(text, "\\E"))
            return tok_refuse(why, "it splits at a text that is too long");
        expression = literal;
    }
    return tok_split_add(t, expression, strlen(expression), behaviour, flag(step, "invert", false), why);
}

/* Something put before a text is only the same before and after splitting when nothing has been split yet. */
static int prefix(struct sm_tokenizer *t, const char *text, enum tok_prefix when, const struct tok_why *why)
{
    if (t->splits || t->prefix) return tok_refuse(why, "it adds a space after it has split, which cannot be done here");
    t->prefix = when;
    t->prefix_text = text;
    return 0;
}

static int byte_level(struct sm_tokenizer *t, const json_t *step, const struct tok_why *why)
{
    t->byte_level = true;
    if (flag(step, "add_prefix_space", true) && prefix(t, " ", TOK_PREFIX_ALWAYS, why)) return -1;
    return flag(step, "use_regex", true) ? tok_split_named(t, "gpt-2", 5, why) : 0;
}

static int metaspace(struct sm_tokenizer *t, const json_t *step, const struct tok_why *why)
{
    const char *scheme = json_string_value(json_object_get(step, "prepend_scheme"));
    const bool always = scheme ? is(scheme, "always") : flag(step, "add_prefix_space", true);
    if (!is(json_string_value(json_object_get(step, "replacement")), TOK_SPACE))
        return tok_refuse(why, "its Metaspace replaces spaces by something else than U+2581");
    if (t->splits) return tok_refuse(why, "its Metaspace comes after other splitters, which cannot be done here");
    t->replace_spaces = true;
    if ((always || is(scheme, "first")) && prefix(t, TOK_SPACE, always ? TOK_PREFIX_ALWAYS : TOK_PREFIX_FIRST, why))
        return -1;
    return flag(step, "split", true) ? tok_split_add(t, TOK_SPACE, strlen(TOK_SPACE), TOK_WITH_NEXT, false, why) : 0;
}

/* What the package's own \w means. */
#define WORD "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200c}\\x{200d}"
static const char words[] = "[" WORD "]+|[^\\s" WORD "]+";

static int splitter(struct sm_tokenizer *t, const json_t *step, const char *type, const struct tok_why *why)
{
    if (t->byte_level)
        return tok_refuse(why, "it splits again after ByteLevel (%.40s), which cannot be done here", type);
    if (is(type, "Split")) return split(t, step, why);
    if (is(type, "ByteLevel")) return byte_level(t, step, why);
    if (is(type, "Metaspace")) return metaspace(t, step, why);
    if (is(type, "Digits")) {
        const char *digits = flag(step, "individual_digits", false) ? "\\p{N}" : "\\p{N}+";
        return tok_split_add(t, digits, strlen(digits), TOK_ISOLATED, false, why);
    }
    if (is(type, "Whitespace")) return tok_split_add(t, words, strlen(words), TOK_REMOVED, true, why);
    if (is(type, "WhitespaceSplit")) return tok_split_add(t, "\\s", 2, TOK_REMOVED, false, why);
    return tok_refuse(why, "its splitter %.40s cannot be done here", type);
}

/* --- decoder --- */

static int decoder(struct sm_tokenizer *t, const json_t *step, const char *type, const struct tok_why *why)
{
    const char *content = json_string_value(json_object_get(step, "content"));
    if (is(type, "ByteLevel") || is(type, "ByteFallback") || is(type, "Fuse")) return 0;
    if (is(type, "Metaspace")) {
        const char *scheme = json_string_value(json_object_get(step, "prepend_scheme"));
        t->unescape = true;
        t->strip_first = scheme ? !is(scheme, "never") : flag(step, "add_prefix_space", true);
        return 0;
    }
    if (is(type, "Replace") &&
        is(json_string_value(json_object_get(json_object_get(step, "pattern"), "String")), TOK_SPACE) &&
        is(content, " ")) {
        t->unescape = true;
        return 0;
    }
    if (is(type, "Strip") && is(content, " ") && json_integer_value(json_object_get(step, "start")) <= 1 &&
        json_integer_value(json_object_get(step, "stop")) == 0) {
        t->strip_first = json_integer_value(json_object_get(step, "start")) == 1;
        return 0;
    }
    return tok_refuse(why, "its decoder %.40s, as it is set there, cannot be done here", type);
}

/* --- around a text --- */

static int around(struct sm_tokenizer *t, const json_t *step, const char *type, const struct tok_why *why)
{
    const json_t *single = json_object_get(step, "single"), *tokens = json_object_get(step, "special_tokens");
    bool text_seen = false;
    json_t *item, *id;
    size_t i, k;
    if (is(type, "ByteLevel")) return 0;
    if (!is(type, "TemplateProcessing")) return tok_refuse(why, "its post-processor %.40s cannot be done here", type);
    json_array_foreach(single, i, item)
    {
        const json_t *name = json_object_get(json_object_get(item, "SpecialToken"), "id");
        if (json_object_get(item, "Sequence")) {
            text_seen = true;
            continue;
        }
        const json_t *ids =
            json_is_string(name) ? json_object_get(json_object_get(tokens, json_string_value(name)), "ids") : NULL;
        json_array_foreach(ids, k, id)
        {
            size_t *count = text_seen ? &t->after_count : &t->before_count;
            const json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
            if (value < 0 || value > INT32_MAX || *count == TOK_MOST_AROUND)
                return tok_refuse(why, "its post-processor adds too many tokens, or one without an id");
            (text_seen ? t->after : t->before)[(*count)++] = (int32_t)value;
        }
    }
    return 0;
}

int tok_json_steps(struct sm_tokenizer *t, const json_t *root, const struct tok_why *why)
{
    return walk(t, json_object_get(root, "normalizer"), "normalizers", normaliser, 0, why) ||
                   walk(t, json_object_get(root, "pre_tokenizer"), "pretokenizers", splitter, 0, why) ||
                   walk(t, json_object_get(root, "decoder"), "decoders", decoder, 0, why) ||
                   walk(t, json_object_get(root, "post_processor"), "processors", around, 0, why)
               ? -1
               : 0;
}
