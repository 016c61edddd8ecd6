# SPDX-License-Identifier: LGPL-2.1-or-later
"""Units that call their gate themselves, for instances without Unit=. Then the daemon is killed at six points while it
applies a plan. Each time the next daemon fulfills that plan, and later gives back all of it: no page is counted twice."""

import os
import signal
import subprocess
import time
from pathlib import Path

from guestlib import *
from memory import configure, pages_service, pool_file, reload
from scenario import Boot, Node, Scenario

HANDMADE = 20  # pages of an instance without Unit=, on node 1
SMALL = 40  # pages of an instance whose unit uses all of them
BIG = 200
NODES = (0, 1)
ALONE = {node: SMALL // 2 for node in NODES}
TOGETHER = {node: (SMALL + BIG) // 2 for node in NODES}
KILLS = 6
LEDGER = Path("/run/hugeplan/ledger")


def handmade(name: str) -> str:
    return f"""\
[Unit]
After=hugeplan.service
[Install]
WantedBy=multi-user.target
{pages_service(f"hold {HANDMADE}")}
User=nobody
NUMAPolicy=bind
NUMAMask=1
ExecStartPre=/usr/bin/hugeplanctl wait {name}
"""


def gates_by_hand() -> None:
    check_equal(instance("handmade")["verdict"], "ready", "handmade is ready")
    check_equal(instance_nodes("handmade"), {1: HANDMADE}, "its pages are on node 1 only")
    check_equal(pools(), {0: ALONE[0], 1: ALONE[1] + HANDMADE}, "the kernel agrees")
    check_equal(unit("handmade.service"), "active", "its unit has passed its gate")
    mapped = hugetlb_mappings(unit("handmade.service", "MainPID"))
    if check_equal(len(mapped), 1, "its process maps huge pages"):
        check_equal(mapped[0].node_pages, {1: HANDMADE}, "all of them are on node 1")
        check_equal(mapped[0].policy, "bind:1", "the process is bound to node 1")
    check_equal(pools("free_hugepages")[1], 0, "no page is left over")
    check_equal(instance("short")["verdict"], "refused", "short is refused")
    check_equal(unit("short.service"), "failed", "the gate keeps its unit from starting")
    found = messages("_COMM=hugeplanctl", "--unit=short.service")
    check(any("short" in text for text in found), "the unit's own journal has the reason", found)
    check(not os.path.exists("/run/systemd/generator/handmade.service.d"), "the generator writes no drop-in")
    output("systemctl stop handmade.service")
    for name in ("10-handmade", "20-short"):
        configure(name, None)
    reload()
    converges()


def converges() -> None:
    user = unit("small.service", "MainPID")
    check_equal(pools(), ALONE, "the small instance has its pages")
    left = [killed_at(number) for number in range(KILLS)]
    note(f"pages left by the kills: {left}")
    whole, none = sum(TOGETHER.values()), sum(ALONE.values())
    check(len(set(left)) >= KILLS // 2, "the daemon is killed at different points", left)
    midway = [pages for pages in left if none < pages < whole]
    check(len(midway) >= KILLS // 2, "most of them while pages are added", left)
    check_equal(unit("small.service", "MainPID"), user, "the process of small is still the same")
    mapped = [one.size // DEFAULT_PAGE_BYTES for one in hugetlb_mappings(user)]
    check_equal(mapped, [SMALL], "that process has its pages")
    check_equal(unit("hugeplan.service"), "active", "hugeplan runs")


def killed_at(number: int) -> int:
    """Kills the daemon once that many sixths of the pages are in the pools; returns the pages in the pools then."""
    text = f"kill {number + 1}"
    configure("30-big", f"[Instance]\nPages={BIG}\n")
    pid, restarts = int(unit("hugeplan.service", "MainPID")), restarts_of()
    # The first time, as soon as the daemon has stored what it is about to do. One pool grows after the other.
    enough = sum(ALONE.values()) + BIG * number // KILLS
    with subprocess.Popen(["hugeplanctl", "reload"], stderr=subprocess.DEVNULL) as reloading:
        deadline = time.monotonic() + 30
        while not (("\ninstance big " in LEDGER.read_text()) and counted() >= enough) and time.monotonic() < deadline:
            pass
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not Path(f"/proc/{pid}").exists(), 10)
        left = counted()
        reloading.wait()
    restarted = wait_for(lambda: restarts_of() > restarts, 20)
    check(restarted, f"{text}: systemd starts it again", unit("hugeplan.service"))
    ready = wait_for(lambda: is_ready("big"), 40)
    check(ready, f"{text}: the plan is fulfilled by itself", status()["instances"])
    check_equal(pools(), TOGETHER, f"{text}: the pools are as planned, no page is added twice")
    check_equal(instance_nodes("big"), {node: BIG // 2 for node in NODES}, f"{text}: the instance has its pages on the same nodes")
    valid_ledger(text)
    configure("30-big", None)
    reload()
    check_equal(pools(), ALONE, f"{text}: the pages that were added for big are given back")
    return left


def counted() -> int:
    return sum(int(pool_file(node).read_text()) for node in NODES)


def restarts_of() -> int:
    return int(unit("hugeplan.service", "NRestarts"))


def is_ready(name: str) -> bool:
    if unit("hugeplan.service") != "active":
        return False
    return instance(name)["verdict"] == "ready"


def valid_ledger(text: str) -> None:
    head, *rows = (line.split() for line in LEDGER.read_text().splitlines())
    boot = output("cat /proc/sys/kernel/random/boot_id")
    check_equal(head[3], boot, f"{text}: the ledger is of this boot")
    found = {int(row[1]): int(row[3]) for row in rows if row[0] == "pool" and int(row[2]) == DEFAULT_PAGE_BYTES}
    check_equal(found, {node: 0 for node in NODES}, f"{text}: it attributes no page to others")
    granted = {
        row[1]: sum(int(node.partition(":")[2]) for node in row[5].split(","))
        for row in rows
        if row[0] == "instance"
    }
    check_equal(granted, {"big": BIG, "small": SMALL}, f"{text}: it has the pages of each instance")


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        "/etc/hugeplan.d/10-handmade.conf": f"[Instance]\nPages={HANDMADE}\nNodes=1\n",
        "/etc/hugeplan.d/20-short.conf": "[Instance]\nPages=4000\nNodes=1\n",
        "/etc/systemd/system/handmade.service": handmade("handmade"),
        "/etc/systemd/system/short.service": handmade("short"),
        "/etc/hugeplan.d/20-small.conf": f"[Instance]\nUnit=small.service\nPages={SMALL}\n",
        "/etc/systemd/system/small.service": (
            pages_service(f"hold {SMALL}") + "[Install]\nWantedBy=multi-user.target\n"
        ),
    },
    enable=("handmade.service", "short.service", "small.service"),
    # The kernel zeroes each page that it allocates, so that a write takes long enough to be interrupted.
    boots=(Boot(gates_by_hand, kernel_args="init_on_alloc=1", limit_sec=600),),
)
