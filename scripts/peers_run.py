"""Runs slotmark and its peers in turns for scripts/peers, and keeps each round in a file of its own.

A round is one model, KV type and number of threads: every program once, in an order that alternates. Its file appears
when all of it is done, so that a run that was stopped goes on with the round in which it was.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

DEPTH, PROMPT, GENERATED = 1500, 512, 128


def say(text):
    print("scripts/peers: " + text, file=sys.stderr, flush=True)


def others():
    """What others use of the machine in one second, in percent."""
    def read():
        with open("/proc/stat") as stat:
            ticks = [int(word) for word in stat.readline().split()[1:]]
        return sum(ticks[:8]) - ticks[3] - ticks[4], sum(ticks[:8])
    busy, whole = read()
    time.sleep(1)
    busy, whole = read()[0] - busy, read()[1] - whole
    return 100 * busy / whole if whole else 0


def quiet(o):
    for _ in range(1 if o.anyway else o.wait):
        share = others()
        if share < 8 or o.anyway:
            return share
    say("others use %d %% of the machine after %d s of waiting: nothing is run; --anyway runs and says so" % (
        share, o.wait))
    sys.exit(4)


class Failed(Exception):
    pass


def output(command, may_fail_with=None, folder=None):
    """What a program prints; one that printed this text has done what it was asked to before it failed."""
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    if run.returncode and not (may_fail_with and may_fail_with in run.stderr):
        raise Failed("%s\n%s" % (" ".join(command), "\n".join(run.stderr.splitlines()[-2:])))
    return run.stdout, run.stderr


def rate(test, value, **more):
    return dict(test=test, rate=value, **more)


def slotmark(o, model, threads, test, variant=None):
    """Prefill in as few columns as hold it, decodes in those of --max-seq."""
    shape = {
        "prefill": ["--max-seq", str(PROMPT + 1), "--prompt-len", str(PROMPT), "--gen", "0"],
        "decode": ["--max-seq", str(o.max_seq), "--prompt-len", "1,%d" % DEPTH, "--gen", str(GENERATED)],
    }[test]
    with tempfile.TemporaryDirectory() as records:
        text, _ = output([o.slotmark, "profile", model, "--threads", str(threads), "--kv", o.kv, "--reps", "1",
                          "--counters", "none", "--quiet", "--out", records, "-o", "json"] + shape +
                         (["--variant", variant] if variant else []))
    rates = []
    for row in json.loads(text):
        if (row["phase"] == "decode") != (test == "decode"):
            continue
        depth = 0 if row["n_depth"] == 1 else row["n_depth"]
        name = "tg%d @ %d" % (GENERATED, depth) if test == "decode" else "pp%d" % PROMPT
        rates.append(rate(name, row["avg_ts"], share=row["limit_share"], ceiling=row["binding_ceiling"],
                          variant=row["variant"]))
    return rates


def literal_of(rates, kv):
    """The variant that computes every column beside the one that ran, as --variant takes it."""
    family = "attention_" + kv
    ran = dict(word.split("/") for word in rates[0]["variant"].split(", "))[family]
    return "%s=%s" % (family, ran.replace("skip", "literal")) if "skip" in ran else None


def llama_bench(program, o, model, threads, options):
    text, _ = output([program, "-m", model, "-t", str(threads), "-ctk", o.peer_kv, "-ctv", o.peer_kv, "-r", "1", "-o",
                      "json"] + options)
    rates = []
    for row in json.loads(text):
        depth = row.get("n_depth") or 0
        name = "tg%d @ %d" % (row["n_gen"], depth) if row["n_gen"] else "pp%d" % row["n_prompt"]
        rates.append(rate(name, row["avg_ts"], options="fa %d" % int(row["flash_attn"])))
    return rates


def llama_cpp(o, model, threads):
    """With flash attention and without: either may be faster. A cache of int8 needs it."""
    program, fa = o.cache + "/build-llama.cpp/bin/llama-bench", "0,1" if o.kv == "f16" else "1"
    return llama_bench(program, o, model, threads, ["-fa", fa, "-p", str(PROMPT), "-n", str(GENERATED)]) + llama_bench(
        program, o, model, threads, ["-fa", fa, "-p", "0", "-n", str(GENERATED), "-d", str(DEPTH)])


def ik(o, model, threads):
    """Repacked, with flash attention; its llama-bench knows no depth, its sweep one of every n_ubatch tokens."""
    bin_ = o.cache + "/build-ik/bin/"
    rates = llama_bench(bin_ + "llama-bench", o, model, threads,
                        ["-fa", "1", "-rtr", "1", "-p", str(PROMPT), "-n", str(GENERATED)])
    _, text = output([bin_ + "llama-sweep-bench", "-m", os.path.abspath(model), "-t", str(threads), "-ctk", o.peer_kv,
                      "-ctv", o.peer_kv, "-fa", "on", "-rtr", "-c", str(2 * DEPTH), "-b", str(DEPTH), "-ub", str(DEPTH),
                      "-n", str(GENERATED), "--output-format", "jsonl"], '"n_kv": %d,' % DEPTH,  # it goes on to a full context
                     o.cache)  # and writes a log where it is
    for line in text.splitlines():
        if line.startswith("{") and json.loads(line)["n_kv"] == DEPTH:
            rates.append(rate("tg%d @ %d" % (GENERATED, DEPTH), json.loads(line)["speed_tg"], options="fa 1, sweep"))
    return rates


def one_round(o, model, threads, number):
    runs = [("slotmark", lambda: slotmark(o, model, threads, "prefill")),
            ("slotmark", lambda: slotmark(o, model, threads, "decode"))]
    runs += [(name, lambda run=run: run(o, model, threads))
             for name, run in (("llama.cpp", llama_cpp), ("ik", ik)) if name in o.peers]
    done, begun, literal = [], time.time(), None
    for name, run in runs if number % 2 else runs[::-1]:
        busy = quiet(o)
        rates = run()
        done.append(dict(who=name, busy=busy, rates=rates))
        if name == "slotmark" and len(rates) == 2:
            literal = literal_of(rates, o.kv)
    if literal:
        done.append(dict(who="literal", busy=quiet(o), rates=slotmark(o, model, threads, "decode", literal)))
    return dict(model=os.path.basename(model), bytes=os.path.getsize(model), kv=o.kv, threads=threads, round=number,
                max_seq=o.max_seq, versions=o.versions, begun=begun, seconds=time.time() - begun, load=os.getloadavg()[0], runs=done)


def ort_round(o, number):
    begun, busy = time.time(), quiet(o)
    text, _ = output([o.cache + "/ort/bin/python", os.path.join(os.path.dirname(__file__), "peers_ort.py"), o.slotmark])
    return dict(ort=json.loads(text), busy=busy, round=number, begun=begun, seconds=time.time() - begun,
                load=os.getloadavg()[0])


def seconds_of(o, model):
    """How long a round takes: as one of that model did, or as models of that size do on two cores of a Zen 5."""
    if model is None:
        return 5
    known = [f for f in os.listdir(o.folder) if f.startswith(os.path.basename(model))]
    for name in known:
        with open(os.path.join(o.folder, name)) as file:
            return json.load(file)["seconds"]
    return 15 + os.path.getsize(model) / 2**20 * (0.1 + 0.2 * len(o.peers & {"llama.cpp", "ik"}))


def main():
    p = argparse.ArgumentParser()
    for name in ("slotmark", "cache", "folder", "peers", "threads", "kv", "versions"):
        p.add_argument("--" + name)
    for name in ("rounds", "max-seq", "wait"):
        p.add_argument("--" + name, type=int)
    for name in ("anyway", "dry-run"):
        p.add_argument("--" + name, action="store_true")
    p.add_argument("models", nargs="*")
    o = p.parse_args()
    o.cache = os.path.abspath(o.cache)
    o.peers, o.peer_kv = set(o.peers.split(",")), {"f16": "f16", "i8": "q8_0"}[o.kv]
    both = "+".join(sorted(o.peers - {"ort"}))
    units = []
    for number in range(1, o.rounds + 1):
        for model in o.models if both else []:
            for threads in o.threads.split(","):
                name = "%s.%s.t%s.%s.r%d.json" % (os.path.basename(model), o.kv, threads, both, number)
                units.append((name, model, lambda m=model, t=threads, n=number: one_round(o, m, int(t), n)))
        if "ort" in o.peers:
            units.append(("ort.r%d.json" % number, None, lambda n=number: ort_round(o, n)))
    left = [u for u in units if not os.path.exists(os.path.join(o.folder, u[0]))]
    failed = False
    for i, (name, model, run) in enumerate(left):
        minutes = sum(seconds_of(o, u[1]) for u in left[i:]) / 60
        say("%s, %d of %d; about %.1f min left" % (name[:-5], i + 1, len(left), minutes))
        if o.dry_run:
            continue
        try:
            result = run()
        except Failed as why:
            say("failed: %s" % why)
            failed = True
            continue
        path = os.path.join(o.folder, name)
        with open(path + ".new", "w") as file:
            json.dump(result, file, indent=1)
        os.rename(path + ".new", path)
    sys.exit(1 if failed else 0)


main()
