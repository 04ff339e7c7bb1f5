#!/usr/bin/env python3
"""One PNG of error against bits per element, with the front of what nothing else beats.

    plot_pareto.py --judge quality.json --eval gdn.json --goal 9.5=3e-5 -o pareto.png

--judge takes what judge_methods.py writes, or one `bytelm judge --json`; --eval what
`decant eval --json` prints. Each file is a panel.
"""

import argparse
import json
import os
import sys


def judged(result, path):
    """[(label, bits, KL)] of the methods that did not diverge."""
    methods = result.get("methods") or {os.path.basename(path): result}
    return [(label, r["bits_per_element"], r["kl"]) for label, r in methods.items()
            if r["kl"] and r["kl"] > 0]


def evaluated(result, _):
    """[(label, bits, error of the state)], the mean over the tokens."""
    return [(s["label"], s["bits_per_element"], s["mean_state_error"])
            for s in result["specs"] if s["mean_state_error"] > 0]


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
    ticks = [b for b in (3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32)]
    panel.set_xticks(ticks, [str(b) for b in ticks], minor=False)
    panel.minorticks_off()
    panel.grid(True, alpha=0.3)
    panel.legend(fontsize=7)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judge", action="append", default=[], metavar="FILE")
    parser.add_argument("--eval", action="append", default=[], metavar="FILE")
    parser.add_argument("--goal", action="append", default=[], metavar="BITS=KL",
                        help="of the panels of --judge")
    parser.add_argument("-o", "--output", required=True, help="the PNG")
    options = parser.parse_args()
    try:
        goals = [tuple(map(float, goal.split("=", 1))) for goal in options.goal]
    except ValueError as error:
        sys.exit(f"--goal: allowed is BITS=KL, two numbers: {error}")
    panels = ([(read(f, judged), goals, f"{os.path.basename(f)}: a model with this state",
                "KL from the fp32 state, nats per byte") for f in options.judge] +
              [(read(f, evaluated), [], f"{os.path.basename(f)}: one layer's trace",
                "mean relative error of the state") for f in options.eval])
    if not panels:
        sys.exit("found neither --judge nor --eval; one of them is needed")

    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(1, len(panels), figsize=(9 * len(panels), 6.5), squeeze=False)
    for panel, (points, panel_goals, title, unit) in zip(axes[0], panels):
        draw(panel, points, panel_goals, title, unit)
    figure.tight_layout()
    figure.savefig(options.output, dpi=110)


if __name__ == "__main__":
    main()
