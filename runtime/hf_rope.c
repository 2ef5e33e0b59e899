/* Rotary embeddings of a config.json: rope_parameters, or the older rope_theta and rope_scaling (model-math: B.2). */
#include <math.h>
#include <string.h>

#include "hf_reader.h"

/* "default", "linear", ...: NULL after a failure. */
static const char *type_of(struct hf_reader *r, const json_t *o, const char *what)
{
    const char *type = json_string_value(hf_get(o, "rope_type")), *old = json_string_value(hf_get(o, "type"));
    if (!type && !old) hf_fail(r, "its %s has no rope_type", what);
    if (type && old && strcmp(type, old)) hf_fail(r, "its %s is both %.40s and %.40s", what, type, old);
    if (r->failed) return NULL;
    return type ? type : old;
}

static double positive(struct hf_reader *r, const json_t *o, const char *key)
{
    const double x = hf_number(r, o, key);
    if (!(x > 0)) hf_fail(r, "its %s is %g; it must be greater than 0", key, x);
    return x;
}

static void read_llama3(struct hf_reader *r, const json_t *o, struct hf_rope *rope)
{
    struct sm_rope_scaling *s = &rope->llama3;
    s->factor = positive(r, o, "factor");
    s->low = positive(r, o, "low_freq_factor");
    s->high = positive(r, o, "high_freq_factor");
    s->original = positive(r, o, "original_max_position_embeddings");
    if (!(s->low < s->high))
        hf_fail(r, "its low_freq_factor of %g is not below its high_freq_factor of %g", s->low, s->high);
}

/* What an object says beside theta. `what` is its name. */
static void read_scaling(struct hf_reader *r, const json_t *o, const char *what, struct hf_rope *rope)
{
    const char *type = type_of(r, o, what);
    if (!type) return;
    if (!strcmp(type, "proportional")) {
        rope->part = hf_number(r, o, "partial_rotary_factor");
        if (!(rope->part >= 0 && rope->part <= 1)) hf_fail(r, "its partial_rotary_factor is %g", rope->part);
        if (hf_get(o, "factor")) rope->factor = positive(r, o, "factor");
        return;
    }
    if (hf_get(o, "partial_rotary_factor") && hf_number(r, o, "partial_rotary_factor") != 1)
        hf_fail(r, "a rotary embedding of part of a head is run when its rope_type is proportional, not %.40s", type);
    if (!strcmp(type, "llama3"))
        read_llama3(r, o, rope);
    else if (!strcmp(type, "linear"))
        rope->factor = positive(r, o, "factor");
    else if (strcmp(type, "default"))
        hf_fail(r, "rotary scaling of the type %.40s is not run; default, linear, llama3 and proportional are", type);
}

/* theta may stand in the object, or on its own. */
static double theta_of(struct hf_reader *r, const json_t *o, const char *key)
{
    const json_t *inside = hf_get(o, "rope_theta"), *beside = hf_get(r->text, key);
    if (!inside && !beside) hf_fail(r, "it lacks %s", key);
    if (r->failed) return 0;
    const double theta = inside ? positive(r, o, "rope_theta") : positive(r, r->text, key);
    if (inside && beside && positive(r, r->text, key) != theta)
        hf_fail(r, "it gives rope_theta as %g and %s as %g", theta, key, hf_number(r, r->text, key));
    return theta;
}

static bool same(const struct hf_rope *a, const struct hf_rope *b)
{
    return a->factor == b->factor && a->part == b->part && a->llama3.factor == b->llama3.factor &&
           a->llama3.low == b->llama3.low && a->llama3.high == b->llama3.high &&
           a->llama3.original == b->llama3.original;
}

/* From the newer object, the older one, or neither; where a file has both they must agree. */
static struct hf_rope read_both(struct hf_reader *r, const json_t *newer, const json_t *older, const char *theta_key)
{
    struct hf_rope rope = {.factor = 1, .part = 1}, other = rope;
    if (older && !json_is_object(older)) hf_fail(r, "its rope_scaling is not an object");
    if (r->failed) return rope;
    rope.theta = theta_of(r, newer, theta_key);
    if (newer) read_scaling(r, newer, "rope_parameters", &rope);
    if (older) read_scaling(r, older, "rope_scaling", &other);
    if (newer && older && !same(&rope, &other)) hf_fail(r, "its rope_parameters and its rope_scaling differ");
    if (!newer && older) other.theta = rope.theta, rope = other;
    return rope;
}

static const json_t *parameters_of(struct hf_reader *r)
{
    const json_t *o = hf_get(r->text, "rope_parameters");
    if (o && !json_is_object(o)) hf_fail(r, "its rope_parameters is not an object");
    return o;
}

struct hf_rope hf_rope_of_all(struct hf_reader *r)
{
    return read_both(r, parameters_of(r), hf_get(r->text, "rope_scaling"), "rope_theta");
}

struct hf_rope hf_rope_of_kind(struct hf_reader *r, const char *kind, const char *theta_key, bool scaled)
{
    const json_t *all = parameters_of(r), *own = hf_get(all, kind);
    if (all && !json_is_object(own)) hf_fail(r, "its rope_parameters say nothing of %s", kind);
    return read_both(r, own, scaled ? hf_get(r->text, "rope_scaling") : NULL, theta_key);
}
