#include "plot_fixture_plan.h"

static const char *const names[PLOT_FIXTURE_SETS] = {"planned", "powers of two", "one big bucket"};

static json_t *set_of(const char *name, int plans, double ms)
{
    return json_pack("{s:s, s:s, s:i, s:[i, i], s:[i, i, i], s:f, s:f, s:f}", "name", name, "calls", "best", "plans",
                     plans, "prefill", 64, 256, "append", 8, 24, 96, "mean_ns", 1e6 * (ms + 900), "ttft_ns", 1e6 * ms,
                     "p95_ns", 3e6 * ms);
}

json_t *plot_fixture_plan(const char *objective)
{
    json_t *curve = json_array(), *usual = json_array();
    for (int plans = 2; plans <= 8; plans++)
        json_array_append_new(curve, set_of("planned", plans, 80 + 600.0 / (plans * plans)));
    json_array_append_new(usual, set_of("powers of two", 8, 140));
    json_array_append_new(usual, set_of("one big bucket", 3, 900));
    json_array_append_new(usual, json_pack("{s:s, s:i, s:n, s:s}", "name", "8,16,32,64", "plans", 9, "ttft_ns", "why",
                                           "there is no cost of append of 8 rows"));
    return json_pack("{s:s, s:s, s:i, s:{s:s}, s:o, s:o}", "role", "plan", "objective", objective, "max_seq", 2048,
                     "turns", "file", "fixture/short-chat.turns", "curve", curve, "usual", usual);
}

json_t *plot_fixture_replay(int set, int session)
{
    json_t *turns = json_array();
    for (int t = 0; t < 3; t++)
        json_array_append_new(turns, json_pack("{s:i, s:i, s:i, s:f, s:f}", "past", 300 * t, "in", 40, "out", 260,
                                               "ttft_ns", (set + 1) * (60e6 + 9e6 * t) + 3e6 * ((session + t) % 5),
                                               "predicted_ttft_ns", (set + 1) * 62e6));
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:o}", "role", "replay", "set", names[set], "calls", "best", "file",
                     "fixture/short-chat.turns", "session", session + 1, "turns", turns);
}

json_t *plot_fixture_turn(int turn, int way, double *ns)
{
    static const char *const ways[] = {"buckets", "exact", "decode-loop", "re-prefill"};
    const double times[] = {70e6, 55e6, 400e6, 90e6 * (turn + 1)};
    *ns = times[way];
    return json_pack("{s:i, s:i, s:s, s:i, s:i, s:s}", "turn", turn + 1, "of", 3, "way", ways[way], "past", 120 * turn,
                     "tokens", 30, "turns", "100+20,30+20,12+10");
}
