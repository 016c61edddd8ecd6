# SPDX-License-Identifier: LGPL-2.1-or-later
"""Boots with hugeplan and without, in turn, in guests."""

from __future__ import annotations

import statistics

from goals import GOALS, Goal, number, times
from guests import run_guests
from report import Report, median_ratio

TARGETS = ("sysinit.target", "basic.target", "multi-user.target")
CPU = "processorMsec"
COLUMNS = ("", "with", "without", "hugeplan is", "pairs differ by", "wanted", "met")


def measure(report: Report) -> None:
    for suite, found in run_guests("boot_time"):
        ways = [[row for row in found if row["isWith"] == is_with] for is_with in (True, False)]
        if not all(ways):
            report.left_out(f"Boots of {suite}", "no guest has measured anything")
            continue
        rows = []
        for name in (CPU, *TARGETS):
            ours, theirs = ([row[name] for row in rows_of] for rows_of in ways)
            ratio = median_ratio(ours, theirs)
            goal = {CPU: GOALS["boot-cpu"], TARGETS[-1]: GOALS["boot-wall"]}.get(name, Goal(1.02))
            pairs = sorted(a - b for a, b in zip(ours, theirs))
            rows.append([f"until {name}: time" if name != CPU else "until then: CPU of the emulation",
                         number(statistics.median(ours)), number(statistics.median(theirs)), times(ratio),
                         f"{number(pairs[0])} to {number(pairs[-1])}", *report.judge(goal, ratio)])
        report.table(f"A boot in qemu, {suite}, ms", COLUMNS, [*rows[1:], rows[0]],
                     f"{min(map(len, ways))} pairs, one after the other")
