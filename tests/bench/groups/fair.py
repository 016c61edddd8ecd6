# SPDX-License-Identifier: LGPL-2.1-or-later
"""Beside floods

An honest user's gates, while others keep thousands of connections from eight users each. The floods run at a lower priority,
because this measures how the daemon divides itself, not how the kernel divides its CPUs."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from goals import number
from pools import find_pool
from report import Report
from running import (DESCRIBE, DESCRIPTORS, FIRST_UID, HELPERS, HONEST_UID, HUGEPLAND, MANY_FILES, SOCKET, WAIT,
                     as_user, child, configure, output_of)

USERS = 8


def measure(report: Report) -> None:
    pool = find_pool()
    clients = 2000 if report.is_quick else 10000
    gates = 200 if report.is_quick else 1000
    configure(10, 1, pool)
    floods: list[tuple[str, list[list[str]]]] = [
        ("alone", []),
        (f"beside {clients:,} silent clients of {USERS} users", [[]]),
        (f"beside {clients:,} that want the status all the time", [[DESCRIBE]]),
        (f"beside {clients:,} that wait all the time", [[WAIT]]),
        (f"beside {clients:,} silent ones and {clients:,} that want the status", [[], [DESCRIBE]]),
        (f"beside {clients:,} silent ones and {clients:,} that wait", [[], [WAIT]]),
    ]
    rows = []
    with child([*MANY_FILES, HUGEPLAND], SOCKET) as daemon:
        for name, requests in floods:
            with contextlib.ExitStack() as stack:
                for index, request in enumerate(requests):
                    stack.enter_context(flood(clients, FIRST_UID + USERS * index, request))
                half, last, n_refused = honest_gates(gates)
            await_quiet(daemon.pid)
            rows.append([name, number(half / 1000), number(last / 1000), f"{n_refused:.0f}"])
    report.table("Gates of an honest user, one after the other, a connection for each: time", (
        "", "p50 ms", "p99 ms", "cut off"), rows, f"{gates:,} gates each; the daemon may open {DESCRIPTORS:,} files")


@contextlib.contextmanager
def flood(clients: int, first_uid: int, request: list[str]) -> Iterator[None]:
    command = ["nice", "-n", "10", str(HELPERS / "bench-flood"), SOCKET, str(clients), str(first_uid), str(USERS),
               *request]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def await_quiet(pid: int) -> None:
    """Waits until the daemon has closed the connections of the last flood."""
    deadline = time.monotonic() + 60
    while len(list(Path(f"/proc/{pid}/fd").iterdir())) > 64 and time.monotonic() < deadline:
        time.sleep(0.1)


def honest_gates(n: int) -> tuple[float, float, float]:
    _, half, last, n_refused = output_of([*as_user(HONEST_UID), str(HELPERS / "bench-load"), "single", SOCKET, WAIT,
                                          "1", str(n)])
    return half, last, n_refused
