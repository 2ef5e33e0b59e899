/* slotmark list: what there is to run, and what of it this CPU can run. */
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "cpu.h"
#include "output.h"
#include "registry.h"
#include "shape.h"
#include "table.h"

static bool runs(const struct sm_variant *variant)
{
    return (variant->needs & ~sm_cpu_features()) == 0;
}

/* Dispatch has one answer for each weight format; without weights, whoever calls chooses the layout. */
static bool is_dispatched(const struct sm_family *family, const struct sm_variant *variant)
{
    if (!runs(variant)) return false;
    if (variant->layout->format != SM_FORMAT_NONE)
        return sm_variant_best(family, sm_cpu_features(), variant->layout->format) == variant;
    for (const struct sm_variant *later = variant + 1; later < family->variants + family->variant_count; later++)
        if (later->layout == variant->layout && runs(later)) return false;
    return true;
}

static json_t *variants_json(const struct sm_family *family)
{
    json_t *list = json_array();
    for (size_t v = 0; v < family->variant_count; v++) {
        const struct sm_variant *x = &family->variants[v];
        json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:s,s:b,s:b}", "name", x->name, "isa", x->isa, "layout",
                                              x->layout->name, "bet", x->bet, "runs", runs(x), "dispatched",
                                              is_dispatched(family, x)));
    }
    return list;
}

static json_t *families_json(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sm_family_count(); i++) {
        const struct sm_family *f = sm_family_at(i);
        json_t *dims = json_array();
        for (size_t d = 0; d < f->dim_count; d++)
            json_array_append_new(dims,
                                  json_pack("{s:s,s:I,s:I,s:I,s:s}", "name", f->dims[d].name, "standard",
                                            (json_int_t)f->dims[d].standard, "least", (json_int_t)f->dims[d].least,
                                            "most", (json_int_t)f->dims[d].most, "help", f->dims[d].help));
        json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:o,s:o}", "name", f->name, "group", f->group, "summary",
                                              f->summary, "dims", dims, "variants", variants_json(f)));
    }
    return list;
}

static void print_families(bool markdown)
{
    struct sm_table table;
    const char *const heading[] = {"family", "variant", "isa", "layout", "", "bet"};
    const int skip = markdown ? 0 : 1; /* in text the family has a line of its own */
    sm_table_init(&table, 6 - skip, heading + skip);
    for (size_t i = 0; i < sm_family_count(); i++) {
        const struct sm_family *f = sm_family_at(i);
        char line[256];
        snprintf(line, sizeof line, "%s: %s", f->name, f->summary);
        sm_table_add_line(&table, line);
        for (size_t v = 0; v < f->variant_count; v++) {
            const struct sm_variant *x = &f->variants[v];
            const char *mark = !runs(x) ? "no" : is_dispatched(f, x) ? "*" : "";
            const char *const row[] = {f->name, x->name, x->isa, x->layout->name, mark, x->bet};
            sm_table_add(&table, row + skip);
        }
    }
    sm_table_print(&table, markdown, stdout);
    sm_table_free(&table);
    printf("\n* what dispatch picks at level %s, for each format or layout; no: beyond that level\n",
           sm_cpu_level_name(sm_cpu_features()));
}

static int is_shape(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name);
    return n > 6 && !strcmp(entry->d_name + n - 6, ".shape");
}

/* Calls visit for every shape of the folder; a file that is no shape is named with its reason. */
static void each_shape(void (*visit)(const struct sm_model_shape *shape, const char *name, const char *why, void *),
                       void *context)
{
    struct dirent **entries = NULL;
    const int count = scandir(sm_shape_folder(), &entries, is_shape, alphasort);
    for (int i = 0; i < count; i++) {
        static struct sm_model_shape shape; /* large */
        char path[1024], why[512] = "";
        snprintf(path, sizeof path, "%s/%s", sm_shape_folder(), entries[i]->d_name);
        const int failed = sm_shape_load(&shape, path, why, sizeof why);
        entries[i]->d_name[strlen(entries[i]->d_name) - 6] = 0;
        visit(failed ? NULL : &shape, entries[i]->d_name, why, context);
        free(entries[i]);
    }
    free(entries);
}

static void add_shape_row(const struct sm_model_shape *s, const char *name, const char *why, void *context)
{
    struct sm_table *table = context;
    if (!s) {
        const char *const row[] = {name, "", "", "", "", "", why};
        sm_table_add(table, row);
        return;
    }
    char text[5][32];
    snprintf(text[0], sizeof text[0], "%.0f M", sm_shape_parameters(s) / 1e6);
    snprintf(text[1], sizeof text[1], "%zu", s->layers);
    snprintf(text[2], sizeof text[2], "%zu", s->hidden);
    snprintf(text[3], sizeof text[3], "%zu/%zu x %zu", s->layer[0].heads, s->layer[0].kv_heads, s->layer[0].head_dim);
    snprintf(text[4], sizeof text[4], "%zu", s->vocab);
    const char *const row[] = {
        name, text[0], text[1], text[2], text[3], text[4], s->runs ? "profile and bench" : "bench only, so far"};
    sm_table_add(table, row);
}

static void add_shape_json(const struct sm_model_shape *s, const char *name, const char *why, void *context)
{
    json_t *row = s ? json_pack("{s:s,s:s,s:f,s:I,s:I,s:I,s:b}", "name", name, "arch", s->arch, "parameters",
                                sm_shape_parameters(s), "layers", (json_int_t)s->layers, "hidden",
                                (json_int_t)s->hidden, "vocab", (json_int_t)s->vocab, "runs", s->runs)
                    : json_pack("{s:s,s:s}", "name", name, "why", why);
    json_array_append_new(context, row);
}

static void print_shapes(bool markdown)
{
    struct sm_table table;
    const char *const heading[] = {"model shape", "weights", "layers", "hidden", "heads/kv x dim", "vocab", "for"};
    sm_table_init(&table, 7, heading);
    table.right[1] = table.right[2] = table.right[3] = table.right[4] = table.right[5] = true;
    each_shape(add_shape_row, &table);
    if (table.count > 1) {
        puts("");
        sm_table_print(&table, markdown, stdout);
    }
    sm_table_free(&table);
}

static void print_json(void)
{
    json_t *shapes = json_array();
    each_shape(add_shape_json, shapes);
    json_t *all = json_pack("{s:s,s:o,s:o}", "isa", sm_cpu_level_name(sm_cpu_features()), "families", families_json(),
                            "shapes", shapes);
    json_dumpf(all, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(all);
}

int list_main(int argc, char **argv)
{
    static const struct sm_output_command command = {
        .name = "list",
        .usage = "[OPTION]...",
        .summary = "Lists the kernel families with their variants, which of them this CPU can run, which one dispatch "
                   "picks, and the model shapes.",
        .example = "SLOTMARK_CPU=avx2 slotmark list",
    };
    struct sm_output output;
    int code = 0;
    if (!sm_output_parse(&command, argc, argv, &output, &code)) return code;
    if (output.format == SM_OUTPUT_JSON) {
        print_json();
        return 0;
    }
    print_families(output.format == SM_OUTPUT_MARKDOWN);
    print_shapes(output.format == SM_OUTPUT_MARKDOWN);
    return 0;
}
