#include "tokenizer_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct gguf_writer *w, const void *from, size_t bytes)
{
    if (w->count + bytes > w->room) {
        w->room = 2 * (w->count + bytes);
        w->bytes = realloc(w->bytes, w->room);
        if (!w->bytes) abort();
    }
    memcpy(w->bytes + w->count, from, bytes);
    w->count += bytes;
}

static void put_u32(struct gguf_writer *w, uint32_t value)
{
    put(w, &value, sizeof value);
}

static void put_u64(struct gguf_writer *w, uint64_t value)
{
    put(w, &value, sizeof value);
}

static void put_text(struct gguf_writer *w, const char *text)
{
    put_u64(w, strlen(text));
    put(w, text, strlen(text));
}

static void put_key(struct gguf_writer *w, const char *key, uint32_t type)
{
    if (!w->count) { /* magic, version, tensors, values: the last is filled in at the end */
        put(w, "GGUF", 4);
        put_u32(w, 3);
        put_u64(w, 0);
        put_u64(w, 0);
    }
    put_text(w, key);
    put_u32(w, type);
    w->values++;
}

static void put_array(struct gguf_writer *w, const char *key, uint32_t element, size_t count)
{
    put_key(w, key, 9);
    put_u32(w, element);
    put_u64(w, count);
}

void gguf_text(struct gguf_writer *w, const char *key, const char *text)
{
    put_key(w, key, 8);
    put_text(w, text);
}

void gguf_number(struct gguf_writer *w, const char *key, uint32_t number)
{
    put_key(w, key, 4);
    put_u32(w, number);
}

void gguf_truth(struct gguf_writer *w, const char *key, int truth)
{
    const unsigned char byte = truth != 0;
    put_key(w, key, 7);
    put(w, &byte, 1);
}

void gguf_texts(struct gguf_writer *w, const char *key, const char *const *texts, size_t count)
{
    put_array(w, key, 8, count);
    for (size_t i = 0; i < count; i++) put_text(w, texts[i]);
}

void gguf_ints(struct gguf_writer *w, const char *key, const int32_t *values, size_t count)
{
    put_array(w, key, 5, count);
    put(w, values, count * sizeof *values);
}

void gguf_floats(struct gguf_writer *w, const char *key, const float *values, size_t count)
{
    put_array(w, key, 6, count);
    put(w, values, count * sizeof *values);
}

void gguf_finish(struct gguf_writer *w)
{
    static const unsigned char nothing[32];
    memcpy(w->bytes + 16, &w->values, sizeof w->values);
    put(w, nothing, 31 - (w->count + 31) % 32); /* to the alignment of the data that does not follow */
}

#define MOST 1024

static void read_texts(const json_t *vocab, const char **texts, float *scores, size_t *count)
{
    const char *text;
    json_t *value;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)vocab, text, value)
    {
        texts[json_integer_value(value)] = text;
        if ((size_t)json_integer_value(value) >= *count) *count = (size_t)json_integer_value(value) + 1;
    }
    json_array_foreach(vocab, i, value)
    {
        texts[i] = json_string_value(json_array_get(value, 0));
        scores[i] = (float)json_number_value(json_array_get(value, 1));
        *count = i + 1;
    }
}

void gguf_vocabulary(struct gguf_writer *w, const json_t *tokenizer)
{
    const json_t *model = json_object_get(tokenizer, "model"), *merges = json_object_get(model, "merges");
    const char *texts[MOST] = {0};
    int32_t types[MOST];
    float scores[MOST];
    size_t count = 0, i;
    json_t *entry;
    for (i = 0; i < MOST; i++) {
        types[i] = 1;
        scores[i] = -(float)i;
    }
    read_texts(json_object_get(model, "vocab"), texts, scores, &count);
    for (i = 0; i < count; i++)
        if (strlen(texts[i]) == 6 && !strncmp(texts[i], "<0x", 3)) types[i] = 6;
    json_array_foreach(json_object_get(tokenizer, "added_tokens"), i, entry)
    {
        const size_t id = (size_t)json_integer_value(json_object_get(entry, "id"));
        texts[id] = json_string_value(json_object_get(entry, "content"));
        types[id] = json_is_true(json_object_get(entry, "special")) ? 3 : 4;
        if (id >= count) count = id + 1;
    }
    gguf_texts(w, "tokenizer.ggml.tokens", texts, count);
    gguf_ints(w, "tokenizer.ggml.token_type", types, count);
    gguf_floats(w, "tokenizer.ggml.scores", scores, count);
    if (!json_array_size(merges)) return;
    put_array(w, "tokenizer.ggml.merges", 8, json_array_size(merges));
    json_array_foreach(merges, i, entry)
    {
        char both[256];
        snprintf(both, sizeof both, "%s %s", json_string_value(json_array_get(entry, 0)),
                 json_string_value(json_array_get(entry, 1)));
        put_text(w, both);
    }
}
