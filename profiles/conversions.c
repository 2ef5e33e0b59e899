#include "conversions.h"

void sm_conversions_record(struct sm_record *record, const struct sm_weights *weights)
{
    json_t *list = json_array();
    for (size_t i = 0; i < weights->conversion_count; i++) {
        const struct sm_conversion *c = &weights->conversion[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:f, s:f}", "from", sm_format_name(c->from), "to",
                                              sm_format_name(c->to), "tensors", (json_int_t)c->tensors, "relative_rms",
                                              c->relative_rms, "max_error", c->max_error));
    }
    sm_record_put_json(record, "model", "conversions", list);
    sm_record_put_json(record, "model", "scales", weights->scales_from[0] ? json_string(weights->scales_from) : NULL);
}

size_t sm_conversions_print(const json_t *record, FILE *out)
{
    const json_t *list = json_object_get(json_object_get(record, "model"), "conversions"), *c;
    const char *recipe = json_string_value(json_object_get(record, "recipe")), *before = "\n";
    size_t i;
    json_array_foreach(list, i, c)
    {
        const char *from = json_string_value(json_object_get(c, "from")),
                   *to = json_string_value(json_object_get(c, "to"));
        const double rms = json_number_value(json_object_get(c, "relative_rms"));
        fprintf(out, "%s%s: %s ran as %s in %lld tensors, ", before, recipe ? recipe : "?", from ? from : "?",
                to ? to : "?", (long long)json_integer_value(json_object_get(c, "tensors")));
        if (rms > 0)
            fprintf(out, "relative RMS error %.2g, largest %.2g of its tensor's largest\n", rms,
                    json_number_value(json_object_get(c, "max_error")));
        else
            fprintf(out, "without loss\n");
        before = "";
    }
    return json_array_size(list);
}
