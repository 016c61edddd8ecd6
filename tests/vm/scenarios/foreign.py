# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pages and processes that hugeplan does not manage. Pages that existed before stay, and pages that other processes use
or have reserved are not taken away. If another process takes pages between the reservation and the start of a unit,
hugeplan adds pages or names that process."""

from pathlib import Path

from guestlib import *
from memory import configure, pages_service, reload, reload_all, start_pages, stop_pages
from scenario import Boot, Node, Scenario

FOUND = 50  # on each of two nodes, by the kernel command line
SQUATTED = 20  # of them, used by another process on node 0 before hugeplan starts

EARLY = """
[Unit]
DefaultDependencies=no
Before=hugeplan.service
[Install]
WantedBy=sysinit.target
"""


def beside_others() -> None:
    check_equal(pools(), {0: FOUND, 1: FOUND}, "hugeplan leaves existing pages where they are")
    check_equal(held(), {0: SQUATTED, 1: 0}, "another process uses some of them")
    service("first", "hold 45")
    planned("first", 45, 0)
    check_equal(pools()[0], SQUATTED + 45, "the pool grows by the pages that the other process uses")
    systemctl("start first.service", "its unit starts")
    check_equal(pools()[0], SQUATTED + 45, "the start adds no page")
    check_equal(held()[0], SQUATTED + 45, "both have their pages")
    gone("first")
    check_equal(held()[0], SQUATTED + 45, "removed while it runs, it keeps its pages")
    sh("systemctl stop first.service")
    reload()
    check_equal(pools(), {0: FOUND, 1: FOUND}, "stopped, the pools are as before")
    check_equal(held(), {0: SQUATTED, 1: 0}, "the other process has its pages")
    planned("second", 200, 1)
    check_equal(pools()[1], 200, "the pool grows for a larger instance")
    start_pages("promised", "reserve 180")
    gone("second")
    free = sum(pools("free_hugepages").values())
    check(free >= 180, "its removal takes no page that another process has reserved", pools())
    check(pools()[1] < 200, "its removal gives back the rest", pools())
    sh("systemctl kill --signal=SIGUSR1 promised.service")
    touched = wait_for(lambda: sum(held().values()) == SQUATTED + 180, 20)
    check(touched, "the other process gets all pages that it has reserved", (held(), pools()))
    check_equal(unit("promised.service"), "active", "the other process is not killed")
    stop_pages("promised")
    reload()
    check_equal(pools(), {0: FOUND, 1: FOUND}, "the pools are as they were at boot")
    stolen_pages_are_made_up_for()
    short_of_memory_the_thief_is_named()
    release_gives_back_its_own()


def held() -> dict[int, int]:
    free = pools("free_hugepages")
    return {node: count - free[node] for node, count in pools().items()}


def service(name: str, arguments: str) -> None:
    """A unit with a gate, not started."""
    with open(f"/etc/systemd/system/{name}.service", "w") as file:
        file.write(pages_service(arguments))


def planned(name: str, pages: int, node: int) -> None:
    configure(name, f"[Instance]\nUnit={name}.service\nPages={pages}\nNodes={node}\nPlacement=bind\n")
    reload_all()  # for its gate


def gone(name: str) -> None:
    configure(name, None)
    reload()


def stolen_pages_are_made_up_for() -> None:
    service("third", "hold 80")
    planned("third", 80, 1)
    check_equal(pools()[1], 80, "third's pages are reserved")
    start_pages("thief", "hold 30 2048 1")
    check_equal(pool(1, "free_hugepages"), 50, "another process takes some before its unit starts")
    systemctl("start third.service", "the unit starts")
    check_equal(pools()[1], 110, "the pool has grown by the pages that were taken")
    check_equal(instance("third")["verdict"], "ready", "third is ready")
    sh("systemctl stop third.service")
    stop_pages("thief")
    gone("third")
    check_equal(pools()[1], FOUND, "the added pages are given back, too")


def short_of_memory_the_thief_is_named() -> None:
    service("fourth", "hold 300")
    planned("fourth", 300, 1)
    start_pages("thief", "hold 200 2048 1")
    pid = unit("thief.service", "MainPID")
    done = sh("systemctl start fourth.service", timeout_sec=120)
    check(done.returncode != 0, "there is no memory for as many pages", pools())
    check_equal(unit("fourth.service"), "failed", "the gate keeps fourth from starting")
    told = [entry["MESSAGE"] for entry in journal("--unit=fourth.service", "_COMM=hugeplanctl")]
    check(any("others use 200 pages of 2M" in one for one in told), "the gate says how many pages others use", told)
    names = any("thief.service" in one and f"pid {pid}" in one for one in told)
    check(names, "the gate names the unit and the process", told)
    logged = [one["MESSAGE"] for one in journal("--unit=hugeplan.service")]
    check(any("fourth" in one for one in logged), "hugeplan's log names fourth", logged)
    of_fourth = [one["id"] for one in status()["problems"] if "fourth" in one["text"]]
    check("taken" in of_fourth, "status has the problem 'taken'", status())
    check_equal(pools()[1], 300, "the pages of fourth stay in the pool")
    stop_pages("thief")
    systemctl("start fourth.service", "without the other process it starts")
    killing = Path("/sys/fs/cgroup" + unit("fourth.service", "ControlGroup"), "hugetlb.2MB.max")
    check_equal(killing.read_text(), "max\n", "the limit at which the kernel kills is not set")
    sh("systemctl stop fourth.service")


def release_gives_back_its_own() -> None:
    service("fifth", "hold 61")
    planned("fifth", 60, 1)
    check(pool(1, "free_hugepages") > 61, "on its node pages of another instance are free", pools("free_hugepages"))
    check(sh("systemctl start fifth.service").returncode != 0, "a unit that takes more than its own pages does not start")
    check(told("fifth.service", "Cannot allocate memory"), "it gets ENOMEM", messages("-u", "fifth.service"))
    before = pools()
    succeeds("hugeplanctl release fourth", "release of fourth")
    check_equal(pools()[1], before[1] - 300, "release gives back its pages and no others")
    check_equal(instance("fifth")["verdict"], "ready", "fifth has its pages")
    check_equal(held(), {0: SQUATTED, 1: 0}, "the squatter has its pages")
    for name in ("fourth", "fifth"):
        configure(name, None)
    reload()
    check_equal(pools(), {0: FOUND, 1: FOUND}, "without instances the pools are as they were at boot")


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        "/etc/hugeplan.d/00-host.conf": "[Host]\n",
        "/etc/systemd/system/squatter.service": (
            pages_service(f"hold {SQUATTED} 2048 0") + EARLY
        ),
    },
    enable=("squatter.service",),
    boots=(Boot(beside_others, kernel_args=f"hugepages=0:{FOUND},1:{FOUND}"),),
)
