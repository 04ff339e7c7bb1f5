#!/usr/bin/env python3
"""Times Decant and public decode kernels on one GPU with the same shapes; writes one JSON.

    compare_peers.py --decant bin/decant --commit abc1234 -o benchmarks/results/NAME.json \
        --folder peers/fla --folder peers/vllm --prototype prototypes/simple.cu

Needs PyTorch and Triton; peers come from their own packages, installed or unpacked in the
folders given (peers.py). Whatever cannot run is in the result with the reason. Every peer's
output is compared with one step in float64 before it is timed, and a wrong one is not timed.
"""

import argparse
import datetime
import json
import math
import os
import subprocess
import sys

import peers
import prototypes

BOUND = 1e-2  # of a peer's output: bf16 outputs and states, tf32 or bf16 products

# Decant's cases: spec, overrides. Inputs as vLLM's steps get them.
GDN, KDA = "qwen3-next-gdn", "kimi-linear-kda"
CASES = {
    "gdn-int8-p16-r4": (GDN, []),
    "kda-int8-p16-r4": (KDA, []),
    "gdn-int4-p16-r8": (GDN, ["preset=leapquant-int4"]),
    "gdn-f32-p1": (GDN, ["preset=step-fp32"]),
    "gdn-bf16-p1": (GDN, ["preset=step-bf16"]),
    "kda-f32-p1": (KDA, ["preset=step-fp32"]),
    "gdn-f32-p16": (GDN, ["preset=replayssm"]),
    "gdn-bf16-p16": (GDN, ["preset=replayssm-bf16"]),
}

CACHES_BETWEEN, USUAL_SETS, USUAL_BYTES, MAX_SETS = 4, 8, 8 << 30, 512
STEPS_PER_REPLAY, WARM_UP = 16, 3


def choose_sets(set_bytes, l2_bytes):
    """As decant bench does: so many sets that the cache is left before one returns."""
    fewest = min(max(math.ceil(CACHES_BETWEEN * l2_bytes / set_bytes), 1), MAX_SETS)
    return max(fewest, min(USUAL_SETS, USUAL_BYTES // set_bytes))


def percentile(values, part):
    values = sorted(values)
    place = part * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


def summary(times):
    return {"us": percentile(times, 0.5), "p10": percentile(times, 0.1),
            "p90": percentile(times, 0.9)}


def time_replays(torch, launch, steps, wanted):
    """Microseconds per step of each replay; one replay ahead keeps the device busy."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for replay in range(WARM_UP + max(10, math.ceil(wanted / steps))):
        launch()
        begin.record()
        launch()
        end.record()
        end.synchronize()
        if replay >= WARM_UP:
            times.append(begin.elapsed_time(end) * 1000 / steps)
    return times


def time_peer(torch, peer, wanted):
    """A graph of whole windows of all sets, or calls one by one where that fails."""
    windows = max(1, math.ceil(STEPS_PER_REPLAY / (peer.sets * peer.window)))
    turns = windows * peer.window

    def work():
        for turn in range(turns):
            for which in range(peer.sets):
                peer.step(which, (which + turn) % peer.sets, turn)

    work()  # compiles whatever is compiled on demand
    torch.cuda.synchronize()
    steps, note = turns * peer.sets, None
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        launch, method = graph.replay, "CUDA graph of whole windows, events around replays"
    except Exception as error:  # a peer may do anything
        torch.cuda.synchronize()
        launch, method, note = work, "events around calls", f"not captured: {error}"[:300]
    result = summary(time_replays(torch, launch, steps, wanted))
    result.update(method=method, sets=peer.sets, steps_per_replay=steps)
    if note:
        result["note"] = note
    return result


def run_peer(torch, kind, options, l2_bytes):
    results = []
    entry = {"rule": kind.rule, "window": kind.window, "package": kind.package,
             "version": peers.version_of(kind), "results": results}
    if entry["version"] is None:
        return {"missing": f"no package {kind.package}: give its folder with --folder"}
    for batch in options.batch:
        element = 2 if kind.name.endswith("bf16") else 4
        state_bytes = batch * options.value_heads * options.dim ** 2 * element
        try:
            peer = kind(torch, batch, options, choose_sets(state_bytes, l2_bytes))
            error = peer.check()
            result = {"batch": batch, "error": error, "state_bytes": state_bytes}
            if error <= BOUND:
                result.update(time_peer(torch, peer, options.steps))
            else:
                result["missing"] = f"relative error {error:.1e}, {BOUND:.0e} is allowed"
        except Exception as error:  # says which and goes on with the others
            result = {"batch": batch, "missing": f"{type(error).__name__}: {error}"[:500]}
        results.append(result)
        peer = None
        torch.cuda.empty_cache()
        print(kind.name, batch, result.get("us", result.get("missing")), file=sys.stderr)
    return entry


def run_decant(options, spec, overrides):
    command = [options.decant, "bench", spec, "--json", "--device", options.device,
               "--steps", str(options.steps), "--batch", ",".join(map(str, options.batch))]
    heads = options.value_heads if spec == KDA else options.key_heads
    shapes = [f"heads.key={heads}", f"heads.value={options.value_heads}",
              f"heads.key_dim={options.dim}", f"heads.value_dim={options.dim}"]
    for override in shapes + overrides:  # a case may have shapes of its own
        command += ["--set", override]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = {"error": done.stderr.strip() or f"exit code {done.returncode}"}
    if done.returncode:
        found.setdefault("error", f"exit code {done.returncode}")
    return dict(found, command=command[1:])


def read_case(text):
    """NAME=SPEC[,PATH=VALUE...]"""
    name, separator, rest = text.partition("=")
    if not separator or not name or not rest:
        raise argparse.ArgumentTypeError(
            f"found {text!r}; allowed is NAME=SPEC[,PATH=VALUE...]")
    spec, *overrides = rest.split(",")
    return name, (spec, overrides)


def read_batches(text):
    try:
        batches = [int(word) for word in text.split(",")]
    except ValueError:
        batches = []
    if not batches or min(batches) < 1:
        raise argparse.ArgumentTypeError(
            f"found {text!r}; allowed are numbers from 1 with commas between them")
    return batches


def environment(options):
    fields = ["name", "driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm",
              "clocks.max.mem", "power.limit", "temperature.gpu"]
    facts = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
             "commit": options.commit}
    try:
        said = subprocess.run(
            ["nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader",
             "-i", options.device.partition(":")[2]],
            capture_output=True, text=True, check=True).stdout.splitlines()[0]
        facts.update(zip(fields, (word.strip() for word in said.split(","))))
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        facts["nvidia-smi"] = str(error)
    return facts


def wanted(name, options):
    return not options.only or any(word in name for word in options.only)


def run_peers(options, keep):
    """Gives `keep` every peer, or the one reason why none can run; returns what they ran on."""
    kinds = [kind for kind in peers.ALL if wanted(kind.name, options)]
    try:
        import torch
        import triton
        reason = None if torch.cuda.is_available() else "PyTorch sees no GPU"
    except ImportError as error:
        reason = str(error)
    if reason:
        for kind in kinds:
            keep("peers", kind.name, {"missing": reason})
        return {}
    torch.cuda.set_device(int(options.device.partition(":")[2] or 0))
    torch.set_grad_enabled(False)
    l2_bytes = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    for kind in kinds:
        keep("peers", kind.name, run_peer(torch, kind, options, l2_bytes))
    return {"torch": torch.__version__, "triton": triton.__version__, "l2_bytes": l2_bytes}


def write(result, path):
    """In one move, so that a reader finds the one before or this one."""
    with open(path + ".part", "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decant", help="the tool; without it only peers are timed")
    parser.add_argument("--commit", required=True, help="what the tool was built from")
    parser.add_argument("--folder", action="append", default=[],
                        help="with a peer's package in it; may be repeated")
    parser.add_argument("--prototype", action="append", default=[],
                        help="a CUDA source file; may be repeated")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--arch", default="90a", help="of the prototypes, as nvcc names it")
    parser.add_argument("--batch", type=read_batches, default=[1, 8, 32, 64, 128, 256, 512, 1024])
    parser.add_argument("--key-heads", type=int, default=32, help="of GDN; KDA has value heads")
    parser.add_argument("--value-heads", type=int, default=32)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--steps", type=int, default=500, help="timed per case, at least")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--case", type=read_case, action="append", default=[],
                        help="NAME=SPEC[,PATH=VALUE...]: a case of Decant's beside the usual ones")
    parser.add_argument("--only", action="append", default=[],
                        help="peers and cases with this in their name; may be repeated")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    sys.path[:0] = [os.path.abspath(folder) for folder in options.folder]

    result = {"environment": environment(options),
              "shape": {"key_heads": options.key_heads, "value_heads": options.value_heads,
                        "dim": options.dim},
              "batches": options.batch, "decant": {}, "peers": {}, "prototypes": {}}

    def keep(kind, name, found):
        """The file is whole after each of them: what was measured outlives an interruption."""
        result[kind][name] = found
        write(result, options.output)

    for name, (spec, overrides) in {**CASES, **dict(options.case)}.items():
        if options.decant and wanted(name, options):
            keep("decant", name, run_decant(options, spec, overrides))
            print("decant", name, result["decant"][name].get("error", "ok"), file=sys.stderr)
    result["environment"].update(run_peers(options, keep))
    for path in options.prototype:
        name = os.path.splitext(os.path.basename(path))[0]
        keep("prototypes", name, prototypes.run(path, options.nvcc, options.arch, 600))
        print(name, result["prototypes"][name].get("missing", "ok"), file=sys.stderr)
    write(result, options.output)
    failed = [name for name, case in result["decant"].items() if "error" in case]
    if failed:
        sys.exit("Decant failed: " + ", ".join(failed))


if __name__ == "__main__":
    main()
