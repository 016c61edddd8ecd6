# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon is killed at ten points of applying a plan. Each time the one that systemd starts in
its place ends where the first would have, and gives back all of it later: nothing is counted twice."""

import os
import signal
import subprocess
import time
from pathlib import Path

from guestlib import *
from memory import configure, pages_service, pool_file, reload
from scenario import Boot, Node, Scenario

SMALL = 40  # of an instance whose unit uses all its pages
BIG = 200
NODES = (0, 1)
ALONE = {node: SMALL // 2 for node in NODES}
TOGETHER = {node: (SMALL + BIG) // 2 for node in NODES}
KILLS = 10
LEDGER = Path("/run/hugeplan/ledger")


def converges() -> None:
    user = unit("small.service", "MainPID")
    check_equal(pools(), ALONE, "the small instance has its pages")
    left = [killed_at(number) for number in range(KILLS)]
    note(f"pages left by the kills: {left}")
    whole, none = sum(TOGETHER.values()), sum(ALONE.values())
    check(len(set(left)) >= KILLS // 2, "the kills fell at different points", left)
    midway = [pages for pages in left if none < pages < whole]
    check(len(midway) >= KILLS // 2, "most of them in the middle of it", left)
    check_equal(unit("small.service", "MainPID"), user, "the small one's process never noticed")
    mapped = [one.sizes["Size"] // DEFAULT_PAGE_BYTES for one in hugetlb_mappings(user)]
    check_equal(mapped, [SMALL], "and has its pages")
    check_equal(unit("hugeplan.service"), "active", "hugeplan runs")


def killed_at(number: int) -> int:
    """Kills the daemon when that many tenths of the pages stand; how many do then."""
    text = f"kill {number + 1}"
    configure("30-big", f"[Instance]\nPages={BIG}\n")
    pid, restarts = int(unit("hugeplan.service", "MainPID")), restarts_of()
    # The first time as soon as it has written down what it is about to do. A pool at a time grows.
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
    check_equal(pools(), TOGETHER, f"{text}: the pools are as planned, none is doubled")
    check_equal(instance_nodes("big"), {node: BIG // 2 for node in NODES}, f"{text}: as before")
    valid_ledger(text)
    configure("30-big", None)
    reload()
    check_equal(pools(), ALONE, f"{text}: all that was added for it goes with it")
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
    check_equal(found, {node: 0 for node in NODES}, f"{text}: it takes no page for another's")
    granted = {
        row[1]: sum(int(node.partition(":")[2]) for node in row[5].split(","))
        for row in rows
        if row[0] == "instance"
    }
    check_equal(granted, {"big": BIG, "small": SMALL}, f"{text}: it knows who has what")


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        "/etc/hugeplan.d/20-small.conf": f"[Instance]\nUnit=small.service\nPages={SMALL}\n",
        "/etc/systemd/system/small.service": (
            pages_service(f"hold {SMALL}") + "[Install]\nWantedBy=multi-user.target\n"
        ),
    },
    enable=("small.service",),
    # Each page is filled with zeros when it is allocated, so that a write takes long enough to be cut short.
    boots=(Boot(converges, kernel_args="init_on_alloc=1"),),
)
