# SPDX-License-Identifier: LGPL-2.1-or-later
"""Services take huge pages by overcommit, before hugeplan starts and later. What is written to a pool first makes
those surplus pages persistent, and they are not free for anybody: what an instance got is what is free for it, not what
was written. A kernel before 6.7 adds surplus pages of node 1 to whatever is written to node 0: they are made ordinary
pages of the pool first, for as long as the other has them; then each pool gets the count that is planned, upwards and
downwards."""

from pathlib import Path

from guestlib import *
from memory import configure, pages_service, reload, reload_all, start_pages, stop_pages
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
# All that one of the others has. It may run for the instance of node 0, which is not to have less while it does: what
# it has beyond that were another's from then on, and the instance of node 1 were to have as much anew.
LOWEST = sum(STANDING.values())


def free_for_it() -> None:
    check_equal(instance("a")["verdict"], "ready", "a is ready")
    free = sum(pools("free_hugepages").values())
    check(free >= WANTED, "and so many pages are free", (free, pools(), pools("surplus_hugepages")))
    systemctl("start a.service", "a starts, and touches all of them")
    check_equal(unit("early.service"), "active", "who was there before runs on")
    refusals_stay_in_sight()
    sh("systemctl stop a.service")
    stop_pages("early")
    reload()
    check_equal(sum(pools().values()), WANTED, "when the other has left, the pools are the plan")
    configure("20-a", None)
    exactly_as_planned()


def refusals_stay_in_sight() -> None:
    """Of a gate that could not let its unit start, until it can."""
    configure("30-b", "[Instance]\nUnit=b.service\nPages=60000\n")
    reload_all()
    done = sh("systemctl start b.service", timeout_sec=100)
    check(done.returncode != 0, "b, which cannot be served, does not start")
    check_equal(instance("b")["verdict"], "refused", "status says so")
    told = [one["id"] for one in status()["problems"] if "b" in one["text"].split()]
    check(told, "and why", status()["problems"])
    sh("systemctl restart hugeplan-check.service")
    shown = wait_for(lambda: "hugeplan-check.service" in failed_units())
    check(shown, "hugeplan-check.service fails for it")
    configure("30-b", None)
    reload_all()
    sh("systemctl restart hugeplan-check.service")
    check("hugeplan-check.service" not in failed_units(), "until it is taken away")


def exactly_as_planned() -> None:
    if not output("uname -r").startswith("6.1."):
        skip("a kernel that miscounts is told the right counts", "this one does not")
        return
    # Surplus on node 1.
    placed(STANDING, "without surplus")
    OVERCOMMIT.write_text(f"{SURPLUS}\n")
    start_pages("first", f"hold {sum(STANDING.values())}")
    # What is beyond the pool comes from the node whose CPU asks for it.
    start_pages("beyond", f"hold {SURPLUS} 2048 1", "CPUAffinity=1")
    check_equal(pools("surplus_hugepages"), {0: 0, 1: SURPLUS}, "another has surplus pages")
    for pages, how in {
        15: "a little more",
        100: "much more",
        60: "less, by as much as the surplus",
        LOWEST: "less than the surplus",
    }.items():
        placed({**STANDING, 0: pages}, f"node 0, {how}", {1: SURPLUS})
    check_equal(pools("surplus_hugepages"), {0: 0, 1: 0}, "what the other has are ordinary pages")
    placed({0: LOWEST, 1: STANDING[1] + SURPLUS // 2}, "node 1 itself", {1: SURPLUS})
    check_equal(pool(1, "free_hugepages"), SURPLUS // 2, "and what was planned beside it is free")
    placed({0: 60, 1: 80}, "both nodes at once", {1: SURPLUS})
    for name in ("first", "beyond"):
        stop_pages(name)
    placed(STANDING, "the others have left")
    check_equal(pools(), STANDING, "and there is nothing but the plan")
    check_equal(pools("free_hugepages"), STANDING, "all of it free")


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
        "/etc/systemd/system/b.service": pages_service("hold 1"),
    },
    enable=("early.service",),
    boots=(Boot(free_for_it, limit_sec=200),),
)
