#include "weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "convert.h"
#include "cpu.h"
#include "dequantise.h"
#include "free_memory.h"
#include "scales.h"
#include "weights_fill.h"
#include "weights_fold.h"
#include "weights_recipe.h"

#define ALIGN 64

/* What a variant must read: weights of a format, or where there are none operands in a layout (NULL: any). */
struct wanted {
    enum sm_format format;
    const char *layout, *other; /* other: of what a variant of the family is chosen for, too; or NULL */
};

static bool reads_wanted(const struct sm_variant *v, const struct wanted *wanted)
{
    if (wanted->format != SM_FORMAT_NONE) return v->layout->format == wanted->format;
    return !wanted->layout || !strcmp(v->layout->name, wanted->layout);
}

/* The variant that is forced here. Without weights it may be one that cannot be run; the caller says so. */
static const struct sm_variant *forced_variant(const struct sm_choice *choice, const struct sm_family *family,
                                               const struct wanted *wanted)
{
    const struct sm_variant *wrong = NULL;
    for (size_t i = 0; i < choice->forced_count; i++) {
        if (strcmp(choice->forced[i].family, family->name)) continue;
        const struct sm_variant *v = sm_variant_named(family, choice->forced[i].variant);
        if (v && reads_wanted(v, wanted)) return v;
        const bool elsewhere = v && wanted->other && !strcmp(v->layout->name, wanted->other);
        if (wanted->format == SM_FORMAT_NONE && !elsewhere) wrong = v;
    }
    return wrong;
}

static const struct sm_variant *choose(const struct sm_choice *choice, const struct sm_family *family,
                                       const struct wanted *wanted, char *why, size_t why_bytes)
{
    const struct sm_variant *v = forced_variant(choice, family, wanted);
    if (!v)
        v = wanted->layout ? sm_variant_best_layout(family, choice->features, wanted->layout)
                           : sm_variant_best(family, choice->features, wanted->format);
    if (!v)
        snprintf(why, why_bytes, "choosing a variant of %s: none runs here for %s", family->name,
                 wanted->format == SM_FORMAT_NONE ? "any format" : sm_format_name(wanted->format));
    else if (v->needs & ~choice->features)
        snprintf(why, why_bytes, "choosing a variant of %s: %s needs %s, which may not be used here", family->name,
                 v->name, v->isa);
    else if (!reads_wanted(v, wanted))
        snprintf(why, why_bytes, "choosing a variant of %s: %s reads the layout %s, and plans use %s", family->name,
                 v->name, v->layout->name, wanted->layout);
    else
        return v;
    return NULL;
}

static const struct sm_family *find_family(const char *name, char *why, size_t why_bytes)
{
    const struct sm_family *family = sm_family_named(name);
    if (!family) snprintf(why, why_bytes, "choosing a variant: there is no family %s", name);
    return family;
}

const struct sm_variant *sm_choose(const struct sm_choice *choice, const char *name, enum sm_format format, char *why,
                                   size_t why_bytes)
{
    const struct sm_family *family = find_family(name, why, why_bytes);
    struct wanted wanted = {.format = format};
    if (family && format == SM_FORMAT_NONE) wanted.layout = family->variants[0].layout->name;
    return family ? choose(choice, family, &wanted, why, why_bytes) : NULL;
}

const struct sm_variant *sm_choose_layout(const struct sm_choice *choice, const char *name, const char *layout,
                                          const char *other, char *why, size_t why_bytes)
{
    const struct sm_family *family = find_family(name, why, why_bytes);
    const struct wanted wanted = {SM_FORMAT_NONE, layout, other};
    return family ? choose(choice, family, &wanted, why, why_bytes) : NULL;
}

static void reserve(struct weights_packer *p, size_t bytes)
{
    p->bytes += (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* The format that a matrix or table takes where the recipe says `asked`. Halves stand for floats, unless a scale is to
 * be folded into them, which could round. */
static enum sm_format packed_format(const struct weights_packer *p, const struct sm_tensor *from, enum sm_format asked)
{
    if (from->format == SM_FORMAT_F16 && (asked == SM_FORMAT_NONE || asked == SM_FORMAT_F32))
        return p->weights->choice.scale_in == SM_SCALE_IN_SCORES ? SM_FORMAT_F16 : SM_FORMAT_F32;
    if (asked == SM_FORMAT_NONE) return sm_nearest_format(from->format);
    return asked == SM_FORMAT_Q4_0 && from->format == SM_FORMAT_Q4_1 ? from->format : asked;
}

static int add_vector(struct weights_packer *p, const struct sm_tensor *from, size_t paired, const float **to)
{
    *to = NULL;
    if (!from->data) return 0;
    if (from->format != SM_FORMAT_F32 && from->format != SM_FORMAT_F16 && from->format != SM_FORMAT_BF16) {
        snprintf(p->why, p->why_bytes, "packing weights: a norm or bias is stored as %s", sm_format_name(from->format));
        return -1;
    }
    p->jobs[p->count++] =
        (struct weights_job){.from = from, .vector = to, .paired = paired, .times = 1, .offset = p->bytes};
    reserve(p, from->cols * sizeof(float));
    return 0;
}

/* The weights of a norm. */
static int add_norm(struct weights_packer *p, const struct sm_tensor *from, size_t paired, const float **to)
{
    if (add_vector(p, from, paired, to)) return -1;
    if (from->data && p->weights->model->norm_plus_one) p->jobs[p->count - 1].plus = 1;
    return 0;
}

/* What a matrix is for: the head or not, and the largest of its calibrated activations (0: none known). */
struct role {
    bool head;
    float largest;
};

/* Whether rows of `in` elements can be held in a format and run by a family. */
static bool fits_family(const struct sm_family *family, enum sm_format format, size_t in)
{
    const int axis = sm_dim_index(family, "in");
    return sm_row_bytes(format, in) && axis >= 0 && in <= (size_t)family->dims[axis].most;
}

static int add_matrix(struct weights_packer *p, const struct sm_tensor *from, const struct sm_tensor *bias,
                      size_t paired, const struct role *role, struct sm_weight *to)
{
    *to = (struct sm_weight){0};
    if (!from->data) return 0;
    const enum sm_format wanted = packed_format(p, from, role->head ? p->recipe->head : p->recipe->linear);
    const bool through = p->weights->choice.weights_only && wanted != from->format && wanted != SM_FORMAT_F32;
    const enum sm_format packed = p->weights->choice.weights_only ? SM_FORMAT_F32 : wanted;
    const struct recipe_rule *rule = recipe_rule(p->recipe, packed);
    const struct sm_variant *v = sm_choose(&p->weights->choice, rule->family, packed, p->why, p->why_bytes);
    if (!v) return -1;
    *to = (struct sm_weight){.family = sm_family_named(rule->family),
                             .variant = v,
                             .rows = rule->rows,
                             .x_scale = sm_scale_of(role->largest),
                             .bytes = v->layout->packed_bytes(from->rows, from->cols),
                             .out = from->rows,
                             .in = from->cols};
    if (!fits_family(to->family, packed, from->cols) || !sm_row_bytes(wanted, from->cols)) {
        snprintf(p->why, p->why_bytes, "packing weights: %s cannot hold rows of %zu, as the recipe %s asks",
                 sm_format_name(wanted), from->cols, p->recipe->name);
        return -1;
    }
    if (rule->rows == SM_ROWS_A16 && !(role->largest > 0)) {
        snprintf(p->why, p->why_bytes,
                 "packing weights: the recipe %s needs a static scale for every matrix, and the "
                 "scales given have none for one of this model's; make them with slotmark scales MODEL",
                 p->recipe->name);
        return -1;
    }
    p->jobs[p->count++] = (struct weights_job){.from = from,
                                               .weight = to,
                                               .format = packed,
                                               .through = through ? wanted : SM_FORMAT_NONE,
                                               .paired = paired,
                                               .times = 1,
                                               .clip = p->recipe->clip && !role->head,
                                               .offset = p->bytes};
    reserve(p, to->bytes);
    return bias ? add_vector(p, bias, paired, &to->bias) : 0;
}

static int add_layer_matrices(struct weights_packer *p, size_t layer, size_t paired)
{
    struct sm_layer_weights *w = &p->weights->layer[layer];
    const struct sm_tensor *t = p->weights->model->layer[layer].tensor;
    const struct sm_scales *scales = p->weights->choice.scales;
    const struct {
        enum sm_layer_tensor matrix, bias; /* SM_LAYER_TENSORS: it has none */
        enum sm_site site;
        struct sm_weight *to;
        bool turned; /* its rows are rotated later */
    } all[] = {
        {SM_TENSOR_Q, SM_TENSOR_Q_BIAS, SM_SITE_QKV, &w->q, true},
        {SM_TENSOR_K, SM_TENSOR_K_BIAS, SM_SITE_QKV, &w->k, true},
        {SM_TENSOR_V, SM_TENSOR_V_BIAS, SM_SITE_QKV, &w->v, false},
        {SM_TENSOR_O, SM_TENSOR_O_BIAS, SM_SITE_ATTENTION_OUT, &w->o, false},
        {SM_TENSOR_GATE, SM_TENSOR_GATE_BIAS, SM_SITE_GATE_UP, &w->gate, false},
        {SM_TENSOR_UP, SM_TENSOR_UP_BIAS, SM_SITE_GATE_UP, &w->up, false},
        {SM_TENSOR_DOWN, SM_TENSOR_DOWN_BIAS, SM_SITE_DOWN, &w->down, false},
        {SM_TENSOR_PER_LAYER_GATE, SM_LAYER_TENSORS, SM_SITE_PER_LAYER_GATE, &w->per_layer_gate, false},
        {SM_TENSOR_PER_LAYER_PROJECTION, SM_LAYER_TENSORS, SM_SITE_PER_LAYER_PROJECTION, &w->per_layer_projection,
         false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct sm_tensor *bias = all[i].bias == SM_LAYER_TENSORS ? NULL : &t[all[i].bias];
        const struct role role = {false, scales ? scales->layer[layer][all[i].site] : 0};
        if (add_matrix(p, &t[all[i].matrix], bias, all[i].turned ? paired : 0, &role, all[i].to)) return -1;
    }
    return 0;
}

/* Has the jobs of layer i, from `first` on, fold the attention scale into what they make. */
static int fold_scale(struct weights_packer *p, size_t i, size_t first)
{
    const struct sm_model *m = p->weights->model;
    const enum sm_scale_in in = p->weights->choice.scale_in;
    if (fold_check(m, i, in, p->why, p->why_bytes)) return -1;
    p->weights->layer[i].score_scale = in == SM_SCALE_IN_SCORES ? m->shape.layer[i].attention_scale : 1;
    for (size_t j = first; j < p->count; j++)
        p->jobs[j].times = fold_factor(m, i, in, (enum sm_layer_tensor)(p->jobs[j].from - m->layer[i].tensor));
    return 0;
}

static int add_layer(struct weights_packer *p, size_t i)
{
    const struct sm_model *m = p->weights->model;
    const struct sm_tensor *t = m->layer[i].tensor;
    struct sm_layer_weights *w = &p->weights->layer[i];
    const size_t paired = m->paired_rows ? m->shape.layer[i].head_dim : 0, first = p->count;
    return add_layer_matrices(p, i, paired) || add_norm(p, &t[SM_TENSOR_ATTN_NORM], 0, &w->attn_norm) ||
           add_norm(p, &t[SM_TENSOR_FFN_NORM], 0, &w->ffn_norm) ||
           add_norm(p, &t[SM_TENSOR_Q_NORM], paired, &w->q_norm) ||
           add_norm(p, &t[SM_TENSOR_K_NORM], paired, &w->k_norm) ||
           add_norm(p, &t[SM_TENSOR_POST_ATTN_NORM], 0, &w->post_attn_norm) ||
           add_norm(p, &t[SM_TENSOR_POST_FFN_NORM], 0, &w->post_ffn_norm) ||
           add_norm(p, &t[SM_TENSOR_PER_LAYER_POST_NORM], 0, &w->per_layer_post_norm) ||
           add_vector(p, &t[SM_TENSOR_LAYER_SCALAR], 0, &w->scalar) || fold_scale(p, i, first);
}

/* A table whose rows are gathered: the model's own, unless no kernel reads its format. */
static int add_table(struct weights_packer *p, const struct sm_tensor *from, struct sm_tensor *to)
{
    *to = *from;
    p->table[p->table_count++] = (struct weights_table){from, to, p->bytes};
    if (!from->data) return 0;
    if (p->recipe->table != SM_FORMAT_W8C && weights_embedding_family(from->format)) return 0;
    to->format = packed_format(p, from, p->recipe->table);
    if (to->format == from->format) return 0;
    to->bytes = from->rows * sm_row_bytes(to->format, from->cols);
    if (!to->bytes) {
        snprintf(p->why, p->why_bytes, "packing weights: %s cannot hold rows of %zu, as the recipe %s asks",
                 sm_format_name(to->format), from->cols, p->recipe->name);
        return -1;
    }
    to->data = NULL;
    reserve(p, to->bytes);
    return 0;
}

static int plan_jobs(struct weights_packer *p)
{
    struct sm_weights *w = p->weights;
    for (size_t i = 0; i < w->model->shape.layers; i++)
        if (add_layer(p, i)) return -1;
    const struct sm_scales *scales = w->choice.scales;
    const struct role head = {true, scales ? scales->model[SM_SITE_HEAD] : 0},
                      context = {false, scales ? scales->model[SM_SITE_PER_LAYER_CONTEXT] : 0};
    return add_table(p, &w->model->embedding, &w->embedding) ||
           add_table(p, &w->model->per_layer_table, &w->per_layer_table) ||
           add_norm(p, &w->model->output_norm, 0, &w->output_norm) ||
           add_norm(p, &w->model->per_layer_norm, 0, &w->per_layer_norm) ||
           add_matrix(p, &w->model->per_layer_context, NULL, 0, &context, &w->per_layer_context) ||
           add_matrix(p, &w->model->head, NULL, 0, &head, &w->head);
}

/* Copies the choice with its names, so that they need not outlive the call, and checks them. */
static int copy_choice(struct sm_weights *w, const struct sm_choice *choice, char *why, size_t why_bytes)
{
    size_t bytes = choice->forced_count * sizeof *choice->forced;
    for (size_t i = 0; i < choice->forced_count; i++)
        bytes += strlen(choice->forced[i].family) + strlen(choice->forced[i].variant) + 2;
    struct sm_forced *forced = calloc(1, bytes + 1);
    w->names = forced;
    if (!forced) {
        snprintf(why, why_bytes, "packing weights: out of memory");
        return -1;
    }
    char *text = (char *)(forced + choice->forced_count);
    for (size_t i = 0; i < choice->forced_count; i++) {
        const struct sm_family *family = sm_family_named(choice->forced[i].family);
        if (!family || !sm_variant_named(family, choice->forced[i].variant)) {
            snprintf(why, why_bytes, "forcing %s=%s: there is no such %s", choice->forced[i].family,
                     choice->forced[i].variant, family ? "variant" : "family");
            return -1;
        }
        forced[i].family = strcpy(text, choice->forced[i].family);
        text += strlen(text) + 1;
        forced[i].variant = strcpy(text, choice->forced[i].variant);
        text += strlen(text) + 1;
    }
    w->choice = *choice;
    w->choice.forced = forced;
    return 0;
}

/* Sessions with a cache in int16 ask for them later. */
static int keep_kv_scales(struct sm_weights *w, char *why, size_t why_bytes)
{
    if (!w->choice.scales) return 0;
    memcpy(w->scales_from, w->choice.scales->from, sizeof w->scales_from);
    w->kv_scales = calloc(w->model->shape.layers, sizeof *w->kv_scales);
    if (w->kv_scales)
        sm_scales_kv(w->choice.scales, w->kv_scales);
    else
        snprintf(why, why_bytes, "packing weights: out of memory");
    return w->kv_scales ? 0 : -1;
}

int sm_weights_create(struct sm_weights **weights, const struct sm_model *model, const char *recipe,
                      const struct sm_choice *choice, char *why, size_t why_bytes)
{
    const size_t layers = model->shape.layers;
    struct weights_packer p = {.recipe = recipe_named(recipe, why, why_bytes), .why = why, .why_bytes = why_bytes};
    if (!p.recipe || recipe_check_scales(p.recipe, model, choice, why, why_bytes)) return -1;
    struct sm_weights *w = calloc(1, sizeof *w);
    p.weights = w;
    p.jobs = calloc(layers * SM_LAYER_TENSORS + 4, sizeof *p.jobs);
    if (w) w->layer = calloc(layers, sizeof *w->layer);
    int bad = -1;
    if (!w || !p.jobs || !w->layer) {
        snprintf(why, why_bytes, "packing weights: out of memory");
        goto done;
    }
    w->model = model;
    w->recipe = p.recipe->name;
    w->rows = choice->weights_only ? SM_ROWS_F32 : p.recipe->rows;
    if (copy_choice(w, choice, why, why_bytes) || plan_jobs(&p) || keep_kv_scales(w, why, why_bytes)) goto done;
    if (p.bytes > sm_free_memory()) {
        snprintf(why, why_bytes, "packing weights: the recipe %s needs %.3g GiB, and %.3g GiB are free", w->recipe,
                 (double)p.bytes / 0x1p30, (double)sm_free_memory() / 0x1p30);
        goto done;
    }
    w->memory = mmap(NULL, p.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w->memory == MAP_FAILED) {
        w->memory = NULL;
        snprintf(why, why_bytes, "packing weights: no memory for %zu bytes", p.bytes);
        goto done;
    }
    (void)madvise(w->memory, p.bytes, MADV_HUGEPAGE); /* weights are streamed: fewer TLB misses where it is granted */
    w->memory_bytes = w->bytes = p.bytes;
    bad = weights_fill(&p);
done:
    if (w) w->choice.scales = NULL; /* the caller's */
    if (w) w->choice.packed = NULL;
    free(p.jobs);
    if (bad)
        sm_weights_destroy(w);
    else
        *weights = w;
    return bad;
}

void sm_weights_destroy(struct sm_weights *w)
{
    if (!w) return;
    if (w->memory) munmap(w->memory, w->memory_bytes);
    free(w->names);
    free(w->kv_scales);
    free(w->layer);
    free(w);
}
