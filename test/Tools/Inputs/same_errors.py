"""same_errors.py A.json B.json: two runs that computed the same, whatever their kernels came from."""

import json
import sys

first, second = (json.load(open(name)) for name in sys.argv[1:3])
for field in ("output_error", "state_error", "bytes_per_state", "tokens", "target"):
    if first[field] != second[field]:
        sys.exit(f"{field}: {first[field]} and {second[field]}")
