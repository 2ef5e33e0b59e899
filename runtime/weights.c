#include "weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu.h"
#include "embedding.h"
#include "quant.h"

#define ALIGN 64
#define FORMATS (SM_FORMAT_Q8_0 + 1)

/* Which family runs a matrix of a format, and what it is stored as first. */
struct rule {
    const char *family;
    enum sm_format packed;
    bool a8;
};

static const struct recipe {
    const char *name;
    struct rule rule[FORMATS];
} recipes[] = {
    {"native",
     {[SM_FORMAT_F32] = {"matmul_f32", SM_FORMAT_F32, false},
      [SM_FORMAT_F16] = {"matmul_f32", SM_FORMAT_F32, false},
      [SM_FORMAT_Q4_0] = {"matmul_w4g32_a8", SM_FORMAT_Q4_0, true},
      [SM_FORMAT_Q4_1] = {"matmul_w4g32_a8", SM_FORMAT_Q4_1, true},
      [SM_FORMAT_Q8_0] = {"matmul_w8g32_a8", SM_FORMAT_Q8_0, true}}},
    {"float",
     {[SM_FORMAT_F32] = {"matmul_f32", SM_FORMAT_F32, false},
      [SM_FORMAT_F16] = {"matmul_f32", SM_FORMAT_F32, false},
      [SM_FORMAT_Q4_0] = {"matmul_f32", SM_FORMAT_F32, false},
      [SM_FORMAT_Q4_1] = {"matmul_f32", SM_FORMAT_F32, false},
      [SM_FORMAT_Q8_0] = {"matmul_f32", SM_FORMAT_F32, false}}},
};

const char *sm_recipe_name(size_t i)
{
    return i < sizeof recipes / sizeof *recipes ? recipes[i].name : NULL;
}

static const struct sm_variant *forced_variant(const struct sm_choice *choice, const struct sm_family *family,
                                               enum sm_format format)
{
    for (size_t i = 0; i < choice->forced_count; i++) {
        if (strcmp(choice->forced[i].family, family->name)) continue;
        const struct sm_variant *v = sm_variant_named(family, choice->forced[i].variant);
        if (v && (format == SM_FORMAT_NONE || v->layout->format == format)) return v;
    }
    return NULL;
}

const struct sm_variant *sm_choose(const struct sm_choice *choice, const char *name, enum sm_format format, char *why,
                                   size_t why_bytes)
{
    const struct sm_family *family = sm_family_named(name);
    if (!family) {
        snprintf(why, why_bytes, "choosing a variant: there is no family %s", name);
        return NULL;
    }
    /* Where there are no weights the layout still counts: all plans use the first variant's (slots in order). */
    const struct sm_layout *layout = format == SM_FORMAT_NONE ? family->variants[0].layout : NULL;
    const struct sm_variant *v = forced_variant(choice, family, format);
    if (!v)
        v = layout ? sm_variant_best_layout(family, choice->features, layout->name)
                   : sm_variant_best(family, choice->features, format);
    if (!v)
        snprintf(why, why_bytes, "choosing a variant of %s: none runs here for %s", name,
                 format == SM_FORMAT_NONE ? "any format" : sm_format_name(format));
    else if (v->needs & ~choice->features)
        snprintf(why, why_bytes, "choosing a variant of %s: %s needs %s, which may not be used here", name, v->name,
                 v->isa);
    else if (layout && v->layout != layout)
        snprintf(why, why_bytes, "choosing a variant of %s: %s reads the layout %s, and plans use %s", name, v->name,
                 v->layout->name, layout->name);
    else
        return v;
    return NULL;
}

/* A matrix or vector on its way into the weights. */
struct job {
    const struct sm_tensor *from;
    struct sm_weight *weight; /* NULL: a vector, that becomes floats */
    const float **vector;
    size_t paired; /* rows are pairs inside heads of this many: put them in order. 0: they are in order */
    bool dequantise;
    float plus; /* added to a vector's elements */
    size_t offset;
};

struct packer {
    struct sm_weights *weights;
    const struct recipe *recipe;
    struct job *jobs;
    size_t count, bytes;
    char *why;
    size_t why_bytes;
};

/* Row r of the model is row ordered_row(r, a) of a file whose heads of `a` rows hold interleaved pairs; a = 0: they
 * do not. */
static size_t ordered_row(size_t r, size_t a)
{
    if (!a) return r;
    const size_t j = r % a, half = a / 2;
    return r - j + (j < half ? 2 * j : 2 * (j - half) + 1);
}

static void reserve(struct packer *p, size_t bytes)
{
    p->bytes += (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static int add_vector(struct packer *p, const struct sm_tensor *from, size_t paired, const float **to)
{
    *to = NULL;
    if (!from->data) return 0;
    if (from->format != SM_FORMAT_F32 && from->format != SM_FORMAT_F16) {
        snprintf(p->why, p->why_bytes, "packing weights: a norm or bias is stored as %s", sm_format_name(from->format));
        return -1;
    }
    p->jobs[p->count++] = (struct job){.from = from, .vector = to, .paired = paired, .offset = p->bytes};
    reserve(p, from->cols * sizeof(float));
    return 0;
}

/* The weights of a norm. */
static int add_norm(struct packer *p, const struct sm_tensor *from, size_t paired, const float **to)
{
    if (add_vector(p, from, paired, to)) return -1;
    if (from->data && p->weights->model->norm_plus_one) p->jobs[p->count - 1].plus = 1;
    return 0;
}

static int add_matrix(struct packer *p, const struct sm_tensor *from, const struct sm_tensor *bias, size_t paired,
                      struct sm_weight *to)
{
    *to = (struct sm_weight){0};
    if (!from->data) return 0;
    const struct rule *rule = &p->recipe->rule[from->format];
    const struct sm_variant *v = sm_choose(&p->weights->choice, rule->family, rule->packed, p->why, p->why_bytes);
    if (!v) return -1;
    *to = (struct sm_weight){.family = sm_family_named(rule->family),
                             .variant = v,
                             .a8 = rule->a8,
                             .bytes = v->layout->packed_bytes(from->rows, from->cols),
                             .out = from->rows,
                             .in = from->cols};
    p->jobs[p->count++] = (struct job){
        .from = from, .weight = to, .paired = paired, .dequantise = rule->packed != from->format, .offset = p->bytes};
    reserve(p, to->bytes);
    return bias ? add_vector(p, bias, paired, &to->bias) : 0;
}

static int add_layer_matrices(struct packer *p, const struct sm_tensor *t, size_t paired, struct sm_layer_weights *w)
{
    const struct {
        enum sm_layer_tensor matrix, bias; /* SM_LAYER_TENSORS: it has none */
        struct sm_weight *to;
        bool turned; /* its rows are rotated later */
    } all[] = {
        {SM_TENSOR_Q, SM_TENSOR_Q_BIAS, &w->q, true},
        {SM_TENSOR_K, SM_TENSOR_K_BIAS, &w->k, true},
        {SM_TENSOR_V, SM_TENSOR_V_BIAS, &w->v, false},
        {SM_TENSOR_O, SM_TENSOR_O_BIAS, &w->o, false},
        {SM_TENSOR_GATE, SM_TENSOR_GATE_BIAS, &w->gate, false},
        {SM_TENSOR_UP, SM_TENSOR_UP_BIAS, &w->up, false},
        {SM_TENSOR_DOWN, SM_TENSOR_DOWN_BIAS, &w->down, false},
        {SM_TENSOR_PER_LAYER_GATE, SM_LAYER_TENSORS, &w->per_layer_gate, false},
        {SM_TENSOR_PER_LAYER_PROJECTION, SM_LAYER_TENSORS, &w->per_layer_projection, false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct sm_tensor *bias = all[i].bias == SM_LAYER_TENSORS ? NULL : &t[all[i].bias];
        if (add_matrix(p, &t[all[i].matrix], bias, all[i].turned ? paired : 0, all[i].to)) return -1;
    }
    return 0;
}

static int add_layer(struct packer *p, size_t i)
{
    const struct sm_model *m = p->weights->model;
    const struct sm_tensor *t = m->layer[i].tensor;
    struct sm_layer_weights *w = &p->weights->layer[i];
    const size_t paired = m->paired_rows ? m->shape.layer[i].head_dim : 0;
    return add_layer_matrices(p, t, paired, w) || add_norm(p, &t[SM_TENSOR_ATTN_NORM], 0, &w->attn_norm) ||
           add_norm(p, &t[SM_TENSOR_FFN_NORM], 0, &w->ffn_norm) ||
           add_norm(p, &t[SM_TENSOR_Q_NORM], paired, &w->q_norm) ||
           add_norm(p, &t[SM_TENSOR_K_NORM], paired, &w->k_norm) ||
           add_norm(p, &t[SM_TENSOR_POST_ATTN_NORM], 0, &w->post_attn_norm) ||
           add_norm(p, &t[SM_TENSOR_POST_FFN_NORM], 0, &w->post_ffn_norm) ||
           add_norm(p, &t[SM_TENSOR_PER_LAYER_POST_NORM], 0, &w->per_layer_post_norm) ||
           add_vector(p, &t[SM_TENSOR_LAYER_SCALAR], 0, &w->scalar);
}

static bool f16_finite(uint16_t h)
{
    return (h & 0x7c00) != 0x7c00;
}

/* Kernels are promised finite numbers, and files may hold others. */
static bool tensor_finite(const struct sm_tensor *t)
{
    const size_t elements = t->rows * t->cols, blocks = elements / SM_GROUP;
    bool finite = true;
    switch (t->format) {
    case SM_FORMAT_F32:
        for (size_t i = 0; i < elements; i++) {
            uint32_t bits;
            memcpy(&bits, (const char *)t->data + i * sizeof bits, sizeof bits);
            finite &= (bits & 0x7f800000) != 0x7f800000;
        }
        break;
    case SM_FORMAT_F16:
        for (size_t i = 0; i < elements; i++) finite &= f16_finite(((const uint16_t *)t->data)[i]);
        break;
    case SM_FORMAT_Q4_0:
        for (size_t i = 0; i < blocks; i++) finite &= f16_finite(((const struct sm_block_q4_0 *)t->data)[i].d);
        break;
    case SM_FORMAT_Q4_1:
        for (size_t i = 0; i < blocks; i++) {
            const struct sm_block_q4_1 *b = (const struct sm_block_q4_1 *)t->data + i;
            finite &= f16_finite(b->d) && f16_finite(b->m);
        }
        break;
    case SM_FORMAT_Q8_0:
        for (size_t i = 0; i < blocks; i++) finite &= f16_finite(((const struct sm_block_q8_0 *)t->data)[i].d);
        break;
    default: return false;
    }
    return finite;
}

/* Floats of a tensor's rows in order: an embedding kernel reads every format that a file may have. */
static int dequantise(const struct packer *p, const struct job *job, float *to)
{
    char name[32] = "embedding_", why[128];
    const struct sm_tensor *t = job->from;
    for (const char *c = sm_format_name(t->format); *c; c++) {
        const char lower[2] = {*c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c, '\0'};
        strcat(name, lower);
    }
    const struct sm_variant *v = sm_choose(&p->weights->choice, name, SM_FORMAT_NONE, why, sizeof why);
    int32_t *order = malloc(t->rows * sizeof *order);
    if (v && order) {
        for (size_t r = 0; r < t->rows; r++) order[r] = (int32_t)ordered_row(r, job->paired);
        const struct sm_embedding args = {.y = to,
                                          .y_stride = t->cols,
                                          .token = order,
                                          .table = t->data,
                                          .rows = t->rows,
                                          .cols = t->cols,
                                          .vocab = t->rows,
                                          .scale = 1};
        v->fn(&args, sm_part_whole(t->rows, t->cols));
    }
    free(order);
    return v && order ? 0 : -1;
}

static int do_vector(const struct job *job, float *to)
{
    const struct sm_tensor *t = job->from;
    for (size_t i = 0; i < t->cols; i++) {
        const size_t from = ordered_row(i, job->paired);
        if (t->format == SM_FORMAT_F16)
            to[i] = sm_f16_to_f32(((const uint16_t *)t->data)[from]);
        else
            memcpy(&to[i], (const char *)t->data + from * sizeof *to, sizeof *to);
        to[i] += job->plus;
    }
    *job->vector = to;
    return 0;
}

static int do_job(const struct packer *p, const struct job *job)
{
    const struct sm_tensor *t = job->from;
    char *to = (char *)p->weights->memory + job->offset;
    if (!job->weight) return do_vector(job, (float *)(void *)to);
    const struct sm_layout *layout = job->weight->variant->layout;
    job->weight->data = to;
    if (!job->dequantise && !job->paired) {
        layout->pack(to, t->data, t->rows, t->cols);
        return 0;
    }
    const size_t row = job->dequantise ? t->cols * sizeof(float) : t->bytes / t->rows;
    char *rows = malloc(t->rows * row);
    int bad = !rows;
    if (rows && job->dequantise)
        bad = dequantise(p, job, (float *)(void *)rows);
    else if (rows)
        for (size_t r = 0; r < t->rows; r++)
            memcpy(rows + r * row, (const char *)t->data + ordered_row(r, job->paired) * row, row);
    if (!bad) layout->pack(to, rows, t->rows, t->cols);
    free(rows);
    return bad ? -1 : 0;
}

static int plan_jobs(struct packer *p)
{
    struct sm_weights *w = p->weights;
    for (size_t i = 0; i < w->model->shape.layers; i++)
        if (add_layer(p, i)) return -1;
    return add_norm(p, &w->model->output_norm, 0, &w->output_norm) ||
           add_norm(p, &w->model->per_layer_norm, 0, &w->per_layer_norm) ||
           add_matrix(p, &w->model->per_layer_context, NULL, 0, &w->per_layer_context) ||
           add_matrix(p, &w->model->head, NULL, 0, &w->head);
}

/* The same of a table that may be most of the model, or not there: its rows share the work. */
static bool table_finite(const struct sm_tensor *t)
{
    int unfinite = 0;
    if (!t->data) return true;
#pragma omp parallel for schedule(dynamic, 64) reduction(| : unfinite)
    for (size_t r = 0; r < t->rows; r++) {
        const struct sm_tensor row = {(const char *)t->data + t->bytes / t->rows * r, t->format, 1, t->cols, 0};
        unfinite |= !tensor_finite(&row);
    }
    return !unfinite;
}

static int run_jobs(struct packer *p)
{
    int unfinite = !tensor_finite(&p->weights->model->embedding) || !table_finite(&p->weights->model->per_layer_table);
    int failed = 0;
#pragma omp parallel for schedule(dynamic) reduction(| : unfinite, failed)
    for (size_t i = 0; i < p->count; i++) {
        const struct job *job = &p->jobs[p->count - 1 - i]; /* the head is last and largest: it starts first */
        if (!tensor_finite(job->from))
            unfinite |= 1;
        else if (do_job(p, job))
            failed |= 1;
    }
    if (unfinite)
        snprintf(p->why, p->why_bytes, "packing weights: the model holds a number that is not finite");
    else if (failed)
        snprintf(p->why, p->why_bytes, "packing weights: out of memory, or a format without an embedding kernel");
    return unfinite | failed ? -1 : 0;
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
    w->choice = (struct sm_choice){choice->features, forced, choice->forced_count};
    return 0;
}

static const struct recipe *recipe_named(const char *name, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (!strcmp(name, recipes[i].name)) return &recipes[i];
    snprintf(why, why_bytes, "packing weights: there is no recipe '%s'; there are native and float", name);
    return NULL;
}

int sm_weights_create(struct sm_weights **weights, const struct sm_model *model, const char *recipe,
                      const struct sm_choice *choice, char *why, size_t why_bytes)
{
    const size_t layers = model->shape.layers;
    struct packer p = {.recipe = recipe_named(recipe, why, why_bytes), .why = why, .why_bytes = why_bytes};
    if (!p.recipe) return -1;
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
    if (copy_choice(w, choice, why, why_bytes) || plan_jobs(&p)) goto done;
    w->memory = mmap(NULL, p.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w->memory == MAP_FAILED) {
        w->memory = NULL;
        snprintf(why, why_bytes, "packing weights: no memory for %zu bytes", p.bytes);
        goto done;
    }
    (void)madvise(w->memory, p.bytes, MADV_HUGEPAGE); /* weights are streamed: fewer TLB misses where it is granted */
    w->memory_bytes = w->bytes = p.bytes;
    bad = run_jobs(&p);
done:
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
    free(w->layer);
    free(w);
}
