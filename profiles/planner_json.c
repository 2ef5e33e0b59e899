#include "planner_show.h"
#include "record.h"

static json_t *sizes(const size_t *rows, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, json_integer((json_int_t)rows[i]));
    return list;
}

size_t planner_plans(const struct sm_planner_set *set)
{
    return set->prefill_count + set->append_count + 1;
}

static json_t *choice_json(const struct planner_choice *c)
{
    const struct sm_planner_price *p = &c->price;
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s?}", "name", c->name, "calls",
                     c->rule == SM_PLANNER_BEST ? "best" : "smallest", "plans", (json_int_t)planner_plans(&c->set),
                     "prefill", sizes(c->set.prefill, c->set.prefill_count), "append",
                     sizes(c->set.append, c->set.append_count), "mean_ns", sm_record_number(p->mean), "ttft_ns",
                     sm_record_number(p->ttft), "p95_ns", sm_record_number(p->p95), "arena_bytes",
                     sm_record_number(p->bytes), "tokens", sm_record_number(p->tokens), "rows",
                     sm_record_number(p->rows), "why", c->why[0] ? c->why : NULL);
}

/* The best of each number of plans that is better than with fewer. */
static json_t *curve_json(const struct planner_study *s)
{
    json_t *list = json_array();
    for (size_t n = 2; n <= s->most_plans; n++) {
        const struct planner_choice c = {.name = "planned", .set = s->result.best[n], .price = s->curve[n]};
        if (c.set.prefill_count && planner_plans(&c.set) == n) json_array_append_new(list, choice_json(&c));
    }
    return list;
}

static json_t *arena(const struct planner_study *s, enum sm_phase phase, size_t rows)
{
    const struct sm_planner_costs *c = &s->problem.costs;
    return json_pack("{s:s, s:I, s:o}", "phase", sm_phase_name(phase), "rows", (json_int_t)rows, "arena_bytes",
                     sm_record_number(c->bytes(c->context, phase, rows, s->problem.max_seq)));
}

static json_t *memory_json(const struct planner_study *s)
{
    const struct sm_planner_set *set = &s->planned.set;
    json_t *plans = json_array();
    for (size_t i = 0; i < set->prefill_count; i++)
        json_array_append_new(plans, arena(s, SM_PHASE_PREFILL, set->prefill[i]));
    for (size_t i = 0; i < set->append_count; i++)
        json_array_append_new(plans, arena(s, SM_PHASE_APPEND, set->append[i]));
    json_array_append_new(plans, arena(s, SM_PHASE_DECODE, 1));
    return json_pack("{s:o, s:o}", "cache_bytes", sm_record_number(s->cache_bytes), "plans", plans);
}

json_t *planner_json(const struct planner_study *s, const struct planner_facts *facts)
{
    json_t *usual = json_array(), *values = json_array();
    for (size_t i = 0; i < PLANNER_USUALS; i++) json_array_append_new(usual, choice_json(&s->usual[i]));
    for (size_t i = 0; i < s->max_seq.count; i++)
        json_array_append_new(values, json_pack("{s:I, s:o}", "max_seq", (json_int_t)s->max_seq.value[i], "value_ns",
                                                sm_record_number(s->value[i])));
    json_t *turns =
        json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:I}", "file", facts->turns, "lines", (json_int_t)s->turns->count,
                  "sessions", (json_int_t)s->turns->sessions, "turns", s->turns->weight, "tokens_in", s->turns->in,
                  "tokens_out", s->turns->out, "longest", (json_int_t)s->turns->longest);
    json_t *costs = json_pack("{s:s, s:s, s:o, s:o}", "file", facts->costs, "attention",
                              sm_cost_attention_name(s->series->attention), "append_error",
                              sm_record_number(s->series->phase[SM_PHASE_APPEND].median_error), "prefill_error",
                              sm_record_number(s->series->phase[SM_PHASE_PREFILL].median_error));
    json_t *limits =
        json_pack("{s:I, s:I, s:o}", "max_buckets", (json_int_t)s->most_append, "max_plans", (json_int_t)s->most_plans,
                  "memory_bytes", s->memory > 0 ? sm_record_number(s->memory) : json_null());
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "role", "plan", "objective",
                     planner_objectives[s->objective], "max_seq", (json_int_t)s->problem.max_seq, "turns", turns,
                     "costs", costs, "limits", limits, "max_seq_values", values, "best", choice_json(&s->planned),
                     "usual", usual, "curve", curve_json(s), "memory", memory_json(s), "searched", (json_int_t)s->sets);
}

static json_t *layer_json(const struct sm_model_shape *shape, size_t i, size_t max_seq)
{
    const struct sm_layer_shape *l = &shape->layer[i];
    return json_pack(
        "{s:I, s:s, s:o, s:o, s:I, s:I, s:I}", "layer", (json_int_t)i, "attention", l->window ? "sliding" : "full",
        "window", l->window ? json_integer((json_int_t)l->window) : json_null(), "kv_source",
        l->kv_source == i ? json_null() : json_integer((json_int_t)l->kv_source), "kv_heads", (json_int_t)l->kv_heads,
        "head_dim", (json_int_t)l->head_dim, "past_slots", (json_int_t)(max_seq - 1));
}

json_t *planner_manifest(const struct planner_study *s, const struct planner_facts *facts)
{
    const struct sm_model_shape *shape = &facts->source->model->shape;
    const struct sm_planner_set *set = &s->planned.set;
    json_t *layers = json_array();
    for (size_t i = 0; i < shape->layers; i++) json_array_append_new(layers, layer_json(shape, i, s->problem.max_seq));
    return json_pack("{s:s, s:I, s:o, s:o, s:b, s:n, s:s, s:s, s:o}", "model", facts->source->name, "context_capacity",
                     (json_int_t)s->problem.max_seq, "prefill_buckets", sizes(set->prefill, set->prefill_count),
                     "append_prefill_buckets", sizes(set->append, set->append_count), "reserve_decode_slot", 1,
                     "query_block_size", "persistent_cache_mode", "full_context", "kv_type", sm_kv_name(s->series->kv),
                     "layers", layers);
}
