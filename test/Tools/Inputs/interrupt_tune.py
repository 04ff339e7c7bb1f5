"""Usage: interrupt_tune.py OUTPUT COMMAND...

Starts `decant tune`, sends SIGINT as soon as its journal has measurements, and
checks that it ends with exit code 1, without a result and with a journal; then
runs it again to the end, which must use those measurements.
"""
import json
import os
import signal
import subprocess
import sys
import time

output, command = sys.argv[1], sys.argv[2:]
journal = output + ".journal"


def lines():
    try:
        return open(journal).read().count("\n")
    except FileNotFoundError:
        return 0


def require(condition, what):
    if not condition:
        sys.exit(what)


run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
while run.poll() is None and lines() < 3:
    time.sleep(0.01)
run.send_signal(signal.SIGINT)
error = run.communicate()[1]
require(run.returncode == 1, f"exit code {run.returncode}, stderr: {error}")
require("interrupted" in error and journal in error, f"stderr: {error}")
require(not os.path.exists(output), "there is a result")
measured = lines() - 1  # the first line is the key
require(measured >= 2, "there is no journal")

# A process that was killed leaves half a line.
with open(journal, "a") as file:
    file.write('{"id": "half')
done = subprocess.run(command + ["--json"], capture_output=True, text=True)
require(done.returncode == 0, f"the second run: {done.stderr}")
report = json.loads(done.stdout)
require(report["resumed"] == measured, f"resumed {report['resumed']} of {measured}")
require(os.path.exists(output) and not os.path.exists(journal), "files are wrong")
