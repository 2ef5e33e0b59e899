#include "weights_fill.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dequantise.h"
#include "embedding.h"
#include "quant.h"
#include "weights_fold.h"

/* What a job, or a row of a table, came to. */
enum outcome { DONE = 0, NOT_FINITE = 1, NO_MEMORY = 2, DOES_NOT_FIT = 4 };

/* Row r of the model is row ordered_row(r, a) of a file whose heads of `a` rows hold interleaved pairs; a = 0: they
 * do not. */
static size_t ordered_row(size_t r, size_t a)
{
    if (!a) return r;
    const size_t j = r % a, half = a / 2;
    return r - j + (j < half ? 2 * j : 2 * (j - half) + 1);
}

const struct sm_family *weights_embedding_family(enum sm_format format)
{
    char name[32] = "embedding_";
    for (const char *c = sm_format_name(format); *c && strlen(name) + 1 < sizeof name; c++) {
        const char lower[2] = {*c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c, '\0'};
        strcat(name, lower);
    }
    return sm_family_named(name);
}

/* Floats of a tensor's rows in order: by an embedding kernel where there is one for the format, since it is faster. */
static enum outcome dequantise_rows(const struct weights_packer *p, const struct weights_job *job, float *to)
{
    char why[128];
    const struct sm_tensor *t = job->from;
    const struct sm_family *family = weights_embedding_family(t->format);
    const struct sm_variant *v =
        family ? sm_choose(&p->weights->choice, family->name, SM_FORMAT_NONE, why, sizeof why) : NULL;
    int32_t *order = v ? malloc(t->rows * sizeof *order) : NULL;
    if (v && !order) return NO_MEMORY;
    for (size_t r = 0; r < t->rows; r++) {
        const size_t row = ordered_row(r, job->paired);
        if (v)
            order[r] = (int32_t)row;
        else
            sm_dequantise(to + r * t->cols, t->format, (const char *)t->data + row * (t->bytes / t->rows), t->cols);
    }
    if (v) {
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
    return DONE;
}

static enum outcome do_vector(const struct weights_job *job, float *to)
{
    const struct sm_tensor *t = job->from;
    const size_t each = sm_row_bytes(t->format, 1);
    for (size_t i = 0; i < t->cols; i++) {
        sm_dequantise(&to[i], t->format, (const char *)t->data + ordered_row(i, job->paired) * each, 1);
        to[i] = (to[i] + job->plus) * job->times;
    }
    *job->vector = to;
    return DONE;
}

/* A row in the format that a job asks for. `kept`: room for a row of job->through. */
static void convert_row(struct weights_job *job, char *to, const char *from, char *kept, float *scratch)
{
    const struct sm_tensor *t = job->from;
    if (job->through != SM_FORMAT_NONE) {
        sm_convert(kept, job->through, from, t->format, t->cols, job->clip, scratch, &job->sums);
        sm_dequantise((float *)(void *)to, job->through, kept, t->cols);
    } else if (t->format == job->format) {
        memcpy(to, from, t->bytes / t->rows);
    } else {
        sm_convert(to, job->format, from, t->format, t->cols, job->clip, scratch, &job->sums);
    }
}

/* Rows in order, in the format they are packed from. */
static enum outcome convert_rows(struct weights_job *job, char *to, size_t row)
{
    const struct sm_tensor *t = job->from;
    const size_t from_row = t->bytes / t->rows;
    float *scratch = malloc(3 * t->cols * sizeof *scratch + sizeof(struct sm_channel));
    char *kept = (char *)(scratch + 2 * t->cols); /* no format is wider than floats and a head */
    bool fits = true;
    if (!scratch) return NO_MEMORY;
    for (size_t r = 0; r < t->rows; r++) {
        const char *from = (const char *)t->data + ordered_row(r, job->paired) * from_row;
        convert_row(job, to + r * row, from, kept, scratch);
        fits &= sm_blocks_finite(job->format, to + r * row, t->cols);
    }
    free(scratch);
    return fits ? DONE : DOES_NOT_FIT;
}

static enum outcome do_job(const struct weights_packer *p, struct weights_job *job)
{
    const struct sm_tensor *t = job->from;
    char *to = (char *)p->weights->memory + job->offset;
    if (!sm_blocks_finite(t->format, t->data, t->rows * t->cols)) return NOT_FINITE;
    if (!job->weight) return do_vector(job, (float *)(void *)to);
    const struct sm_layout *layout = job->weight->variant->layout;
    job->weight->data = to;
    if (t->format == job->format && !job->paired && job->times == 1 && !job->through) {
        layout->pack(to, t->data, t->rows, t->cols);
        return DONE;
    }
    const size_t row = sm_row_bytes(job->format, t->cols);
    char *rows = malloc(t->rows * row);
    if (!rows) return NO_MEMORY;
    const enum outcome outcome = t->format != job->format && job->format == SM_FORMAT_F32 && !job->through
                                     ? dequantise_rows(p, job, (float *)(void *)rows)
                                     : convert_rows(job, rows, row);
    if (job->times != 1) fold_rows(job->format, rows, t->rows, t->cols, job->times);
    if (outcome == DONE) layout->pack(to, rows, t->rows, t->cols);
    free(rows);
    return outcome;
}

/* Rows of a table: checked, and written to `base` when they are converted. */
static enum outcome do_rows(const struct weights_table *t, char *base, size_t begin, size_t end,
                            struct sm_error_sums *sums)
{
    const struct sm_tensor *from = t->from;
    const size_t from_row = from->bytes / from->rows, to_row = t->to->bytes / t->to->rows;
    float *scratch = base ? malloc(2 * from->cols * sizeof *scratch) : NULL;
    enum outcome outcome = base && !scratch ? NO_MEMORY : DONE;
    for (size_t r = begin; r < end && outcome == DONE; r++) {
        const char *source = (const char *)from->data + r * from_row;
        if (!sm_blocks_finite(from->format, source, from->cols)) outcome = NOT_FINITE;
        if (!base || outcome != DONE) continue;
        sm_convert(base + r * to_row, t->to->format, source, from->format, from->cols, false, scratch, sums);
        if (!sm_blocks_finite(t->to->format, base + r * to_row, from->cols)) outcome = DOES_NOT_FIT;
    }
    free(scratch);
    return outcome;
}

#define TABLE_ROWS 64

/* A table may be most of the model: its rows share the work. */
static int do_table(struct weights_packer *p, const struct weights_table *t, struct sm_error_sums *sums)
{
    int outcome = DONE;
    if (!t->from->data) return DONE;
    char *base = t->from->format == t->to->format ? NULL : (char *)p->weights->memory + t->offset;
    if (base) t->to->data = base;
#pragma omp parallel for schedule(dynamic) reduction(| : outcome)
    for (size_t begin = 0; begin < t->from->rows; begin += TABLE_ROWS) {
        struct sm_error_sums own = {0};
        const size_t end = begin + TABLE_ROWS < t->from->rows ? begin + TABLE_ROWS : t->from->rows;
        outcome |= (int)do_rows(t, base, begin, end, &own);
#pragma omp critical
        sm_error_add(sums, &own);
    }
    return outcome;
}

static void note_conversion(struct sm_weights *w, enum sm_format from, enum sm_format to, const struct sm_error_sums *s)
{
    struct sm_conversion *c = w->conversion;
    const size_t room = sizeof w->conversion / sizeof *w->conversion;
    const double worst = s->most > 0 ? s->most_error / s->most : 0;
    size_t i = 0;
    while (i < w->conversion_count && (c[i].from != from || c[i].to != to)) i++;
    if (i == room) return;
    if (i == w->conversion_count) c[w->conversion_count++] = (struct sm_conversion){.from = from, .to = to};
    c[i].tensors++;
    c[i].squares += s->squares;
    c[i].error_squares += s->error_squares;
    if (worst > c[i].max_error) c[i].max_error = worst;
    c[i].relative_rms = c[i].squares > 0 ? sqrt(c[i].error_squares / c[i].squares) : 0;
}

/* The format whose errors a matrix has. */
static enum sm_format made_of(const struct weights_job *job)
{
    return job->through != SM_FORMAT_NONE ? job->through : job->format;
}

static size_t bytes_to_pack(const struct weights_packer *p)
{
    size_t bytes = 0;
    for (size_t i = 0; i < p->count; i++) bytes += p->jobs[i].from->bytes;
    for (size_t i = 0; i < p->table_count; i++) bytes += p->table[i].from->bytes;
    return bytes;
}

/* Adds to what is done; thread 0, which called, tells of it. */
static void note_packed(const struct weights_packer *p, size_t *done, size_t bytes, size_t all)
{
    const struct sm_choice *c = &p->weights->choice;
    size_t now;
#pragma omp atomic capture
    now = *done += bytes;
    if (c->packed && !omp_get_thread_num()) c->packed(c->packed_state, (double)now / (double)all);
}

int weights_fill(struct weights_packer *p)
{
    static const char *const sentences[] = {
        [NOT_FINITE] = "the model holds a number that is not finite",
        [NO_MEMORY] = "out of memory",
        [DOES_NOT_FIT] = "a number of the model does not fit the format it is run in",
    };
    int outcome = DONE;
    struct sm_error_sums tables[2] = {{0}};
    const size_t all = bytes_to_pack(p);
    size_t done = 0;
    for (size_t i = 0; i < p->table_count; i++) {
        outcome |= do_table(p, &p->table[i], &tables[i]);
        note_packed(p, &done, p->table[i].from->bytes, all);
    }
#pragma omp parallel for schedule(dynamic) reduction(| : outcome)
    for (size_t i = 0; i < p->count; i++) {
        struct weights_job *job = &p->jobs[p->count - 1 - i]; /* the head is last and largest: it starts first */
        outcome |= (int)do_job(p, job);
        note_packed(p, &done, job->from->bytes, all);
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->jobs[i].weight && p->jobs[i].from->format != made_of(&p->jobs[i]))
            note_conversion(p->weights, p->jobs[i].from->format, made_of(&p->jobs[i]), &p->jobs[i].sums);
    for (size_t i = 0; i < p->table_count; i++)
        if (p->table[i].from->format != p->table[i].to->format)
            note_conversion(p->weights, p->table[i].from->format, p->table[i].to->format, &tables[i]);
    if (outcome) /* of several, the first in the list */
        snprintf(p->why, p->why_bytes, "packing weights: %s", sentences[outcome & -outcome]);
    return outcome ? -1 : 0;
}
