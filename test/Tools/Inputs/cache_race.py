"""Usage: cache_race.py PROCESSES CACHE COMMAND...

Starts a command that prints a run's JSON in so many processes at once, over an
empty cache folder. All must succeed with the same errors; each of the two images
must be compiled once, by whichever process.
"""
import json
import os
import subprocess
import sys

count, cache, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
environment = dict(os.environ, DECANT_CACHE_DIR=cache)
running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
           for _ in range(count)]
reports, compiled = [], 0
for process in running:
    out, err = process.communicate()
    if process.returncode or err:
        sys.exit(f"exit code {process.returncode}\n{err}")
    reports.append(json.loads(out))
compiled = sum(report["prepare"]["compiled"] for report in reports)
errors = {(report["output_error"], report["state_error"]) for report in reports}
waits = [report["prepare"]["lookup_ms"] for report in reports]
left = [name for folder in os.scandir(cache) for name in os.listdir(folder) if len(name) != 32]
print(f"{count} processes, {compiled} images compiled, longest wait {max(waits):.0f} ms")
if compiled != 2 or len(errors) != 1 or left:
    sys.exit(f"{compiled} images compiled, errors {errors}, left behind {left}")
