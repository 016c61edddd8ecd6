# SPDX-License-Identifier: LGPL-2.1-or-later
"""Idle, and memory

What it costs that the daemon stays. Of 672 KiB that were private (smaps) 248 were dirty, most of them heap (108), then libc
and loader, stacks, and its own relocations. 328 were the whole program text and 84 its constants: no other process maps the
file, and the kernel drops such pages when memory is short; gcc -Os saves a tenth of them. For 500 KiB the text would have to
be half as large. Another 1,828 KiB were shared pages of libc, loader and jansson. An empty program that is linked with
jansson has 112 KiB private; with these and the shared pages 2.2 MiB leave 313 KiB, which is less than the text. Where
systemd runs, libsystemd is loaded to query it, which adds some 180 KiB of dirty memory."""

from __future__ import annotations

import contextlib
import subprocess
import time

from goals import GOALS, Goal, number
from pools import find_pool
from report import Missing, Report
from running import (HELPERS, HUGEPLANCTL, HUGEPLAND, SOCKET, child, configure, find_program, look_at, run, write_file)

PEERS: tuple[tuple[str, list[str]], ...] = (("irqbalance", ["--foreground"]), ("earlyoom", ["--dryrun"]))


def measure(report: Report) -> None:
    pool = find_pool()
    seconds = 10 if report.is_quick else 60
    configure(10, 1, pool)
    reply = write_file("bench-idle-reply", "{}\0")
    commands = {"bare epoll": [str(HELPERS / "bench-server-epoll"), "/run/bench-idle", reply]}
    rows, missing = [], []
    for name, arguments in PEERS:
        try:
            commands[name] = [find_program(name, name), *arguments]
        except Missing as is_missing:
            report.missing.append(f"Idle: {name}: {is_missing}")
            missing.append([name, str(is_missing), "", "", "", ""])
    with contextlib.ExitStack() as stack:
        daemons = {"hugepland": stack.enter_context(child([HUGEPLAND], SOCKET))}
        for _ in range(3):
            run([HUGEPLANCTL, "status"])
        for name, command in commands.items():
            daemons[name] = stack.enter_context(child(command))
        time.sleep(3)
        before = {name: look_at(process.pid) for name, process in daemons.items() if is_alive(process)}
        time.sleep(seconds)
        after = {name: look_at(process.pid) for name, process in daemons.items() if is_alive(process)}
    for name, life in after.items():
        rows.append([name, number(life.switches - before[name].switches),
                     number(life.cpu_msec - before[name].cpu_msec), number(life.dirty_kib), number(life.private_kib),
                     number(life.rss_kib)])
    missing += [[name, "has ended at once", "", "", "", ""] for name in daemons if name not in after]
    report.table(f"Idle for {seconds} s, after a reservation and 3 requests", (
        "", "wakeups", "CPU, ms", "private and dirty, KiB", "private, KiB", "resident, KiB"), [*rows, *missing])
    ours, before_ours = after["hugepland"], before["hugepland"]
    report.table("Of these, of hugepland", ("", "measured", "wanted", "met"), [
        [what, number(value), *report.judge(goal, value)] for what, value, goal in (
            ("wakeups", ours.switches - before_ours.switches, Goal(0, "")),
            ("CPU, ms", ours.cpu_msec - before_ours.cpu_msec, Goal(0, "ms")),
            ("private and dirty, KiB", ours.dirty_kib, GOALS["memory-dirty"]),
            ("private, KiB", ours.private_kib, GOALS["memory-private"]),
            ("resident, MiB", ours.rss_kib / 1024, GOALS["memory-resident"]))])


def is_alive(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is None
