# SPDX-License-Identifier: LGPL-2.1-or-later
"""NUMAPolicy= of the service manager binds each unit that sets none: node 0 gets all pages that such a unit may take."""

from guestlib import *
from memory import pages_service
from scenario import Boot, Node, Scenario

PAGES = 40


def run() -> None:
    check_equal(instance_nodes("plain"), {0: PAGES // 2, 1: PAGES // 2}, "the plan spreads the pages over both nodes")
    check_equal(unit("plain.service"), "active", "the unit runs")
    mapped = hugetlb_mappings(unit("plain.service", "MainPID"))
    if check_equal(len(mapped), 1, "its process maps huge pages"):
        check_equal(mapped[0].policy, "bind:0", "the process is bound to node 0")
        check_equal(mapped[0].node_pages, {0: PAGES}, "it has touched all of its pages there")
    found = messages("_COMM=hugepland")
    check(any("plain.service may use memory of node 0 only" in text for text in found), "the journal names the node", found)


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        "/etc/systemd/system.conf.d/numa.conf": "[Manager]\nNUMAPolicy=bind\nNUMAMask=0\n",
        "/etc/hugeplan.d/10-plain.conf": f"[Instance]\nPages={PAGES}\nUnit=plain.service\nPlacement=spread\n",
        "/etc/systemd/system/plain.service": pages_service(f"hold {PAGES}") + "[Install]\nWantedBy=multi-user.target\n",
    },
    enable=("plain.service",),
    boots=(Boot(run),),
)
