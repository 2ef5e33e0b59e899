#include "models.h"

#include <stdio.h>
#include <string.h>

#include "figure.h"

const char *const sm_phases[SM_PHASES] = {"prefill", "append", "decode"};

void sm_result_tokens(const struct sm_result *r, double *real, double *computed)
{
    const char *phase = sm_result_text(r, "phase");
    *real = *computed = 1;
    if (!strcmp(phase, "decode")) return;
    const double bucket = sm_result_number(r, "bucket"), max_seq = sm_result_number(r, "max_seq");
    *real = sm_result_number(r, "n_prompt");
    *computed = bucket > 0 ? bucket : max_seq;
}

static const char *model_name(const struct sm_result *r)
{
    return sm_json_text(sm_json_part(r->json, "model"), "name");
}

/* The name that most records have, of equals the first; NULL where there is none. */
static const char *most_frequent_model(struct sm_slice *slice)
{
    json_t *counts = json_object();
    const char *most = NULL;
    json_int_t most_count = 0;
    for (size_t i = 0; i < slice->count; i++) {
        const char *name = model_name(slice->at[i]);
        const json_int_t n = json_integer_value(json_object_get(counts, name)) + 1;
        if (json_object_set_new_nocheck(counts, name, json_integer(n))) slice->failed = 1;
    }
    for (size_t i = 0; i < slice->count; i++) {
        const json_int_t n = json_integer_value(json_object_get(counts, model_name(slice->at[i])));
        if (n <= most_count) continue;
        most = model_name(slice->at[i]);
        most_count = n;
    }
    json_decref(counts);
    return most;
}

void sm_model_keep_most_frequent(struct sm_slice *slice)
{
    const char *name = most_frequent_model(slice);
    if (!name) return;
    size_t kept = 0;
    for (size_t i = 0; i < slice->count; i++)
        if (!strcmp(model_name(slice->at[i]), name)) slice->at[kept++] = slice->at[i];
    slice->count = kept;
}

/* Records of one model under one recipe and KV type: the one with the most of them, of equals the first. */
static void keep_one_model(struct sm_slice *slice)
{
    sm_model_keep_most_frequent(slice);
    static const char *const keys[] = {"recipe", "kv_type", "scale_in"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const char *texts[SM_SLICE_NAMES], *most = NULL;
        size_t most_count = 0;
        const size_t n = sm_slice_texts(slice, keys[k], texts);
        for (size_t t = 0; t < n; t++) {
            struct sm_slice one = sm_slice_copy(slice);
            sm_slice_keep_text(&one, keys[k], texts[t]);
            if (one.count > most_count) {
                most = texts[t];
                most_count = one.count;
            }
            slice->failed |= one.failed;
            sm_slice_destroy(&one);
        }
        if (most) sm_slice_keep_text(slice, keys[k], most);
    }
}

static int any(const struct sm_result *r)
{
    (void)r;
    return 1;
}

struct sm_slice sm_model_slice(const struct sm_results *results)
{
    return sm_model_slice_with(results, any);
}

struct sm_slice sm_model_slice_with(const struct sm_results *results, int (*fits)(const struct sm_result *r))
{
    struct sm_slice slice = sm_slice_kind(results, "profile");
    sm_slice_keep(&slice, fits);
    size_t kept = 0;
    for (size_t i = 0; i < slice.count; i++) /* sessions of turns are another story: each of theirs has a past */
        if (!json_is_object(json_object_get(slice.at[i]->json, "turn"))) slice.at[kept++] = slice.at[i];
    slice.count = kept;
    keep_one_model(&slice);
    return slice;
}

void sm_model_subtitle(const struct sm_result *r, const char *more, char *text, size_t bytes)
{
    char model[64];
    const char *recipe = sm_result_text(r, "recipe"), *kv = sm_result_text(r, "kv_type");
    sm_result_model(r, model, sizeof model);
    snprintf(text, bytes, "%s%s%s%.20s%s%.12s%s%s", model,
             json_is_true(json_object_get(sm_json_part(r->json, "model"), "synthetic")) ? " (synthetic weights)" : "",
             *recipe ? ", recipe " : "", recipe, *kv ? ", KV " : "", kv, *more ? "; " : "", more);
}

void sm_model_max_seqs(struct sm_slice *slice)
{
    double values[SM_SLICE_NAMES];
    struct sm_slice strict = sm_slice_copy(slice);
    sm_slice_pick(&strict, "max_seq", "max_seq bucket"); /* the bucket of a prefill is max_seq */
    const int enough = sm_slice_values(&strict, "max_seq", values) == sm_slice_values(slice, "max_seq", values);
    slice->failed |= strict.failed;
    sm_slice_destroy(&strict);
    sm_slice_pick(slice, "max_seq", enough ? "max_seq bucket" : "max_seq bucket n_prompt n_depth");
    sm_slice_sort(slice, "max_seq");
    size_t kept = 0;
    for (size_t i = 0; i < slice->count; i++) /* of equals, the longest prompt */
        if (!kept || sm_result_number(slice->at[i], "max_seq") != sm_result_number(slice->at[kept - 1], "max_seq"))
            slice->at[kept++] = slice->at[i];
        else if (sm_result_number(slice->at[i], "n_prompt") > sm_result_number(slice->at[kept - 1], "n_prompt"))
            slice->at[kept - 1] = slice->at[i];
    slice->count = kept;
}
