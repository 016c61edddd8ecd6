# SPDX-License-Identifier: LGPL-2.1-or-later
"""The socket: the daemon, and its server alone, beside servers that only answer."""

from __future__ import annotations

import contextlib
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from goals import GOALS, Goal, number, plural, times
from pools import find_pool
from report import Report, Way, median_ratio
from running import DESCRIBE, GET_INFO, HELPERS, HUGEPLAND, RELOAD, SOCKET, ask, child, configure, output_of

# Of one user; more are tried on its server alone, and of several users in the groups fair and scale.
CLIENTS_OF_DAEMON = (1, 64, 200)
CLIENTS_OF_SERVER = (1, 64, 1000)
SUBSCRIBE = '{"method":"org.hugeplan.Manager.Describe","more":true}'
COLUMNS = ("", "a second", "least", "most", "p50 us", "p99 us", "hugeplan has", "wanted", "met")
KINDS = (("single", "a connection for each request"), ("keep", "connections kept"))


@dataclass
class Found:
    rates: list[float] = field(default_factory=list)
    halves: list[float] = field(default_factory=list)
    lasts: list[float] = field(default_factory=list)
    refused: float = 0


def measure(report: Report) -> None:
    pool = find_pool()
    configure(10, 1, pool)
    with contextlib.ExitStack() as stack:
        stack.enter_context(child([HUGEPLAND], SOCKET))
        files = {"small": Path("/run/bench-info"), "large": Path("/run/bench-reply")}
        files["small"].write_bytes(ask(SOCKET, GET_INFO))
        files["large"].write_bytes(ask(SOCKET, DESCRIBE))
        servers = {}
        for name in "varlink", "epoll", "event":
            for size, file in files.items():
                path = servers[name, size] = f"/run/bench-{name}-{size}"
                reply = files["large"] if name == "varlink" else file  # it makes the small one itself
                stack.enter_context(child([str(HELPERS / f"bench-server-{name}"), path, str(reply)], path))
        for kind, how in KINDS:
            for size, request in ("small", GET_INFO), ("large", DESCRIBE):
                for clients in CLIENTS_OF_SERVER:
                    compare_load(report, f"Its server alone, {files[size].stat().st_size:,} bytes, {how}", kind,
                                 clients, request,
                                 {"hugepland's server": servers["varlink", size],
                                  "bare epoll": servers["epoll", size], "plain sd-event": servers["event", size]},
                                 GOALS.get(f"clients-{size}-{kind}") if clients == 1000 else None)
            compare_load(report, f"hugepland, GetInfo, {how}", kind, 1, GET_INFO,
                         {"hugepland": SOCKET, "bare epoll": servers["epoll", "small"]})
            for clients in CLIENTS_OF_DAEMON:
                compare_load(report, f"hugepland, Describe, {how}", kind, clients, DESCRIBE,
                             {"hugepland": SOCKET, "bare epoll": servers["epoll", "large"]},
                             own=GOALS[f"describe-{clients}"] if kind == "keep" else None)
        report.compare("64 subscribers told of a change: from the first to the last", "us", [
            Way("hugepland", lambda: spread(SOCKET)),
            Way("hugepland's server alone", lambda: spread(servers["varlink", "large"])),
            Way("bare epoll", lambda: spread(servers["epoll", "large"]), Goal(1.5)),
        ], report.rounds(9))
    pool.reset()


def spread(path: str) -> float:
    return output_of([str(HELPERS / "bench-load"), "spread", path, SUBSCRIBE, "64", RELOAD])[0]


def compare_load(report: Report, what: str, kind: str, clients: int, request: str, servers: dict[str, str],
                 goal: Goal | None = None, own: Goal | None = None) -> None:
    """GOAL: of hugeplan's rate against bare epoll's. OWN: of its rate."""
    rounds, requests = (3, 2000) if report.is_quick else (7, 5000)
    found = {name: Found() for name in servers}
    for _ in range(rounds):
        for name, path in servers.items():
            rate, half, last, refused = output_of([str(HELPERS / "bench-load"), kind, path, request, str(clients),
                                                   str(max(requests, 10 * clients))])
            found[name].rates.append(rate)
            found[name].halves.append(half)
            found[name].lasts.append(last)
            found[name].refused += refused
    ours, rows = next(iter(servers)), []
    for name, each in found.items():
        rate = statistics.median(each.rates)
        relation, judged = "", report.judge(own, rate) if name == ours else ("", "")
        if name != ours:
            of_theirs = median_ratio(found[ours].rates, each.rates)
            relation = f"{times(of_theirs)} of its rate"
            if name == "bare epoll":
                judged = report.judge(goal, of_theirs)
        rows.append([name, number(rate), number(min(each.rates)), number(max(each.rates)),
                     number(statistics.median(each.halves)), number(statistics.median(each.lasts)), relation, *judged])
    refused = sum(each.refused for each in found.values())
    report.table(f"{what}, {plural(clients, 'client')}", COLUMNS, rows,
                 f"{rounds} rounds" + (f"; {refused:,.0f} connections were refused and made again" if refused else ""))
