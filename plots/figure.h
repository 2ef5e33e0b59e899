/* figure.h - what can be drawn: for each figure, how its table is made from the records.
 *
 * A builder reads records only, fills the drawing and returns 0; -1 where the records hold nothing to draw.
 * How the table becomes a picture is said in NAME.gp, a text file that may be copied and changed. */
#ifndef SM_PLOT_FIGURE_H
#define SM_PLOT_FIGURE_H

#include "figure_table.h"
#include "results.h"
#include "slice.h"

struct sm_drawing {
    struct sm_figure_table table;
    char subtitle[256];            /* the conditions: what is held fixed */
    char finding[400];             /* a sentence computed from the data, or "" */
    int synthetic;                 /* a model with made-up weights is in it */
    const struct sm_result **used; /* the records drawn, for the foot line */
    size_t used_count, used_capacity;
};

struct sm_figure {
    const char *name;    /* of its files and its template */
    const char *title;   /* the subject */
    const char *see;     /* what to look for */
    const char *columns; /* of the table */
    const char *command; /* what makes the data */
    int (*build)(const struct sm_results *results, struct sm_drawing *d);
};

extern const struct sm_figure sm_figures[];
extern const size_t sm_figure_count;

int sm_figure_attention(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_bucket(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_mask(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_cache_write(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_matmul(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_roofline(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_softcap(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_ceilings(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_model(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_steps(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_layers(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_depth(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_counters(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_quality(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_costs_bucket(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_costs_padding(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_costs_mask(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_costs_max_seq(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_compare(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_history(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_plan(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_turns(const struct sm_results *results, struct sm_drawing *d);
int sm_figure_tokens(const struct sm_results *results, struct sm_drawing *d);

/* Notes that the figure shows this record. */
void sm_drawing_use(struct sm_drawing *d, const struct sm_result *r);

/* "AMD EPYC, 2 cores · slotmark 1a2b3c4 · 2026-01-31": of the records used. */
void sm_drawing_foot(const struct sm_drawing *d, char *foot, size_t bytes);

/* "2 threads, hot": of a record. */
void sm_result_conditions(const struct sm_result *r, char *text, size_t bytes);

/* The KV type of an attention or cache_write family: "f16". */
const char *sm_result_kv(const struct sm_result *r);

/* Real and computed tokens of one sample of a model's phase: a decode sample is one token. */
void sm_result_tokens(const struct sm_result *r, double *real, double *computed);

/* The name of a model without its path or ending. */
void sm_result_model(const struct sm_result *r, char *text, size_t bytes);

void sm_drawing_destroy(struct sm_drawing *d);

#endif
