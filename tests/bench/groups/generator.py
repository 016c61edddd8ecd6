# SPDX-License-Identifier: LGPL-2.1-or-later
"""Generator

systemd waits for it at each boot and daemon-reload. The floor is a static C program that reads as many files and makes as
many directories and files, as systemd wants a directory for each unit's drop-in. With 300 instances a third of the
generator's time is user space, and 46 % of the instructions there parse the configuration; without that it would take 1.45
of the floor's time, which is the limit."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator

import hosts
from goals import GOALS, plural
from report import Report, Way
from running import GENERATOR, HELPERS, run


def measure(report: Report) -> None:
    for instances in (1, 300, 3000):
        with generated(instances) as (once, floor):
            report.compare(f"{plural(instances, 'instance')}: CPU", "ms", [
                Way("hugeplan-generator", once),
                Way("floor: static C, as many files", floor, GOALS.get(f"generator-{instances}"))], report.rounds(31))


@contextlib.contextmanager
def generated(instances: int) -> Iterator[tuple[Callable[[], float], Callable[[], float]]]:
    """A run of the generator and a run of the floor, on the same files."""
    with hosts.made_up(1, instances) as root:
        def into_empty(*command: str) -> float:
            with tempfile.TemporaryDirectory(dir=root.parent) as output:
                return run([*command, output]).cpu_msec

        yield (lambda: into_empty(GENERATOR, f"--root={root}"),
               lambda: into_empty(str(HELPERS / "bench-make-files"), f"{root}/etc/hugeplan.d"))
