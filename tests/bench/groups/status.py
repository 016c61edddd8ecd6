# SPDX-License-Identifier: LGPL-2.1-or-later
"""Status, start and gate

`hugeplanctl status` beside hugeadm, which prints the pools only. The floor is a static C program that reads and prints
every counter of every pool. With three instances an empty dynamic C program takes 0.58 of hugeadm's time, one that asks the
daemon and prints the bytes of its answer 0.73, and 0.77 if it is linked with jansson, which is the limit. With 300 instances
that program takes 1.4. Of the command's own time there parsing is 32 %, reading the rows 19 % and the table 44 %; of the
daemon's 21 % are fstatat(2) of the 300 drop-ins.

A start with nothing to write is that of a daemon that was restarted. A gate is `hugeplanctl wait`, which a database's unit
runs before its server. Describe and Wait are the Varlink methods behind status and gate; the floor answers with the same
bytes and reads nothing. Clients that ask at the same time are answered from one look, see the socket."""

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
            starts += measure_start(report, instances)
        with child([HUGEPLAND], SOCKET) as daemon:
            rows.append(compare_status(report, instances))
            if instances in (3, 300):
                measure_answers(report, daemon.pid, instances)
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


def measure_start(report: Report, instances: int) -> list[list[str]]:
    """Rows of the table of starts and gates."""
    starts = [run([HUGEPLAND], is_daemon=True).wall_msec for _ in range(report.rounds(61))]
    with child([HUGEPLAND], SOCKET):
        gates = [run([HUGEPLANCTL, "wait", "bench1"]).wall_msec for _ in range(report.rounds(61))]
    return [report.row(f"start, {plural(instances, 'instance')}", starts),
            report.row(f"gate, {plural(instances, 'instance')}", gates)]


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
