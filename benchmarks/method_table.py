#!/usr/bin/env python3
"""One Markdown table of all method presets: their bytes, their errors, what they cost a model, time.

    method_table.py --decant build/bin/decant --judge quality.json [--times times.json] \
        [--traces FOLDER] -o benchmarks/results/methods.md

--judge is what judge_methods.py wrote, --times what bench_methods.sh wrote on a GPU. Bytes and errors
come from `decant inspect` and `decant eval` with kernels of the CPU, on the two traces of test/data or
on the longer ones that are in the folder of bytelm's weights. A preset that lacks a result has a dash.
"""

import argparse
import json
import os
import subprocess
import sys

from judge_methods import PLANS, TREE, presets

# A spec, the layer of bytelm that the trace is of, whose plans belong to it, and the trace.
TRACES = {"GDN": ("bytelm-gdn", 2, "trace-layer2-gdn.safetensors"),
          "KDA": ("bytelm-kda", 1, "trace-layer1-kda.safetensors")}

HEADINGS = ["preset", "window, comp.", "bits", "codes", "scales", "comp.", "slot",
            "GDN output: end, all", "GDN state: end, mean", "KDA output: end, all",
            "KDA state: end, mean", "KL", "agreement"]


def run(decant, *arguments):
    command = [decant, *arguments, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}")
    return json.loads(done.stdout)


def fields_of(preset, layer):
    """What the preset needs beside its name: the plan of a layer, where it has one."""
    plan = os.path.join(PLANS, f"{preset}-layer{layer}.json")
    return [f"preset={preset}"] + ([f"state.plan={plan}"] if os.path.exists(plan) else [])


def errors_of(decant, preset, folder):
    """{trace: what `decant eval` says}."""
    found = {}
    for name, (spec, layer, own) in TRACES.items():
        trace = os.path.join(folder, own) if folder else os.path.join(
            TREE, "test", "data", f"{spec}.safetensors")
        text = ",".join([f"{preset}={spec}", *fields_of(preset, layer)])
        said = run(decant, "eval", text, "--trace", trace)
        found[name] = {**said["specs"][0], "tokens": said["tokens"]}
    return found


def bits_of(decant, preset):
    """Bits per element of codes, of scales, and of compensators with theirs; codes are the rest."""
    spec, layer, _ = TRACES["GDN"]
    sets = [word for field in fields_of(preset, layer) for word in ("--set", field)]
    found = run(decant, "inspect", spec, *sets)
    slot = found["slot"]
    parts = {"scales": 0, "compensators": 0}
    for region in slot["regions"]:
        name = region["name"]
        if name.startswith("comp_"):
            parts["compensators"] += region["bytes"]
        elif name.endswith("_scale") or name.endswith("_offset"):
            parts["scales"] += region["bytes"]
    bits = {name: 8 * size / (slot["key_dim"] * slot["value_dim"])
            for name, size in parts.items()}
    bits["all"] = found["bits_per_element"]
    bits["codes"] = bits["all"] - bits["scales"] - bits["compensators"]
    bits["slot"] = 8 * slot["slot_bytes"] / (slot["heads"] * slot["key_dim"] * slot["value_dim"])
    return bits


def step_time(times, preset, batch):
    """Microseconds, or why there are none."""
    result = (times or {}).get(preset)
    if result is None:
        return "-"
    if "error" in result:
        return "refused"
    for found in result["batches"]:
        if found["batch"] == batch:
            return f"{found['staggered']['us']:.1f}" if "staggered" in found else "wrong"
    return "-"


def number(value, form):
    return "diverges" if value is None else format(value, form)


def pair(first, second):
    return f"{number(first, '.1e')} / {number(second, '.1e')}"


def row(options, preset, errors, judged, times):
    bits = bits_of(options.decant, preset)
    window = errors["GDN"]
    cells = [f"`{preset}`", f"{window['window']}, {window['compensators']}"]
    cells += [f"{bits[part]:.4g}" for part in ("all", "codes", "scales", "compensators", "slot")]
    for found in errors.values():
        cells.append(pair(found["points"][-1]["output_error"], found["output_error"]))
        cells.append(pair(found["state_error"], found["mean_state_error"]))
    result = judged.get(preset)
    cells += [number(result["kl"], ".2e"), number(result["agree"], ".4f")] if result else ["-"] * 2
    cells.append(step_time(times, preset, options.batch))
    return "| " + " | ".join(cells) + " |"


def read(path):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decant", required=True, help="the decant program")
    parser.add_argument("--judge", required=True, help="the JSON of judge_methods.py")
    parser.add_argument("--times", help="the JSON of bench_methods.sh")
    parser.add_argument("--traces", help="the folder of bytelm's traces, for test/data's beginnings")
    parser.add_argument("--preset", action="append", help="a row for it and not for all")
    parser.add_argument("--batch", type=int, default=256, help="whose times are shown")
    parser.add_argument("--note", default="", help="a sentence about commit and machine")
    parser.add_argument("-o", "--output", required=True, help="the Markdown file")
    options = parser.parse_args()

    judged = read(options.judge)
    times = read(options.times) if options.times else None
    device = next((t["device_name"] for t in (times or {}).values() if "device_name" in t), None)
    rows, lengths = [], {}
    for preset in options.preset or presets():
        print(preset, file=sys.stderr)
        errors = errors_of(options.decant, preset, options.traces)
        lengths = {name: found["tokens"] for name, found in errors.items()}
        rows.append(row(options, preset, errors, judged["methods"], times))
    headings = HEADINGS + [f"us at batch {options.batch}"]
    lines = ["# All method presets", "", *([options.note, ""] if options.note else []),
             "Bits per element at 128 x 128, all that a step reads and writes of a state, and what "
             "they are spent on; `slot` has all bytes that a sequence holds: records of a window, "
             "cursors, the header and padding beside them. What a plan says belongs to the model. "
             "Relative errors against the rule in float64 with an unquantized state: "
             f"{lengths['GDN']} tokens of a GDN layer, {lengths['KDA']} of a KDA layer, outputs in "
             "bf16, kernels of the CPU target; outputs at the end are those of the last 32 tokens. "
             "KL in nats per byte from the fp32 state, and how often the likeliest byte is the "
             f"same: bytelm, {judged['streams']} streams of {judged['tokens']} bytes, all layers."]
    if device:
        lines[-1] += (f" Microseconds of a step of 32 heads on {device}, boundary included, "
                      "rows at random phases.")
    lines += ["", "| " + " | ".join(headings) + " |", "|" + "---|" * len(headings), *rows]
    with open(options.output, "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
