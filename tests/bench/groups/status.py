# SPDX-License-Identifier: LGPL-2.1-or-later
"""Start, status, gate, and what an answer costs the daemon, with few instances and with many."""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from goals import GOALS, Goal
from pools import Pool, find_pool
from report import MEASURED, Missing, Report, Way
from running import (
    DESCRIBE,
    HELPERS,
    HUGEPLANCTL,
    HUGEPLAND,
    NOP,
    SOCKET,
    WAIT,
    ask,
    child,
    configure,
    find_program,
    look_at,
    run,
)

SETTLED = 4  # seconds after which a file is no longer read each time, for it might still change in the same instant


def measure(report: Report) -> None:
    pool = find_pool()
    configure(10, 1, pool)
    with child([HUGEPLAND], SOCKET):
        compare_status(report, "", GOALS["status-plain"], is_with_floors=True)
        with sleepers(200 if report.is_quick else 1000) as n:
            compare_status(report, f" beside {n:,} processes that sleep",
                           None if report.is_quick else GOALS["status-sleepers"])
        rss = [run([HUGEPLANCTL, "status"]).rss_kib for _ in range(3)]
        report.table("Peak of resident memory, KiB", MEASURED, [report.row("hugeplanctl status", rss)], "3 rounds")
    pool.reset()
    for instances in (3, 300):
        measure_instances(report, pool, instances)
    rounds = report.rounds(61)
    report.compare("Program start: CPU to the end of --version", "ms", [
        Way("hugeplanctl", lambda: run([HUGEPLANCTL, "--version"]).cpu_msec),
        Way("an empty dynamic C program", lambda: run(NOP).cpu_msec, Goal(1.15)),
    ], rounds)
    report.compare("Program start: CPU to the end of --version", "ms", [
        Way("hugepland", lambda: run([HUGEPLAND, "--version"]).cpu_msec),
        Way("empty, with libsystemd", lambda: run([str(HELPERS / "bench-nop-systemd")]).cpu_msec, Goal(1.05)),
    ], rounds)


def status_msec() -> float:
    return run([HUGEPLANCTL, "status"]).wall_msec


def hugeadm_msec() -> float:
    return run([find_program("hugeadm", "libhugetlbfs-bin"), "--pool-list"]).wall_msec


def compare_status(report: Report, beside: str, goal: Goal | None, *, is_with_floors: bool = False) -> None:
    """A daemon with 10 instances is there."""
    ways = [Way("hugeplanctl status", status_msec), Way("hugeadm --pool-list", hugeadm_msec, goal)]
    if is_with_floors:
        ways += [Way("an empty dynamic C program", lambda: run(NOP).wall_msec),
                 Way("a static C reader of all counters", lambda: run([str(HELPERS / "bench-read")]).wall_msec)]
    report.compare(f"Status, 10 instances{beside}: time", "ms", ways, report.rounds(61))


def measure_instances(report: Report, pool: Pool, instances: int) -> None:
    """What grows with the number of instances. Nothing is written: the pages are there."""
    rounds = report.rounds(61)
    configure(instances, 1, pool)
    pool.write(pool.base_pages + instances)
    report.compare(f"Start, {instances} instances, nothing to write: time from exec to READY=1", "ms", [
        Way("hugepland", lambda: run([HUGEPLAND], is_daemon=True).wall_msec, GOALS[f"start-{instances}"]),
        Way("an empty dynamic C program", lambda: run(NOP).wall_msec),
    ], rounds)
    measure_start(report, instances)
    with child([HUGEPLAND], SOCKET) as daemon:
        time.sleep(SETTLED)
        report.compare(f"Gate, {instances} instances: time", "ms", [
            Way("hugeplanctl wait bench1", lambda: run([HUGEPLANCTL, "wait", "bench1"]).wall_msec,
                GOALS.get(f"gate-{instances}")),
            Way("an empty dynamic C program", lambda: run(NOP).wall_msec),
        ], rounds)
        report.compare(f"Status, {instances} instances: time", "ms", [
            Way("hugeplanctl status", status_msec),
            Way("an empty dynamic C program", lambda: run(NOP).wall_msec),
        ], rounds)
        report.table(f"An answer, {instances} instances: CPU in the daemon, ms", MEASURED, [
            report.row(name, [cost_in(daemon.pid, request) for _ in range(5)], goal=GOALS[f"{name}-{instances}"])
            for name, request in (("Describe", DESCRIBE), ("Wait", WAIT))], "5 rounds of 200 requests, one at a time")
    pool.reset()


def measure_start(report: Report, instances: int) -> None:
    """The same start once more, for what is no time."""
    costs = [run([HUGEPLAND], is_daemon=True) for _ in range(report.rounds(21))]
    rows = [report.row("CPU to READY=1 and the end, ms", [cost.cpu_msec for cost in costs]),
            report.row("peak of resident memory, KiB", [cost.rss_kib for cost in costs])]
    calls = Path("/run/bench-calls")
    try:
        run([find_program("strace", "strace"), "--daemonize=grandchild", "--follow-forks", "--quiet=all",
             "--string-limit=64", f"--output={calls}", HUGEPLAND], is_daemon=True)
        rows.append(report.row("system calls to READY=1", [calls_until_ready(calls)],
                               goal=GOALS["start-calls"] if instances == 300 else None))
    except Missing as missing:
        report.left_out("How many system calls a start takes", str(missing))
    report.table(f"Start, {instances} instances, nothing to write: what else it takes", MEASURED, rows,
                 f"{len(costs)} rounds; of system calls one")


def calls_until_ready(file: Path) -> int:
    """Of all threads. strace goes on writing for a moment, when what it traces has ended."""
    for _ in range(100):
        lines = file.read_text().splitlines()
        if lines and "exited with" in lines[-1]:
            break
        time.sleep(0.05)
    calls = [line for line in lines if re.match(r"\d+ +\w+\(", line)]
    return next(i for i, line in enumerate(calls, 1) if "READY=1" in line)


def cost_in(pid: int, request: str, n: int = 200) -> float:
    """ms of CPU that the daemon needs for an answer."""
    before = look_at(pid).cpu_msec
    for _ in range(n):
        ask(SOCKET, request)
    return (look_at(pid).cpu_msec - before) / n


@contextlib.contextmanager
def sleepers(n: int) -> Iterator[int]:
    processes = [subprocess.Popen(["sleep", "3600"]) for _ in range(n)]
    try:
        yield n
    finally:
        for process in processes:
            process.kill()
            process.wait()
