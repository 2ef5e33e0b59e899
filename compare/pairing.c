#include "pairing.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sm_verdict_word(enum sm_verdict verdict)
{
    static const char *const words[SM_VERDICTS] = {"open",         "identical",    "same",   "faster",       "slower",
                                                   "faster<delta", "slower<delta", "layout", "inconclusive", "added",
                                                   "removed",      "failed",       "refused"};
    return (unsigned)verdict < SM_VERDICTS ? words[verdict] : "?";
}

struct maker {
    struct sm_pairing *pairing;
    const struct sm_arm *arm;
    const struct sm_loaded *loaded;
    const struct sm_pairing_options *options;
    size_t capacity;
    bool renamed; /* the pair under way is one kernel, by its new name */
    int failed;
};

static void write_id(struct sm_comparison *c, const struct sm_family *f, const char *what)
{
    size_t used = (size_t)snprintf(c->id, sizeof c->id, "%s/%s/", f->name, what);
    for (size_t d = 0; d < f->dim_count && used < sizeof c->id; d++)
        used += (size_t)snprintf(c->id + used, sizeof c->id - used, "%s%s=%lld", d ? "," : "", f->dims[d].name,
                                 (long long)c->shape.dim[d]);
}

/* The newest name of a variant; its own when it has no other, or the build has a variant of the new name beside it. */
static const char *name_now(const struct maker *m, const struct sm_family *f, const char *variant, char *name,
                            size_t bytes)
{
    snprintf(name, bytes, "%s/%s", f->name, variant);
    const char *now = strchr(sm_alias_now(m->options->aliases, name), '/') + 1;
    return strcmp(now, variant) && sm_loaded_variant(f, now) ? variant : now;
}

/* By its name or its newest. */
static bool wanted(const struct maker *m, const struct sm_family *f, const char *variant)
{
    char name[SM_ALIAS_NAME], now[SM_ALIAS_NAME];
    if (!m->options->glob) return strncmp(variant, "ref", 3) != 0; /* ref_offset too */
    snprintf(now, sizeof now, "%s/%s", f->name, name_now(m, f, variant, name, sizeof name));
    snprintf(name, sizeof name, "%s/%s", f->name, variant);
    return !fnmatch(m->options->glob, name, 0) || !fnmatch(m->options->glob, now, 0) ||
           !fnmatch(m->options->glob, f->name, 0);
}

static void add(struct maker *m, const struct sm_comparison *c)
{
    struct sm_pairing *p = m->pairing;
    if (p->count == m->capacity) {
        const size_t capacity = m->capacity ? 2 * m->capacity : 64;
        struct sm_comparison *list = realloc(p->list, capacity * sizeof *list);
        if (!list) {
            m->failed = 1;
            return;
        }
        p->list = list;
        m->capacity = capacity;
    }
    p->list[p->count++] = *c;
}

/* Calls add for each shape of the product of the axes' values. */
static void add_shapes(struct maker *m, const struct sm_family *f, struct sm_comparison *c, size_t axis)
{
    const struct sm_pairing_axis *axes = m->options->axes;
    while (axes[axis].name && (!axes[axis].values->count || sm_dim_index(f, axes[axis].name) < 0)) axis++;
    if (axes[axis].name) {
        const int d = sm_dim_index(f, axes[axis].name);
        for (size_t i = 0; i < axes[axis].values->count; i++) {
            c->shape.dim[d] = axes[axis].values->value[i];
            if (c->shape.dim[d] < f->dims[d].least || c->shape.dim[d] > f->dims[d].most) continue;
            add_shapes(m, f, c, axis + 1);
        }
        c->shape.dim[d] = f->dims[d].standard;
        return;
    }
    char what[136], name[SM_ALIAS_NAME];
    if (strcmp(c->variant[0], c->variant[1]) && c->variant[0][0] && c->variant[1][0] && !m->renamed)
        snprintf(what, sizeof what, "%s..%s", c->variant[0], c->variant[1]);
    else
        snprintf(what, sizeof what, "%s",
                 name_now(m, f, c->variant[1][0] ? c->variant[1] : c->variant[0], name, sizeof name));
    write_id(c, f, what);
    add(m, c);
}

/* A pair of variants, either of which may be missing ("" then). */
static void add_pair(struct maker *m, const struct sm_family *f, const char *a, const char *b)
{
    struct sm_comparison c = {.dims = f->dim_count};
    char hash[2][65];
    snprintf(c.family, sizeof c.family, "%s", f->name);
    snprintf(c.variant[0], sizeof c.variant[0], "%s", a);
    snprintf(c.variant[1], sizeof c.variant[1], "%s", b);
    for (size_t d = 0; d < f->dim_count; d++) c.shape.dim[d] = f->dims[d].standard;
    if (!*a || !*b)
        c.verdict = *a ? SM_VERDICT_REMOVED : SM_VERDICT_ADDED;
    else if (!strcmp(a, b) && !sm_arm_code(&m->arm[0], f->name, a, hash[0]) &&
             !sm_arm_code(&m->arm[1], f->name, b, hash[1]) && !strcmp(hash[0], hash[1]))
        c.verdict = SM_VERDICT_IDENTICAL;
    add_shapes(m, f, &c, 0);
}

static bool runs(const struct sm_loaded *loaded, const struct sm_variant *v)
{
    return !(v->needs & ~loaded->kernels->cpu_features());
}

/* Of a variant that the other build's family has not: the one there that was or is called otherwise, and is not in this
 * build's. NULL: none. */
static const struct sm_variant *renamed(const struct maker *m, const struct sm_family *f, const struct sm_variant *v,
                                        const struct sm_family *other)
{
    char name[SM_ALIAS_NAME], there[SM_ALIAS_NAME];
    if (!m->options->aliases || !other || sm_loaded_variant(other, v->name)) return NULL;
    const char *now = name_now(m, f, v->name, name, sizeof name);
    for (size_t i = 0; i < other->variant_count; i++) {
        const struct sm_variant *u = &other->variants[i];
        if (!sm_loaded_variant(f, u->name) && !strcmp(name_now(m, other, u->name, there, sizeof there), now)) return u;
    }
    return NULL;
}

/* The variants of one build's family that the other lacks. */
static void add_lonely(struct maker *m, const struct sm_family *f, const struct sm_family *other, bool in_b)
{
    for (size_t i = 0; i < f->variant_count; i++) {
        const struct sm_variant *v = &f->variants[i];
        if ((other && sm_loaded_variant(other, v->name)) || renamed(m, f, v, other) || !wanted(m, f, v->name) ||
            !runs(&m->loaded[in_b], v))
            continue;
        add_pair(m, f, in_b ? "" : v->name, in_b ? v->name : "");
    }
}

static void add_family(struct maker *m, const struct sm_family *a, const struct sm_family *b)
{
    for (size_t i = 0; i < b->variant_count; i++) {
        const struct sm_variant *v = &b->variants[i], *other = sm_loaded_variant(a, v->name);
        if (other && wanted(m, b, v->name) && runs(&m->loaded[0], other) && runs(&m->loaded[1], v))
            add_pair(m, b, v->name, v->name);
        const struct sm_variant *old = renamed(m, b, v, a);
        m->renamed = true;
        if (old && (wanted(m, b, v->name) || wanted(m, b, old->name)) && runs(&m->loaded[0], old) &&
            runs(&m->loaded[1], v))
            add_pair(m, b, old->name, v->name);
        m->renamed = false;
    }
    add_lonely(m, a, b, false);
    add_lonely(m, b, a, true);
}

/* Arms that name variants: every family that has them, under --bench's families. */
static void add_named(struct maker *m, const struct sm_family *a, const struct sm_family *b)
{
    const char *name[2] = {m->arm[0].variant[0] ? m->arm[0].variant : m->arm[1].variant,
                           m->arm[1].variant[0] ? m->arm[1].variant : m->arm[0].variant};
    const struct sm_variant *v[2] = {sm_loaded_variant(a, name[0]), sm_loaded_variant(b, name[1])};
    if (!v[0] || !v[1] || !runs(&m->loaded[0], v[0]) || !runs(&m->loaded[1], v[1])) return;
    if (m->options->glob && !wanted(m, b, name[0]) && !wanted(m, b, name[1])) return;
    add_pair(m, b, name[0], name[1]);
}

int sm_pairing_make(struct sm_pairing *pairing, const struct sm_arm arm[2], const struct sm_loaded loaded[2],
                    const struct sm_pairing_options *options, char *why, size_t why_bytes)
{
    struct maker m = {.pairing = pairing, .arm = arm, .loaded = loaded, .options = options};
    const bool named = arm[0].variant[0] || arm[1].variant[0];
    *pairing = (struct sm_pairing){0};
    for (size_t i = 0; i < loaded[1].kernels->family_count; i++) {
        const struct sm_family *b = loaded[1].kernels->families[i], *a = sm_loaded_family(&loaded[0], b->name);
        if (named && a)
            add_named(&m, a, b);
        else if (!named && a)
            add_family(&m, a, b);
        else if (!named)
            add_lonely(&m, b, NULL, true);
    }
    for (size_t i = 0; !named && i < loaded[0].kernels->family_count; i++) {
        const struct sm_family *a = loaded[0].kernels->families[i];
        if (!sm_loaded_family(&loaded[1], a->name)) add_lonely(&m, a, NULL, false);
    }
    if (m.failed) snprintf(why, why_bytes, "comparing: no memory for the list of kernels");
    if (!m.failed && !pairing->count) {
        snprintf(why, why_bytes, "comparing %s with %s: nothing matches%s%s", arm[0].identity, arm[1].identity,
                 options->glob ? " " : "", options->glob ? options->glob : "");
        return 1;
    }
    return m.failed ? -1 : 0;
}

void sm_pairing_free(struct sm_pairing *pairing)
{
    free(pairing->list);
    *pairing = (struct sm_pairing){0};
}
