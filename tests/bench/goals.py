# SPDX-License-Identifier: LGPL-2.1-or-later
"""The goals for hugeplan's costs. GOALS, in this order, are the rows of "At a glance" in docs/performance.md. A goal
for a time is a ratio to another time of the same rounds, because absolute times depend on the machine."""

from __future__ import annotations

from dataclasses import dataclass


def number(value: float) -> str:
    """A measurement with three significant digits, a count with all."""
    if value >= 100 or isinstance(value, int):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def times(ratio: float) -> str:
    return f"{ratio:.2f}x" if ratio >= 0.1 else f"{ratio:.3f}x"


def plural(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


@dataclass(frozen=True)
class Goal:
    """UNIT "x" is a ratio of hugeplan's cost to the other's. WHAT is the row of "At a glance", "" for a goal that is
    shown only in the group's own tables."""

    limit: float
    unit: str = "x"
    is_least: bool = False  # LIMIT is a minimum, not a maximum
    group: str = ""
    what: str = ""

    def show(self, value: float) -> str:
        return times(value) if self.unit == "x" else f"{number(value)} {self.unit}".strip()

    @property
    def wanted(self) -> str:
        unit = self.unit if self.unit in ("x", "") else f" {self.unit}"
        return f"{'≥' if self.is_least else '≤'} {self.limit:,g}{unit}"

    def is_met(self, value: float) -> bool:
        return value >= self.limit if self.is_least else value <= self.limit


def rows() -> dict[str, Goal]:
    """The goals by the name that groups use."""
    found: dict[str, Goal] = {}

    def add(group: str, name: str, what: str, limit: float, unit: str = "x", *, is_least: bool = False) -> None:
        found[name] = Goal(limit, unit, is_least, group, what)

    for pages, limit in (64, 0.20), (1024, 0.33), (4096, 0.55):
        add("job", f"job-{pages}-systemd", f"Boot job, {pages:,} pages: CPU against systemd-sysctl and systemd-tmpfiles",
            limit)
    add("job", "job-64-hugeadm", "Boot job, 64 pages: CPU against hugeadm with --thp-madvise", 1.2)
    add("job", "job-64-floor",
        "Boot job, 64 pages: CPU against a static program that makes the same writes, reads them back and says READY=1", 2.0)
    add("job", "writes-4096", "4,096 pages: CPU within the writes, against one write", 1.05)
    add("boot", "boot-cpu", "A boot with one instance: instructions against the boot without hugeplan", 1.10)
    add("boot", "boot-bare-cpu", "A boot with nothing described: instructions against the boot without hugeplan", 1.04)
    for instances, limit in (0, 1.0), (3, 0.75), (10, 0.75), (100, 0.75), (300, 1.0):
        add("status", f"status-{instances}",
            f"hugeplanctl status, {plural(instances, 'instance') if instances else 'nothing described'}: time against"
            " hugeadm --pool-list", limit)
    for n in 100, 1000:
        add("gates", f"gates-reserving-{n}", f"{n:,} gates of one user while pages are being reserved: passed", n, "",
            is_least=True)
    for kind, how in ("single", "a connection for each request"), ("keep", "connections kept"):
        for size, what, limit in ("small", "a small reply", 0.6), ("large", "a reply as Describe's", 0.5):
            add("socket", f"clients-{size}-{kind}", f"1,000 clients ready at once, {what}, {how}: rate against bare epoll",
                limit, is_least=True)
    add("socket", "subscribers", "64 subscribers informed of a change: from the first to the last, against bare epoll", 1.2)
    add("idle", "memory-dirty", "Idle: memory that is private and dirty", 300, "KiB")
    add("idle", "memory-private", "Idle: memory that is private", 500, "KiB")
    add("idle", "memory-resident", "Idle: memory that is resident", 2.2, "MiB")
    add("plan", "plan-growth", "Plan on 8 nodes: CPU with 10,000 instances against 1,000", 10.5)
    add("generator", "generator-300", "Generator, 300 instances: CPU against a static program that reads as many files and"
        " makes as many directories and files", 1.5)
    return found


GOALS = rows()
