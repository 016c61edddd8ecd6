# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reloads under a running PostgreSQL: others come, grow, shrink and go, a file breaks and is mended.
The pools never pass through a smaller count than before or after, and PostgreSQL does not notice."""

import json
import socket

from databases import check_postgresql, postgresql_files, postgresql_unit, psql
from guestlib import *
from memory import CONFIG, configure, watched_pools
from scenario import Boot, Node, Scenario

VERSION = 15
POSTGRESQL = postgresql_unit(VERSION)
SHARED_BUFFERS = 256  # MiB; PostgreSQL 15 asks for 140 pages
PAGES = 160
PLANNED = {0: 80, 1: 80}
SOCKET = "/run/hugeplan/org.hugeplan.Manager"

# What the neighbour is told to have, and the words by which the reload says what it did.
STEPS = (
    ("comes", 100, "other: added, 100 pages of 2M"),
    ("grows", 240, "other: grown from 100 to 240 pages of 2M"),
    ("shrinks", 60, "other: shrunk from 240 to 60 pages of 2M"),
    ("goes", 0, "other: removed, 60 pages of 2M"),
)


def undisturbed() -> None:
    check_postgresql(VERSION, SHARED_BUFFERS * MIB, set(PLANNED))
    before = postgresql()
    for what, pages, told in STEPS:
        reload_with(what, pages, told)
        check_equal(postgresql(), before, f"{what}: PostgreSQL has its process and its pages")
    breaks_and_is_mended()
    check_equal(postgresql(), before, "PostgreSQL has its process and its pages to the end")
    check_equal(sh(psql("SELECT count(*) FROM t")).stdout.strip(), "50000", "and its data")
    check_equal(instance_nodes("pg-main"), PLANNED, "and its plan has not moved")


def postgresql() -> tuple[str, list[tuple[int, int]]]:
    pid = unit(POSTGRESQL, "MainPID")
    return pid, [(one.start, one.sizes["Size"]) for one in hugetlb_mappings(pid)]


def other(pages: object) -> str:
    return f"[Instance]\nPages={pages}\n"


def reload_with(what: str, pages: int, told: str) -> None:
    configure("30-other", other(pages) if pages else None)
    before = pools()
    with watched_pools(PLANNED) as seen:
        done = sh("hugeplanctl reload")
    check(done.returncode == 0 and told in done.stdout.splitlines(), f"{what}: {told}", said(done))
    after = {node: count + pages // 2 for node, count in PLANNED.items()}
    check_equal(pools(), after, f"{what}: the pools are as planned")
    direct = {n: (min(before[n], after[n]), max(before[n], after[n])) for n in PLANNED}
    check_equal(seen, direct, f"{what}: they went there directly, never below or beyond")


def breaks_and_is_mended() -> None:
    reload_with("comes again", 100, "other: added, 100 pages of 2M")
    standing = pools()
    path = CONFIG / "30-other.conf"
    configure("30-other", other("many"))
    with watched_pools(PLANNED) as seen:
        done = sh("hugeplanctl reload")
        by_systemd = sh("systemctl reload hugeplan.service")
    place = f"{path}:2: Pages: "
    check(done.returncode == 1 and place in done.stderr, "broken: reload names the line", said(done))
    check(by_systemd.returncode != 0, "broken: systemctl reload fails, too", said(by_systemd))
    unmoved = {node: (count, count) for node, count in standing.items()}
    check_equal(seen, unmoved, "broken: no pool is touched")
    check_equal(instance("other")["verdict"], "ready", "broken: the plan of before stands")
    check_equal(unit("hugeplan.service"), "active", "broken: hugeplan runs on")
    reply = call("Reload")
    check_equal(reply.get("error"), "org.hugeplan.Manager.ConfigInvalid", "broken: the error's name")
    first = reply["parameters"]["problems"][0]
    check_equal((first["file"], first["line"]), (str(path), 2), "broken: the error has file and line")

    configure("30-other", other(120))
    done = sh("hugeplanctl reload")
    told = "other: grown from 100 to 120 pages of 2M"
    check(done.returncode == 0 and told in done.stdout, "mended: reload applies it", said(done))
    check_equal(pools(), {0: 140, 1: 140}, "mended: the pools follow")


def call(method: str) -> dict:
    """A Varlink call, as bookworm has no varlinkctl."""
    message = {"method": f"org.hugeplan.Manager.{method}", "parameters": {}}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(SOCKET)
        connection.sendall(json.dumps(message).encode() + b"\0")
        reply = b""
        while not reply.endswith(b"\0"):
            reply += connection.recv(65536)
    return json.loads(reply[:-1])


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        "/etc/hugeplan.d/20-pg-main.conf": (
            f"[Instance]\nEngine=postgresql\nUnit={POSTGRESQL}\nPages={PAGES}\n"
        ),
        **postgresql_files(VERSION, f"{SHARED_BUFFERS}MB"),
    },
    boots=(Boot(undisturbed),),
)
