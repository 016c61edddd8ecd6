# SPDX-License-Identifier: LGPL-2.1-or-later
"""Units that ask for their gate themselves: instances without Unit=, so without drop-ins."""

import os

from guestlib import *
from scenario import Boot, Node, Scenario

PAGES = 20
READY = "/run/handmade/ready"

MAP_HUGE_PAGES = f"""\
#!/usr/bin/python3
import mmap, os, time
MAP_HUGETLB = 0x40000
flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | MAP_HUGETLB
memory = mmap.mmap(-1, {PAGES * DEFAULT_PAGE_BYTES}, flags=flags)
for offset in range(0, len(memory), {DEFAULT_PAGE_BYTES}):
    memory[offset] = 1
open(os.environ["RUNTIME_DIRECTORY"] + "/ready", "w").close()
time.sleep(1e6)
"""


def service(instance_name: str) -> str:
    return f"""\
[Unit]
After=hugeplan.service

[Service]
User=nobody
NUMAPolicy=bind
NUMAMask=1
RuntimeDirectory={instance_name}
ExecStartPre=/usr/bin/hugeplanctl wait {instance_name}
ExecStart=/usr/local/bin/map-huge-pages

[Install]
WantedBy=multi-user.target
"""


def gate_by_hand() -> None:
    check_equal(instance("handmade")["verdict"], "ready", "handmade is ready")
    check_equal(instance_nodes("handmade"), {1: PAGES}, "its pages are on node 1 only")
    check_equal(pools(), {0: 0, 1: PAGES}, "the kernel agrees")
    check_equal(unit("handmade.service"), "active", "its unit got through the gate")
    check(wait_for(lambda: os.path.exists(READY)), "its process has touched its pages")
    mapped = hugetlb_mappings(unit("handmade.service", "MainPID"))
    if check_equal(len(mapped), 1, "its process maps huge pages"):
        check_equal(mapped[0].node_pages, {1: PAGES}, "all of them on node 1")
        check_equal(mapped[0].policy, "bind:1", "where it is bound")
    check_equal(pools("free_hugepages")[1], 0, "none is left over")

    check_equal(instance("short")["verdict"], "refused", "the neighbour is refused")
    check_equal(unit("short.service"), "failed", "and its own gate keeps it out")
    told = [entry["MESSAGE"] for entry in journal("_COMM=hugeplanctl", "--unit=short.service")]
    check(any("short" in text for text in told), "for a reason in its own journal", told)
    check(not os.path.exists("/run/systemd/generator/handmade.service.d"), "no drop-ins")


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        "/etc/hugeplan.d/10-handmade.conf": f"[Instance]\nPages={PAGES}\nNodes=1\n",
        "/etc/hugeplan.d/20-short.conf": "[Instance]\nPages=4000\nNodes=1\n",
        "/etc/systemd/system/handmade.service": service("handmade"),
        "/etc/systemd/system/short.service": service("short"),
        "/usr/local/bin/map-huge-pages": (0o755, MAP_HUGE_PAGES),
    },
    enable=("handmade.service", "short.service"),
    boots=(Boot(gate_by_hand, limit_sec=200),),
)
