"""Builds and runs hand-written CUDA prototypes and reads the times that they print.

A prototype prints a line per batch that starts with `B= 512`; which numbers of it mean
what is told by the words before them. Times are the prototype's own: CUDA events around
single launches, median.
"""

import os
import re
import subprocess
import tempfile

NUMBER = r"([0-9.]+(?:e[+-]?\d+)?)"

# What a line may say, by the words before the number. Several variants of one kernel
# (occupancies, groups and stages) count as their fastest.
PATTERNS = {
    "step_us": [r"\bocc\d+ " + NUMBER, r"\bg\d+s\d+ " + NUMBER],
    "boundary_us": [r"\bboundary 1/16 " + NUMBER],
    "boundary_all_us": [r"\bboundary 1/16 [0-9.]+ all " + NUMBER],
    "nothing_due_us": [r"\bnothing due " + NUMBER],
    "all_due_us": [r"\ball due " + NUMBER],
    "relative_error": [r"\brelerr(?:\([^)]*\))?[= ]" + NUMBER],
}


def parse_line(line):
    """{batch, ...} of one printed line, or None when it is about something else."""
    batch = re.match(r"B=\s*(\d+)\b", line)
    if not batch:
        return None
    found = {"batch": int(batch[1])}
    for name, patterns in PATTERNS.items():
        values = [float(v) for p in patterns for v in re.findall(p, line)]
        if values:
            found[name] = min(values)
    if "staggered" in line:  # one kernel that folds, too
        found["us"] = found.pop("step_us")
    elif "boundary_us" in found:
        found["us"] = found["step_us"] + found["boundary_us"]
    return found


def run(path, nvcc, arch, timeout):
    """{results} of one source file, or {missing: why}."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "prototype")
        build = [nvcc, "-O3", "-std=c++17", "-gencode",
                 f"arch=compute_{arch},code=sm_{arch}", "-o", program, path]
        try:
            built = subprocess.run(build, capture_output=True, text=True, timeout=timeout)
            if built.returncode:
                return {"missing": "nvcc: " + built.stderr.strip()[-500:]}
            ran = subprocess.run([program], capture_output=True, text=True, timeout=timeout)
        except (OSError, subprocess.TimeoutExpired) as error:
            return {"missing": str(error)}
    results = [found for line in ran.stdout.splitlines() if (found := parse_line(line))]
    if ran.returncode or not results:
        return {"missing": f"exit code {ran.returncode}, printed: {ran.stdout[-300:]}"}
    return {"method": "events around single launches, by the prototype", "results": results}
