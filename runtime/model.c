#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "model_open.h"

static const char *const format_names[] = {
    [SM_FORMAT_F32] = "F32",   [SM_FORMAT_F16] = "F16",   [SM_FORMAT_Q4_0] = "Q4_0", [SM_FORMAT_Q4_1] = "Q4_1",
    [SM_FORMAT_Q8_0] = "Q8_0", [SM_FORMAT_BF16] = "BF16", [SM_FORMAT_Q5_0] = "Q5_0", [SM_FORMAT_Q5_1] = "Q5_1",
    [SM_FORMAT_Q2_K] = "Q2_K", [SM_FORMAT_Q3_K] = "Q3_K", [SM_FORMAT_Q4_K] = "Q4_K", [SM_FORMAT_Q5_K] = "Q5_K",
    [SM_FORMAT_Q6_K] = "Q6_K", [SM_FORMAT_W4C] = "W4C",   [SM_FORMAT_W8C] = "W8C",
};
#define FORMATS (sizeof format_names / sizeof *format_names)

const char *sm_format_name(enum sm_format format)
{
    return (size_t)format < FORMATS && format_names[format] ? format_names[format] : "?";
}

int sm_format_named(const char *name, enum sm_format *format)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (format_names[i] && !strcasecmp(name, format_names[i])) {
            *format = (enum sm_format)i;
            return 0;
        }
    return -1;
}

int sm_model_open(struct sm_model **model, const char *path, char *why, size_t why_bytes)
{
    struct stat facts;
    struct sm_model *m = calloc(1, sizeof *m);
    if (m) m->file = m->file_owned = strdup(path);
    if (!m || !m->file) {
        snprintf(why, why_bytes, "loading %s: out of memory", path);
        sm_model_close(m);
        return -1;
    }
    const bool folder = !stat(path, &facts) && S_ISDIR(facts.st_mode);
    if (folder ? sm_model_open_folder(m, why, why_bytes) : sm_model_open_gguf(m, why, why_bytes)) {
        sm_model_close(m);
        return -1;
    }
    *model = m;
    return 0;
}

int sm_model_outline(struct sm_model **model, const struct sm_model_shape *shape, char *why, size_t why_bytes)
{
    struct sm_model *m = calloc(1, sizeof *m);
    if (!m) {
        snprintf(why, why_bytes, "reading the shape %s: out of memory", shape->name);
        return -1;
    }
    m->shape = *shape;
    m->synthetic = true;
    *model = m;
    return 0;
}

void sm_model_close(struct sm_model *model)
{
    if (!model) return;
    if (model->map) munmap(model->map, model->map_bytes);
    for (size_t i = 0; i < model->part_count; i++) munmap(model->parts[i].at, model->parts[i].bytes);
    free(model->parts);
    free(model->layer);
    free(model->file_owned);
    free(model);
}
