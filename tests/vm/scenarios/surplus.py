# SPDX-License-Identifier: LGPL-2.1-or-later
"""Another has pages beyond the pool of node 1, as nr_overcommit_hugepages lets it: surplus ones, that
a kernel before 6.7 adds to whatever is written to node 0. They are made ordinary pages of the pool
first, for as long as the other has them; then each pool gets the count that is planned, upwards and
downwards."""

from pathlib import Path

from guestlib import *
from memory import configure, reload, start_pages, stop_pages
from scenario import Boot, Node, Scenario

OVERCOMMIT = Path("/proc/sys/vm/nr_overcommit_hugepages")
STANDING = {0: 10, 1: 16}
SURPLUS = 40
# All that one of the others has. It may run for the instance of node 0, which is not to have less while it does: what
# it has beyond that were another's from then on, and the instance of node 1 were to have as much anew.
LOWEST = sum(STANDING.values())


def exactly_as_planned() -> None:
    # Surplus on node 1.
    check(output("uname -r").startswith("6.1."), "the kernel is one that miscounts")
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
    files={"/etc/hugeplan.d/00-host.conf": "[Host]\n"},
    boots=(Boot(exactly_as_planned),),
)
