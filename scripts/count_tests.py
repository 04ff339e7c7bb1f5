#!/usr/bin/env python3
"""Counts the tests of a ctest JUnit report: prints 'PASSED FAILED'.

The report is what ctest --output-junit wrote. A test whose output is lit's stands
for a whole lit run and counts as the tests which lit's own summary gives.
"""

import re
import sys
import xml.etree.ElementTree

# Rows of lit's summary. "Unsupported", "Excluded" and "Skipped" were not run.
LIT_PASSED = ("Passed", "Expectedly Failed", "Passed With Retry")
LIT_FAILED = ("Failed", "Unexpectedly Passed", "Unresolved", "Timed Out")


def lit_counts(output):
    rows = re.findall(r"^\s+([A-Z][A-Za-z ]+?)\s*:\s*(\d+) \(", output, re.MULTILINE)
    counts = {name: int(number) for name, number in rows}
    return (
        sum(counts.get(name, 0) for name in LIT_PASSED),
        sum(counts.get(name, 0) for name in LIT_FAILED),
    )


def main():
    passed = failed = 0
    for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        ok = case.get("status") == "run"
        output = case.findtext("system-out") or ""
        if "Total Discovered Tests:" in output:
            lit_passed, lit_failed = lit_counts(output)
            passed += lit_passed
            # lit that failed without a failed test, or ran none, is one failure.
            failed += lit_failed or int(not ok or lit_passed == 0)
        elif ok:
            passed += 1
        elif case.get("status") != "disabled":
            failed += 1
    print(passed, failed)


main()
