# SPDX-License-Identifier: LGPL-2.1-or-later
"""Huge pages count against MemoryMax=, as with cgroup2 as systemd mounts it from 259 on: nobody starts
into a limit of the unit or of a slice that is below its pages, for it would spin there for ever."""

import subprocess
from pathlib import Path

from guestlib import *
from memory import configure, pages_service, reload_all
from scenario import Boot, Node, Scenario

PAGES = 40  # 80M
UNIT = "limited.service"


def limits() -> None:
    planned("")
    service("hold", "MemoryMax=50M\n")
    done = start()
    check(done.returncode == 0, "where they do not count it starts", said(done))
    sh(f"systemctl stop {UNIT}")
    options = "nsdelegate,memory_recursiveprot,memory_hugetlb_accounting"
    succeeds(f"mount -o remount,{options} /sys/fs/cgroup", "this kernel counts huge pages where it is told to")

    check(start().returncode != 0, "MemoryMax= below its huge pages keeps a unit out")
    check(told(UNIT, "limited: refused: MemoryMax= of limited.service is 50M", "alone are 80M"),
          "by unit and figures")
    check("memory-max" in findings(), "check has it as well")
    service("hold", "Slice=small.slice\n")
    sh("systemctl set-property --runtime small.slice MemoryHigh=60M")
    check(start().returncode != 0, "MemoryHigh= of its slice, too")
    check(told(UNIT, "limited: refused: MemoryHigh= of small.slice is 60M"), "which is named")

    # Mapped, but not touched: whoever touches them spins.
    service("reserve", "Slice=small.slice\n")
    planned("Shortage=degrade\n")
    done = start()
    check(done.returncode == 0, "with Shortage=degrade it starts", said(done))
    check(told(UNIT, "limited: degraded: MemoryHigh= of small.slice is 60M"), "with a warning")
    sh(f"systemctl stop {UNIT}")
    sh("systemctl set-property --runtime small.slice MemoryHigh=200M")
    service("hold", "Slice=small.slice\n")
    planned("")
    done = start()
    check(done.returncode == 0, "with room for its pages it starts", said(done))
    check_equal(unit(UNIT), "active", "and holds them")
    limited_together()


def limited_together() -> None:
    """A limit with room for each of two is too low for both."""
    path = Path("/etc/systemd/system/second.service")
    path.write_text(pages_service(f"hold {PAGES}") + "Slice=small.slice\n")
    sh("systemctl set-property --runtime small.slice MemoryHigh=100M")
    configure("second", f"[Instance]\nUnit=second.service\nPages={PAGES}\n")
    reload_all()
    check(sh("systemctl start second.service").returncode != 0, "the second in a slice is kept out")
    text = "MemoryHigh= of small.slice is 100M, and the huge pages alone of"
    check(told("second.service", "second: refused:", text, "limited (80M)", "second (80M)"),
          "with both figures")
    sh(f"systemctl stop {UNIT}")
    systemctl("start second.service", "alone it starts")


def planned(more: str) -> None:
    configure("limited", f"[Instance]\nUnit={UNIT}\nPages={PAGES}\n{more}")
    reload_all()  # for its gate


def service(verb: str, more: str) -> None:
    path = Path(f"/etc/systemd/system/{UNIT}")
    path.write_text(pages_service(f"{verb} {PAGES}") + more)
    sh("systemctl daemon-reload")


def start() -> subprocess.CompletedProcess[str]:
    return sh(f"systemctl start {UNIT}", timeout_sec=120)


def findings() -> set[str]:
    return {one["id"] for one in hugeplan("check")["problems"]}


SCENARIO = Scenario(
    nodes=(Node("1G"),),
    suites=("trixie",),  # kernels can from 6.7 on
    files={"/etc/hugeplan.d/00-host.conf": "[Host]\n"},
    boots=(Boot(limits),),
)
