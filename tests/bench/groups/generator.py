# SPDX-License-Identifier: LGPL-2.1-or-later
"""The generator, which systemd waits for at each boot and each daemon-reload."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hosts
from goals import GOALS, plural
from report import MEASURED, Report
from running import GENERATOR, NOP, run


def measure(report: Report) -> None:
    rounds = report.rounds(31)
    rows = [report.row("an empty dynamic C program", [run(NOP).cpu_msec for _ in range(rounds)])]
    for instances in (1, 100, 300, 1000):
        with generated(instances) as (once, n_files):
            rows.append(report.row(f"{plural(instances, 'instance')}, {plural(n_files, 'file')} written",
                                   [once() for _ in range(rounds)], goal=GOALS.get(f"generator-{instances}")))
    report.table("hugeplan-generator: CPU, ms", MEASURED, rows,
                 f"{rounds} rounds, each into an empty directory on tmpfs, as at a boot; made-up hosts of one node")


@contextlib.contextmanager
def generated(instances: int) -> Iterator[tuple[Callable[[], float], int]]:
    """Runs it once; and how many files it writes."""
    with tempfile.TemporaryDirectory(prefix="hugeplan-bench-", dir="/run") as directory:
        root = hosts.make_host(Path(directory, "root"), 1, instances)
        first = Path(directory, "first")
        first.mkdir()
        run([GENERATOR, f"--root={root}", str(first)])

        def once() -> float:
            with tempfile.TemporaryDirectory(dir=directory) as output:
                return run([GENERATOR, f"--root={root}", output]).cpu_msec

        yield once, sum(path.is_file() for path in first.rglob("*"))
