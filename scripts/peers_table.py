"""peers_table.py FOLDER COMPILER [busy]: the table of scripts/peers from the JSON of its runs, in the order they ran."""
import datetime
import glob
import json
import os
import statistics
import sys

folder, compiler = sys.argv[1:3]
runs = sorted(glob.glob(os.path.join(folder, "*.*.json")), key=lambda p: int(p.split(".")[-2]))
rates = {}  # (model, threads, test) -> who -> tokens/s of each round
for path in runs:
    who = os.path.basename(path).rsplit(".", 2)[0]
    try:
        rows = json.load(open(path))
    except ValueError:
        continue
    for row in rows:
        model = os.path.basename(row["model_filename"])
        prompt, depth = row["n_prompt"], row.get("n_depth") or 0
        if row["n_gen"] and prompt and who == "slotmark":
            prompt, depth = 0, prompt
        test = "pp%d" % prompt if not row["n_gen"] else "tg%d @ %d" % (row["n_gen"], 0 if depth == 1 else depth)
        if row["avg_ts"] and not (who == "slotmark" and test.startswith("pp") and test != "pp512"):
            rates.setdefault((model, row["n_threads"], test), {}).setdefault(who, []).append(row["avg_ts"])


def cpu():
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return names[0] if names else "a processor without a name"


print("| model | threads | test | slotmark, t/s | peer | t/s | ratio | over the rounds |")
print("|:--|--:|:--|--:|:--|--:|--:|:--|")
for (model, threads, test), by in sorted(rates.items()):
    own = by.get("slotmark", [])
    for who in sorted(set(by) - {"slotmark"}):
        ratios = [a / b for a, b in zip(own, by[who])]
        print("| %s | %d | %s | %s | %s | %.1f | %s | %s |" % (
            model, threads, test, "%.1f" % statistics.median(own) if own else "", who, statistics.median(by[who]),
            "%.2f" % statistics.median(ratios) if ratios else "",
            "%.2f to %.2f, n = %d" % (min(ratios), max(ratios), len(ratios)) if ratios else ""))
print("\n%s, %s, %s; medians; prefill computes 513 columns for slotmark's 512 tokens" % (
    cpu(), compiler, datetime.date.today()))
if len(sys.argv) > 3:
    print("The machine was BUSY with other work: no figure of this table counts.")
