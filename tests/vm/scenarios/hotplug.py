# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory comes and goes: a DIMM for a node that is too small, one that makes a node of its own, and
that one is pulled again. Instances that wait for memory become ready by themselves."""

import re
from typing import Any

from guestlib import (
    ask_host,
    check,
    check_equal,
    instance,
    instance_nodes,
    journal,
    meminfo,
    nodes,
    note,
    pool,
    pools,
    skip,
    wait_for,
)
from scenario import Boot, Node, Scenario

SMALL, NEW = 1, 2
GROWN_PAGES, NEW_PAGES = 250, 100
DIMM_BYTES = 512 << 20
# A busy host takes its time.
PATIENCE_SEC = 60


def plug(name: str, node: int) -> Any:
    def by_monitor(guest: Any) -> None:
        memory = {"qom-type": "memory-backend-ram", "id": f"{name}-memory"}
        guest.qmp("object-add", **memory, size=DIMM_BYTES, reserve=False)
        guest.qmp("device_add", driver="pc-dimm", id=name, memdev=f"{name}-memory", node=node)

    return by_monitor


def pull(name: str) -> Any:
    return lambda guest: guest.qmp("device_del", id=name)


def comes_and_goes() -> None:
    check_equal(instance("here")["verdict"], "ready", "an instance on the first node is ready")
    for name, reason in (("grown", "not-enough-memory"), ("new", "node-absent")):
        judged = instance(name)
        found = (judged["verdict"], judged["reasonId"])
        check_equal(found, ("refused", reason), f"{name} is refused: {reason}")
    check(f"node {NEW} " in instance("new")["reason"], "new is told which node", instance("new"))

    come("dimm-small")
    ready("grown", {SMALL: GROWN_PAGES})
    come("dimm-new")
    check(NEW in nodes(), "the second DIMM is a node of its own", nodes())
    ready("new", {NEW: NEW_PAGES})
    check_equal(pool(0), 30, "and nobody else's pages have moved")
    goes("dimm-new")


def come(name: str) -> None:
    before = meminfo()["MemTotal"]
    ask_host(name)
    wait_for(lambda: meminfo()["MemTotal"] >= before + DIMM_BYTES, PATIENCE_SEC)
    check_equal(meminfo()["MemTotal"] - before, DIMM_BYTES, f"{name}: the memory is there")


def ready(name: str, placed: dict[int, int]) -> None:
    well = wait_for(lambda: instance(name)["verdict"] == "ready", PATIENCE_SEC)
    check(well, f"{name} becomes ready by itself", instance(name))
    check_equal(instance_nodes(name), placed, f"{name} has its pages there")
    for node, pages in placed.items():
        check_equal(pool(node), pages, f"{name}: the kernel agrees on node {node}")


def goes(name: str) -> None:
    ask_host("pull")
    if not wait_for(lambda: NEW not in nodes(), PATIENCE_SEC):
        skip("what is pulled is marked as lost", "this kernel does not let the DIMM go")
        return
    noted = wait_for(lambda: instance("new")["verdict"] in ("lost", "refused"), PATIENCE_SEC)
    judged = instance("new")
    note(f"{judged['verdict']}: {judged['reason']}")
    check(noted, "an instance whose node is pulled is no longer ready", judged)
    check(f"node {NEW}" in judged["reason"], "and told which node", judged)
    # Block by block, then the node; how much of that one look sees differs.
    lost = rf"drift: node {NEW} has (gone|\d+ pages of 2M instead of {NEW_PAGES})"
    told = wait_for(lambda: any(re.match(lost, text) for text in logged()), PATIENCE_SEC)
    check(told, "the log says what is lost", logged())
    for other in ("here", "grown"):
        check_equal(instance(other)["verdict"], "ready", f"{other} is ready still")
    check_equal(pools(), {0: 30, SMALL: GROWN_PAGES}, "and the others' pages stand")


def logged() -> list[str]:
    return [entry["MESSAGE"] for entry in journal("--unit=hugeplan.service")]


SCENARIO = Scenario(
    suites=("trixie",),  # where the daemon has a /sys and a network of its own
    nodes=(Node("1G"), Node("512M"), Node(None, cpus=0)),
    hotplug="slots=4,maxmem=4G",
    files={
        "/etc/hugeplan.d/10-here.conf": "[Instance]\nPages=30\nNodes=0\n",
        "/etc/hugeplan.d/20-grown.conf": f"[Instance]\nPages={GROWN_PAGES}\nNodes={SMALL}\n",
        "/etc/hugeplan.d/30-new.conf": f"[Instance]\nPages={NEW_PAGES}\nNodes={NEW}\n",
    },
    boots=(
        Boot(
            comes_and_goes,
            # Used at once, and so that it can be pulled again.
            kernel_args="init_on_alloc=0 memhp_default_state=online_movable",
            on_request={
                "dimm-small": plug("dimm-small", SMALL),
                "dimm-new": plug("dimm-new", NEW),
                "pull": pull("dimm-new"),
            },
        ),
    ),
)
