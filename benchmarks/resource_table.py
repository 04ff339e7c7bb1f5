#!/usr/bin/env python3
"""Registers, shared memory and spills of every model preset on every GPU target.

Compiles with `decant`, assembles with `ptxas` (both on PATH or given) and prints a
Markdown table: per target the most registers of any kernel, the shared memory of
the commit kernel, and spilled bytes over all kernels. Exits 1 when a kernel spills,
uses a stack, or does not assemble.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile


def run(command):
    return subprocess.run(command, check=True, capture_output=True, text=True)


def resources(decant, ptxas, model, target):
    """{kernel: (registers, spilled bytes, stack bytes)} and {kernel: shared bytes}."""
    kernels = {}
    layout = json.loads(run([decant, "inspect", model, "--target", target, "--json"]).stdout)
    shared = {kernel["role"]: kernel["shared_bytes"] for kernel in layout["kernels"]}
    for kind in ("decode", "transfer"):
        with tempfile.NamedTemporaryFile(suffix=".ptx") as ptx:
            run([decant, "compile", model, "--target", target, "--kernels", kind,
                 "--emit", "ptx", "-o", ptx.name])
            log = run([ptxas, f"-arch={target}", "-v", ptx.name, "-o", os.devnull]).stderr
        name = None
        for line in log.splitlines():
            if found := re.search(r"Compiling entry function '(\w+)'", line):
                name = found[1]
            elif found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+)", line):
                stack, spills = int(found[1]), int(found[2]) + int(found[3])
            elif found := re.search(r"Used (\d+) registers", line):
                kernels[name] = (int(found[1]), spills, stack)
    return kernels, shared


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decant", default="decant")
    parser.add_argument("--ptxas", default="ptxas")
    options = parser.parse_args()
    listed = json.loads(run([options.decant, "presets", "model", "--json"]).stdout)["presets"]
    targets = [t for t in json.loads(run([options.decant, "env", "--json"]).stdout)["targets"] if t.startswith("sm_")]
    print(f"{run([options.ptxas, '--version']).stdout.splitlines()[-1]}; "
          f"{run([options.decant, '--version']).stdout.strip()}\n")
    print("| model | target | step regs | commit regs | pack/unpack regs | commit shared | spills | stack |")
    print("|---|---|---|---|---|---|---|---|")
    bad = 0
    for model in sorted(preset["name"] for preset in listed):
        for target in targets:
            kernels, shared = resources(options.decant, options.ptxas, model, target)
            others = [k[0] for name, k in kernels.items() if name not in ("step", "commit")]
            spills = sum(k[1] for k in kernels.values())
            stack = sum(k[2] for k in kernels.values())
            bad += spills + stack > 0
            commit = kernels.get("commit", ("-",))[0]
            print(f"| {model} | {target} | {kernels['step'][0]} | {commit} | {max(others)} | "
                  f"{shared.get('commit', 0)} | {spills} | {stack} |", flush=True)
    print(f"\n{bad} rows with spills or a stack")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
