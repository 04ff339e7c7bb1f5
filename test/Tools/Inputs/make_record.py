"""Usage: decant inspect PACK --json | make_record.py TARGET [DEVICE...]

Prints a tuner's file for the first spec of a pack: on TARGET, batches of 1 to
16 rows get the pack's schedule with one block per SM less, larger ones that
schedule. One record for each DEVICE.
"""
import json
import re
import sys

target, devices = sys.argv[1], sys.argv[2:] or ["a GPU"]
variant = next(v for v in json.load(sys.stdin)["variants"]
               if v["target"] == target and v["kernels"] == "decode")
schedule = variant["schedule"]
fewer = re.sub(r"blocks_per_sm = (\d+)", lambda m: f"blocks_per_sm = {int(m[1]) - 1}", schedule)
time = {"us": 1.0, "p10": 1.0, "p90": 1.0, "repeats": 1}


def entry(batches, text):
    return {**batches, "schedule": text, "time": time, "why": "a test",
            "against": {"schedule": schedule, "time": time}}


records = [{
    "spec": {"name": variant["spec"], "hash": variant["spec_hash"]},
    "device": {"name": device, "target": target, "memory": "other"},
    "driver": "none", "compiler": variant["compiler"], "times": "measured",
    "order": variant["code_order"], "schedule": schedule,
    "ranges": [entry({"from": 1, "to": 16, "batch": 4}, fewer),
               entry({"from": 17, "batch": 64}, schedule)],
    "summary": "A test."} for device in devices]
print(json.dumps({"decant_tuning": 1, "records": records}, indent=1))
