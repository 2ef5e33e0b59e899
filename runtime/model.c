#include "model.h"

#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>

static const char *const format_names[] = {
    [SM_FORMAT_F32] = "F32",   [SM_FORMAT_F16] = "F16",   [SM_FORMAT_Q4_0] = "Q4_0",
    [SM_FORMAT_Q4_1] = "Q4_1", [SM_FORMAT_Q8_0] = "Q8_0",
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

void sm_model_close(struct sm_model *model)
{
    if (!model) return;
    if (model->map) munmap(model->map, model->map_bytes);
    free(model->layer);
    free(model->file_owned);
    free(model);
}
