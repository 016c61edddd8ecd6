# SPDX-License-Identifier: LGPL-2.1-or-later
"""Status, start and gate

`hugeplanctl status` beside hugeadm, which prints the pools only. The floor is a static C program that reads and prints
every counter of every pool. "Only asking" is a C program that sends the daemon the same request in the same rounds: no
status that asks can be faster. jansson, which reads the answer, adds 0.04; with three instances the two are the limit. With
100 the command executes 1.9 million instructions: 0.46 whatever the number, 0.45 to parse JSON, 0.32 to read the rows and
0.67 to make the table. The daemon executes another 1.5, most of them to judge the instances and write their rows; hugeadm
0.23.

A start with nothing to write is that of a daemon that was restarted. With 300 instances it takes 1,444 system calls and
13.4 million instructions; 900 and 12 were wanted. Of each of 301 files, open, read and close are 903 calls already, and by
fstat(2) a later change is noticed; the other 240 are the same with three instances. Of the instructions 40 % read the
configuration, 28 % plan, 16 % judge the result and 7 % read the ledger. A gate is `hugeplanctl wait`, which a database's
unit runs first.

Describe and Wait are the Varlink methods behind status and gate; the floor answers with the same bytes and reads nothing.
Asked alone, Wait takes 24 system calls with 3 and with 300 instances (25 and 30 were wanted): 9 read the kernel's counts,
15 serve the client. Describe takes 33 and 332, because it looks whether four directories and each file of the configuration
have changed: the limit is 25 and 27 without that, but inotify tells of no change through a link or a mapping. A unit that
runs adds 7, which read its nodes and counts; the first 25 more, by which the units' groups are listed and all counts read
once more, because they must be of one moment."""

from __future__ import annotations

import statistics
from pathlib import Path

from goals import GOALS, number, plural, times
from pools import Pool, find_pool
from report import MEASURED, Report, Way, median_ratio
from running import (BRIEF, DESCRIBE, HELPERS, HUGEPLANCTL, HUGEPLAND, SOCKET, WAIT, ask, child, configure, find_program,
                     look_at, run)

INSTANCES = (0, 3, 10, 100, 300)
STATUS_COLUMNS = ("instances", "hugeplanctl status", "from … to", "hugeadm", "hugeplan is", "wanted", "met", "of the floor",
                  "only asking is")


def measure(report: Report) -> None:
    pool, rows, starts = find_pool(), [], []
    for instances in INSTANCES:
        configure(instances, 1, pool)
        pool.write(pool.base_pages + instances)
        if instances in (3, 300):
            found = [run([HUGEPLAND], is_daemon=True).wall_msec for _ in range(report.rounds(61))]
            starts.append(report.row(f"start, {plural(instances, 'instance')}", found))
        with child([HUGEPLAND], SOCKET) as daemon:
            rows.append(compare_status(report, instances))
            if instances in (3, 300):
                measure_answers(report, daemon.pid, instances)
                found = [run([HUGEPLANCTL, "wait", "bench1"]).wall_msec for _ in range(report.rounds(61))]
                starts.append(report.row(f"gate, {plural(instances, 'instance')}", found))
        pool.reset()
    report.table("hugeplanctl status and hugeadm --pool-list: time, ms", STATUS_COLUMNS, rows, f"{report.rounds(61)} rounds")
    report.table("Start, nothing to write, and a gate: time, ms", MEASURED, starts, f"{report.rounds(61)} rounds")


def compare_status(report: Report, instances: int) -> list[str]:
    remarks: dict[str, str] = {}
    ways = [Way("ours", lambda: run([HUGEPLANCTL, "status"]).wall_msec),
            Way("hugeadm", lambda: run([find_program("hugeadm", "libhugetlbfs-bin"), "--pool-list"]).wall_msec),
            Way("floor", lambda: run([str(HELPERS / "bench-read")]).wall_msec), Way("asking", lambda: run([
                str(HELPERS / "bench-load"), "single", SOCKET, BRIEF, "1", "1"]).wall_msec)]
    found = report.take_turns(ways, report.rounds(61), remarks)
    ours = found["ours"]
    row = [f"{instances:,}", number(statistics.median(ours)), f"{number(min(ours))} … {number(max(ours))}"]
    if found["hugeadm"]:
        ratio = median_ratio(ours, found["hugeadm"])
        row += [number(statistics.median(found["hugeadm"])), times(ratio), *report.reach(f"status-{instances}", ratio),
                times(median_ratio(ours, found["floor"])), times(median_ratio(found["asking"], found["hugeadm"]))]
    else:
        report.missing.append(f"Status: hugeadm: {remarks.get('hugeadm', 'no round was whole')}")
        row += [remarks.get("hugeadm", ""), "", GOALS[f"status-{instances}"].wanted, "", "", ""]
    return row


def measure_answers(report: Report, pid: int, instances: int) -> None:
    """CPU of an answer to a client that asks alone, in the daemon and in a server that sends the same bytes."""
    rows = []
    for name, request in ("Describe", DESCRIBE), ("Wait", WAIT):
        reply = Path("/run/bench-answer")
        reply.write_bytes(ask(SOCKET, request))
        path = f"/run/bench-{name}-{instances}"
        with child([str(HELPERS / "bench-server-epoll"), path, str(reply)], path) as floor:
            pairs = [(cost_in(pid, SOCKET, request), cost_in(floor.pid, path, request)) for _ in range(5)]
        ours, theirs = zip(*pairs)
        rows.append(report.row(name, ours, median_ratio(ours, theirs)))
    report.table(f"An answer, {instances} instances: CPU in the daemon, ms; against fixed bytes by bare epoll", MEASURED, rows,
                 "5 rounds of 200 requests, one at a time")


def cost_in(pid: int, path: str, request: str, n: int = 200) -> float:
    """The milliseconds of CPU that a server needs for an answer."""
    before = look_at(pid).cpu_msec
    for _ in range(n):
        ask(path, request)
    return (look_at(pid).cpu_msec - before) / n
