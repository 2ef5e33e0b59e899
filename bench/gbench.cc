// Google Benchmark 1.7.1 to head, without a version macro (its headers have none): where members differ, overloads
// ranked by `rank` ask for the newer one first.
#include "gbench.h"

#include <benchmark/benchmark.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

extern char **environ;

namespace
{

template <int n> struct rank : rank<n - 1> {
};
template <> struct rank<0> {
};

template <class Run> auto run_failed(const Run &run, rank<1>) -> decltype(static_cast<int>(run.skipped) != 0)
{
    return static_cast<int>(run.skipped) != 0;
}
template <class Run> auto run_failed(const Run &run, rank<0>) -> decltype(static_cast<bool>(run.error_occurred))
{
    return run.error_occurred;
}
template <class Run> auto run_message(const Run &run, rank<1>) -> decltype(std::string(run.skip_message))
{
    return run.skip_message;
}
template <class Run> auto run_message(const Run &run, rank<0>) -> decltype(std::string(run.error_message))
{
    return run.error_message;
}

int fail(char *why, size_t why_bytes, const std::string &sentence)
{
    if (why && why_bytes) std::snprintf(why, why_bytes, "%s", sentence.c_str());
    return -1;
}

bool matches(const std::string &filter, const std::string &name)
{
    const bool inverted = !filter.empty() && filter[0] == '-';
    const std::regex expression(filter.substr(inverted ? 1 : 0), std::regex::extended | std::regex::nosubs);
    return std::regex_search(name, expression) != inverted;
}

// Feeds the caller's callback and the JSON file; prints nothing.
class Reporter : public benchmark::BenchmarkReporter
{
  public:
    explicit Reporter(std::ofstream *json) : json_(json)
    {
        writer_.SetOutputStream(json ? static_cast<std::ostream *>(json) : &discard_);
        writer_.SetErrorStream(&discard_);
        SetOutputStream(&discard_);
        SetErrorStream(&discard_);
    }

    bool ReportContext(const Context &context) override
    {
        if (json_ && !begun_) writer_.ReportContext(context);
        begun_ = true;
        return true;
    }

    void ReportRuns(const std::vector<Run> &runs) override
    {
        if (json_) writer_.ReportRuns(runs);
        for (const Run &run : runs) {
            if (run.run_type != Run::RT_Iteration) continue; // aggregates: percentages among them are no times
            const bool failed = run_failed(run, rank<1>());
            const std::string message = failed ? run_message(run, rank<1>()) : std::string();
            sm_gbench_sample sample = {};
            sample.name = run.run_name.function_name.c_str();
            sample.label = run.report_label.c_str();
            sample.error = failed ? message.c_str() : nullptr;
            sample.repetition = run.repetition_index < 0 ? 0 : static_cast<size_t>(run.repetition_index);
            sample.iterations = static_cast<size_t>(run.iterations);
            sample.seconds = run.real_accumulated_time;
            sample.cpu_seconds = run.cpu_accumulated_time;
            reported++;
            if (target && target->sample) target->sample(target->user, &sample);
        }
        if (json_) json_->flush();
    }

    void end()
    {
        if (json_ && begun_) writer_.Finalize();
    }

    const sm_gbench_reporter *target = nullptr;
    size_t reported = 0;

  private:
    std::ofstream *json_;
    std::ostream discard_{nullptr};
    benchmark::JSONReporter writer_;
    bool begun_ = false;
};

} // namespace

struct sm_gbench {
    std::ofstream json;
    std::string json_path;
    std::vector<std::string> words; // the library keeps argv[0]
    std::unique_ptr<Reporter> reporter;
};

struct sm_gbench_state {
    benchmark::State *state;
    bool begun, ended, skipped;
};

namespace
{

void call_body(benchmark::State &state, sm_gbench_body *body, void *user)
{
    sm_gbench_state s = {&state, false, false, false};
    body(&s, user);
    // The library aborts when a body leaves early: turn that into an error of this benchmark.
    if (!s.begun && !s.skipped) sm_gbench_skip(&s, "the body returned without sm_gbench_begin");
    if (s.begun && !s.ended) {
        const bool told = s.skipped;
        sm_gbench_end(&s);
        if (!told) sm_gbench_skip(&s, "the body returned without sm_gbench_end");
    }
}

std::string refusal(const sm_gbench_benchmark &b)
{
    if (!b.name || !*b.name) return "a benchmark needs a name";
    const std::string who = "benchmark '" + std::string(b.name) + "': ";
    if (!b.body) return who + "it has no body";
    if (b.time != SM_GBENCH_TIME_REAL && b.time != SM_GBENCH_TIME_MANUAL)
        return who + "it must ask for real or manual time; CPU time of the main thread is wrong for teams";
    if (b.repetitions < 1 || b.repetitions > 1000000) return who + "repetitions must be 1 to 1000000";
    if (b.iterations > 1000000000) return who + "iterations must be at most 1000000000";
    if (b.iterations && (b.min_time != 0 || b.warm_up != 0))
        return who + "a fixed number of iterations excludes a minimum time and a warm-up";
    if (!b.iterations && !(b.min_time > 0 && b.min_time < 1e6)) return who + "the minimum time must be above 0 seconds";
    if (!(b.warm_up >= 0 && b.warm_up < 1e6)) return who + "the warm-up must be 0 seconds or more";
    return std::string();
}

// Static initialisers of the library read BENCHMARK_... variables before main: say each default out loud.
const char *const defaults[] = {"--benchmark_filter=.",
                                "--benchmark_list_tests=false",
                                "--benchmark_enable_random_interleaving=false",
                                "--benchmark_report_aggregates_only=false",
                                "--benchmark_display_aggregates_only=false",
                                "--benchmark_repetitions=1",
                                "--benchmark_format=console",
                                "--benchmark_out=",
                                "--benchmark_out_format=json",
                                "--benchmark_perf_counters=",
                                "--benchmark_dry_run=false",
                                "--v=0"};

bool parse_seconds(const std::string &text, double *seconds)
{
    char *end = nullptr;
    errno = 0;
    *seconds = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || errno || !(*seconds > 0 && *seconds < 1e6)) return false;
    return !std::strcmp(end, "") || !std::strcmp(end, "s");
}

bool parse_count(const std::string &text, size_t *count)
{
    char *end = nullptr;
    errno = 0;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (end == text.c_str() || *end || errno || value < 1 || value > 1000000) return false;
    *count = static_cast<size_t>(value);
    return true;
}

const char *refused_flag(const std::string &name)
{
    static const struct {
        const char *name, *reason;
    } table[] = {
        {"format", "the table is slotmark's own; use -o"},
        {"out_format", "the file is always JSON"},
        {"report_aggregates_only", "it would hide raw samples"},
        {"display_aggregates_only", "it would hide raw samples"},
        {"enable_random_interleaving", "cases run one after the other, since each holds large operands"},
        {"perf_counters", "it does nothing in builds without libpfm and is not scaled elsewhere"},
        {"dry_run", "use --dry-run"},
        {"color", "it has no effect here"},
        {"counters_tabular", "it has no effect here"},
        {"time_unit", "records are in nanoseconds"},
    };
    for (const auto &entry : table)
        if (name == entry.name) return entry.reason;
    return nullptr;
}

int parse_flag(sm_gbench_flags *flags, const char *word, char *why, size_t why_bytes)
{
    static const char prefix[] = "--benchmark_";
    const std::string text(word);
    if (text.compare(0, sizeof prefix - 1, prefix))
        return fail(why, why_bytes, "no flag of Google Benchmark: '" + text + "'");
    const size_t equals = text.find('=');
    const std::string name =
        text.substr(sizeof prefix - 1, equals == std::string::npos ? equals : equals - (sizeof prefix - 1));
    const char *value_at = equals == std::string::npos ? nullptr : word + equals + 1;
    const std::string value = value_at ? value_at : "";
    const auto bad = [&](const char *wants) {
        return fail(why, why_bytes, "--benchmark_" + name + " wants " + wants + ", not '" + value + "'");
    };
    if (name == "filter") {
        if (!value_at) return bad("an expression");
        flags->filter = value_at;
        return sm_gbench_matches(value_at, "", why, why_bytes) < 0 ? -1 : 0;
    }
    if (name == "min_time")
        return parse_seconds(value, &flags->min_time) ? 0 : bad("seconds above 0, such as 0.5 or 0.5s");
    if (name == "min_warmup_time") return parse_seconds(value, &flags->warm_up) ? 0 : bad("seconds above 0");
    if (name == "repetitions") return parse_count(value, &flags->repetitions) ? 0 : bad("a count from 1 to 1000000");
    if (name == "list_tests") {
        if (value_at && value != "true" && value != "false") return bad("true or false");
        flags->list = value != "false";
        return 0;
    }
    if (name == "out") {
        if (value.empty()) return bad("a file name");
        flags->out = value_at;
        return 0;
    }
    if (name == "context") {
        if (value.find('=') == std::string::npos) return bad("key=value");
        if (flags->context_count == sizeof flags->context / sizeof *flags->context) return bad("at most 16 pairs");
        flags->context[flags->context_count++] = value_at;
        return 0;
    }
    const char *reason = refused_flag(name);
    return fail(why, why_bytes,
                "--benchmark_" + name +
                    (reason ? std::string(" is not taken here: ") + reason
                            : std::string(" is no flag of Google Benchmark that slotmark knows")));
}

} // namespace

extern "C" int sm_gbench_flags_parse(struct sm_gbench_flags *flags, char *const *words, size_t count, char *why,
                                     size_t why_bytes)
{
    try {
        *flags = sm_gbench_flags();
        for (size_t i = 0; i < count; i++)
            if (parse_flag(flags, words[i], why, why_bytes)) return -1;
        return 0;
    } catch (const std::exception &e) {
        return fail(why, why_bytes, std::string("reading Google Benchmark's flags: ") + e.what());
    }
}

extern "C" int sm_gbench_matches(const char *filter, const char *name, char *why, size_t why_bytes)
{
    try {
        return !filter || matches(filter, name) ? 1 : 0;
    } catch (const std::exception &e) {
        return fail(why, why_bytes, "'" + std::string(filter) + "' is no regular expression: " + e.what());
    }
}

extern "C" size_t sm_gbench_clear_environment(char *text, size_t text_bytes)
{
    static const char prefix[] = "BENCHMARK_";
    size_t found = 0, used = 0;
    if (text_bytes) *text = 0;
    for (char **variable = environ; variable && *variable;) {
        if (std::strncmp(*variable, prefix, sizeof prefix - 1)) {
            variable++;
            continue;
        }
        if (used < text_bytes) {
            const int n = std::snprintf(text + used, text_bytes - used, "%s%s", found ? " " : "", *variable);
            used += n < 0 ? 0 : static_cast<size_t>(n);
        }
        found++;
        const char *equals = std::strchr(*variable, '=');
        char name[256];
        const size_t length = equals ? static_cast<size_t>(equals - *variable) : sizeof name;
        if (length >= sizeof name) {
            variable++; // no name of the library's is that long
            continue;
        }
        std::memcpy(name, *variable, length);
        name[length] = 0;
        unsetenv(name);
        variable = environ; // unsetenv moves entries
    }
    return found;
}

extern "C" struct sm_gbench *sm_gbench_open(const struct sm_gbench_options *options, char *why, size_t why_bytes)
{
    try {
        std::unique_ptr<sm_gbench> g(new sm_gbench);
        if (options->json_path) {
            g->json_path = options->json_path;
            if (std::ifstream(g->json_path).good()) {
                fail(why, why_bytes, "writing Google Benchmark's JSON: '" + g->json_path + "' is there already");
                return nullptr;
            }
            errno = 0;
            g->json.open(g->json_path, std::ios::out | std::ios::trunc);
            if (!g->json) {
                fail(why, why_bytes,
                     "writing Google Benchmark's JSON to '" + g->json_path +
                         "': " + std::strerror(errno ? errno : EIO));
                return nullptr;
            }
        }
        g->words.push_back(options->program ? options->program : "slotmark");
        g->words.insert(g->words.end(), std::begin(defaults), std::end(defaults));
        std::vector<char *> argv;
        for (std::string &word : g->words) argv.push_back(&word[0]);
        argv.push_back(nullptr);
        int argc = static_cast<int>(g->words.size());
        benchmark::Initialize(&argc, argv.data()); // leftovers are defaults of newer versions
        for (size_t i = 0; i < options->context_count; i++) {
            const std::string pair(options->context[i]);
            const size_t equals = pair.find('=');
            if (equals == std::string::npos) continue;
            benchmark::AddCustomContext(pair.substr(0, equals), pair.substr(equals + 1));
        }
        g->reporter.reset(new Reporter(options->json_path ? &g->json : nullptr));
        return g.release();
    } catch (const std::exception &e) {
        fail(why, why_bytes, std::string("starting Google Benchmark: ") + e.what());
        return nullptr;
    }
}

extern "C" int sm_gbench_run(struct sm_gbench *g, const struct sm_gbench_benchmark *b,
                             const struct sm_gbench_reporter *reporter, char *why, size_t why_bytes)
{
    try {
        const std::string refused = refusal(*b);
        if (!refused.empty()) return fail(why, why_bytes, refused);
        sm_gbench_body *const body = b->body;
        void *const user = b->user;
        benchmark::ClearRegisteredBenchmarks();
        auto *registered = benchmark::RegisterBenchmark(
            b->name, [body, user](benchmark::State &state) { call_body(state, body, user); });
        if (b->iterations) {
            registered->Iterations(static_cast<benchmark::IterationCount>(b->iterations));
        } else {
            registered->MinTime(b->min_time); // without it the library ignores the warm-up
            if (b->warm_up > 0) registered->MinWarmUpTime(b->warm_up);
        }
        registered->Repetitions(static_cast<int>(b->repetitions));
        if (b->time == SM_GBENCH_TIME_MANUAL)
            registered->UseManualTime();
        else
            registered->UseRealTime();
        g->reporter->target = reporter;
        g->reporter->reported = 0;
        benchmark::RunSpecifiedBenchmarks(g->reporter.get(), std::string("."));
        g->reporter->target = nullptr;
        benchmark::ClearRegisteredBenchmarks();
        if (!g->reporter->reported)
            return fail(why, why_bytes, "benchmark '" + std::string(b->name) + "': the library reported no repetition");
        return 0;
    } catch (const std::exception &e) {
        g->reporter->target = nullptr;
        return fail(why, why_bytes, "running benchmark '" + std::string(b->name ? b->name : "") + "': " + e.what());
    }
}

extern "C" int sm_gbench_close(struct sm_gbench *g, char *why, size_t why_bytes)
{
    if (!g) return 0;
    try {
        const std::unique_ptr<sm_gbench> owner(g);
        g->reporter->end();
        benchmark::Shutdown();
        if (g->json_path.empty()) return 0;
        g->json.close();
        if (!g->json)
            return fail(why, why_bytes,
                        "writing Google Benchmark's JSON to '" + g->json_path +
                            "': no space, or an input/output error");
        return 0;
    } catch (const std::exception &e) {
        return fail(why, why_bytes, std::string("ending Google Benchmark: ") + e.what());
    }
}

extern "C" size_t sm_gbench_begin(struct sm_gbench_state *s)
{
    if (s->begun) return 0;
    const benchmark::IterationCount count = s->state->max_iterations;
    s->begun = true;
    if (s->state->KeepRunningBatch(count)) return static_cast<size_t>(count);
    s->ended = true; // skipped before: the library has closed the region itself
    return 0;
}

extern "C" void sm_gbench_end(struct sm_gbench_state *s)
{
    if (!s->begun || s->ended) return;
    s->ended = true;
    s->state->KeepRunningBatch(s->state->max_iterations); // nothing is left: stops the clock and returns false
}

extern "C" void sm_gbench_manual_time(struct sm_gbench_state *s, double seconds)
{
    s->state->SetIterationTime(seconds);
}

extern "C" void sm_gbench_skip(struct sm_gbench_state *s, const char *reason)
{
    if (s->skipped) return;
    s->skipped = true;
    s->state->SkipWithError(reason);
}

extern "C" void sm_gbench_counter(struct sm_gbench_state *s, const char *name, double value, unsigned flags)
{
    try {
        using benchmark::Counter;
        unsigned bits = 0;
        if (flags & SM_GBENCH_RATE) bits |= static_cast<unsigned>(Counter::kIsRate);
        if (flags & SM_GBENCH_PER_ITERATION) bits |= static_cast<unsigned>(Counter::kAvgIterations);
        if (flags & SM_GBENCH_EACH_ITERATION) bits |= static_cast<unsigned>(Counter::kIsIterationInvariant);
        if (flags & SM_GBENCH_INVERT) bits |= static_cast<unsigned>(Counter::kInvert);
        s->state->counters[std::string("sm_") + name] = Counter(
            value, static_cast<Counter::Flags>(bits), flags & SM_GBENCH_1024 ? Counter::kIs1024 : Counter::kIs1000);
    } catch (const std::exception &) {
        sm_gbench_skip(s, "no memory for a counter");
    }
}
