#!/usr/bin/env python3
"""Runs `bytelm judge` for many methods and writes one JSON, and a Markdown table.

    judge_methods.py --engine examples/bytelm/build/bytelm --model FOLDER -o quality.json

A method whose result is in the JSON already, with the same arguments, streams and tokens, is not
run again. --method 'LABEL=--spec leapquant-int8 --set window.length=32' adds one, or with --only
stands for all; plot_quality.py draws what comes out.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLANS = os.path.join(TREE, "examples", "bytelm", "plans")

# Beside the method presets: what each idea is worth alone, and longer windows.
VARIANTS = {
    "int8, window 16": "--spec step-int8 --set window.length=16",
    "int8 with smoothing": "--spec leapquant-int8 --set window.compensators=0",
    "int8 with 4 compensators": "--spec step-int8 --set window.length=16 "
                                "--set window.compensators=4",
    "leapquant-int4, r=4": "--spec leapquant-int4 --set window.compensators=4",
    "leapquant-int8, window 32": "--spec leapquant-int8 --set window.length=32",
    "leapquant-int6, window 64": "--spec leapquant-int6 --set window.length=64",
    "leapquant-int4, window 64": "--spec leapquant-int4 --set window.length=64",
}


def arguments_of(preset):
    """A preset that wants plans gets those of bytelm's layers."""
    names = [f"{preset}-layer{layer}.json" for layer in range(4)]
    own = [f"--set {shlex.quote(f'{layer}:state.plan={PLANS}/{name}')}"
           for layer, name in enumerate(names) if os.path.exists(os.path.join(PLANS, name))]
    return " ".join([f"--spec {preset}", *own])


def presets():
    """The names of this tree's method presets."""
    folder = os.path.join(TREE, "presets", "methods")
    return sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".json"))


def all_methods():
    """{label: arguments}: every method preset under its name, then the variants."""
    return {**{name: arguments_of(name) for name in presets()}, **VARIANTS}


def read_results(path):
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return json.load(file)["methods"]


def write_results(path, options, methods):
    """Whole or not at all: a long run may be stopped at any time."""
    with open(path + ".unfinished", "w") as file:
        json.dump({"streams": options.streams, "tokens": options.tokens, "methods": methods},
                  file, indent=1)
    os.replace(path + ".unfinished", path)


def judge(options, arguments):
    command = [options.engine, "judge", "--model", options.model, "--json",
               "--streams", str(options.streams), "--tokens", str(options.tokens),
               "--device", options.device,
               "--reference", options.reference or options.output + ".fp32", *arguments]
    run = subprocess.run(command, stdout=subprocess.PIPE)  # progress goes to the terminal
    if run.returncode != 0:
        print(f"{shlex.join(command)} ended with {run.returncode}", file=sys.stderr)
        return None
    return json.loads(run.stdout)


def number(value, form):
    return "diverges" if value is None else format(value, form)


def table(methods):
    lines = ["| method | bits per element | KL | KL, 2nd half | agreement | bits per byte |",
             "|---|---|---|---|---|---|"]
    for label, result in methods.items():
        lines.append(f"| {label} | {result['bits_per_element']:.4g} "
                     f"| {number(result['kl'], '.2e')} "
                     f"| {number(result['kl_second_half'], '.2e')} "
                     f"| {number(result['agree'], '.4f')} "
                     f"| {number(result['bits_per_byte'], '.4f')} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", required=True, help="the bytelm program")
    parser.add_argument("--model", required=True, help="its folder of weights and streams")
    parser.add_argument("-o", "--output", required=True, help="the JSON")
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--reference", help="the file of fp32 logits; OUTPUT.fp32 without it")
    parser.add_argument("--method", action="append", default=[], metavar="LABEL=ARGUMENTS")
    parser.add_argument("--only", action="store_true", help="only the methods of --method")
    options = parser.parse_args()

    wanted = {} if options.only else all_methods()
    for method in options.method:
        label, separator, arguments = method.partition("=")
        if not separator:
            sys.exit(f"--method: found '{method}'; allowed is LABEL=ARGUMENTS")
        wanted[label] = arguments
    methods, failed = read_results(options.output), []
    for number_, (label, arguments) in enumerate(wanted.items(), 1):
        told = {"arguments": arguments, "streams": options.streams, "tokens": options.tokens}
        known = methods.get(label, {})
        if any(known.get(key) != value for key, value in told.items()):
            print(f"{number_}/{len(wanted)} {label}", file=sys.stderr)
            result = judge(options, shlex.split(arguments))
            if result is None:
                failed.append(label)
                continue
            methods[label] = {**result, **told}
            write_results(options.output, options, methods)
    print(table(methods))
    if failed:
        sys.exit("not judged: " + ", ".join(failed))


if __name__ == "__main__":
    main()
