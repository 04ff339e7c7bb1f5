"""Usage: COMMAND --json | check_json.py EXPRESSION...

Reads one JSON object and evaluates Python expressions over its fields; each
must be true.
"""
import json
import sys

result = json.load(sys.stdin)
for expression in sys.argv[1:]:
    if not eval(expression, {}, dict(result)):
        sys.exit(f"not true: {expression}\nof: {json.dumps(result, indent=1)[:3000]}")
