# SPDX-License-Identifier: LGPL-2.1-or-later
"""Databases have not touched their pages yet, while the configuration and other instances change: files are edited,
removed and restored, other services start, restart and stop. After each step each process touches all pages that it has
reserved, and none is killed."""

from __future__ import annotations

from databases import charged, filling, postgresql, postgresql_files, postgresql_unit, psql
from guestlib import *
from memory import configure, pages_service
from scenario import Boot, Content, Node, Scenario

SHARED_BUFFERS = 256  # MiB
PAGES = 160  # PostgreSQL 15 and 17 ask for some 140
NEIGHBOUR = 90
TURNS = 8  # pages that a process without a memory policy may have more on one node than on the other
POSTGRESQL_IS = f"Engine=postgresql\nUnit={{unit}}\nPages={PAGES}\nNodes={{node}}\nPlacement=bind\n"


def settled(planned: dict[int, int], text: str) -> None:
    """hugeplan changes the pools after units have stopped; systemctl does not wait for that."""
    wait_for(lambda: pools() == planned, 20)
    check_equal(pools(), planned, text)


def restarted_beside_an_untouched() -> None:
    """A bound unit is restarted, beside one that may take pages on each node and has touched none."""
    sh(f"systemctl stop {postgresql()}")
    configure("20-pg", None)
    configure("30-idle", None)
    reloaded("no instances")
    check_equal(set(pools().values()), {0}, "all pages are given back")
    service("a", "reserve 200")
    service("b", "reserve 150")
    configure("30-a", "[Instance]\nUnit=a.service\nPages=200\n")
    reloaded("a is added")
    systemctl("start a.service", "a starts, bound to no node")
    configure("40-b", "[Instance]\nUnit=b.service\nPages=150\nNodes=1\nPlacement=bind\n")
    reloaded("b is added")
    for turn in ("start", "restart", "restart"):
        systemctl(f"{turn} b.service", f"b: {turn}")
        check(status()["host"]["verdict"] == "ready", f"b: {turn}: all instances are ready", status()["problems"])
    touch("a", 200)
    touch("b", 150)
    systemctl("restart a.service", "a is restarted")
    systemctl("restart b.service", "b is restarted")
    check(0 <= sum(pools().values()) - 350 <= TURNS, "a takes pages where they are granted", pools())
    touch("b", 150)
    touch("a", 200)
    sh("systemctl stop a.service b.service")
    settled({0: 100, 1: 250}, "a and b have stopped: the pools are the plan")


def removed_while_it_runs() -> None:
    """The unit of a removed instance keeps its pages, and they belong to the instance when it is added again."""
    configure("30-a", None)
    configure("40-b", None)
    service("first", "reserve 150")
    configure("30-first", "[Instance]\nUnit=first.service\nPages=200\n")
    reloaded("first is added")
    systemctl("start first.service", "first starts")
    configure("30-first", None)
    service("second", "hold 100")
    configure("40-second", "[Instance]\nUnit=second.service\nPages=100\n")
    told = reloaded("first is removed, second is added")
    check("first.service keeps" in told, "the reload names the unit that keeps pages", told)
    check("gave back" not in told, "the reload gives nothing back", told)
    check("pages-kept" in {one["id"] for one in status()["problems"]}, "status has the problem pages-kept", status())
    systemctl("start second.service", "second starts")
    touch("first", 150)
    before = pools()
    configure("30-first", "[Instance]\nUnit=first.service\nPages=200\n")
    reloaded("first is added again")
    check_equal(pools(), before, "its pages are not reserved again")
    sh("systemctl stop first.service second.service")
    settled({0: 150, 1: 150}, "first and second have stopped: the pools are the plan")


# Changes of PostgreSQL's file, and their undoing


def described(node: int = 1) -> str:
    return "[Instance]\n" + POSTGRESQL_IS.format(unit=postgresql(), node=node)


def moved() -> None:
    configure("20-pg", described(node=0))
    short = [one["reason"] for one in hugeplan("plan")["instances"] if one["reason"]]
    check_equal(short, [], "moved: plan has a node for each instance")
    reloaded("moved")
    kept = instance("pg")["untilRestart"]
    check(kept and kept["nodes"] == [{"node": 1, "pages": PAGES}],
          "moved: status shows the pages that it keeps until a restart", instance("pg"))


def removed() -> None:
    configure("20-pg", None)
    told = reloaded("removed")
    check(f"{postgresql()} keeps" in told, "removed: the reload names the unit that keeps its pages", told)


def released() -> None:
    done = sh("hugeplanctl release pg")
    check(done.returncode == 0 and f"{postgresql()} keeps" in done.stdout,
          "released: release names the unit that keeps its pages", said(done))


def put_back() -> None:
    configure("20-pg", described())
    reloaded("undone")


def restarted_it_moves() -> None:
    cold()
    moved()
    systemctl(f"restart {postgresql()}", "moved: PostgreSQL is restarted")
    check_equal(pools(), {0: PAGES + NEIGHBOUR // 2, 1: NEIGHBOUR // 2},
                "moved: the pools are the plan at once")
    touched("moved and restarted")
    check_equal(set(charged(postgresql()).used), {0}, "moved: all pages of PostgreSQL are on the other node")
    put_back()


# PostgreSQL


def filled() -> None:
    done = sh(psql(f"CREATE EXTENSION pg_prewarm; {filling(SHARED_BUFFERS)}"), timeout_sec=200)
    check(done.returncode == 0, "PostgreSQL has more data than buffers", said(done))


def cold() -> None:
    systemctl(f"restart {postgresql()}", "PostgreSQL is restarted")
    now = charged(postgresql())
    check(sum(now.used.values()) < 40 < 100 < now.promised,
          "PostgreSQL has touched few of its reserved pages", now)


def touched(when: str) -> None:
    done = sh(psql("SELECT pg_prewarm('big') > 0"), timeout_sec=120)
    check(done.stdout.strip() == "t", f"{when}: PostgreSQL touches all its buffers",
          said(done))
    now = charged(postgresql())
    check(now.promised < 20, f"{when}: PostgreSQL has hardly any reserved page left", now)
    killed = journal("-u", postgresql(), "--grep=signal 7|recovery mode")
    check(not killed, f"{when}: no process of PostgreSQL was killed", killed)


# Other services


def service(name: str, arguments: str) -> None:
    with open(f"/etc/systemd/system/{name}.service", "w") as file:
        file.write(pages_service(arguments))


def reloaded(what: str) -> str:
    sh("systemctl daemon-reload")
    return succeeds("hugeplanctl reload", f"{what}: reload", timeout_sec=120).stdout


def touch(name: str, pages: int) -> None:
    sh(f"systemctl kill --signal=SIGUSR1 {name}.service")
    done = wait_for(lambda: sum(charged(f"{name}.service").used.values()) == pages, 20)
    check(done, f"{name} touches all of its {pages} pages", charged(f"{name}.service"))
    check_equal(unit(f"{name}.service"), "active", f"{name} runs on")


def files(version: int) -> dict[str, Content]:
    text = POSTGRESQL_IS.format(unit=postgresql_unit(version), node=1)
    return {
        "/etc/hugeplan.d/20-pg.conf": f"[Instance]\n{text}",
        **postgresql_files(version, f"{SHARED_BUFFERS}MB"),
    }


def all_of_it() -> None:
    filled()
    # The random histories of tests/history have further changes.
    for change in (moved, removed, released):
        cold()
        change()
        sh("systemctl restart hugeplan.service")
        promised, free = charged(postgresql()).promised, pool(1, "free_hugepages")
        check(free >= promised, f"{change.__name__}: as many pages are free on its node as it has reserved",
              (free, promised))
        touched(change.__name__)
        put_back()
        check_equal(pools()[1] >= PAGES, True, f"{change.__name__}: undone, its pages are in the pool")
    restarted_it_moves()
    restarted_beside_an_untouched()
    removed_while_it_runs()
    findings = {(one["severity"], one["id"]) for one in hugeplan("status")["problems"]}
    check_equal(findings, set(), "at the end status has no problem")


SCENARIO = Scenario(
    nodes=(Node("1536M"), Node("1536M")),
    suites=("bookworm",),
    more_suites=("trixie",),
    files={"/etc/hugeplan.d/30-idle.conf": f"[Instance]\nUnit=idle.service\nPages={NEIGHBOUR}\n"},
    files_on={"bookworm": files(15), "trixie": files(17)},
    boots=(Boot(all_of_it, limit_sec=900),),
)
