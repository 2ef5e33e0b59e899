/* What a recipe costs in answers, against what it gains in speed: verify's distances over profile's tokens per second.
 */
#include <math.h>
#include <string.h>

#include "figure.h"
#include "models.h"

#define MAX_RECIPES 12

static const char *model_of(const struct sm_result *r)
{
    return sm_json_text(sm_json_part(r->json, "model"), "name");
}

static double quality_of(const struct sm_result *r, int perplexity)
{
    const json_t *quality = sm_json_part(r->json, "quality");
    return perplexity ? sm_json_number(sm_json_part(quality, "perplexity"), "rise_percent")
                      : 100 * sm_json_number(quality, "peir");
}

static int has_quality(const struct sm_result *r)
{
    return isfinite(quality_of(r, 0)) || isfinite(quality_of(r, 1));
}

/* The decode of a profile that ran what was verified, with the most threads, of equals the first; else the decodes of
 * the verification itself. */
static const struct sm_result *timed_like(const struct sm_slice *profiles, const struct sm_result *r)
{
    static const char *const keys[] = {"recipe", "kv_type", "scale_in"};
    const struct sm_result *best = NULL;
    for (size_t i = 0; i < profiles->count; i++) {
        const struct sm_result *p = profiles->at[i];
        int same = !strcmp(model_of(p), model_of(r)) && !strcmp(sm_result_text(p, "phase"), "decode") &&
                   !json_is_object(json_object_get(p->json, "turn"));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            same &= !strcmp(sm_result_text(p, keys[k]), sm_result_text(r, keys[k]));
        if (same && (!best || sm_result_number(p, "threads") > sm_result_number(best, "threads"))) best = p;
    }
    return best ? best : r;
}

static void add_quality(struct sm_drawing *d, const struct sm_slice *all, const struct sm_slice *profiles, int panel,
                        int perplexity)
{
    const char *recipes[SM_SLICE_NAMES];
    const size_t n = sm_slice_texts(all, "recipe", recipes);
    for (size_t s = 0; s < n && s < MAX_RECIPES; s++)
        for (size_t i = 0; i < all->count; i++) {
            const struct sm_result *r = all->at[i], *timed = timed_like(profiles, r);
            const double value = quality_of(r, perplexity);
            char point[64];
            const char *scale = sm_result_text(r, "scale_in");
            if (strcmp(sm_result_text(r, "recipe"), recipes[s]) != 0 || !isfinite(value)) continue;
            if (!perplexity && !(value > 0)) continue; /* the same bits: no place on a logarithmic axis */
            snprintf(point, sizeof point, "%.12s%s%.12s", sm_result_text(r, "kv_type"),
                     !*scale || !strcmp(scale, "scores") ? "" : ", scale in ", strcmp(scale, "scores") ? scale : "");
            sm_drawing_use(d, r);
            if (timed != r) sm_drawing_use(d, timed);
            sm_figure_table_row(&d->table, "isisggggsss", panel, perplexity ? "rise of the perplexity (%)" : "PEIR (%)",
                                (int)s, recipes[s], 1e9 / timed->median, 1e9 / timed->q3, 1e9 / timed->q1, value, point,
                                timed == r ? "verify" : "profile", sm_result_text(r, "case"));
        }
}

int sm_figure_quality(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = sm_slice_kind(results, "verify"), profiles = sm_slice_kind(results, "profile");
    sm_slice_keep(&all, has_quality);
    sm_model_keep_most_frequent(&all);
    int panels = 0;
    for (int perplexity = 0; perplexity < 2; perplexity++) {
        const size_t before = d->table.rows;
        add_quality(d, &all, &profiles, panels, perplexity);
        panels += d->table.rows > before;
    }
    if (all.count) {
        char model[64];
        sm_result_model(all.at[0], model, sizeof model);
        snprintf(d->subtitle, sizeof d->subtitle, "%s; decode with %.0f threads; against %.40s", model,
                 sm_result_number(timed_like(&profiles, all.at[0]), "threads"),
                 sm_json_text(sm_json_part(all.at[0]->json, "quality"), "against"));
    }
    d->table.failed |= all.failed | profiles.failed;
    sm_slice_destroy(&all);
    sm_slice_destroy(&profiles);
    return d->table.rows ? 0 : -1;
}
