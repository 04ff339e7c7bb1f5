#!/usr/bin/env python3
"""One PNG of what formats cost: error against bits per element, and errors over tokens.

    plot_quality.py --judge quality.json --eval gdn.json --goal 9.5=3e-5 -o pareto.png
    plot_quality.py --curves gdn.json --curves kda.json -o errors.png

--judge takes what judge_methods.py writes, or one `bytelm judge --json`; --eval and --curves what
`decant eval --json` prints. Each file is a panel; those of --judge and --eval have the front of what
nothing else beats.
"""

import argparse
import json
import os
import sys


FLOAT_BITS = 32  # what all is compared with; its error would only stretch the axis


def judged(result, path):
    """[(label, bits, KL)] of the methods that did not diverge."""
    methods = result.get("methods") or {os.path.basename(path): result}
    return [(label, r["bits_per_element"], r["kl"]) for label, r in methods.items()
            if r["kl"] and r["kl"] > 0 and r["bits_per_element"] < FLOAT_BITS]


def evaluated(result, _):
    """[(label, bits, error of the state)], the mean over the tokens."""
    return [(s["label"], s["bits_per_element"], s["mean_state_error"])
            for s in result["specs"]
            if s["mean_state_error"] > 0 and s["bits_per_element"] < FLOAT_BITS]


def front(points):
    """Those that no other point matches in bits and beats in error."""
    best, kept = float("inf"), []
    for point in sorted(points, key=lambda p: (p[1], p[2])):
        if point[2] < best:
            best = point[2]
            kept.append(point)
    return kept


def read(path, points_of):
    try:
        with open(path) as file:
            return points_of(json.load(file), path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        sys.exit(f"{path}: not what this option reads: {error!r}")


def draw(panel, points, goals, title, unit):
    panel.scatter([p[1] for p in points], [p[2] for p in points], s=16, color="#0072b2", zorder=3)
    best = front(points)
    panel.plot([p[1] for p in best], [p[2] for p in best], drawstyle="steps-post",
               color="#009e73", label="nothing has fewer bits and less error")
    if goals:
        panel.plot([g[0] for g in goals], [g[1] for g in goals], "v", color="#d55e00",
                   label="goals")
    for label, bits, error in points:
        panel.annotate(label, (bits, error), fontsize=6, xytext=(4, 3),
                       textcoords="offset points")
    panel.set(title=title, xlabel="bits per element, everything counted", ylabel=unit,
              yscale="log", xscale="log")
    panel.minorticks_off()  # before the ticks are set: it would bring its own labels back
    panel.set_xticks([3, 4, 5, 6, 7, 8, 9, 10, 12, 16], "3 4 5 6 7 8 9 10 12 16".split())
    panel.margins(x=0.12)
    panel.grid(True, alpha=0.3)
    panel.legend(fontsize=7)


def curves(result, _):
    """[(label with bits, tokens, errors of the state)]"""
    return [(f"{s['label']}, {s['bits_per_element']:.4g} bits", [p["token"] for p in s["points"]],
             [p["state_error"] for p in s["points"]]) for s in result["specs"]]


def draw_curves(panel, lines, title):
    for number, (label, tokens, errors) in enumerate(lines):
        panel.plot(tokens, errors, ("-", "--", ":")[number // 10 % 3], label=label, linewidth=1.2)
    panel.set(title=title, xlabel="tokens", ylabel="relative error of the state", yscale="log")
    panel.grid(True, alpha=0.3)
    panel.legend(fontsize=7)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judge", action="append", default=[], metavar="FILE")
    parser.add_argument("--eval", action="append", default=[], metavar="FILE")
    parser.add_argument("--curves", action="append", default=[], metavar="FILE")
    parser.add_argument("--goal", action="append", default=[], metavar="BITS=KL",
                        help="of the panels of --judge")
    parser.add_argument("-o", "--output", required=True, help="the PNG")
    options = parser.parse_args()
    try:
        goals = [tuple(map(float, goal.split("=", 1))) for goal in options.goal]
    except ValueError as error:
        sys.exit(f"--goal: allowed is BITS=KL, two numbers: {error}")
    panels = []
    for file in options.judge:
        panels.append((draw, read(file, judged), goals,
                       f"{os.path.basename(file)}: a model with this state",
                       "KL from the fp32 state, nats per byte"))
    for file in options.eval:
        panels.append((draw, read(file, evaluated), [],
                       f"{os.path.basename(file)}: one layer's trace",
                       "mean relative error of the state"))
    for file in options.curves:
        panels.append((draw_curves, read(file, curves), os.path.basename(file)))
    if not panels:
        sys.exit("found none of --judge, --eval and --curves; one of them is needed")

    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(1, len(panels), figsize=(8 * len(panels), 6), squeeze=False)
    for panel, (draw_it, *what) in zip(axes[0], panels):
        draw_it(panel, *what)
    figure.tight_layout()
    figure.savefig(options.output, dpi=110)


if __name__ == "__main__":
    main()
