/* static_scales.h - the file of static scales that a calibration leaves and recipes on int16 rows read.
 *
 * One JSON object:
 *     schema      1
 *     kind        "static scales"
 *     model       {name, file, bytes, sha256, ...} as in records: what it was measured on
 *     recipe      whose weights ran
 *     text        {file, bytes, tokens}: what ran; file null: tokens drawn from a seed
 *     window      tokens of a prefill
 *     momentum    of the moving average; 0: the largest of all windows
 *     slotmark    version and commit
 *     layers      [{qkv, attention_out, gate_up, down, keys, values, ...}]: max |x| of each tensor (scales.h); a layer
 *                 that has none of a name leaves it out
 *     head, per_layer_context
 */
#ifndef SM_STATIC_SCALES_H
#define SM_STATIC_SCALES_H

#include "arguments.h"
#include "scales.h"
#include "source.h"

struct sm_static_scales {
    struct sm_scales *scales; /* NULL: none were needed */
    json_t *facts;            /* for records: all of the file but layers, head and per_layer_context; or NULL */
};

/* The file that is looked for where none is named: results/scales/<model>-<recipe>.json. */
void sm_static_scales_path(const struct sm_source *source, const char *recipe, char *path, size_t bytes);

/* Reads a file, which must be of this model and recipe. 0, or -1 and a sentence. */
int sm_static_scales_load(struct sm_static_scales *scales, const char *path, const struct sm_source *source,
                          const char *recipe, char *why, size_t why_bytes);

/* Writes one, facts and all; an existing file only when `overwrite`. Folders are made. 0, or -1 and a sentence. */
int sm_static_scales_save(const struct sm_static_scales *scales, const char *path, bool overwrite, char *why,
                          size_t why_bytes);

/* The file at path; NULL: the one at the standard place, or none (scales NULL) where nothing is there. 0, or -1 and a
 * sentence. */
int sm_static_scales_find(struct sm_static_scales *scales, const struct sm_source *source, const char *recipe,
                          const char *path, char *why, size_t why_bytes);

/* What the recipe needs, or with `keys_and_values` a cache in int16: of the file at path; NULL: at the standard place;
 * for synthetic weights, where there is none, of a short run of seeded tokens, which the facts say. 0, or -1 and a
 * sentence that names the command. */
int sm_static_scales_for(struct sm_static_scales *scales, const struct sm_source *source, const char *recipe,
                         bool keys_and_values, const char *path, const struct sm_choice *choice, char *why,
                         size_t why_bytes);

/* Packs a model's weights for a recipe, with the scales of sm_static_scales_for where a recipe or one of the KV types
 * needs them. choice: all but the scales and who is told. progress: where a line says how far it is once it takes more
 * than three seconds, NULL: nowhere. Its time is in the weights. 0, or -1 and a sentence. */
int sm_static_scales_pack(struct sm_weights **weights, const struct sm_source *source, const char *recipe,
                          const struct sm_strings *kv, const char *path, const struct sm_choice *choice, FILE *progress,
                          char *why, size_t why_bytes);

/* Safe on a zeroed struct. */
void sm_static_scales_free(struct sm_static_scales *scales);

/* The facts of a run that measured them: a new reference. text NULL: seeded tokens. */
json_t *sm_static_scales_facts(const struct sm_source *source, const char *recipe, const char *text, size_t text_bytes,
                               size_t tokens, size_t window, double momentum);

#endif
