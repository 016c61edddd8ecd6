# SPDX-License-Identifier: LGPL-2.1-or-later
"""The plan, by size of the host."""

from __future__ import annotations

import tempfile
from pathlib import Path

import hosts
from goals import GOALS
from report import MEASURED, Report
from running import HUGEPLANCTL, run

# Nodes, instances. Where all have started, the promises of each are reckoned too.
FRESH_HOSTS = ((8, 10), (8, 1000), (8, 10000), (1024, 10), (1024, 100), (1024, 1000))
STARTED_HOSTS = ((8, 10), (8, 1000), (1024, 10), (1024, 100))


def measure(report: Report) -> None:
    rounds = report.rounds(11)
    rows = []
    for kind, sizes in ("just booted", FRESH_HOSTS), ("all running", STARTED_HOSTS):
        for nodes, instances in sizes:
            with tempfile.TemporaryDirectory(prefix="hugeplan-bench-", dir="/run") as directory:
                root = hosts.make_host(Path(directory), nodes, instances)
                if kind == "all running":
                    hosts.start_instances(root, HUGEPLANCTL)
                command = [HUGEPLANCTL, f"--root={root}", "plan"]
                # 3: not all instances of such a host fit.
                found = [run(command, ok=(0, 3)).cpu_msec for _ in range(rounds)]
            goal = GOALS.get(f"plan-{nodes}-{instances}") if kind == "just booted" else None
            rows.append(report.row(f"{nodes:,} nodes, {instances:,} instances, {kind}", found, goal=goal))
    report.table("hugeplanctl plan, the whole command, on made-up hosts: CPU, ms", MEASURED, rows, f"{rounds} rounds")
