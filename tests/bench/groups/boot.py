# SPDX-License-Identifier: LGPL-2.1-or-later
"""Boots with hugeplan and without, in turn, in guests. Instructions, and the guest's clock, which goes by them, do not
depend on how busy this host is."""

from __future__ import annotations

import statistics
from typing import Any

from goals import GOALS, Goal, number, times
from guests import run_guests
from report import Report, median_ratio

LAST = "multi-user.target"
# What a guest has noted: what that is, and by how much it is divided.
ROWS = {
    "sysinit.target": ("until sysinit.target, ms of its clock", 1),
    LAST: (f"until {LAST}, ms of its clock", 1),
    "instructions": ("until then, millions of instructions", 1e6),
    "instructionsSettled": ("5 s later, millions of instructions", 1e6),
}
COLUMNS = ("", "with", "without", "hugeplan is", "pairs differ by", "wanted", "met")
SCENARIOS = {
    "boot_time": "one instance; without, sysctl reserves as many pages",
    "boot_time_bare": "nothing is described",
}


def measure(report: Report) -> None:
    for scenario, what in SCENARIOS.items():
        for suite, found in run_guests(scenario):
            ways = [[row for row in found if row["isWith"] == is_with] for is_with in (True, False)]
            if all(ways):
                tell(report, f"A boot in qemu, {suite}, {what}", ways, is_goal=scenario == "boot_time")
            else:
                report.left_out(f"Boots of {suite}", "no guest has measured anything")


def tell(report: Report, title: str, ways: list[list[dict[str, Any]]], *, is_goal: bool) -> None:
    rows = []
    goals = {"instructions": GOALS["boot-cpu"], LAST: GOALS["boot-wall"]} if is_goal else {}
    for name, (text, scale) in ROWS.items():
        ours, theirs = ([row[name] / scale for row in rows_of] for rows_of in ways)
        ratio = median_ratio(ours, theirs)
        pairs = sorted(a - b for a, b in zip(ours, theirs))
        rows.append([text, number(statistics.median(ours)), number(statistics.median(theirs)), times(ratio),
                     f"{number(pairs[0])} to {number(pairs[-1])}", *report.judge(goals.get(name, Goal(1.02)), ratio)])
    report.table(title, COLUMNS, rows, f"{min(map(len, ways))} pairs, one after the other")
    units = ways[0][0]["unitInstructions"]
    report.table("Of these, by units of ours, millions of instructions", ("", "instructions"),
                 [[name, number(units[name] / 1e6)] for name in sorted(units)])
