#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the test cases of a `meson test` run, from what the test programs printed.

    scripts/lib/count_tests.py BUILD-DIR [--no-privileged-skips]

Meson counts programs, and counts a program as passed if its cases skipped themselves. Prints "PASSED FAILED SKIPPED",
then a line for each program with failed or skipped cases. With --no-privileged-skips, skipped cases of the suite live,
which needs root and a real kernel, count as failed. """

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

BAD_RESULTS = {"FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"}

# cmocka's format, whose failures go to standard error; and TAP.
CMOCKA = re.compile(r"^\[ *(RUN|OK|SKIPPED) *\] (\w+)$", re.MULTILINE)
TAP = re.compile(r"^(not )?ok\b([^#\n]*)(# SKIP)?", re.MULTILINE)


@dataclass
class Count:
    passed: int
    failed: int
    skipped: int

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def main() -> int:
    total, remarks = count_run(Path(sys.argv[1]), "--no-privileged-skips" not in sys.argv[2:])
    print(total.passed, total.failed, total.skipped)
    for remark in remarks:
        print(remark)
    return 0


def count_run(build: Path, may_skip: bool = True) -> tuple[Count, list[str]]:
    """The cases of the last run in a build directory, and remarks about its programs."""
    total = Count(0, 0, 0)
    remarks = []
    log = build / "meson-logs/testlog.json"
    tests = json.loads((build / "meson-info/intro-tests.json").read_text())
    suites = {test["name"]: {suite.split(":")[-1] for suite in test["suite"]} for test in tests}
    for line in log.read_text().splitlines() if log.exists() else []:
        entry = json.loads(line)
        name = entry["name"].split(" / ")[-1]
        count = count_cases(entry)
        if count.failed:
            remarks.append(f"{name}: {count.failed} failed ({entry['result']})")
        if count.skipped and not may_skip and "live" in suites.get(name, set()):
            remarks.append(f"{name}: {count.skipped} skipped, which is a failure here")
            count = Count(count.passed, count.failed + count.skipped, 0)
        elif count.skipped:
            remarks.append(f"{name}: {count.skipped} skipped")
        total += count
    return total, remarks


def count_cases(entry: dict) -> Count:
    """The cases of one program; a program that prints none counts as one case."""
    printed = entry.get("stdout", "")
    count = Count(0, 0, 0)
    names = {"RUN": set(), "OK": set(), "SKIPPED": set()}
    for event, name in CMOCKA.findall(printed):
        names[event].add(name)
    count.skipped = len(names["SKIPPED"])
    count.passed = len(names["OK"])
    count.failed = len(names["RUN"] - names["OK"] - names["SKIPPED"])
    for is_not, _, is_skipped in TAP.findall(printed):
        if is_skipped:
            count.skipped += 1
        elif is_not:
            count.failed += 1
        else:
            count.passed += 1
    result = entry["result"]
    if result in BAD_RESULTS:
        count.failed = count.failed or 1
    elif result == "SKIP":
        count.skipped = count.skipped or 1
    elif count == Count(0, 0, 0):
        count.passed = 1
    return count


if __name__ == "__main__":
    sys.exit(main())
