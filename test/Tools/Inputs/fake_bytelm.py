#!/usr/bin/env python3
"""Stands for `bytelm judge`: notes its arguments in $BYTELM_LOG and judges by their number."""
import json
import os
import sys

with open(os.environ["BYTELM_LOG"], "a") as log:
    print(*sys.argv[1:], file=log)
if "broken" in sys.argv:
    sys.exit("bytelm: error: broken")
kl = None if "diverging" in sys.argv else len(sys.argv) * 1e-4
print(json.dumps({"bits_per_element": 8.25, "kl": kl, "kl_second_half": kl, "agree": 0.99,
                  "bits_per_byte": 0.5}))
