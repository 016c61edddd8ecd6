# SPDX-License-Identifier: LGPL-2.1-or-later
"""What huge pages are for

A PostgreSQL with 1 GiB of shared buffers and 100 sessions, each of which has scanned a table of 768 MiB, with huge pages and
without, in turn: what their page tables take, how long it takes until all sessions are gone after SIGTERM (as when a pool of
connections is restarted), and transactions a second of pgbench, each of which looks up a row on another page of the table."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import postgresql_sessions as pg
from goals import number, times
from pools import find_pool, meminfo
from report import Report, median_ratio

SESSIONS = 100
SECONDS = 8  # of pgbench, in each round
FIGURES: tuple[tuple[str, Callable[[pg.Found], float]], ...] = (
    ("page tables of the sessions, MiB", lambda found: found.page_tables_mib),
    ("until all sessions are gone, ms", lambda found: found.gone_msec),
    ("transactions a second", lambda found: found.per_second),
)


def measure(report: Report) -> None:
    if pg.newest_server() is None:
        report.left_out("PostgreSQL", "not installed (apt-get install postgresql)")
        return
    if meminfo("MemAvailable") >> 20 < 2 * pg.SEGMENT_MIB + SESSIONS * pg.SESSION_MIB:
        report.left_out("PostgreSQL", f"only {meminfo('MemAvailable') >> 20:,} MiB are free")
        return
    pool = find_pool()
    pool.write(pool.base_pages + pg.SEGMENT_MIB * (1 << 20) // pool.page_bytes)
    seconds, rounds = (2, 1) if report.is_quick else (SECONDS, 5)
    with pg.cluster() as directory:
        pairs = [(pg.measure(directory, "on", SESSIONS, seconds), pg.measure(directory, "off", SESSIONS, seconds))
                 for _ in range(rounds)]
    rows = []
    for name, figure in FIGURES:
        huge, small = ([figure(pair[at]) for pair in pairs] for at in (0, 1))
        ratios = [a / b for a, b in zip(huge, small)]
        rows.append([name, *(f"{number(statistics.median(each))} ({number(min(each))} … {number(max(each))})"
                             for each in (huge, small)),
                     times(median_ratio(huge, small)), f"{times(min(ratios))} … {times(max(ratios))}"])
    report.table(f"PostgreSQL {pg.version()}, {SESSIONS} sessions", ("", "huge pages", "small pages", "huge is", "from … to"),
                 rows, f"{rounds} rounds; medians, and from the least to the most")
