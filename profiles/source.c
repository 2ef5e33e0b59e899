#include "source.h"

#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "preparing.h"

#define DEFAULT_FILE "SmolLM2-135M-Instruct.Q4_1.gguf"
#define DEFAULT_SHAPE "smollm2-135m"

/* As scripts/fetch-model picks it. */
static int default_path(char *path, size_t bytes)
{
    const char *cache = getenv("SLOTMARK_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (cache && *cache)
        n = snprintf(path, bytes, "%s/%s", cache, DEFAULT_FILE);
    else if (xdg && *xdg)
        n = snprintf(path, bytes, "%s/slotmark/%s", xdg, DEFAULT_FILE);
    else if (home && *home)
        n = snprintf(path, bytes, "%s/.cache/slotmark/%s", home, DEFAULT_FILE);
    else
        return -1;
    return n > 0 && (size_t)n < bytes && !access(path, R_OK) ? 0 : -1;
}

/* What is wanted of a model beside its shape. */
struct wanted {
    bool weights;
    enum sm_format format; /* of synthetic ones */
    uint64_t seed;
    FILE *progress;
};

static int open_shape(struct sm_source *source, const char *name, const struct wanted *wanted, char *why,
                      size_t why_bytes)
{
    struct sm_model_shape *shape = malloc(sizeof *shape);
    if (!shape) {
        snprintf(why, why_bytes, "there is no memory to read the shape '%s'", name);
        return -1;
    }
    const uint64_t begin = sm_clock_ns();
    int failed = sm_shape_load(shape, name, why, why_bytes);
    if (!failed && !shape->runs) {
        snprintf(why, why_bytes,
                 "'%s' is a shape for kernel benchmarks (slotmark bench --shape-of %s); models of its "
                 "architecture (%s) cannot be run",
                 name, name, shape->arch);
        failed = -1;
    }
    if (!failed && wanted->weights) {
        struct sm_preparing making;
        sm_preparing_begin(&making, wanted->progress, "making synthetic weights");
        failed = sm_model_synthetic(
            &source->model, shape,
            &(struct sm_synthetic){
                .format = wanted->format, .seed = wanted->seed, .made = sm_preparing_show, .made_state = &making},
            why, why_bytes);
        sm_preparing_end(&making);
    } else if (!failed) {
        failed = sm_model_outline(&source->model, shape, why, why_bytes);
    }
    if (!failed) {
        source->model->open_s = (double)(sm_clock_ns() - begin) * 1e-9;
        snprintf(source->name, sizeof source->name, "%s", shape->name);
    }
    free(shape);
    return failed;
}

void sm_source_stem(const char *path, char *stem, size_t bytes)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    const int length = dot && dot > name && strlen(dot) < 6 ? (int)(dot - name) : (int)strlen(name);
    snprintf(stem, bytes, "%.*s", length, name);
}

/* The sum of a file as hexadecimal digits, or "" where it cannot be read. */
static void sum_file(const char *path, char *digits, FILE *progress)
{
    enum { PIECE = 1 << 20 };
    FILE *f = fopen(path, "rbe");
    unsigned char *piece = f ? malloc(PIECE) : NULL;
    struct stat facts;
    struct sm_preparing reading;
    SHA2_CTX sum;
    digits[0] = 0;
    if (piece && !fstat(fileno(f), &facts)) {
        size_t n, done = 0;
        sm_preparing_begin(&reading, progress, "reading the model's file");
        SHA256Init(&sum);
        while ((n = fread(piece, 1, PIECE, f)) > 0) {
            SHA256Update(&sum, piece, n);
            done += n;
            sm_preparing_show(&reading, (double)done / (double)facts.st_size);
        }
        SHA256End(&sum, digits);
        if (ferror(f)) digits[0] = 0;
        sm_preparing_end(&reading);
    }
    free(piece);
    if (f) fclose(f);
}

static int open_file(struct sm_source *source, const char *path, const struct wanted *wanted, char *why,
                     size_t why_bytes)
{
    const uint64_t begin = sm_clock_ns();
    char weights[4096];
    struct stat facts;
    if (sm_model_open(&source->model, path, why, why_bytes)) return -1;
    source->model->open_s = (double)(sm_clock_ns() - begin) * 1e-9;
    const bool folder = !stat(path, &facts) && S_ISDIR(facts.st_mode);
    if (folder)
        snprintf(source->name, sizeof source->name, "%s", source->model->shape.name);
    else
        sm_source_stem(path, source->name, sizeof source->name);
    /* The sum of a folder is that of its weights, when they are one file. */
    snprintf(weights, sizeof weights, "%s%s", path, folder ? "/model.safetensors" : "");
    if (wanted->weights) sum_file(weights, source->sha256, wanted->progress);
    return 0;
}

static int open_source(struct sm_source *source, const char *name, const struct wanted *wanted, char *why,
                       size_t why_bytes)
{
    char path[4096];
    memset(source, 0, sizeof *source);
    if (name) {
        const char *dot = strrchr(name, '.');
        const bool shape_file = dot && !strcmp(dot, ".shape");
        const bool shape_name = !strchr(name, '/') && (sm_shape_exists(name) || (!dot && access(name, F_OK)));
        return shape_file || shape_name ? open_shape(source, name, wanted, why, why_bytes)
                                        : open_file(source, name, wanted, why, why_bytes);
    }
    if (!default_path(path, sizeof path)) return open_file(source, path, wanted, why, why_bytes);
    source->fallback = true;
    return open_shape(source, DEFAULT_SHAPE, wanted, why, why_bytes);
}

int sm_source_open(struct sm_source *source, const char *name, enum sm_format format, uint64_t seed, FILE *progress,
                   char *why, size_t why_bytes)
{
    return open_source(source, name, &(struct wanted){true, format, seed, progress}, why, why_bytes);
}

int sm_source_outline(struct sm_source *source, const char *name, char *why, size_t why_bytes)
{
    return open_source(source, name, &(struct wanted){.weights = false}, why, why_bytes);
}

void sm_source_close(struct sm_source *source)
{
    sm_model_close(source->model);
    memset(source, 0, sizeof *source);
}

json_t *sm_source_json(const struct sm_source *source)
{
    const struct sm_model *m = source->model;
    const char *slash = m->file ? strrchr(m->file, '/') : NULL, *file = slash ? slash + 1 : m->file;
    if (file && !*file) file = source->name; /* a folder, given with a '/' at its end */
    return json_pack("{s:s, s:s?, s:I, s:s?, s:s, s:f, s:b, s:s}", "name", source->name, "file", file, "bytes",
                     (json_int_t)m->bytes, "sha256", source->sha256[0] ? source->sha256 : NULL, "arch", m->shape.arch,
                     "parameters", m->parameters, "synthetic", m->synthetic, "formats", m->formats);
}

void sm_source_describe(const struct sm_source *source, char *text, size_t bytes)
{
    const struct sm_model *m = source->model;
    snprintf(text, bytes, "%s (%s), %.4g M parameters, %.3g MiB, tensors: %s%s", source->name, m->shape.arch,
             m->parameters * 1e-6, (double)m->bytes / 0x1p20, m->formats,
             source->fallback ? "; SYNTHETIC WEIGHTS: the default model is not in the cache (scripts/fetch-model)"
             : m->synthetic   ? "; synthetic weights"
                              : "");
}
