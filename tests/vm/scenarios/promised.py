# SPDX-License-Identifier: LGPL-2.1-or-later
"""Databases that have not touched their pages yet, while everything around them changes: files are
edited, taken away and put back, neighbours come, are restarted and go. After each step everybody
touches everything that he was promised, and lives."""

from __future__ import annotations

from collections.abc import Callable

from databases import charged, filling, postgresql, postgresql_files, postgresql_unit, psql
from guestlib import *
from memory import CONFIG, configure, pages_service, stop_pages
from scenario import Boot, Content, Node, Scenario

SHARED_BUFFERS = 256  # MiB
PAGES = 160  # PostgreSQL 15 and 17 ask for some 140
NEIGHBOUR = 90
TURNS = 8  # pages that who interleaves may have more on one node than on another
POSTGRESQL_IS = "Engine=postgresql\nUnit={unit}\nPages={pages}\nNodes={node}\nPlacement=bind\n"


def settled(planned: dict[int, int], text: str) -> None:
    """Pools follow when units have stopped; systemctl does not wait for that."""
    wait_for(lambda: pools() == planned, 20)
    check_equal(pools(), planned, text)


def restarted_beside_an_untouched() -> None:
    """Bound, beside one that may take pages anywhere and has taken none yet."""
    sh(f"systemctl stop {postgresql()}")
    configure("20-pg", None)
    configure("30-idle", None)
    reloaded(0, "without instances")
    check_equal(set(pools().values()), {0}, "no pages are left")
    service("a", "reserve 200")
    service("b", "reserve 150")
    configure("30-a", "[Instance]\nUnit=a.service\nPages=200\n")
    reloaded(0, "a comes")
    systemctl("start a.service", "a starts, confined to nothing")
    configure("40-b", "[Instance]\nUnit=b.service\nPages=150\nNodes=1\nPlacement=bind\n")
    reloaded(0, "b comes")
    for turn in ("start", "restart", "restart"):
        systemctl(f"{turn} b.service", f"b: {turn}")
        check(status()["host"]["verdict"] == "ready", f"b: {turn}: all is ready", status()["problems"])
    touch("a", 200)
    touch("b", 150)
    systemctl("restart a.service", "a is restarted")
    systemctl("restart b.service", "and b")
    # An odd mapping more or less: TURNS.
    check(0 <= sum(pools().values()) - 350 <= TURNS, "now a keeps to its own nodes", pools())
    touch("b", 150)
    touch("a", 200)
    sh("systemctl stop a.service b.service")
    settled({0: 100, 1: 250}, "both stopped: the pools are the plan")


def removed_while_it_runs() -> None:
    """What a removed instance runs with is sold to nobody, and is its own when it comes back."""
    configure("30-a", None)
    configure("40-b", None)
    service("first", "reserve 150")
    configure("30-first", "[Instance]\nUnit=first.service\nPages=200\n")
    reloaded(0, "first comes")
    systemctl("start first.service", "first starts")
    configure("30-first", None)
    service("second", "hold 100")
    configure("40-second", "[Instance]\nUnit=second.service\nPages=100\n")
    told = reloaded(0, "first is removed, second comes")
    check("first.service keeps" in told, "the reload says who keeps what", told)
    check("gave back" not in told, "and that nothing was given back", told)
    check("pages-kept" in {one["id"] for one in status()["problems"]}, "so does status", status())
    systemctl("start second.service", "second starts")
    touch("first", 150)
    before = pools()
    configure("30-first", "[Instance]\nUnit=first.service\nPages=200\n")
    reloaded(0, "first comes back")
    check_equal(pools(), before, "nothing is reserved a second time")
    sh("systemctl stop first.service second.service")
    settled({0: 150, 1: 150}, "both stopped: the pools are the plan")


def reload_is_a_transaction() -> None:
    before, stands = pools(), instance("first")
    configure("30-first", "[Instance]\nUnit=first.service\nPages=40000\n")
    done = sh("hugeplanctl reload")
    check_equal(done.returncode, 3, "a size that cannot be had: the reload exits 3")
    check("first" in done.stderr, "and names who would fall", said(done))
    check_equal(pools(), before, "it changes no pool")
    check_equal(instance("first")["pagesGranted"], stands["pagesGranted"], "and no grant")
    done = sh("systemctl reload hugeplan.service")
    check(done.returncode != 0, "systemctl reload fails, too", said(done))
    words = wait_for(lambda: logged("first is ready, and would no longer be allowed to start"))
    check(words, "with the same words in the journal")
    systemctl("start first.service", "first still starts")
    stop_pages("first")
    done = sh("hugeplanctl reload --force")
    check_equal(instance("first")["verdict"], "refused", "--force does it all the same")
    configure("30-first", "[Instance]\nUnit=first.service\nPages=200\n")
    reloaded(0, "mended")
    check_equal(pools(), before, "and all is as before")


# The changes: of PostgreSQL's own file, and back


def described(node: int = 1, pages: int = PAGES) -> str:
    return "[Instance]\n" + POSTGRESQL_IS.format(unit=postgresql(), pages=pages, node=node)


def moved() -> None:
    configure("20-pg", described(node=0))
    short = [one["reason"] for one in hugeplan("plan")["instances"] if one["reason"]]
    check_equal(short, [], "moved: plan says that it can be had")
    reloaded(0, "moved")
    kept = instance("pg")["untilRestart"]
    check(kept and kept["nodes"] == [{"node": 1, "pages": PAGES}],
          "moved: status says what it keeps until it is restarted", instance("pg"))


def shrunk() -> None:
    configure("20-pg", described(pages=145))
    reloaded(0, "shrunk")


def removed() -> None:
    configure("20-pg", None)
    told = reloaded(0, "removed")
    check(f"{postgresql()} keeps" in told, "removed: the reload says who keeps its pages", told)


def renamed() -> None:
    (CONFIG / "20-pg.conf").rename(CONFIG / "20-main.conf")
    told = reloaded(0, "renamed")
    check("gave back" not in told, "renamed: nothing is said to be given back", told)


def released() -> None:
    done = sh("hugeplanctl release pg")
    check(done.returncode == 0 and f"{postgresql()} keeps" in done.stdout,
          "released: it says who keeps its pages", said(done))


def put_back() -> None:
    if (CONFIG / "20-main.conf").exists():
        (CONFIG / "20-main.conf").unlink()
    configure("20-pg", described())
    reloaded(0, "undone")


CHANGES: tuple[tuple[Callable[[], None], Callable[[], None]], ...] = (
    (moved, put_back),
    (shrunk, put_back),
    (removed, put_back),
    (renamed, put_back),
    (released, put_back),
)


def name_of(change: Callable[[], None]) -> str:
    return change.__name__


def restarted_it_moves() -> None:
    cold()
    moved()
    systemctl(f"restart {postgresql()}", "moved: it is restarted")
    check_equal(pools(), {0: PAGES + NEIGHBOUR // 2, 1: NEIGHBOUR // 2},
                "moved: the pools are the plan at once")
    touched(restarted_it_moves)
    check_equal(set(charged(postgresql()).used), {0}, "moved: all its pages are on the other node")
    put_back()


# PostgreSQL


def filled() -> None:
    done = sh(psql(f"CREATE EXTENSION pg_prewarm; {filling(SHARED_BUFFERS)}"), timeout_sec=200)
    check(done.returncode == 0, "PostgreSQL has more data than buffers", said(done))


def cold() -> None:
    systemctl(f"restart {postgresql()}", "PostgreSQL is restarted")
    now = charged(postgresql())
    check(sum(now.used.values()) < 40 < 100 < now.promised,
          "and has touched few of the pages that it was promised", now)


def touched(change: Callable[[], None]) -> None:
    done = sh(psql("SELECT pg_prewarm('big') > 0"), timeout_sec=120)
    check(done.stdout.strip() == "t", f"{name_of(change)}: PostgreSQL touches all its buffers",
          said(done))
    now = charged(postgresql())
    check(now.promised < 20, f"{name_of(change)}: and is owed next to nothing", now)
    killed = journal("-u", postgresql(), "--grep=signal 7|recovery mode")
    check(not killed, f"{name_of(change)}: nobody was killed", killed)


# Other services


def service(name: str, arguments: str) -> None:
    with open(f"/etc/systemd/system/{name}.service", "w") as file:
        file.write(pages_service(arguments))


def reloaded(code: int, what: str) -> str:
    sh("systemctl daemon-reload")
    done = sh("hugeplanctl reload", timeout_sec=120)
    check(done.returncode == code, f"{what}: reload exits {code}", said(done))
    return done.stdout


def touch(name: str, pages: int) -> None:
    sh(f"systemctl kill --signal=SIGUSR1 {name}.service")
    done = wait_for(lambda: sum(charged(f"{name}.service").used.values()) == pages, 20)
    check(done, f"{name} touches all of its {pages} pages", charged(f"{name}.service"))
    check_equal(unit(f"{name}.service"), "active", f"{name} lives")


def logged(words: str) -> bool:
    return any(words in str(one.get("MESSAGE")) for one in journal("-u", "hugeplan.service"))


def files(version: int) -> dict[str, Content]:
    text = POSTGRESQL_IS.format(unit=postgresql_unit(version), pages=PAGES, node=1)
    return {
        "/etc/hugeplan.d/20-pg.conf": f"[Instance]\n{text}",
        **postgresql_files(version, f"{SHARED_BUFFERS}MB"),
    }


def all_of_it() -> None:
    # Changed while cold.
    filled()
    for change, undo in CHANGES:
        cold()
        change()
        sh("systemctl restart hugeplan.service")
        promised, free = charged(postgresql()).promised, pool(1, "free_hugepages")
        check(free >= promised, f"{name_of(change)}: what it was promised is free on its node",
              (free, promised))
        touched(change)
        undo()
        check_equal(pools()[1] >= PAGES, True, f"{name_of(change)}: undone, its pages stand")
    restarted_it_moves()
    restarted_beside_an_untouched()
    removed_while_it_runs()
    reload_is_a_transaction()
    findings = {(one["severity"], one["id"]) for one in hugeplan("status")["problems"]}
    check_equal(findings, set(), "in the end status has nothing else to say")


SCENARIO = Scenario(
    nodes=(Node("1536M"), Node("1536M")),
    suites=("bookworm",),
    more_suites=("trixie",),
    files={"/etc/hugeplan.d/30-idle.conf": f"[Instance]\nUnit=idle.service\nPages={NEIGHBOUR}\n"},
    files_on={"bookworm": files(15), "trixie": files(17)},
    boots=(Boot(all_of_it, limit_sec=900),),
)
