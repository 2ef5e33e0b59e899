"""peers_table.py FOLDER md|csv|json COMPILER: the tables of scripts/peers from the rounds in FOLDER (peers_run.py).

Ratios are of one round: only there did both programs run within a minute of each other.
"""
import csv
import datetime
import glob
import json
import os
import statistics
import sys

folder, form, compiler = sys.argv[1:4]
median = statistics.median
rounds, ort = [], []
for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
    with open(path) as file:
        a_round = json.load(file)
    (ort if "ort" in a_round else rounds).append(a_round)
if not rounds and not ort:
    sys.exit("peers_table.py: there are no rounds in %s" % folder)

MODEL_ORDER = ("Q4_1", "Q4_0", "Q8_0")


def place(key):
    model, kv, threads, test = key
    order = [i for i, name in enumerate(MODEL_ORDER) if name in model and "SmolLM2" in model]
    return (order[0] if order else len(MODEL_ORDER), model, kv, not test.startswith("pp"), int(test.split()[-1][2:])
            if test.startswith("pp") else int(test.split()[-1]), threads)


# (model, kv, threads, test) -> list of rounds: who, with the options where it was run with several -> a run's rate
measured = {}
for a_round in rounds:
    tests = {}
    for run in a_round["runs"]:
        for r in run["rates"]:
            who = run["who"] + (" (%s)" % r["options"] if "options" in r else "")
            tests.setdefault(r["test"], {})[who] = r
    for test, by in tests.items():
        key = (a_round["model"], a_round["kv"], a_round["threads"], test)
        measured.setdefault(key, []).append(by)


def rates(key, who):
    return [by[who]["rate"] for by in measured.get(key, []) if who in by]


def ratios(key, who):
    return [by["slotmark"]["rate"] / by[who]["rate"] for by in measured[key] if who in by and "slotmark" in by]


def share(key):
    shares = [by["slotmark"]["share"] for by in measured[key] if by.get("slotmark", {}).get("share") is not None]
    return 100 * median(shares) if shares else None


def fastest(key):
    """Of each peer the fastest way it was run."""
    best = {}
    for who in sorted({who for by in measured[key] for who in by} - {"slotmark", "literal"}):
        peer = who.split(" (")[0]
        if peer not in best or median(rates(key, who)) > median(rates(key, best[peer])):
            best[peer] = who
    return [best[peer] for peer in sorted(best, key=lambda peer: peer != "llama.cpp")]


rows = []
for key in sorted(measured, key=place):
    model, kv, threads, test = key
    for who in fastest(key):
        row = dict(model=model, kv=kv, threads=threads, test=test, slotmark=median(rates(key, "slotmark")),
                   literal=median(rates(key, "literal")) if rates(key, "literal") else None, share_of_read=share(key),
                   peer=who, rate=median(rates(key, who)), ratio=median(ratios(key, who)), least=min(ratios(key, who)),
                   most=max(ratios(key, who)), rounds=len(ratios(key, who)))
        rows.append(row)

scaling = []
for key in sorted(measured, key=place):
    model, kv, threads, test = key
    one = (model, kv, 1, test)
    if threads != 1 and one in measured:
        for who in ["slotmark"] + fastest(key):
            pairs = [b / a for a, b in zip(rates(one, who), rates(key, who))]
            if pairs:
                scaling.append(dict(model=model, kv=kv, test=test, who=who, threads=threads, ratio=median(pairs),
                                    least=min(pairs), most=max(pairs), rounds=len(pairs),
                                    share_of_read=share(key) if who == "slotmark" else None))

matmul = []
for rows_, block in sorted({(c["rows"], c["block"]) for r in ort for c in r["ort"]}):
    cases = [c for r in ort for c in r["ort"] if (c["rows"], c["block"]) == (rows_, block)]
    pairs = [c["slotmark"] / c["onnxruntime"] for c in cases]
    matmul.append(dict(rows=rows_, block=block, slotmark=median(c["slotmark"] for c in cases) / 1e9,
                       onnxruntime=median(c["onnxruntime"] for c in cases) / 1e9, ratio=median(pairs), least=min(pairs),
                       most=max(pairs), rounds=len(pairs), version=cases[0]["version"]))


def state():
    """What the machine was and how quiet."""
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    every = rounds + ort
    busy = [run["busy"] for r in rounds for run in r["runs"]] + [r["busy"] for r in ort]
    versions = dict(word.split("=") for r in rounds for word in r["versions"].split(","))
    peers = {run["who"]: versions[run["who"]] for r in rounds for run in r["runs"] if run["who"] in versions}
    begin, end = (datetime.datetime.fromtimestamp(f(r["begun"] for r in every), datetime.timezone.utc)
                  for f in (min, max))
    return dict(processor=names[0] if names else "a processor without a name", cpus=os.cpu_count(), compiler=compiler,
                begin=begin.strftime("%Y-%m-%d %H:%M"), end=end.strftime("%H:%M UTC"), busy=median(busy),
                busiest=max(busy), load=max(r["load"] for r in every), minutes=sum(r["seconds"] for r in every) / 60,
                max_seq=sorted({r["max_seq"] for r in rounds}), peers=peers)


def cell(value, form):
    return "" if value is None else form % value


def interval(row):
    return "%.2f to %.2f, n = %d" % (row["least"], row["most"], row["rounds"])


def markdown():
    s = state()
    if rows:
        print("| model | kv | t | test | slotmark, t/s | literal | of DRAM read | peer | t/s | ratio | over the rounds |")
        print("|:--|:--|--:|:--|--:|--:|--:|:--|--:|--:|:--|")
    for r in rows:
        print("| %s | %s | %d | %s | %.1f | %s | %s | %s | %.1f | %.2f | %s |" % (
            r["model"].replace(".gguf", ""), r["kv"], r["threads"], r["test"], r["slotmark"], cell(r["literal"], "%.1f"),
            cell(r["share_of_read"], "%.0f %%"), r["peer"], r["rate"], r["ratio"], interval(r)))
    if scaling:
        print("\n| model | kv | test | | threads | against 1 | over the rounds | of DRAM read |\n"
              "|:--|:--|:--|:--|--:|--:|:--|--:|")
    for r in scaling:
        print("| %s | %s | %s | %s | %d | %.2f | %s | %s |" % (
            r["model"].replace(".gguf", ""), r["kv"], r["test"], r["who"], r["threads"], r["ratio"], interval(r),
            cell(r["share_of_read"], "%.0f %%")))
    if matmul:
        print("\n| 4-bit matmul, 1 thread, rows | slotmark, groups of 32, GMAC/s | ONNX Runtime %s, block | GMAC/s | ratio "
              "| over the rounds |\n|--:|--:|--:|--:|--:|:--|" % matmul[0]["version"])
    for r in matmul:
        print("| %d | %.1f | %d | %.1f | %.2f | %s |" % (r["rows"], r["slotmark"], r["block"], r["onnxruntime"],
                                                         r["ratio"], interval(r)))
    print("\n%s, %d CPUs, %s; %s to %s, %.1f min of runs; before each, others used %.1f %% of the machine (median; at "
          "most %.1f %%); load average at most %.1f%s." % (
              s["processor"], s["cpus"], s["compiler"], s["begin"], s["end"], s["minutes"], s["busy"], s["busiest"],
              s["load"], "".join("; %s of %s" % item for item in sorted(s["peers"].items()))))
    print("Medians over the rounds; with n of them the true median lies between the least and the most with a probability "
          "of 1 - 2^(1 - n).")
    if rows:
        print("Prefill computes 513 columns for slotmark's 512 tokens; it decodes at max_seq %s, with the proven skip of "
              "what is hidden, and literal computes every column. A peer is shown as it was fastest." % (
                  ", ".join(map(str, s["max_seq"]))))
    if s["busiest"] >= 8:
        print("The machine was BUSY with other work: no figure of these tables counts.")


if form == "md":
    markdown()
elif form == "json":
    print(json.dumps(dict(state=state(), rates=rows, scaling=scaling, matmul=matmul), indent=1))
else:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["model", "kv", "threads", "test", "slotmark", "literal", "share_of_read", "peer", "rate", "ratio",
                  "least", "most", "rounds"])
    for r in rows:
        out.writerow(list(r.values()))
    for r in matmul:
        out.writerow(["2048 x 2048", "", 1, "%d rows, GMAC/s" % r["rows"], r["slotmark"], "", "", "ort block %d" %
                      r["block"], r["onnxruntime"], r["ratio"], r["least"], r["most"], r["rounds"]])
