# SPDX-License-Identifier: LGPL-2.1-or-later
"""Units in a boot

Guests in emulation, with all units of hugeplan and without, in turn (`tests/vm/bench/boot_time.py`, `boot_time_bare.py`).
They have one CPU that executes 250 million instructions in each second of their own clock (qemu -icount), so that neither
figure depends on this host.

With nothing described no service of hugeplan runs in a boot. With an instance hugeplan.service is on the way to
sysinit.target, the gate is a command of the database's unit, and hugeplan-check.service runs after multi-user.target. Most
of their instructions are systemd's: it sets up the mounts of the sandbox. /bin/true takes 34 million instructions without a
sandbox and 147 with that of hugeplan.service; [privilege.md](privilege.md) has the cost of each line. The goal for a boot
with one instance, 242 million, lies within what two pairs differ by (190 … 312)."""

from __future__ import annotations

import statistics
from typing import Any

from goals import GOALS, number, times
from guests import run_guests
from report import Report, median_ratio
from running import CHECKOUT

LAST = "multi-user.target"
# By the name in a guest's report: the row's text, and the divisor.
ROWS = {LAST: (f"until {LAST}, ms of its clock", 1), "instructions": ("until then, millions of instructions", 1e6)}
COLUMNS = ("", "with", "without", "hugeplan is", "pairs differ by", "wanted", "met", "each of costs.tsv")
# The rows in costs.tsv, and what the titles add.
SCENARIOS = {"boot_time": ("one instance", "; without, sysctl reserves as many pages"),
             "boot_time_bare": ("nothing is described", "")}


def measure(report: Report) -> None:
    for scenario, (what, more) in SCENARIOS.items():
        for suite, found in run_guests(scenario):
            ways = [[row for row in found if row["isWith"] == is_with] for is_with in (True, False)]
            if all(ways):
                show(report, f"A boot in qemu, {suite}, {what}{more}", what, ways,
                     "boot-cpu" if scenario == "boot_time" else "boot-bare-cpu")
            else:
                report.left_out(f"Boots of {suite}", "no guest has measured anything")


def show(report: Report, title: str, what: str, ways: list[list[dict[str, Any]]], goal: str) -> None:
    lines = (line.split("\t") for line in (CHECKOUT / "tests/costs.tsv").read_text(encoding="utf-8").splitlines())
    rows, costs = [], {line[0].removeprefix("boot, "): float(line[1]) for line in lines if line[0].startswith("boot, ")}
    for name, (text, scale) in ROWS.items():
        ours, theirs = ([row[name] / scale for row in rows_of] for rows_of in ways)
        ratio = median_ratio(ours, theirs)
        pairs = sorted(a - b for a, b in zip(ours, theirs))
        judged = report.judge(GOALS[goal] if name == "instructions" else None, ratio)
        rows.append([text, number(statistics.median(ours)), number(statistics.median(theirs)), times(ratio),
                     f"{number(pairs[0])} … {number(pairs[-1])}", *judged,
                     ", ".join(times(statistics.median(each) * scale / costs[row]) for each, row in (
                         (ours, what), (theirs, "without hugeplan"))) if name == "instructions" else ""])
    for unit, instructions in sorted(ways[0][0]["unitInstructions"].items()):
        rows.append([f"{unit}, millions of instructions", number(instructions / 1e6), *[""] * 5,
                     times(instructions / costs[unit]) if unit in costs else ""])
    report.table(title, COLUMNS, rows, f"{min(map(len, ways))} pairs, one after the other")
