# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sessions of a real PostgreSQL: their page tables, how long they take to go, and what status costs beside them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from pathlib import Path

import postgresql_sessions as pg
from goals import GOALS, number, times
from pools import find_pool, meminfo
from report import Report, Way
from running import HUGEPLAND, SOCKET, child, configure

from .status import compare_status, hugeadm_msec, status_msec

SIZES = (0, 10, 100, 400, 1000, 2000)
MANY = 400  # from here on one round is enough
INSTANCES = 10


@dataclass
class Lines:
    """By the number of sessions."""

    tables: dict[str, dict[float, float]] = field(default_factory=lambda: {"4k pages": {}, "huge pages": {}})
    gone: dict[str, dict[float, float]] = field(default_factory=lambda: {"4k pages": {}, "huge pages": {}})
    status: dict[str, dict[float, float]] = field(
        default_factory=lambda: {"hugeplanctl status": {}, "hugeadm --pool-list": {}})


def measure(report: Report) -> None:
    if pg.newest_server() is None:
        report.left_out("PostgreSQL", "not installed (apt-get install postgresql)")
        return
    pool = find_pool()
    configure(INSTANCES, 1, pool)
    pool.write(pool.base_pages + INSTANCES + pg.SEGMENT_MIB * (1 << 20) // pool.page_bytes)
    sizes = fitting_sizes(report)
    lines = Lines()
    with child([HUGEPLAND], SOCKET), pg.cluster() as directory:
        for n in sizes:
            measure_sessions(report, directory, n, lines)
    stops = "" if sizes[-1] == SIZES[-1] else f" For more than {sizes[-1]:,} sessions there was too little memory."
    show(report, lines, stops)
    pool.reset()


def fitting_sizes(report: Report) -> tuple[int, ...]:
    """A quarter of the memory that is free is left to the others."""
    room = (meminfo("MemAvailable") * 3 // 4 >> 20) - pg.SEGMENT_MIB  # small pages: the segment once more
    fitting = tuple(n for n in SIZES if n * pg.SESSION_MIB <= room)
    if fitting != SIZES and not report.is_quick:
        report.left_out(f"More than {fitting[-1]:,} sessions", f"only {meminfo('MemAvailable') >> 20:,} MiB are free")
    return tuple(n for n in fitting if n <= 100) if report.is_quick else fitting


def measure_sessions(report: Report, directory: Path, n: int, lines: Lines) -> None:
    def beside() -> None:
        if f"status-{n}" in GOALS:
            compare_status(report, f" beside {n} PostgreSQL sessions", GOALS[f"status-{n}"])
        ways = [Way("hugeplanctl status", status_msec), Way("hugeadm --pool-list", hugeadm_msec)]
        for name, found in report.take_turns(ways, report.rounds(31), {}).items():
            if found:
                lines.status[name][n] = statistics.median(found)

    rounds = 1 if report.is_quick or n >= MANY else 3
    pairs = [(pg.measure(directory, "off", n), pg.measure(directory, "on", n, None if i else beside))
             for i in range(rounds)]
    print(f"  {n:,} sessions: done", flush=True)
    for at, way in enumerate(lines.tables):
        lines.tables[way][n] = statistics.median(pair[at].page_tables_mib for pair in pairs)
        lines.gone[way][n] = statistics.median(pair[at].gone_msec for pair in pairs)


def show(report: Report, lines: Lines, stops: str) -> None:
    sizes = [n for n in lines.tables["4k pages"] if n > 0]
    rows = []
    for n in sizes:
        row = [f"{n:,}"]
        for found in lines.tables, lines.gone:
            small, huge = found["4k pages"][n], found["huge pages"][n]
            row += [number(small), number(huge), times(huge / max(small, 0.01))]
        rows.append(row)
    what = (f"PostgreSQL {pg.version()}, {pg.BUFFERS_MIB:,} MiB of buffers, three quarters of them a table that every"
            " session has scanned")
    report.table(what, ("sessions", "page tables, 4k, MiB", "huge, MiB", "huge is", "until all are gone, 4k, ms",
                        "huge, ms", "huge is"), rows,
                 f"medians of 3 rounds, from {MANY:,} sessions on of one" if not report.is_quick else "one round")
    report.figure("page-tables", "Page tables of PostgreSQL's sessions", "sessions", "MiB", lines.tables,
                  f"VmPTE of all backends.{stops}", is_in_table=True)
    report.figure("disconnect", "Until all of PostgreSQL's sessions are gone", "sessions", "ms", lines.gone,
                  "From SIGTERM to all backends at once, as when a pool of connections is restarted, until the last has"
                  f" exited.{stops}", is_in_table=True)
    report.figure("sessions", "Status beside PostgreSQL's sessions: time", "sessions", "ms", lines.status,
                  f"Wall time of one command, with a daemon that has {INSTANCES} instances; the server has huge"
                  f" pages.{stops}")
