# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two instances ask a hundred times what there is. Written to the kernel as it stands, that kills
the host; here one is refused, the other takes what can be spared, and the host lives."""

from guestlib import (
    DEFAULT_PAGE_BYTES,
    check,
    check_equal,
    instance,
    journal,
    meminfo,
    nodes,
    pools,
    status_pools,
    unit,
)
from scenario import Boot, Node, Scenario

PAGES = 100_000
KEPT_FREE = 0.10  # KeepFree='s default

SERVICE = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"


def host_lives() -> None:
    for name, verdict, state in (
        ("too-big", "refused", "failed"),
        ("greedy", "degraded", "active"),
    ):
        judged = instance(name)
        check_equal(judged["verdict"], verdict, f"{name} is {verdict}")
        check(judged["reason"], f"{name} is told why", judged)
        check_equal(judged["pagesWanted"], PAGES, f"{name}'s preference is on record")
        check_equal(unit(f"{name}.service"), state, f"{name}'s unit is {state}")
    check_equal(unit("hugeplan.service"), "active", "hugeplan runs")
    check_equal(status_pools(), pools(), "status knows the kernel's pools")
    for node in nodes():
        reserved = pools()[node] * DEFAULT_PAGE_BYTES
        total = meminfo(node)["MemTotal"]
        check(reserved > 0.5 * total, f"node {node} gave what it could spare", (reserved, total))
        check(reserved <= (1 - KEPT_FREE) * total, f"node {node} kept some", (reserved, total))
    left = meminfo()
    enough = KEPT_FREE / 2 * left["MemTotal"]
    check(left["MemFree"] >= enough, "the host has memory left, now that it is up", left)
    killed = [entry["MESSAGE"] for entry in journal("--dmesg", "--grep=Out of memory|oom-kill")]
    check(not killed, "nobody was killed for memory", killed)


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        "/etc/hugeplan.d/10-too-big.conf": f"[Instance]\nUnit=too-big.service\nPages={PAGES}\n",
        "/etc/hugeplan.d/20-greedy.conf": (
            f"[Instance]\nUnit=greedy.service\nPages={PAGES}\nShortage=degrade\n"
        ),
        "/etc/systemd/system/too-big.service": SERVICE,
        "/etc/systemd/system/greedy.service": SERVICE,
    },
    enable=("too-big.service", "greedy.service"),
    boots=(Boot(host_lives),),
)
