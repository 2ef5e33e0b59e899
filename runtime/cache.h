/* cache.h - the static cache of keys and values: max_seq - 1 slots a layer, shared by the plans of a model.
 *
 * K and V of a layer are [kv_heads][max_seq - 1][head_dim] in the KV type; i8 has a float scale for every slot and
 * KV head, i16 one for all keys and one for all values of a layer (cache_write.h). Valid tokens are a compact prefix of
 * the slots. Keys are rotated, and not scaled unless the attention scale is folded into them (weights.h). Where the
 * attention that reads them wants it, keys lie in blocks of 16 slots instead, the last one whole. */
#ifndef SM_CACHE_H
#define SM_CACHE_H

#include <stddef.h>

#include "shape.h"

#define SM_MAX_SEQ 131072

enum sm_kv_type { SM_KV_F32, SM_KV_F16, SM_KV_I8, SM_KV_I16, SM_KV_TYPES };

/* "f32", "f16", "i8", "i16"; 0 or -1. */
const char *sm_kv_name(enum sm_kv_type type);
int sm_kv_named(const char *name, enum sm_kv_type *type);
size_t sm_kv_element_bytes(enum sm_kv_type type);

/* How keys lie: the layouts of attention.h, of which plain is slot_major of cache_write.h, and keys16 its blocks16. */
enum sm_keys { SM_KEYS_PLAIN, SM_KEYS_16, SM_KEY_LAYOUTS };

const char *sm_keys_name(enum sm_keys keys); /* "plain", "keys16" */

/* Slots that the keys of so many take room for: with keys16 whole blocks. */
size_t sm_keys_slots(enum sm_keys keys, size_t slots);

struct sm_layer_cache {
    void *k, *v;              /* NULL for a layer that uses another layer's */
    float *k_scale, *v_scale; /* i8: [kv_heads][max_seq - 1]; i16: one each; else NULL */
    size_t kv_heads, head_dim;
};

struct sm_cache {
    enum sm_kv_type type;
    enum sm_keys keys;
    size_t max_seq, layers;
    size_t used;  /* slots from here on have never been written since they were zeroed */
    size_t bytes; /* of all slots and scales */
    struct sm_layer_cache *layer;
    void *memory;
};

/* All zero, but scales of i16, which are 1. 0 on success; -1 and a sentence. */
int sm_cache_create(struct sm_cache **cache, const struct sm_model_shape *shape, size_t max_seq, enum sm_kv_type type,
                    enum sm_keys keys, char *why, size_t why_bytes);
void sm_cache_destroy(struct sm_cache *cache);

/* i16: the scales of each layer's keys and values, max |x| / 32767 of a calibration; those of layers that use another
 * layer's are not looked at. Before anything is written: slots keep what they hold. 0, or -1 and a sentence. */
int sm_cache_set_scales(struct sm_cache *cache, const float (*scale)[2], char *why, size_t why_bytes);

/* Zeroes the slots [from, used) and sets `used` to `from`. */
void sm_cache_clear(struct sm_cache *cache, size_t from);

/* Where in k (or v) of a layer the element of a KV head's slot is, in elements. */
size_t sm_cache_at(const struct sm_cache *cache, size_t layer, int values, size_t head, size_t slot, size_t element);

/* One slot of all layers, scales and all: its bytes, and copies of them, the same however keys lie. */
size_t sm_cache_slot_bytes(const struct sm_cache *cache);
void sm_cache_save(const struct sm_cache *cache, size_t slot, void *to);
void sm_cache_restore(struct sm_cache *cache, size_t slot, const void *from);

/* The keys (or values) of slot `slot`, as floats [kv_heads][head_dim]: for tests and verification. */
void sm_cache_read(const struct sm_cache *cache, size_t layer, int values, size_t slot, float *out);

#endif
