# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cost against size

Of instances, nodes, clients and sessions. A curve that bends upwards would be more than linear: both axes are logarithmic."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import hosts
import postgresql_sessions as pg
from pools import Pool, find_pool, meminfo
from report import Report
from running import (FIRST_UID, GET_INFO, HELPERS, HUGEPLANCTL, HUGEPLAND, MANY_FILES, SOCKET, as_user, ask, child,
                     configure, run)

from .generator import generated

INSTANCES = (1, 10, 100, 300, 1000, 3000, 10000)
NODES = (1, 8, 64, 256, 1024)
CLIENTS = (1, 10, 100, 1000, 3000, 10000)
SESSIONS = (10, 100, 500, 2000)
SIZES_GB = (1, 16, 256, 4096)
MANY = 3000  # sizes from which on three rounds are made
OF_ONE_USER = 1000  # clients of a user at most, because the daemon accepts only some of more at a time

# A context that prepares a host, and yields a function that measures one run there.
Prepared = AbstractContextManager[Callable[[], float]]


def measure(report: Report) -> None:
    rounds = report.rounds(9)
    pool = find_pool()

    def line(prepare: Callable[[int], Prepared], sizes: tuple[int, ...]) -> dict[float, float]:
        return {size: median_of(prepare(size), 3 if size >= MANY else rounds) for size in sizes}

    how_often = f"Medians of {rounds} rounds, from {MANY:,} on of 3."
    report.figure("plan", "Plan: CPU", "instances", "ms", {"8 nodes": line(lambda n: planned(8, n), INSTANCES)},
                  f"The whole command hugeplanctl plan, on made-up hosts of 8 nodes. {how_often}")
    report.figure("plan-nodes", "Plan: CPU", "nodes", "ms", {"10 instances": line(lambda n: planned(n, 10), NODES)},
                  f"The same with 10 instances. {how_often}")
    report.figure("plan-size", "Plan: CPU, by its size", "gigabytes", "ms",
                  {"16 nodes, 10 instances": line(lambda n: planned(16, 10, n), SIZES_GB)},
                  f"The same on 16 nodes, all instances together of that size. {how_often}")
    report.figure("generator", "Generator: CPU", "instances", "ms",
                  {"generator": line(lambda n: generating(n, 0), INSTANCES),
                   "as many files by a C program": line(lambda n: generating(n, 1), INSTANCES)},
                  f"Into an empty directory, as at a boot, on made-up hosts of one node. {how_often}")
    fitting = tuple(n for n in INSTANCES if pool.has_room(n))
    report.figure("start", "Start: CPU", "instances", "ms",
                  {"this host, a page each": line(lambda n: started(pool, n), fitting),
                   "a made-up host, all running": line(started_made_up, INSTANCES)},
                  "From exec to READY=1 and the end, nothing to write. Here each instance has a page of its own, for"
                  + (f" which there is memory up to {fitting[-1]:,};" if fitting != INSTANCES else "")
                  + f" on a made-up host of one node all are running databases, and the ledger is read. {how_often}")
    show_clients(report, pool, min(rounds, 5))
    show_sessions(report, pool)


def median_of(prepared: Prepared, rounds: int) -> float:
    with prepared as once:
        return statistics.median([once() for _ in range(rounds)])


@contextmanager
def planned(nodes: int, instances: int, gigabytes: int = 0) -> Iterator[Callable[[], float]]:
    with hosts.made_up(nodes, instances, gigabytes) as root:
        yield lambda: run([HUGEPLANCTL, f"--root={root}", "plan"], ok=(0, 3)).cpu_msec


@contextmanager
def generating(instances: int, way: int) -> Iterator[Callable[[], float]]:
    with generated(instances) as ways:
        yield ways[way]


@contextmanager
def started(pool: Pool, instances: int) -> Iterator[Callable[[], float]]:
    configure(instances, 1, pool)
    pool.write(pool.base_pages + instances)
    yield lambda: run([HUGEPLAND], is_daemon=True).cpu_msec
    pool.reset()


@contextmanager
def started_made_up(instances: int) -> Iterator[Callable[[], float]]:
    with hosts.made_up(1, instances, hugeplanctl=HUGEPLANCTL) as root:
        yield lambda: run([HUGEPLAND, f"--root={root}"], is_daemon=True).cpu_msec


# ---- clients ----


def show_clients(report: Report, pool: Pool, rounds: int) -> None:
    configure(10, 1, pool)
    lines: dict[str, dict[float, float]] = {"hugepland": {}, "its server alone": {}, "bare epoll": {}}
    cut_off: dict[int, float] = {}
    small = Path("/run/bench-info")
    with child([*MANY_FILES, HUGEPLAND], SOCKET):
        small.write_bytes(ask(SOCKET, GET_INFO))
        for n in CLIENTS:
            lines["hugepland"][n], cut_off[n] = answers(SOCKET, n, rounds if n < MANY else 3)
    for name, program in ("its server alone", "varlink"), ("bare epoll", "epoll"):
        path = f"/run/bench-clients-{program}"
        with child([*MANY_FILES, str(HELPERS / f"bench-server-{program}"), path, str(small)], path):
            for n in CLIENTS:
                lines[name][n], _ = answers(path, n, rounds if n < MANY else 3)
    pool.reset()
    again = ", ".join(f"with {n:,} clients {share:.1f} times for each answer" for n, share in cut_off.items() if share)
    report.figure("clients", "An answer to GetInfo: time", "clients at once", "us", lines,
                  "Wall time of all answers, divided by their number; a connection for each request. Who asks runs on"
                  f" the same processors, and is as many users as it takes at {OF_ONE_USER:,} clients each. The daemon"
                  " has 2,048 places; of more some are cut off, and come again, which is in its time"
                  f"{f': {again}' if again else ''}. Its server alone and bare epoll let in all."
                  f" Medians of {rounds} rounds, from {MANY:,} on of 3.")


def answers(path: str, clients: int, rounds: int) -> tuple[float, float]:
    """The microseconds for each answer, and how often a client was cut off for each answer."""
    users = -(-clients // OF_ONE_USER)
    share, requests = clients // users, max(2000, 2 * clients) // users
    load = [str(HELPERS / "bench-load"), "single", path, GET_INFO, str(share), str(requests)]
    times, n_refused = [], 0.0
    for _ in range(rounds):
        begun = time.monotonic()
        loads = [subprocess.Popen([*as_user(FIRST_UID + i), *load], stdout=subprocess.PIPE, text=True)
                 for i in range(users)]
        said = [each.communicate()[0].split() for each in loads]
        times.append((time.monotonic() - begun) * 1e6 / (requests * users))
        if not all(said):
            raise RuntimeError(f"{clients} clients of {users} users: not all were answered")
        n_refused += sum(float(words[3]) for words in said)
    return statistics.median(times), n_refused / rounds / (requests * users)


# ---- sessions ----


def show_sessions(report: Report, pool: Pool) -> None:
    room = (meminfo("MemAvailable") * 3 // 4 >> 20) - pg.SEGMENT_MIB  # the segment exists once more in small pages
    sizes = [n for n in SESSIONS if n * pg.SESSION_MIB <= room and not (report.is_quick and n > 100)]
    if pg.newest_server() is None or not sizes:
        report.left_out("Sessions of PostgreSQL", "no server is installed, or too little memory is free")
        return
    ways = {"on": "huge pages", "off": "small pages"}
    tables: dict[str, dict[float, float]] = {name: {} for name in ways.values()}
    gone: dict[str, dict[float, float]] = {name: {} for name in ways.values()}
    pool.write(pool.base_pages + pg.SEGMENT_MIB * (1 << 20) // pool.page_bytes)
    with pg.cluster() as directory:
        for n in sizes:
            for setting, name in ways.items():
                found = pg.measure(directory, setting, n)
                tables[name][n], gone[name][n] = found.page_tables_mib, found.gone_msec
    report.figure("page-tables", "Page tables of PostgreSQL's sessions", "sessions", "MiB", tables,
                  "VmPTE of all backends, each of which has scanned a table of 768 MiB; one round.")
    report.figure("disconnect", "Until all of PostgreSQL's sessions are gone", "sessions", "ms", gone,
                  "From SIGTERM to all backends at once until the last has exited; one round.")
