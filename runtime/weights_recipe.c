#include "weights_recipe.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "scales.h"

static const struct recipe recipes[] = {
    {"native", SM_FORMAT_NONE, SM_FORMAT_NONE, SM_FORMAT_NONE, SM_ROWS_A8, false},
    {"float", SM_FORMAT_F32, SM_FORMAT_F32, SM_FORMAT_F32, SM_ROWS_F32, false},
    {"w4g32-a8", SM_FORMAT_Q4_0, SM_FORMAT_Q8_0, SM_FORMAT_NONE, SM_ROWS_A8, false},
    {"w4c-a8", SM_FORMAT_W4C, SM_FORMAT_W8C, SM_FORMAT_W8C, SM_ROWS_A8R, false},
    {"w4c-a8-clip", SM_FORMAT_W4C, SM_FORMAT_W8C, SM_FORMAT_W8C, SM_ROWS_A8R, true},
    {"w8c-a8", SM_FORMAT_W8C, SM_FORMAT_W8C, SM_FORMAT_W8C, SM_ROWS_A8R, false},
    {"w4c-a16", SM_FORMAT_W4C, SM_FORMAT_W8C, SM_FORMAT_W8C, SM_ROWS_A16, false},
    {"w4c-a16-clip", SM_FORMAT_W4C, SM_FORMAT_W8C, SM_FORMAT_W8C, SM_ROWS_A16, true},
    {"w8c-a16", SM_FORMAT_W8C, SM_FORMAT_W8C, SM_FORMAT_W8C, SM_ROWS_A16, false},
};

static_assert(sizeof recipes / sizeof *recipes < SM_RECIPES_MOST, "callers make tables of them");

static const struct recipe_rule rules[] = {
    {SM_FORMAT_F32, SM_ROWS_F32, "matmul_f32"},      {SM_FORMAT_F16, SM_ROWS_F32, "matmul_f16"},
    {SM_FORMAT_Q4_0, SM_ROWS_A8, "matmul_w4g32_a8"}, {SM_FORMAT_Q4_1, SM_ROWS_A8, "matmul_w4g32_a8"},
    {SM_FORMAT_Q8_0, SM_ROWS_A8, "matmul_w8g32_a8"}, {SM_FORMAT_W4C, SM_ROWS_A8R, "matmul_w4c_a8"},
    {SM_FORMAT_W8C, SM_ROWS_A8R, "matmul_w8c_a8"},   {SM_FORMAT_W4C, SM_ROWS_A16, "matmul_w4c_a16"},
    {SM_FORMAT_W8C, SM_ROWS_A16, "matmul_w8c_a16"},
};

const struct recipe_rule *recipe_rule(const struct recipe *recipe, enum sm_format format)
{
    const bool channels = format == SM_FORMAT_W4C || format == SM_FORMAT_W8C;
    size_t i = 0;
    while (rules[i].format != format || (channels && rules[i].rows != recipe->rows)) i++;
    return &rules[i];
}

const char *sm_recipe_name(size_t i)
{
    return i < sizeof recipes / sizeof *recipes ? recipes[i].name : NULL;
}

const struct recipe *recipe_named(const char *name, char *why, size_t why_bytes)
{
    size_t used = (size_t)snprintf(why, why_bytes, "packing weights: there is no recipe '%.60s'; there are", name);
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        if (!strcmp(name, recipes[i].name)) return &recipes[i];
        if (used < why_bytes)
            used += (size_t)snprintf(why + used, why_bytes - used, "%s %s", i ? "," : "", recipes[i].name);
    }
    return NULL;
}

bool sm_recipe_needs_scales(const char *recipe)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (!strcmp(recipe, recipes[i].name)) return recipes[i].rows == SM_ROWS_A16;
    return false;
}

int recipe_check_scales(const struct recipe *recipe, const struct sm_model *model, const struct sm_choice *choice,
                        char *why, size_t why_bytes)
{
    const struct sm_scales *scales = choice->scales;
    const bool needed = recipe->rows == SM_ROWS_A16 && !choice->weights_only;
    if (!scales && needed)
        snprintf(why, why_bytes,
                 "packing weights: the recipe %s needs static scales of activations; make them with slotmark scales "
                 "MODEL --text FILE",
                 recipe->name);
    else if (scales && scales->layers != model->shape.layers)
        snprintf(why, why_bytes, "packing weights: the scales given are of a model of %zu layers, and this one has %zu",
                 scales->layers, model->shape.layers);
    else
        return 0;
    return -1;
}
