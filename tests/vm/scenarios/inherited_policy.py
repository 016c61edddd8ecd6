# SPDX-License-Identifier: LGPL-2.1-or-later
"""A unit's processes are bound without NUMAPolicy= of the unit: by the service manager's own, or by numactl. The node that
they are bound to has all of their pages, also if system.slice may not use that node."""

from guestlib import *
from memory import pages_service
from scenario import Boot, Node, Scenario

BOUND_TO = {"plain": 0, "behind-numactl": 1}
PAGES_OF = {"plain": 40, "behind-numactl": 120}
STARTED_BY = {"plain": "", "behind-numactl": "/usr/bin/numactl --membind=1 "}


def run() -> None:
    found = messages("_COMM=hugepland")
    # This process is in system.slice, too.
    check("outside-cpuset" not in sh("hugeplanctl check").stdout, "check goes by the daemon's cpuset")
    for name, node in BOUND_TO.items():
        check_equal(unit(f"{name}.service"), "active", f"{name}: the unit runs")
        check_equal(instance(name)["verdict"], "ready", f"{name}: its instance is ready")
        mapped = hugetlb_mappings(unit(f"{name}.service", "MainPID"))
        if check_equal(len(mapped), 1, f"{name}: its process maps huge pages"):
            check_equal(mapped[0].policy, f"bind:{node}", f"{name}: the process is bound to node {node}")
            check_equal(mapped[0].node_pages, {node: PAGES_OF[name]}, f"{name}: it has touched all of its pages there")
        text = f"{name}.service may use memory of node {node} only"
        check(any(text in line for line in found), f"{name}: the journal names the node", found)


def files(name: str) -> dict[str, str]:
    return {
        f"/etc/hugeplan.d/{name}.conf": f"[Instance]\nPages={PAGES_OF[name]}\nUnit={name}.service\nPlacement=spread\n",
        f"/etc/systemd/system/{name}.service": (
            pages_service(f"hold {PAGES_OF[name]}").replace("ExecStart=", f"Slice=databases.slice\nExecStart={STARTED_BY[name]}")
            + "[Install]\nWantedBy=multi-user.target\n"
        ),
    }


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        "/etc/systemd/system/system.slice.d/nodes.conf": "[Slice]\nAllowedMemoryNodes=0\n",
        "/etc/systemd/system.conf.d/numa.conf": "[Manager]\nNUMAPolicy=bind\nNUMAMask=0\n",
        **files("plain"),
        **files("behind-numactl"),
    },
    enable=("plain.service", "behind-numactl.service"),
    boots=(Boot(run),),
)
