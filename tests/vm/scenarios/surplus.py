# SPDX-License-Identifier: LGPL-2.1-or-later
"""Services take surplus pages by overcommit, before hugeplan starts and later. A write to a pool makes surplus pages
persistent first, and these are not free: an instance has the pages that are free for it, not the count that was written.
A kernel before 6.7 adds surplus pages of node 1 to a count that is written to node 0. hugeplan makes these pages
persistent first, as long as the other service has them; then each pool gets its planned count, growing or shrinking."""

from pathlib import Path

from guestlib import *
from memory import configure, pages_service, reload, start_pages, stop_pages
from scenario import Boot, Node, Scenario

TAKEN = 120
WANTED = 75

EARLY = f"""\
ExecStartPre=/bin/sh -c 'echo {TAKEN} >/proc/sys/vm/nr_overcommit_hugepages'
[Unit]
DefaultDependencies=no
Before=hugeplan.service
[Install]
WantedBy=sysinit.target
"""

OVERCOMMIT = Path("/proc/sys/vm/nr_overcommit_hugepages")
STANDING = {0: 10, 1: 16}
SURPLUS = 40
# The pages of the first other service. They may count for the instance of node 0, which therefore cannot have less while
# that service runs.
LOWEST = sum(STANDING.values())


def free_for_it() -> None:
    check_equal(instance("a")["verdict"], "ready", "a is ready")
    free = sum(pools("free_hugepages").values())
    check(free >= WANTED, "its pages are free", (free, pools(), pools("surplus_hugepages")))
    systemctl("start a.service", "a starts, and touches all its pages")
    check_equal(unit("early.service"), "active", "the service that started before runs on")
    sh("systemctl stop a.service")
    stop_pages("early")
    reload()
    check_equal(sum(pools().values()), WANTED, "after the other service has stopped, the pools are the plan")
    configure("20-a", None)
    exactly_as_planned()


def exactly_as_planned() -> None:
    if not output("uname -r").startswith("6.1."):
        skip("surplus pages of node 1 do not count for node 0", "the kernel is not older than 6.7")
        return
    placed(STANDING, "without surplus")
    OVERCOMMIT.write_text(f"{SURPLUS}\n")
    start_pages("first", f"hold {sum(STANDING.values())}")
    # The kernel takes surplus pages from the node of the CPU.
    start_pages("beyond", f"hold {SURPLUS} 2048 1", "CPUAffinity=1")
    check_equal(pools("surplus_hugepages"), {0: 0, 1: SURPLUS}, "another service has surplus pages")
    for pages, how in {
        15: "a little more",
        100: "much more",
        60: "less, by as much as the surplus",
        LOWEST: "less than the surplus",
    }.items():
        placed({**STANDING, 0: pages}, f"node 0, {how}", {1: SURPLUS})
    check_equal(pools("surplus_hugepages"), {0: 0, 1: 0}, "the pages of the other service are persistent")
    placed({0: LOWEST, 1: STANDING[1] + SURPLUS // 2}, "node 1 itself", {1: SURPLUS})
    check_equal(pool(1, "free_hugepages"), SURPLUS // 2, "the other planned pages are free")
    placed({0: 60, 1: 80}, "both nodes at once", {1: SURPLUS})
    for name in ("first", "beyond"):
        stop_pages(name)
    placed(STANDING, "the other services have stopped")
    check_equal(pools(), STANDING, "the pools are the plan")
    check_equal(pools("free_hugepages"), STANDING, "all pages are free")


def placed(planned: dict[int, int], how: str, others: dict[int, int] = {}) -> None:
    for node, pages in planned.items():
        configure(f"on{node}", f"[Instance]\nPages={pages}\nNodes={node}\n")
    reload()
    wanted = {node: pages + others.get(node, 0) for node, pages in planned.items()}
    check_equal(persistent(), wanted, f"{how}: each pool has what is planned")
    verdicts = [instance(f"on{node}")["verdict"] for node in planned]
    check_equal(verdicts, ["ready", "ready"], f"{how}: both instances are ready")


def persistent() -> dict[int, int]:
    surplus = pools("surplus_hugepages")
    return {node: count - surplus[node] for node, count in pools().items()}


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    suites=("bookworm",),
    more_suites=("trixie",),
    files={
        "/etc/hugeplan.d/20-a.conf": f"[Instance]\nUnit=a.service\nPages={WANTED}\n",
        "/etc/systemd/system/early.service": pages_service(f"hold {TAKEN}") + EARLY,
        "/etc/systemd/system/a.service": pages_service(f"hold {WANTED}"),
    },
    enable=("early.service",),
    boots=(Boot(free_for_it, limit_sec=200),),
)
