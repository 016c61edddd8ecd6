# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory is plugged and unplugged: a DIMM for a node that is too small, and a DIMM that is a new node, which is removed
again. Instances that wait for memory become ready without a reload, and a unit that is bound to the new node starts. If a
group, a mount or a node of a drop-in does not exist, the gate still runs and names it; also with numa=off."""

import re
from typing import Any

from databases import drop_in
from guestlib import *
from memory import pages_service
from scenario import Boot, Node, Scenario

SMALL, NEW = 1, 2
GROWN_PAGES, NEW_PAGES = 250, 100
POOL = 30 + 5 + 5  # of node 0
BOUND, MOUNTED = "/etc/hugeplan.d/30-new.conf", "/etc/hugeplan.d/40-mounted.conf"
DIMM_BYTES = 512 << 20
# With room for a busy host.
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
    check(f"node {NEW} " in instance("new")["reason"], "the reason of new names the node", instance("new"))

    gates_speak()
    output("systemctl start --no-block new.service")
    check(wait_for(gate_waits), "the gate of a unit that is bound to a node which does not exist waits")
    come("dimm-small")
    ready("grown", {SMALL: GROWN_PAGES})
    n_rereads = rereads()
    come("dimm-new")
    check(NEW in nodes(), "the second DIMM is a node of its own", nodes())
    ready("new", {NEW: NEW_PAGES})
    check(wait_for(lambda: unit("new.service") == "active", PATIENCE_SEC), "then its unit starts", told_by("new"))
    check_equal(unit("new.service", "NRestarts"), "0", "the unit has waited in its gate")
    check("NUMAPolicy=bind" in set_lines("new.service"), "systemd has read its policy", set_lines("new.service"))
    check_equal(rereads(), n_rereads + 1, "systemd has read its units again once")
    mapped = hugetlb_mappings(unit("new.service", "MainPID"))
    check_equal(used_nodes(mapped), {NEW}, "all its pages are on that node")
    output("systemctl stop new.service")
    check_equal(pool(0), POOL, "the pages of others are where they were")
    goes("dimm-new")


def gates_speak() -> None:
    """The group and the mount that drop-ins name do not exist."""
    check("SupplementaryGroups=hugetlb" in set_lines("sysv.service"), "a unit has its group", drop_in("sysv.service"))
    output("groupdel hugetlb")
    left_out = wait_for(lambda: "# Without SupplementaryGroups=hugetlb" in drop_in("sysv.service"))
    check(left_out, "after the group is deleted systemd reads its units again", drop_in("sysv.service"))
    check(sh("systemctl start sysv.service").returncode != 0, "without its group it does not start")
    named = gate_said("sysv", "there is no group 'hugetlb'") and gate_said("sysv", "systemd-sysusers")
    check(named, "its gate names the group and the remedy", told_by("sysv"))
    check_equal(unit("sysv.service", "LimitMEMLOCK"), "infinity", "it has its limit, which needs no group")
    output("systemd-sysusers")
    put_back = wait_for(lambda: "SupplementaryGroups=hugetlb" in set_lines("sysv.service"))
    check(put_back, "after the group is made systemd reads its units again", drop_in("sysv.service"))
    started = sh("systemctl start sysv.service")
    check(started.returncode == 0, "with its group it starts", said(started))
    made, group = sh("getent group hugetlb").stdout.split(":")[2:3], output("cat /proc/sys/vm/hugetlb_shm_group")
    check_equal([group], made, "the kernel has the group")
    check(sh("systemctl start mounted.service").returncode != 0, "without its mount it does not start")
    told = f"nothing is mounted at /srv/files (Mount= in {MOUNTED}:4)"
    check(gate_said("mounted", told), "its gate names the mount", told_by("mounted"))


def node_is_switched_off() -> None:
    """The kernel knows only node 0, and refuses a memory policy for another node."""
    done = sh("systemctl start new.service")
    check(done.returncode != 0, "numa=off: a unit that is bound to a node that does not exist does not start", said(done))
    check(gate_said("new", f"node {NEW} does not exist"), "numa=off: its gate names the node", told_by("new"))
    check(gate_said("new", f"{BOUND}:6"), "numa=off: its gate names file and line", told_by("new"))
    check(not any("NUMA_POLICY" in one for one in told_by("new")), "numa=off: the gate was run")


def rereads() -> int:
    return len(messages("_PID=1", "--grep=Reloading finished"))


def told_by(name: str) -> list[str]:
    return [entry["MESSAGE"] for entry in journal(f"--unit={name}.service")]


def gate_said(name: str, text: str) -> bool:
    return wait_for(lambda: any(text in one for one in told_by(name)), 10)


def gate_waits() -> bool:
    return unit("new.service", "SubState") == "start-pre" and "NUMAPolicy=" not in set_lines("new.service")


def set_lines(name: str) -> str:
    return "\n".join(line for line in drop_in(name).splitlines() if not line.startswith("#"))


def come(name: str) -> None:
    before = meminfo()["MemTotal"]
    ask_host(name)
    wait_for(lambda: meminfo()["MemTotal"] >= before + DIMM_BYTES, PATIENCE_SEC)
    check_equal(meminfo()["MemTotal"] - before, DIMM_BYTES, f"{name}: the memory is plugged")


def ready(name: str, placed: dict[int, int]) -> None:
    well = wait_for(lambda: instance(name)["verdict"] == "ready", PATIENCE_SEC)
    check(well, f"{name} becomes ready", instance(name))
    check_equal(instance_nodes(name), placed, f"{name} has its pages on its nodes")
    for node, pages in placed.items():
        # The unit starts as soon as the instance is ready, and there is a cover for others that may take its pages.
        agrees = wait_for(lambda: pool(node) == pages + status_pools(count="cover")[node])
        check(agrees, f"{name}: the kernel agrees on node {node}", pool(node))


def goes(name: str) -> None:
    ask_host("pull")
    if not wait_for(lambda: NEW not in nodes(), PATIENCE_SEC):
        skip("the pages of a removed node are lost", "this kernel does not release the DIMM")
        return
    noted = wait_for(lambda: instance("new")["verdict"] in ("lost", "refused"), PATIENCE_SEC)
    judged = instance("new")
    note(f"{judged['verdict']}: {judged['reason']}")
    check(noted, "an instance whose node is removed is no longer ready", judged)
    check(f"node {NEW}" in judged["reason"], "the reason names the node", judged)
    # The kernel removes the memory block by block, and then the node, while hugeplan adds pages for the cover. So the
    # counts of the message differ.
    lost = (
        rf"drift: node {NEW} (is gone, and with it|has \d+ pages of 2M instead of) \d+"
        rf"|node {NEW}: \d+ of \d+ pages of 2M could be reserved, the pool has"
    )
    told = wait_for(lambda: any(re.match(lost, text) for text in logged()), PATIENCE_SEC)
    check(told, "the log has the lost pages", logged())
    for other in ("here", "grown"):
        check_equal(instance(other)["verdict"], "ready", f"{other} is still ready")
    check_equal(pools(), {0: POOL, SMALL: GROWN_PAGES}, "the pages of the others are in the pools")
    gone = wait_for(lambda: "NUMAPolicy=" not in set_lines("new.service"), PATIENCE_SEC)
    check(gone, "without the node the unit has no policy", set_lines("new.service"))
    output("systemctl start --no-block new.service")
    check(wait_for(gate_waits), "its gate runs, and waits", told_by("new"))
    done = sh("hugeplanctl wait --timeout=2s new")
    check_equal(done.returncode, 75, "wait exits with 75 after its timeout")
    named = f"node {NEW} " in done.stderr and f"{BOUND}:6" in done.stderr
    check(named, "wait names node, file and line", said(done))
    output("systemctl stop new.service")
    check(not any("NUMA_POLICY" in one for one in told_by("new")), "no start has failed because of its policy", told_by("new"))


def logged() -> list[str]:
    return [entry["MESSAGE"] for entry in journal("--unit=hugeplan.service")]


SCENARIO = Scenario(
    suites=("trixie",),  # where the daemon has a /sys and a network of its own
    nodes=(Node("1G"), Node("512M"), Node(None, cpus=0)),
    hotplug="slots=4,maxmem=4G",
    files={
        "/etc/hugeplan.d/10-here.conf": "[Instance]\nPages=30\nNodes=0\n",
        "/etc/hugeplan.d/20-grown.conf": f"[Instance]\nPages={GROWN_PAGES}\nNodes={SMALL}\n",
        BOUND: (
            f"[Instance]\nUnit=new.service\nPages={NEW_PAGES}\nPlacement=bind\nWaitTimeout=95s\n"
            f"Nodes={NEW}\n"
        ),
        MOUNTED: ("[Instance]\nUnit=mounted.service\nPages=5\nMount=/srv/files owner=daemon\nNodes=0\n"),
        "/etc/hugeplan.d/50-sysv.conf": (
            "[Instance]\nUnit=sysv.service\nPages=5\nSharedMemory=sysv\nNodes=0\n"
        ),
        "/etc/systemd/system/new.service": pages_service(f"hold {NEW_PAGES}"),
        "/etc/systemd/system/mounted.service": "[Service]\nExecStart=/bin/sleep infinity\n",
        "/etc/systemd/system/sysv.service": "[Service]\nUser=daemon\nExecStart=/bin/sleep infinity\n",
        "/srv/files/precious": "x\n",
    },
    boots=(
        Boot(
            comes_and_goes,
            limit_sec=400,
            # Used at once, and so that it can be pulled again.
            kernel_args="memhp_default_state=online_movable",
            on_request={
                "dimm-small": plug("dimm-small", SMALL),
                "dimm-new": plug("dimm-new", NEW),
                "pull": pull("dimm-new"),
            },
        ),
        Boot(node_is_switched_off, kernel_args="numa=off"),
    ),
)
