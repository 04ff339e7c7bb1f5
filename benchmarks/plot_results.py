#!/usr/bin/env python3
"""A Markdown table, and with --plot one PNG, of what compare_peers.py wrote.

Times are microseconds per step: medians of replays, the mean over a window where a peer or a
case has one. A dash is a time that the JSON gives a reason for instead.
"""

import argparse
import json
import sys


def decant_times(case):
    return {b["batch"]: b["staggered"]["us"] for b in case.get("batches", [])
            if "staggered" in b}


def peer_times(peer):
    return {r["batch"]: r["us"] for r in peer.get("results", []) if "us" in r}


def rule_of(name):
    return "kda" if "kda" in name else "gdn"


def all_times(result):
    """{name: {batch: us}}, Decant's cases first."""
    times = {f"decant {name}": decant_times(case) for name, case in result["decant"].items()}
    times.update((name, peer_times(peer)) for name, peer in result["peers"].items())
    times.update((f"prototype {name}", peer_times(p))
                 for name, p in result["prototypes"].items())
    # A prototype without a boundary is told apart from those with one.
    for name, prototype in result["prototypes"].items():
        steps = {r["batch"]: r["step_us"] for r in prototype.get("results", [])
                 if "step_us" in r}
        if steps:
            times[f"prototype {name}, step without boundary"] = steps
    return {name: values for name, values in times.items() if values}


def best_f32_peer(result, rule, batch):
    """(us, name) of the fastest peer with an f32 state, rewritten at every token."""
    found = [(peer_times(peer)[batch], name) for name, peer in result["peers"].items()
             if "f32" in name and peer.get("rule") == rule and peer.get("window") == 1
             and batch in peer_times(peer)]
    return min(found, default=None)


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(head, rows):
    return "\n".join([row(head), row(["---"] * len(head))] + [row(r) for r in rows])


def number(value):
    return "-" if value is None else f"{value:.1f}"


def times_table(result):
    batches = result["batches"]
    return table(["us per step"] + [str(b) for b in batches],
                 [[name] + [number(values.get(b)) for b in batches]
                  for name, values in all_times(result).items()])


def speed_table(result):
    """What Decant's times mean."""
    rows = []
    for name, case in result["decant"].items():
        for batch in case.get("batches", []):
            if "staggered" not in batch:
                continue
            step, same = batch["staggered"], batch["synchronized"]
            best = best_f32_peer(result, rule_of(name), batch["batch"])
            ratio = step["ceiling_ratio"]
            rows.append([
                name, str(batch["batch"]), f"{step['us']:.1f}",
                f"{step['p10']:.1f} to {step['p90']:.1f}", f"{step['tb_per_s']:.2f}",
                "-" if ratio is None else f"{100 * ratio:.0f} %", f"{same['due_ratio']:.2f}",
                "-" if best is None else f"{best[0] / step['us']:.2f}x {best[1]}"])
    return table(["case", "batch", "us", "p10 to p90", "TB/s", "of reading",
                  "all due / mean", "against the best f32 peer"], rows)


def fill_table(result):
    lines = []
    for name, case in result["decant"].items():
        for batch in case.get("batches", []):
            steps = batch.get("synchronized", {}).get("by_fill", [])
            if len(steps) > 1:
                lines.append([f"{name}, {batch['batch']}"] + [
                    f"{s['us']:.1f}" + ("^" if s["folds"] else "") for s in steps])
    width = max((len(line) for line in lines), default=1)
    return table(["us by step of the window (^ folds)"] + [str(i) for i in range(width - 1)],
                 [line + ["-"] * (width - len(line)) for line in lines])


def missing_list(result):
    lines = []
    for kind in ("decant", "peers", "prototypes"):
        for name, entry in result[kind].items():
            reason = entry.get("missing") or entry.get("error")
            if reason:
                lines.append(f"- {name}: {reason}")
            lines += [f"- {name}, batch {r['batch']}: {r['missing']}"
                      for r in entry.get("results", []) if "missing" in r]
            lines += [f"- {name}, batch {r['batch']}: {r['method']}, {r.get('note', '')}"
                      for r in entry.get("results", [])
                      if r.get("method", "").startswith("events around calls")]
    return "\n".join(lines)


def markdown(result):
    facts, shape = result["environment"], result["shape"]
    said = ", ".join(f"{key} {value}" for key, value in facts.items())
    parts = [f"{said}; {shape['key_heads']} key and {shape['value_heads']} value heads, "
             f"dim {shape['dim']}.", times_table(result), speed_table(result),
             fill_table(result)]
    calls = [f"{name} {case['call']['us']:.2f}" for name, case in result["decant"].items()
             if "call" in case]
    ceilings = [case["read_ceiling"]["tb_per_s"] for case in result["decant"].values()
                if case.get("read_ceiling")]
    if calls:
        parts.append("Host time of one decantProgramStep() in us: " + ", ".join(calls) + ".")
    if ceilings:
        parts.append(f"Read ceiling of these runs: {min(ceilings):.2f} to "
                     f"{max(ceilings):.2f} TB/s.")
    if missing := missing_list(result):
        parts.append("Not timed, or timed otherwise:\n" + missing)
    return "\n\n".join(parts) + "\n"


def plot(result, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(19, 6))
    for panel, rule in zip(panels, ("gdn", "kda")):
        for name, values in all_times(result).items():
            if rule_of(name) != rule:
                continue
            batches = sorted(values)
            style = {"decant": "-o", "protot": ":^"}.get(name[:6], "--s")
            panel.plot(batches, [values[b] for b in batches], style, label=name, markersize=4)
        panel.set(title=f"{rule.upper()}: mean step, boundary included", xlabel="batch",
                  ylabel="us", xscale="log", yscale="log")
    for name, case in result["decant"].items():
        # The largest batch of each case: small ones are all latency.
        timed = [b for b in case.get("batches", []) if "synchronized" in b]
        if timed and len(timed[-1]["synchronized"]["by_fill"]) > 1:
            steps = timed[-1]["synchronized"]["by_fill"]
            panels[2].plot(range(len(steps)), [s["us"] for s in steps], "-o", markersize=4,
                           label=f"{name}, batch {timed[-1]['batch']}")
    panels[2].set(title="by step of the window, all rows at the same", xlabel="step",
                  ylabel="us", yscale="log")
    for panel in panels:
        panel.grid(True, which="both", alpha=0.3)
        if panel.get_legend_handles_labels()[0]:
            panel.legend(fontsize=7)
    figure.suptitle(str(result["environment"].get("name", "")))
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="the JSON of compare_peers.py")
    parser.add_argument("-o", "--output", help="the table's file; stdout without it")
    parser.add_argument("--plot", help="a PNG; needs what requirements.txt lists")
    options = parser.parse_args()
    try:
        with open(options.results) as file:
            result = json.load(file)
        text = markdown(result)
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"{options.results}: not what compare_peers.py writes: {error!r}")
    if options.output:
        with open(options.output, "w") as file:
            file.write(text)
    else:
        print(text, end="")
    if options.plot:
        plot(result, options.plot)


if __name__ == "__main__":
    main()
