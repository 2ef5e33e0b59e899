#include "trial_record.h"

#include <stdio.h>
#include <string.h>

#include "ceilings.h"
#include "conversions.h"

/* Kinds of layers whose steps ran. */
static size_t kinds_of(const struct sm_step_times *times)
{
    size_t count = 0;
    for (int k = SM_LAYER_NONE + 1; k < SM_LAYER_KINDS; k++) count += times->kind_calls[SM_LABEL_ATTENTION][k] > 0;
    return count;
}

/* What the kinds of layers took of a step, where there are several. */
static void add_kinds(struct sm_record *record, const struct sm_step_times *times, int label)
{
    for (int k = SM_LAYER_NONE + 1; k < SM_LAYER_KINDS; k++)
        if (times->kind_calls[label][k])
            sm_record_add_step_part(record, sm_layer_kind_name((enum sm_layer_kind)k),
                                    (double)times->kind_ns[label][k] / (double)times->runs,
                                    (int64_t)(times->kind_calls[label][k] / times->runs));
}

void sm_trial_add_steps(struct sm_record *record, const struct sm_step_times *times)
{
    if (!times || !times->runs) return;
    const double runs = (double)times->runs;
    uint64_t known = 0;
    for (int l = 0; l < SM_LABELS; l++) {
        if (!times->calls[l]) continue;
        known += times->ns[l];
        sm_record_add_step(record, sm_label_name((enum sm_label)l), (double)times->ns[l] / runs,
                           (int64_t)(times->calls[l] / times->runs));
        if (kinds_of(times) > 1) add_kinds(record, times, l);
    }
    const double rest = times->elapsed_ns > known ? (double)(times->elapsed_ns - known) / runs : 0;
    sm_record_add_step(record, "unexplained", rest, 1);
}

const char *sm_trial_variants(const struct sm_session *s, enum sm_phase phase, char *text, size_t bytes)
{
    struct sm_variant_use use[32];
    size_t count = sm_session_variants(s, phase, use, 32), used = 0;
    *text = 0;
    if (count > 32) count = 32;
    for (size_t i = 0; i < count && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s/%s", i ? ", " : "", use[i].family->name,
                                 use[i].variant->name);
    return text;
}

/* Whether attention leaves out slots that hold nothing. */
static bool skips_slots(const struct sm_session *s, enum sm_phase phase)
{
    struct sm_variant_use use[32];
    size_t count = sm_session_variants(s, phase, use, 32);
    for (size_t i = 0; i < count && i < 32; i++)
        if (!strcmp(use[i].family->group, "attention") && !strncmp(use[i].variant->name, "skip", 4)) return true;
    return false;
}

/* Decoding reads the weights and the cache once a token: the level that holds them sets its limit. */
static void add_ceilings(struct sm_record *record, const struct sm_trial *t, enum sm_phase phase, double bytes)
{
    char name[32];
    const struct sm_ceilings *ceilings = sm_ceilings((int)t->threads);
    if (!ceilings) return;
    sm_ceilings_record(ceilings, record);
    snprintf(name, sizeof name, "%s_read", sm_ceilings_level(bytes, (int)t->threads));
    if (phase == SM_PHASE_DECODE && sm_ceiling_named(ceilings, name))
        sm_record_set_string(record, "binding_ceiling", name);
}

void sm_trial_label(struct sm_record *record, const struct sm_trial *t, const struct sm_source *source,
                    const char *recipe)
{
    sm_record_set_json(record, "model", sm_source_json(source));
    sm_record_set_string(record, "recipe", recipe);
    sm_record_set_integer(record, "max_seq", (int64_t)t->max_seq);
    sm_record_set_string(record, "kv_type", sm_kv_name(t->kv));
    sm_record_set_string(record, "scale_in", sm_scale_in_name(t->scale_in));
    sm_record_set_integer(record, "n_prompt", (int64_t)t->prompt);
    sm_record_set_integer(record, "n_gen", (int64_t)t->gen);
    sm_record_set_string(record, "padding_side", t->padding == SM_PAD_LEFT ? "left" : "right");
    sm_record_set_integer(record, "threads", (int64_t)t->threads);
    sm_record_set_string(record, "cache_state", "hot");
}

void sm_trial_describe(struct sm_record *record, const struct sm_trial *t, const struct sm_source *source,
                       const struct sm_session *s, const struct sm_weights *weights, enum sm_phase phase)
{
    const struct sm_session_memory memory = sm_session_memory(s);
    char variants[1024];
    const int decode = phase == SM_PHASE_DECODE;
    const double kv_bytes = (double)(sm_shape_kv_elements(&source->model->shape) * sm_kv_element_bytes(t->kv));
    sm_trial_label(record, t, source, weights->recipe);
    sm_record_set_string(record, "scale_in", sm_scale_in_name(weights->choice.scale_in)); /* not what was asked for */
    sm_record_set_string(record, "phase", sm_phase_name(phase));
    sm_record_set_integer(record, "bucket", decode ? 1 : (int64_t)t->max_seq);
    sm_record_set_integer(record, "n_prompt", decode ? 0 : (int64_t)t->prompt);
    sm_record_set_integer(record, "n_gen", decode ? (int64_t)t->gen : 0);
    sm_record_set_integer(record, "n_depth", decode ? (int64_t)t->prompt : 0);
    sm_record_put_integer(record, "memory", "weights_bytes", (int64_t)memory.weights_bytes);
    sm_record_put_integer(record, "memory", "cache_bytes", (int64_t)memory.cache_bytes);
    sm_record_put_integer(record, "memory", "arena_bytes", (int64_t)memory.arena_bytes);
    sm_record_put_json(record, "memory", "peak_rss_bytes", t->peak ? json_integer(t->peak) : NULL);
    sm_record_set_number(record, "load_s", source->model->open_s);
    sm_record_set_number(record, "pack_s", weights->pack_s);
    sm_conversions_record(record, weights);
    sm_record_set_number(record, "ops", sm_trial_ops(&source->model->shape, phase, t->max_seq));
    sm_record_set_string(record, "ops_unit", "multiply-adds");
    /* each packed weight once, and in decode the cache, of which skip variants read what holds tokens */
    const double slots = skips_slots(s, phase) ? (double)t->prompt + (double)t->gen / 2 : (double)(t->max_seq - 1);
    const double bytes = (double)memory.weights_bytes + (decode ? kv_bytes * slots : 0);
    sm_record_set_number(record, "bytes", bytes);
    add_ceilings(record, t, phase, bytes);
    sm_record_set_string(record, "variant", sm_trial_variants(s, phase, variants, sizeof variants));
}

json_t *sm_trial_witnesses(const struct sm_witnesses *witnesses, const struct sm_pin *pin)
{
    json_t *w = sm_witnesses_json(witnesses);
    json_object_set_new(w, "cpus", pin ? sm_pin_json(pin) : json_null());
    if (!pin) json_array_append_new(json_object_get(w, "flags"), json_string("unpinned"));
    return w;
}
