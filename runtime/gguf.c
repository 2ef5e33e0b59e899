#include "gguf.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sentence.h"

/* What a file may hold at most. Real ones hold fewer than 100 values and a few thousand tensors. */
#define MAX_VALUES 65536
#define MAX_TENSORS 65536
#define MAX_NAME 63
#define MAX_KEY 65535
#define MAX_COUNT ((uint64_t)1 << 30)
#define MAX_ALIGNMENT 65536

struct reader {
    const unsigned char *begin, *at, *end;
    const char *where;
    char *why;
    size_t why_bytes;
};

static int refuse(const struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const struct reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)sm_sentence(r->why, r->why_bytes, "reading", r->where, format, args);
    va_end(args);
    return -1;
}

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

static int read_bytes(struct reader *r, void *to, size_t bytes, const char *what)
{
    if (left(r) < bytes) return refuse(r, "the file ends inside %s, at byte %zu", what, (size_t)(r->at - r->begin));
    memcpy(to, r->at, bytes);
    r->at += bytes;
    return 0;
}

static int read_u32(struct reader *r, uint32_t *to, const char *what)
{
    *to = 0;
    return read_bytes(r, to, sizeof *to, what);
}

static int read_u64(struct reader *r, uint64_t *to, const char *what)
{
    *to = 0;
    return read_bytes(r, to, sizeof *to, what);
}

static int read_string(struct reader *r, struct sm_gguf_string *to, size_t most, const char *what)
{
    uint64_t bytes;
    if (read_u64(r, &bytes, what)) return -1;
    if (bytes > most || bytes > left(r))
        return refuse(r, "%s at byte %zu claims %llu bytes", what, (size_t)(r->at - r->begin),
                      (unsigned long long)bytes);
    *to = (struct sm_gguf_string){(const char *)r->at, (size_t)bytes};
    r->at += bytes;
    return 0;
}

/* Bytes of a value of fixed size; 0 for strings and arrays. */
static size_t fixed_bytes(uint32_t type)
{
    static const unsigned char bytes[SM_GGUF_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < SM_GGUF_TYPES ? bytes[type] : 0;
}

static int skip_elements(struct reader *r, uint32_t type, uint64_t count)
{
    if (type == SM_GGUF_STRING) {
        struct sm_gguf_string ignored;
        for (uint64_t i = 0; i < count; i++)
            if (read_string(r, &ignored, MAX_COUNT, "a string of the metadata")) return -1;
        return 0;
    }
    const size_t each = fixed_bytes(type);
    if (!each) return refuse(r, "there is a metadata value of type %u, which cannot be here", type);
    if (count > left(r) / each)
        return refuse(r, "a metadata value of %llu elements is longer than the file", (unsigned long long)count);
    r->at += count * each;
    return 0;
}

static int read_value(struct reader *r, struct sm_gguf_value *v)
{
    uint32_t type, element;
    uint64_t count = 1;
    if (read_string(r, &v->key, MAX_KEY, "a key of the metadata")) return -1;
    if (read_u32(r, &type, "the type of a metadata value")) return -1;
    element = type;
    if (type == SM_GGUF_ARRAY) {
        if (read_u32(r, &element, "the type of an array") || read_u64(r, &count, "the length of an array")) return -1;
        if (count > MAX_COUNT) return refuse(r, "an array claims %llu elements", (unsigned long long)count);
    }
    v->type = (enum sm_gguf_type)type;
    v->element = (enum sm_gguf_type)element;
    v->count = (size_t)count;
    v->data = r->at;
    return skip_elements(r, element, count);
}

const char *sm_ggml_type(uint32_t type, size_t *block_elements, size_t *block_bytes)
{
    static const struct {
        const char *name;
        unsigned char number;
        unsigned short elements, bytes;
    } types[] = {
        {"F32", 0, 1, 4},       {"F16", 1, 1, 2},       {"Q4_0", 2, 32, 18},    {"Q4_1", 3, 32, 20},
        {"Q5_0", 6, 32, 22},    {"Q5_1", 7, 32, 24},    {"Q8_0", 8, 32, 34},    {"Q8_1", 9, 32, 36},
        {"Q2_K", 10, 256, 84},  {"Q3_K", 11, 256, 110}, {"Q4_K", 12, 256, 144}, {"Q5_K", 13, 256, 176},
        {"Q6_K", 14, 256, 210}, {"Q8_K", 15, 256, 292}, {"IQ4_NL", 20, 32, 18}, {"IQ4_XS", 23, 256, 136},
        {"I8", 24, 1, 1},       {"I16", 25, 1, 2},      {"I32", 26, 1, 4},      {"I64", 27, 1, 8},
        {"F64", 28, 1, 8},      {"BF16", 30, 1, 2},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].number == type) {
            *block_elements = types[i].elements;
            *block_bytes = types[i].bytes;
            return types[i].name;
        }
    return NULL;
}

static int read_dims(struct reader *r, struct sm_gguf_tensor *t)
{
    uint32_t count;
    if (read_u32(r, &count, "the shape of a tensor")) return -1;
    if (count < 1 || count > 4) return refuse(r, "a tensor claims %u axes", count);
    for (size_t d = 0; d < 4; d++) {
        uint64_t n = 1;
        if (d < count && read_u64(r, &n, "the shape of a tensor")) return -1;
        if (n < 1 || n > (uint64_t)1 << 40)
            return refuse(r, "a tensor's axis claims %llu elements", (unsigned long long)n);
        t->dims[d] = (size_t)n;
    }
    return 0;
}

/* Reads a tensor's entry. `expected` is the offset that it must have, and becomes the end of its data. */
static int read_tensor(struct reader *r, struct sm_gguf_tensor *t, size_t alignment, size_t *expected)
{
    size_t block_elements, block_bytes, bytes;
    uint64_t offset;
    if (read_string(r, &t->name, MAX_NAME, "the name of a tensor") || read_dims(r, t)) return -1;
    if (read_u32(r, &t->type, "the type of a tensor") || read_u64(r, &offset, "the offset of a tensor")) return -1;
    const int name_bytes = (int)t->name.bytes;
    const char *name = t->name.at;
    const char *type = sm_ggml_type(t->type, &block_elements, &block_bytes);
    if (!type)
        return refuse(r, "tensor %.*s is stored in a format numbered %u, which is not known", name_bytes, name,
                      t->type);
    if (t->dims[0] % block_elements)
        return refuse(r, "tensor %.*s has rows of %zu elements, which %s cannot hold", name_bytes, name, t->dims[0],
                      type);
    bytes = t->dims[0] / block_elements;
    bool over = __builtin_mul_overflow(bytes, block_bytes, &bytes);
    for (size_t d = 1; d < 4; d++) over |= __builtin_mul_overflow(bytes, t->dims[d], &bytes);
    if (over || bytes > (size_t)(r->end - r->begin))
        return refuse(r, "tensor %.*s claims more bytes than the file has", name_bytes, name);
    if (offset != *expected)
        return refuse(r, "tensor %.*s lies at offset %llu, but the tensors before it end at %zu", name_bytes, name,
                      (unsigned long long)offset, *expected);
    t->bytes = bytes;
    *expected += bytes;
    if (*expected > (size_t)(r->end - r->begin)) return refuse(r, "the tensors are longer than the file");
    /* Offset from the start of the data section, which is not known yet: place_tensors makes it an address. */
    *expected = (*expected + alignment - 1) / alignment * alignment;
    return 0;
}

static int order(struct sm_gguf_string a, struct sm_gguf_string b)
{
    const int sign = memcmp(a.at, b.at, a.bytes < b.bytes ? a.bytes : b.bytes);
    return sign ? sign : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static int order_values(const void *a, const void *b)
{
    return order(((const struct sm_gguf_value *)a)->key, ((const struct sm_gguf_value *)b)->key);
}

static int order_tensors(const void *a, const void *b)
{
    return order(((const struct sm_gguf_tensor *)a)->name, ((const struct sm_gguf_tensor *)b)->name);
}

static int read_header(struct reader *r, struct sm_gguf *g)
{
    char magic[4];
    uint32_t version;
    uint64_t tensors, values;
    if (read_bytes(r, magic, 4, "the header")) return -1;
    if (memcmp(magic, "GGUF", 4)) return refuse(r, "it is not a GGUF file");
    if (read_u32(r, &version, "the header")) return -1;
    if (version != 3) return refuse(r, "it is GGUF version %u; only version 3 is read", version);
    if (read_u64(r, &tensors, "the header") || read_u64(r, &values, "the header")) return -1;
    /* The shortest value takes 13 bytes, the shortest tensor entry 32. */
    if (values > MAX_VALUES || values > left(r) / 13)
        return refuse(r, "it claims %llu metadata values", (unsigned long long)values);
    if (tensors > MAX_TENSORS || tensors > left(r) / 32)
        return refuse(r, "it claims %llu tensors", (unsigned long long)tensors);
    g->value_count = (size_t)values;
    g->tensor_count = (size_t)tensors;
    g->values = calloc(g->value_count + 1, sizeof *g->values);
    g->tensors = calloc(g->tensor_count + 1, sizeof *g->tensors);
    return g->values && g->tensors ? 0 : refuse(r, "out of memory");
}

static int read_values(struct reader *r, struct sm_gguf *g, size_t *alignment)
{
    for (size_t i = 0; i < g->value_count; i++)
        if (read_value(r, &g->values[i])) return -1;
    qsort(g->values, g->value_count, sizeof *g->values, order_values);
    for (size_t i = 1; i < g->value_count; i++)
        if (!order_values(&g->values[i - 1], &g->values[i]))
            return refuse(r, "the metadata key %.*s is there twice",
                          (int)(g->values[i].key.bytes < 100 ? g->values[i].key.bytes : 100), g->values[i].key.at);
    const struct sm_gguf_value *v = sm_gguf_value(g, "general.alignment");
    if (v && (sm_gguf_size(v, 0, alignment) || *alignment < 8 || *alignment > MAX_ALIGNMENT ||
              (*alignment & (*alignment - 1))))
        return refuse(r, "general.alignment is not a power of two between 8 and %d", MAX_ALIGNMENT);
    return 0;
}

static int read_tensors(struct reader *r, struct sm_gguf *g, size_t alignment)
{
    size_t offset = 0;
    for (size_t i = 0; i < g->tensor_count; i++)
        if (read_tensor(r, &g->tensors[i], alignment, &offset)) return -1;
    const size_t head = (size_t)(r->at - r->begin), start = (head + alignment - 1) / alignment * alignment;
    const size_t file = (size_t)(r->end - r->begin);
    offset = start;
    for (size_t i = 0; i < g->tensor_count; i++) {
        struct sm_gguf_tensor *t = &g->tensors[i];
        if (offset > file || t->bytes > file - offset)
            return refuse(r, "the file ends inside tensor %.*s", (int)t->name.bytes, t->name.at);
        t->data = r->begin + offset;
        offset += (t->bytes + alignment - 1) / alignment * alignment;
    }
    qsort(g->tensors, g->tensor_count, sizeof *g->tensors, order_tensors);
    for (size_t i = 1; i < g->tensor_count; i++)
        if (!order_tensors(&g->tensors[i - 1], &g->tensors[i]))
            return refuse(r, "tensor %.*s is there twice", (int)g->tensors[i].name.bytes, g->tensors[i].name.at);
    return 0;
}

int sm_gguf_parse(struct sm_gguf *gguf, const void *bytes, size_t count, const char *where, char *why, size_t why_bytes)
{
    struct reader r = {bytes, bytes, (const unsigned char *)bytes + count, where, why, why_bytes};
    size_t alignment = 32;
    memset(gguf, 0, sizeof *gguf);
    if (!read_header(&r, gguf) && !read_values(&r, gguf, &alignment) && !read_tensors(&r, gguf, alignment)) return 0;
    sm_gguf_free(gguf);
    return -1;
}

void sm_gguf_free(struct sm_gguf *gguf)
{
    free(gguf->values);
    free(gguf->tensors);
    memset(gguf, 0, sizeof *gguf);
}

const struct sm_gguf_value *sm_gguf_value(const struct sm_gguf *gguf, const char *key)
{
    const struct sm_gguf_value wanted = {.key = {key, strlen(key)}};
    return bsearch(&wanted, gguf->values, gguf->value_count, sizeof wanted, order_values);
}

const struct sm_gguf_tensor *sm_gguf_tensor(const struct sm_gguf *gguf, const char *name)
{
    const struct sm_gguf_tensor wanted = {.name = {name, strlen(name)}};
    return bsearch(&wanted, gguf->tensors, gguf->tensor_count, sizeof wanted, order_tensors);
}

int sm_gguf_number(const struct sm_gguf_value *v, size_t i, double *out)
{
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        float f32;
        uint64_t u64;
        int64_t i64;
        double f64;
    } x;
    if (v->type != SM_GGUF_ARRAY) i = 0;
    const size_t bytes = fixed_bytes(v->element);
    if (!bytes || i >= v->count) return -1;
    memcpy(&x, v->data + i * bytes, bytes);
    switch (v->element) {
    case SM_GGUF_U8:
    case SM_GGUF_BOOL: *out = x.u8; return 0;
    case SM_GGUF_I8: *out = x.i8; return 0;
    case SM_GGUF_U16: *out = x.u16; return 0;
    case SM_GGUF_I16: *out = x.i16; return 0;
    case SM_GGUF_U32: *out = x.u32; return 0;
    case SM_GGUF_I32: *out = x.i32; return 0;
    case SM_GGUF_F32: *out = (double)x.f32; return 0;
    case SM_GGUF_U64: *out = (double)x.u64; return 0;
    case SM_GGUF_I64: *out = (double)x.i64; return 0;
    case SM_GGUF_F64: *out = x.f64; return 0;
    default: return -1;
    }
}

int sm_gguf_size(const struct sm_gguf_value *v, size_t i, size_t *out)
{
    double number;
    if (v->element == SM_GGUF_F32 || v->element == SM_GGUF_F64 || sm_gguf_number(v, i, &number)) return -1;
    if (!(number >= 0 && number <= 0x1p40)) return -1;
    *out = (size_t)number;
    return 0;
}

int sm_gguf_text(const struct sm_gguf_value *v, struct sm_gguf_string *out)
{
    uint64_t bytes;
    if (v->type != SM_GGUF_STRING) return -1;
    memcpy(&bytes, v->data, sizeof bytes);
    *out = (struct sm_gguf_string){(const char *)v->data + sizeof bytes, (size_t)bytes};
    return 0;
}
