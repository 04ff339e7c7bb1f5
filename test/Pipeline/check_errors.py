"""Fails unless `decant run --json` on stdin reports errors up to a bound.

usage: check_errors.py BOUND TOKENS
"""

import json
import sys

run = json.load(sys.stdin)
bound, tokens = float(sys.argv[1]), int(sys.argv[2])
for field in ("output_error", "state_error"):
    print(f"{field} {run[field]:.3g}")
    # Written so that a NaN fails; an error of exactly 0 would mean that nothing
    # was compared, since the kernel rounds to f32.
    if not 0 < run[field] <= bound:
        sys.exit(f"{field} is {run[field]}; the bound is {bound}")
if run["tokens"] != tokens:
    sys.exit(f"{run['tokens']} tokens were decoded, not {tokens}")
