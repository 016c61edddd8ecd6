# SPDX-License-Identifier: LGPL-2.1-or-later
"""What hugeplan is meant to cost. GOALS, in this order, are the rows of "At a glance" in docs/performance.md."""

from __future__ import annotations

from dataclasses import dataclass


def number(value: float) -> str:
    """Three digits that tell something; of a count all."""
    if value >= 100 or isinstance(value, int):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def times(ratio: float) -> str:
    return f"{ratio:.2f}x" if ratio >= 0.1 else f"{ratio:.3f}x"


def plural(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


@dataclass(frozen=True)
class Goal:
    """UNIT "x": a ratio, of what hugeplan costs to what the other costs. WHAT is empty for what stands in the
    group's own tables only."""

    limit: float
    unit: str = "x"
    is_least: bool = False  # at least so much, not at most
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
    """By the name that a group has for it."""
    found: dict[str, Goal] = {}

    def add(group: str, name: str, what: str, limit: float, unit: str = "x", *, is_least: bool = False) -> None:
        found[name] = Goal(limit, unit, is_least, group, what)

    for pages, limit in (64, 0.25), (1024, 0.35), (4096, 0.55):
        add("job", f"job-{pages}-systemd",
            f"Boot job, {pages:,} pages: CPU against systemd-sysctl and systemd-tmpfiles", limit)
    add("job", "job-64-tuned", "Boot job, 64 pages: CPU against tuned, once", 0.03)
    add("job", "job-64-shell", "Boot job, 64 pages: CPU against sysctl, two echos and a grep", 0.8)
    add("job", "job-64-hugeadm", "Boot job, 64 pages: CPU against hugeadm with --thp-madvise", 1.2)
    add("status", "start-3", "Start with 3 instances, nothing to write: exec to READY=1", 2.2, "ms")
    add("status", "start-300", "Start with 300 instances, nothing to write: exec to READY=1", 6, "ms")
    add("status", "start-calls", "Start with 300 instances, nothing to write: system calls", 300, "")
    add("boot", "boot-wall", "All units in a boot, against the boot without: time until multi-user.target", 1.02)
    add("boot", "boot-cpu", "All units in a boot, against the boot without: instructions until then", 1.02)
    for name, group, beside in (("plain", "status", ""), ("sleepers", "status", " beside 1,000 sleeping processes"),
                                ("100", "postgresql", " beside 100 PostgreSQL sessions"),
                                ("400", "postgresql", " beside 400 PostgreSQL sessions")):
        add(group, f"status-{name}", f"hugeplanctl status{beside}: time against hugeadm --pool-list", 0.75)
    add("status", "gate-300", "A gate, 300 instances: time", 2, "ms")
    add("gates", "gates-300", "300 gates at once, each of another instance: until the last has passed", 1, "s")
    for n in 100, 1000:
        add("gates", f"gates-reserving-{n}", f"{n:,} gates of one user while pages are being reserved: passed", n, "",
            is_least=True)
    for instances in 3, 300:
        for method in "Describe", "Wait":
            add("status", f"{method}-{instances}", f"{method}, {instances} instances: CPU in the daemon", 0.06, "ms")
    for kind, how in ("single", "a connection for each request"), ("keep", "connections kept"):
        for size, what, limit in ("small", "a small reply", 0.6), ("large", "a reply as Describe's", 0.5):
            add("socket", f"clients-{size}-{kind}",
                f"1,000 clients ready at once, {what}, {how}: rate against bare epoll", limit, is_least=True)
    for clients in 1, 64, 200:
        add("socket", f"describe-{clients}",
            f"Describe by the daemon, {plural(clients, 'client')}, connections kept", 20000, "a second",
            is_least=True)
    add("idle", "memory-dirty", "Idle: memory that is private and dirty", 300, "KiB")
    add("idle", "memory-private", "Idle: memory that is private", 500, "KiB")
    add("idle", "memory-resident", "Idle: memory that is resident", 2.2, "MiB")
    for nodes, instances, limit in ((8, 1000, 15), (8, 10000, 200), (1024, 10, 100), (1024, 100, 200),
                                    (1024, 1000, 1000)):
        add("plan", f"plan-{nodes}-{instances}", f"Plan, {nodes:,} nodes, {instances:,} instances: CPU", limit, "ms")
    add("generator", "generator-300", "Generator, 300 instances: CPU", 5, "ms")
    return found


GOALS = rows()
