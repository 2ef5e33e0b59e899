#include "machine.h"

#include <hwloc.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "clock.h"
#include "machine_facts.h"

static struct {
    hwloc_topology_t topology; /* NULL: hwloc could not tell */
    hwloc_bitmap_t allowed;    /* where the process could run at first */
    struct sm_machine machine;
    json_t *json;
} facts;
static pthread_mutex_t json_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t cache_bytes(hwloc_obj_type_t type)
{
    const hwloc_obj_t cache = hwloc_get_obj_by_type(facts.topology, type, 0);
    return cache ? (size_t)cache->attr->cache.size : 0;
}

static void ask_hwloc(void)
{
    struct sm_machine *m = &facts.machine;
    hwloc_topology_t t;
    setenv("HWLOC_HIDE_ERRORS", "2", 0); /* without /sys it prints; what it could not see is null in the record */
    if (hwloc_topology_init(&t)) return;
    if (hwloc_topology_load(t) || !(facts.allowed = hwloc_bitmap_alloc())) {
        hwloc_topology_destroy(t);
        return;
    }
    facts.topology = t;
    if (hwloc_get_cpubind(t, facts.allowed, HWLOC_CPUBIND_PROCESS))
        hwloc_bitmap_copy(facts.allowed, hwloc_topology_get_allowed_cpuset(t));
    m->threads = hwloc_bitmap_weight(facts.allowed);
    m->cores = hwloc_get_nbobjs_inside_cpuset_by_type(t, facts.allowed, HWLOC_OBJ_CORE);
    m->l1d_bytes = cache_bytes(HWLOC_OBJ_L1CACHE);
    m->l2_bytes = cache_bytes(HWLOC_OBJ_L2CACHE);
    m->l3_bytes = cache_bytes(HWLOC_OBJ_L3CACHE);
    /* hwloc adds up the nodes, which show less in a guest whose host hands out memory as it is used */
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    m->memory_bytes =
        pages > 0 && page_bytes > 0 ? (size_t)pages * (size_t)page_bytes : (size_t)hwloc_get_root_obj(t)->total_memory;
    const size_t limit = sm_fact_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup");
    if (limit && limit < m->memory_bytes) m->memory_bytes = limit;
    const hwloc_obj_t l1 = hwloc_get_obj_by_type(t, HWLOC_OBJ_L1CACHE, 0);
    const hwloc_obj_t l3 = hwloc_get_obj_by_type(t, HWLOC_OBJ_L3CACHE, 0);
    if (l1) m->line_bytes = (size_t)l1->attr->cache.linesize;
    if (l3) m->l3_threads = hwloc_bitmap_weight(l3->cpuset);
}

const char *sm_machine_isa(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    __builtin_cpu_init();
    const int f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C); /* clang 14's builtin does not know it */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !f16c) return "any";
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return "avx2";
    if (!__builtin_cpu_supports("avx512vnni")) return "avx512";
    return sm_fact_tiles() ? "amx" : "avx512vnni";
#else
    return "any";
#endif
}

static void put(const char *key, json_t *value)
{
    json_object_set_new(facts.json, key, value ? value : json_null());
}

static void put_text(const char *key, const char *text)
{
    put(key, text ? json_string(text) : NULL);
}

static void put_count(const char *key, size_t count)
{
    put(key, count ? json_integer((json_int_t)count) : NULL);
}

static void put_number_in(const char *key, const char *path)
{
    char text[64];
    int value;
    put(key, sm_fact_line(path, text, sizeof text) && sscanf(text, "%d", &value) == 1 ? json_integer(value) : NULL);
}

static void describe(void)
{
    char text[512];
    struct utsname u;
    const struct sm_machine *m = &facts.machine;
    facts.json = json_object();
    put_text("cpu", sm_fact_cpuinfo("model name", text, sizeof text));
    put_text("vendor", sm_fact_cpuinfo("vendor_id", text, sizeof text));
    put_text("family", sm_fact_cpuinfo("cpu family", text, sizeof text));
    put_text("model", sm_fact_cpuinfo("model", text, sizeof text));
    put_text("stepping", sm_fact_cpuinfo("stepping", text, sizeof text));
    put_text("microcode", sm_fact_cpuinfo("microcode", text, sizeof text));
    put_count("cores", (size_t)m->cores);
    put_count("threads", (size_t)m->threads);
    put_text("smt", sm_fact_line("/sys/devices/system/cpu/smt/control", text, sizeof text));
    put_text("openmp_wait_policy", getenv("OMP_WAIT_POLICY"));
    put_text("openmp_spin_count", getenv("GOMP_SPINCOUNT"));
    put_text("isa", sm_machine_isa());
    put("features", sm_fact_features());
    put_count("l1d_bytes", m->l1d_bytes);
    put_count("l2_bytes", m->l2_bytes);
    put_count("l3_bytes", m->l3_bytes);
    put_count("l3_threads", (size_t)m->l3_threads);
    put_count("line_bytes", m->line_bytes);
    put_count("memory_bytes", m->memory_bytes);
    put("tsc_hz", isfinite(sm_tsc_hz()) ? json_real(sm_tsc_hz()) : NULL);
    put_text("clock_source",
             sm_fact_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", text, sizeof text));
    put_text("kernel", uname(&u) ? NULL : (snprintf(text, sizeof text, "%s %s", u.sysname, u.release), text));
    bool unused;
    put_text("hypervisor", sm_fact_hypervisor(&unused, text, sizeof text));
    put("virtualised", json_boolean(m->virtualised));
    put_text("governor", sm_fact_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof text));
    put_text("turbo", sm_fact_turbo());
    put_text("huge_pages", sm_fact_chosen("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text));
    put_count("numa_nodes", facts.topology ? (size_t)hwloc_get_nbobjs_by_type(facts.topology, HWLOC_OBJ_NUMANODE) : 0);
    put_number_in("aslr", "/proc/sys/kernel/randomize_va_space");
    put_number_in("perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid");
}

static void gather(void)
{
    char text[64];
    ask_hwloc();
    sm_fact_hypervisor(&facts.machine.virtualised, text, sizeof text);
    describe();
}

static void gather_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, gather);
}

const struct sm_machine *sm_machine(void)
{
    gather_once();
    return &facts.machine;
}

json_t *sm_machine_json(void)
{
    gather_once();
    pthread_mutex_lock(&json_lock);
    json_t *copy = json_deep_copy(facts.json);
    pthread_mutex_unlock(&json_lock);
    return copy;
}

int sm_pin_plan(struct sm_pin *pin, int workers, char *why, size_t why_bytes)
{
    gather_once();
    pin->count = 0;
    if (!facts.topology) {
        snprintf(why, why_bytes, "cannot pin threads: hwloc does not know this machine's topology");
        return -1;
    }
    if (workers > facts.machine.threads || workers > SM_PIN_MOST) {
        snprintf(why, why_bytes, "cannot pin %d threads to %d CPUs", workers, facts.machine.threads);
        return -1;
    }
    /* Round r takes the r-th hardware thread of every core: whole cores first. */
    const int cores = hwloc_get_nbobjs_by_type(facts.topology, HWLOC_OBJ_CORE);
    for (unsigned round = 0; pin->count < workers && round < 64; round++)
        for (int c = 0; c < cores && pin->count < workers; c++) {
            const hwloc_obj_t core = hwloc_get_obj_by_type(facts.topology, HWLOC_OBJ_CORE, (unsigned)c);
            const hwloc_obj_t unit =
                hwloc_get_obj_inside_cpuset_by_type(facts.topology, core->cpuset, HWLOC_OBJ_PU, round);
            if (unit && hwloc_bitmap_isset(facts.allowed, unit->os_index)) pin->cpu[pin->count++] = (int)unit->os_index;
        }
    if (pin->count == workers) return 0;
    snprintf(why, why_bytes, "cannot pin %d threads: hwloc shows only %d places", workers, pin->count);
    return -1;
}

int sm_pin_self(const struct sm_pin *pin, int worker, char *why, size_t why_bytes)
{
    if (worker < 0 || worker >= pin->count) {
        snprintf(why, why_bytes, "cannot pin thread %d: only %d were planned", worker, pin->count);
        return -1;
    }
    const unsigned cpu = (unsigned)pin->cpu[worker];
    hwloc_bitmap_t place = hwloc_bitmap_alloc(), seen = hwloc_bitmap_alloc();
    int result = -1;
    if (place && seen && !hwloc_bitmap_only(place, cpu) &&
        !hwloc_set_cpubind(facts.topology, place, HWLOC_CPUBIND_THREAD) &&
        !hwloc_get_cpubind(facts.topology, seen, HWLOC_CPUBIND_THREAD) && hwloc_bitmap_isequal(place, seen) &&
        !hwloc_get_last_cpu_location(facts.topology, seen, HWLOC_CPUBIND_THREAD) && hwloc_bitmap_isequal(place, seen))
        result = 0;
    else
        snprintf(why, why_bytes, "thread %d asked for CPU %u and did not get it", worker, cpu);
    hwloc_bitmap_free(place);
    hwloc_bitmap_free(seen);
    return result;
}

void sm_pin_keep(const struct sm_pin *pin, int worker)
{
    static _Thread_local const struct sm_pin *kept;
    char unsaid[128];
    if (kept == pin) return;
    kept = pin;
    (void)sm_pin_self(pin, worker, unsaid, sizeof unsaid);
}

int sm_unpin_self(char *why, size_t why_bytes)
{
    gather_once();
    if (facts.topology && !hwloc_set_cpubind(facts.topology, facts.allowed, HWLOC_CPUBIND_THREAD)) return 0;
    snprintf(why, why_bytes, "cannot unpin a thread");
    return -1;
}

int sm_pin_team(struct sm_pin *pin, int workers, char *why, size_t why_bytes)
{
    int astray = 0;
    if (sm_pin_plan(pin, workers, why, why_bytes)) return -1;
#pragma omp parallel num_threads(workers) reduction(+ : astray)
    {
        char text[128];
        astray += sm_pin_self(pin, omp_get_thread_num(), text, sizeof text) != 0;
    }
    if (astray) snprintf(why, why_bytes, "%d of %d threads are not where they should be", astray, workers);
    return astray ? -1 : 0;
}

void sm_unpin_team(int workers)
{
#pragma omp parallel num_threads(workers)
    {
        char unsaid[128];
        sm_unpin_self(unsaid, sizeof unsaid);
    }
}

json_t *sm_pin_json(const struct sm_pin *pin)
{
    json_t *cpus = json_array();
    for (int i = 0; i < pin->count; i++) json_array_append_new(cpus, json_integer(pin->cpu[i]));
    return cpus;
}
