# SPDX-License-Identifier: LGPL-2.1-or-later
"""The socket

The daemon's server alone, with one reply for every request, and the daemon itself, which looks at the host before it
answers; beside them bare epoll, which reads a request, understands nothing of it and sends the same bytes. Clients run on
the same processors. On kept connections two system calls are left, as for bare epoll. A request is parsed unless it has the
same bytes as the one before: parsing takes five times as many instructions as everything else.

Informing a subscriber takes one send(2) of a text that is made once, and 1,300 instructions; nothing else is done from the
first to the last. But the subscribers sleep while the daemon reloads, and bare epoll does not let them: with 3 ms of work
before it sends it takes as long as hugepland (each 1.11 of bare epoll at real-time priority), which is the limit."""

from __future__ import annotations

import contextlib
import statistics
from pathlib import Path

from goals import GOALS, number, times
from pools import find_pool
from report import Report, Way, median_ratio
from running import DESCRIBE, GET_INFO, HELPERS, HUGEPLAND, RELOAD, SOCKET, ask, child, configure, output_of

CLIENTS = (1, 64, 1000)
OF_DAEMON = 200  # clients of one user; the groups fair and scale have more, of several users
SUBSCRIBE = '{"method":"org.hugeplan.Manager.Describe","more":true}'
COLUMNS = ("", "clients", "server alone", "of bare epoll", "wanted", "met", "hugepland", "of bare epoll")
KINDS = (("single", "a connection for each request"), ("keep", "connections kept"))


def measure(report: Report) -> None:
    pool = find_pool()
    configure(10, 1, pool)
    with contextlib.ExitStack() as stack:
        stack.enter_context(child([HUGEPLAND], SOCKET))
        files = {"small": Path("/run/bench-info"), "large": Path("/run/bench-reply")}
        files["small"].write_bytes(ask(SOCKET, GET_INFO))
        files["large"].write_bytes(ask(SOCKET, DESCRIBE))
        servers = {}
        for name in "varlink", "epoll":
            for size, file in files.items():
                path = servers[name, size] = f"/run/bench-{name}-{size}"
                reply = files["large"] if name == "varlink" else file  # the server makes the small reply itself
                stack.enter_context(child([str(HELPERS / f"bench-server-{name}"), path, str(reply)], path))
        rows = []
        for kind, how in KINDS:
            for size, request in ("small", GET_INFO), ("large", DESCRIBE):
                for clients in CLIENTS:
                    found = rates(report, kind, request, clients, {
                        "epoll": servers["epoll", size], "server": servers["varlink", size],
                        **({"daemon": SOCKET} if clients <= OF_DAEMON else {})})
                    rows.append([f"{files[size].stat().st_size:,} bytes, {how}", f"{clients:,}",
                                 *compared(report, found, "server", f"clients-{size}-{kind}" if clients == 1000 else ""),
                                 *(compared(report, found, "daemon")[:2] if "daemon" in found else ["", ""])])
        report.table("Answers a second", COLUMNS, rows, f"{3 if report.is_quick else 7} rounds")
        report.compare("64 subscribers informed of a change: from the first to the last", "us", [
            Way("hugepland", lambda: spread(SOCKET)),
            Way("bare epoll", lambda: spread(servers["epoll", "large"]), GOALS["subscribers"]),
        ], report.rounds(21))


def spread(path: str) -> float:
    return output_of([str(HELPERS / "bench-load"), "spread", path, SUBSCRIBE, "64", RELOAD])[0]


def rates(report: Report, kind: str, request: str, clients: int, servers: dict[str, str]) -> dict[str, list[float]]:
    rounds, requests = (3, 2000) if report.is_quick else (7, 5000)
    found: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(rounds):
        for name, path in servers.items():
            found[name].append(output_of([str(HELPERS / "bench-load"), kind, path, request, str(clients),
                                          str(max(requests, 10 * clients))])[0])
    return found


def compared(report: Report, found: dict[str, list[float]], name: str, goal: str = "") -> list[str]:
    """The rate, its ratio to bare epoll's, and the texts of goal and verdict."""
    ratio = median_ratio(found[name], found["epoll"])
    return [number(statistics.median(found[name])), times(ratio), *(report.reach(goal, ratio) if goal else ("", ""))]
