#include "verify_golden.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "safetensors.h"

struct reader {
    const struct sm_safetensors *file;
    const char *path;
    char *at; /* where the next copy goes; the file's bytes are room enough for all */
    char *why;
    size_t why_bytes;
};

/* 1 and a copy with its sizes; 0: no such tensor; -1 and a sentence. A size that is not 0 beforehand is demanded. */
static int copy(struct reader *r, const char *name, enum sm_safetensors_type type, size_t rank, size_t *sizes,
                const void **data)
{
    const struct sm_safetensor *t = sm_safetensors_find(r->file, name);
    if (!t) return 0;
    if (t->type != type || t->rank != rank) {
        snprintf(r->why, r->why_bytes, "'%s': %s is not %s with %zu axes", r->path, name,
                 sm_safetensors_type_name(type), rank);
        return -1;
    }
    for (size_t i = 0; i < rank; i++) {
        if (!t->sizes[i] || (sizes[i] && sizes[i] != t->sizes[i])) {
            snprintf(r->why, r->why_bytes,
                     "'%s': axis %zu of %s is %zu, where this model has %zu: is it of another model?", r->path, i + 1,
                     name, t->sizes[i], sizes[i] ? sizes[i] : 1);
            return -1;
        }
        sizes[i] = t->sizes[i];
    }
    *data = memcpy(r->at, t->data, t->bytes);
    r->at += (t->bytes + 7) / 8 * 8;
    if (type != SM_SAFETENSORS_F32) return 1;
    for (size_t i = 0; i < t->bytes / sizeof(float); i++)
        if (!isfinite(((const float *)*data)[i])) {
            snprintf(r->why, r->why_bytes, "'%s': element %zu of %s is not finite", r->path, i, name);
            return -1;
        }
    return 1;
}

/* NAME.tokens and NAME.logits: both, or neither. */
static int copy_given(struct reader *r, const char *name, const struct sm_model_shape *shape,
                      struct verify_given *given)
{
    char tokens[32], logits[32];
    size_t sizes[2] = {0, shape->vocab};
    const void *data = NULL, *rows = NULL;
    snprintf(tokens, sizeof tokens, "%s.tokens", name);
    snprintf(logits, sizeof logits, "%s.logits", name);
    const int found = copy(r, tokens, SM_SAFETENSORS_I32, 1, sizes, &data);
    const int with = found < 0 ? -1 : copy(r, logits, SM_SAFETENSORS_F32, 2, sizes, &rows);
    if (found < 0 || with < 0) return -1;
    if (found != with) {
        snprintf(r->why, r->why_bytes, "'%s' has only one of %s and %s", r->path, tokens, logits);
        return -1;
    }
    if (!found) return 0;
    *given = (struct verify_given){data, rows, sizes[0]};
    for (size_t i = 0; i < given->count; i++)
        if (given->tokens[i] < 0 || (size_t)given->tokens[i] >= shape->vocab) {
            snprintf(r->why, r->why_bytes, "'%s': %s holds %d, and the vocabulary has 0 to %zu", r->path, tokens,
                     (int)given->tokens[i], shape->vocab - 1);
            return -1;
        }
    return 1;
}

static int copy_hidden(struct reader *r, const struct sm_model_shape *shape, struct verify_golden *g)
{
    size_t states[3] = {shape->layers + 1, g->full.count, shape->hidden}, norm[2] = {g->full.count, shape->hidden};
    const void *data = NULL, *normed = NULL;
    if (!g->full.count) return 0;
    if (copy(r, "hidden.full", SM_SAFETENSORS_F32, 3, states, &data) < 0 ||
        copy(r, "hidden.final_norm", SM_SAFETENSORS_F32, 2, norm, &normed) < 0)
        return -1;
    g->hidden = (struct verify_hidden){data, normed, g->full.logits};
    return 0;
}

/* The calls that the JSON lists: 0, or -1 and a sentence. */
static int read_calls(const json_t *facts, const char *path, struct verify_golden *g, char *why, size_t why_bytes)
{
    const json_t *turns = json_object_get(facts, "turns");
    const json_int_t max_seq = json_integer_value(json_object_get(facts, "max_seq"));
    size_t i;
    const json_t *entry;
    if (max_seq > 1 && max_seq <= SM_MAX_SEQ) g->max_seq = (size_t)max_seq;
    json_array_foreach(turns, i, entry)
    {
        const json_int_t prompt = json_integer_value(json_object_get(entry, "n_tokens")),
                         gen = json_integer_value(json_object_get(entry, "decode_steps"));
        if (i == SM_TURNS_MOST || prompt < 1 || gen < 0 || prompt > SM_TURN_MOST_TOKENS || gen > SM_TURN_MOST_TOKENS) {
            snprintf(why, why_bytes, "'%s': turn %zu is not as many tokens and steps as can be", path, i + 1);
            return -1;
        }
        g->calls.turn[g->calls.count++] = (struct sm_turn){(size_t)prompt, (size_t)gen};
    }
    if (sm_turns_tokens(&g->calls) <= g->turns.count) return 0;
    snprintf(why, why_bytes, "'%s': its turns have %zu tokens, and turns.tokens %zu", path, sm_turns_tokens(&g->calls),
             g->turns.count);
    return -1;
}

/* NAME.json beside NAME.safetensors, where there is one. */
static int read_facts(const char *path, struct verify_golden *g, char *why, size_t why_bytes)
{
    char beside[4096];
    json_error_t error;
    const char *dot = strrchr(path, '.');
    const int n = snprintf(beside, sizeof beside, "%.*s.json", (int)(dot - path), path);
    if (n < 0 || (size_t)n >= sizeof beside || access(beside, F_OK)) return 0;
    json_t *facts = json_load_file(beside, JSON_REJECT_DUPLICATES, &error);
    if (!facts) {
        snprintf(why, why_bytes, "cannot read '%s': line %d: %s", beside, error.line, error.text);
        return -1;
    }
    const int failed = read_calls(facts, beside, g, why, why_bytes);
    json_decref(facts);
    return failed;
}

int verify_golden_open(struct verify_golden *g, const char *path, const struct sm_model_shape *shape, char *why,
                       size_t why_bytes)
{
    struct sm_safetensors file;
    int outcome = -1;
    memset(g, 0, sizeof *g);
    if (sm_safetensors_open(&file, path, why, why_bytes)) return -1;
    g->memory = malloc(file.map_bytes + 8 * file.count);
    struct reader r = {&file, path, g->memory, why, why_bytes};
    if (!g->memory) {
        snprintf(why, why_bytes, "there is no memory for what '%s' holds", path);
        goto done;
    }
    const int full = copy_given(&r, "full", shape, &g->full),
              turns = full < 0 ? -1 : copy_given(&r, "turns", shape, &g->turns);
    if (full < 0 || turns < 0 || copy_hidden(&r, shape, g)) goto done;
    if (!full && !turns)
        snprintf(why, why_bytes, "'%s' has neither full.tokens nor turns.tokens: it holds no reference logits", path);
    else
        outcome = read_facts(path, g, why, why_bytes);
done:
    sm_safetensors_close(&file);
    if (outcome) verify_golden_close(g);
    return outcome;
}

void verify_golden_close(struct verify_golden *g)
{
    free(g->memory);
    memset(g, 0, sizeof *g);
}
