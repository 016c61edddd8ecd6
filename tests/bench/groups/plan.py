# SPDX-License-Identifier: LGPL-2.1-or-later
"""The plan, by size of the host

The whole command on made-up hosts. What remains is linear: a quarter is system calls (each file is opened, statted, read and
closed), a fifth page faults, because nothing is freed before the end. Not linear are instances that are bound to sets of
nodes, each to another set, in the number of sets, and the cover for instances that have yet to start."""

from __future__ import annotations

import hosts
from goals import times
from report import MEASURED, Report, median_ratio
from running import HUGEPLANCTL, run

# Nodes and instances. If all instances have started, their promises are computed, too.
FRESH_HOSTS = ((8, 10), (8, 1000), (8, 10000), (1024, 10), (1024, 100), (1024, 1000))
STARTED_HOSTS = ((8, 10), (8, 1000), (1024, 10), (1024, 100))


def measure(report: Report) -> None:
    rounds, rows, found = report.rounds(11), [], {}
    for kind, sizes in ("just booted", FRESH_HOSTS), ("all running", STARTED_HOSTS):
        for nodes, instances in sizes:
            with hosts.made_up(nodes, instances, hugeplanctl=HUGEPLANCTL if kind == "all running" else None) as root:
                command = [HUGEPLANCTL, f"--root={root}", "plan"]
                # 3: pages are to be reserved; the host has made sure that the configuration has no mistake.
                found[kind, nodes, instances] = [run(command, ok=(0, 3)).cpu_msec for _ in range(rounds)]
            rows.append(report.row(f"{nodes:,} nodes, {instances:,} instances, {kind}", found[kind, nodes, instances]))
    growth = median_ratio(found["just booted", 8, 10000], found["just booted", 8, 1000])
    wanted, met = report.reach("plan-growth", growth)
    report.table("hugeplanctl plan: CPU, ms", MEASURED, rows, f"{rounds} rounds; with ten times as many instances on 8 nodes"
                 f" {times(growth)}, wanted {wanted}: {met}")
