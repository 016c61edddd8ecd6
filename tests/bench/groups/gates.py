# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many gates at once

Processes `hugeplanctl wait`, all started one after the other without a pause, as at a boot; the time is from the first start
to the end of the last. Those that have arrived by then are judged together: one plan and one look serve all, and all holds
are stored before the first of them is answered."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from goals import plural
from pools import Pool, find_pool
from report import MEASURED, Report
from running import FIRST_UID, HELPERS, HUGEPLANCTL, HUGEPLAND, MANY_FILES, SOCKET, as_user, child, configure, output_of

INSTANCES = 300
HELD_UP_SEC = 3
PAGES = 64
COLUMNS = ("", "passed", "wanted", "met", "in all, s", "after the pages, s")


def measure(report: Report) -> None:
    pool = find_pool()
    # The pages exist already, so only the gates are measured.
    rounds, rows = report.rounds(11), []
    configure(INSTANCES, 1, pool)
    with child([*MANY_FILES, HUGEPLAND], SOCKET):
        for n in 100, INSTANCES:
            found = [output_of(crowd(n, "--each")) for _ in range(rounds)]
            fewest = int(min(passed for _, passed in found))
            rows.append(report.row(f"{n} gates, each of another instance, of which {fewest} passed",
                                   [seconds for seconds, _ in found]))
    report.table(f"Gates at once, {INSTANCES} instances: from the first start to the end of the last, s", MEASURED,
                 rows, f"{rounds} rounds; processes of root's, their pages are there, none has a unit")
    pool.reset()
    measure_reserving(report, pool)


def crowd(n: int, *how: str, instance: str = "bench", uid: int | None = None) -> list[str]:
    """The command that starts N gates; it prints the seconds until the last one has ended, and how many have passed."""
    return [*(as_user(uid) if uid else []), str(HELPERS / "bench-crowd"), *how, str(n), HUGEPLANCTL, "wait", instance]


@contextmanager
def held_up(pool: Pool) -> Iterator[None]:
    """A daemon whose write of the pages takes long, as on a node where memory must be compacted first."""
    configure(1, PAGES, pool)
    slow = ["env", f"LD_PRELOAD={HELPERS / 'bench-write-clock.so'}", f"BENCH_WRITE_PAUSE={HELD_UP_SEC}", HUGEPLAND]
    with child([*MANY_FILES, *slow], SOCKET):
        yield


def measure_reserving(report: Report, pool: Pool) -> None:
    rounds: int = 1 if report.is_quick else 3
    rows = []
    for n in 100, 1000:
        passed, waited, after = [], [], []
        for _ in range(rounds):
            with held_up(pool):
                begun = time.monotonic()
                with subprocess.Popen(crowd(n, instance="bench0", uid=FIRST_UID), stdout=subprocess.PIPE,
                                      text=True) as gates:
                    while pool.read() < pool.base_pages + PAGES and gates.poll() is None:
                        time.sleep(0.005)
                    stood = time.monotonic()
                    assert gates.stdout
                    words = gates.stdout.read().split()
                waited.append(float(words[0]))
                passed.append(float(words[1]))
                after.append(begun + waited[-1] - stood)
            pool.reset()
        wanted, met = report.reach(f"gates-reserving-{n}", min(passed))
        rows.append([f"{n:,} gates of one user", f"{min(passed):,.0f}", wanted, met,
                     f"{statistics.median(waited):.2f}", f"{max(0.0, statistics.median(after)):.2f}"])
    report.table("Gates while pages are being reserved", COLUMNS, rows,
                 f"{plural(rounds, 'round')}, the fewest that passed, of times the median; all wait for one instance of"
                 f" {PAGES} pages, whose write a preloaded library holds up for {HELD_UP_SEC} s")
