"""Usage: fails.py CODE COMMAND...

Runs a command that must fail with exit code CODE, print nothing on stdout (or,
with --json, one object with that error) and one paragraph on stderr, which is
then printed for FileCheck.
"""
import json
import subprocess
import sys

code, command = int(sys.argv[1]), sys.argv[2:]
done = subprocess.run(command, capture_output=True, text=True)
error = done.stderr.rstrip("\n")


def require(condition, what):
    if not condition:
        sys.exit(f"{what}\ncommand: {command}\nexit code: {done.returncode}\n"
                 f"stdout: {done.stdout[:500]}\nstderr: {done.stderr[:2000]}")


require(done.returncode == code, f"the exit code is not {code}")
require(error.startswith("decant: error: "), "stderr does not start with 'decant: error: '")
require("\n\n" not in error and error.count("decant: ") == 1, "stderr is not one paragraph")
if "--json" in command:
    said = json.loads(done.stdout)
    require(error == "decant: error: " + said["error"], "stdout and stderr do not say the same")
else:
    require(done.stdout == "", "stdout is not empty")
print(error)
