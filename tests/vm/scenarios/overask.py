# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two instances ask a hundred times what there is. Written to the kernel as it stands, that kills
the host; here one is refused, the other takes what can be spared, and the host lives. What that one has
not mapped goes to a more important instance, and back to the host when others take its memory."""

import subprocess
import time
from pathlib import Path

from guestlib import (
    DEFAULT_PAGE_BYTES,
    check,
    check_equal,
    instance,
    journal,
    meminfo,
    nodes,
    note,
    pools,
    said,
    sh,
    status_pools,
    systemctl,
    unit,
    wait_for,
)
from scenario import Boot, Node, Scenario

PAGES = 100_000
SMALL = 60
KEPT_FREE = 0.10  # KeepFree='s default
EATER = "import time; taken = b'x' * (80 << 20); time.sleep(300)"

SERVICE = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"


def killed() -> list[str]:
    return [entry["MESSAGE"] for entry in journal("--dmesg", "--grep=Out of memory|oom-kill")]


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
    check(not killed(), "nobody was killed for memory", killed())
    more_important_comes()


def granted(name: str) -> int:
    return sum(node["pages"] for node in instance(name)["nodes"])


def more_important_comes() -> None:
    part = granted("greedy")
    Path("/etc/hugeplan.d/30-small.conf").write_text(
        f"[Instance]\nUnit=small.service\nPages={SMALL}\nPriority=90\n"
    )
    systemctl("daemon-reload")
    done = sh("hugeplanctl reload")
    check(done.returncode in (0, 3), "small is read", said(done))
    systemctl("start small.service", "small starts")
    check_equal(instance("small")["verdict"], "ready", "small has its pages")
    check(granted("greedy") < part, "greedy has fewer", (part, granted("greedy")))
    check_equal(unit("greedy.service"), "active", "greedy runs on")
    host_is_fed()


def host_is_fed() -> None:
    """Others take memory of what is left to the host: it has it back of what nobody has mapped."""
    before = sum(pools().values())
    eater = subprocess.Popen(["python3", "-c", EATER])
    began = time.monotonic()
    check(
        wait_for(lambda: sum(pools().values()) < before, 90),
        "pages are given back",
        (before, pools(), meminfo()),
    )
    note(f"{before - sum(pools().values())} pages after {time.monotonic() - began:.0f} s")
    check_equal(eater.poll(), None, "who took the memory has it")
    check_equal(instance("small")["verdict"], "ready", "small keeps its pages")
    eater.kill()
    check(not killed(), "nobody was killed for memory", killed())


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        "/etc/hugeplan.d/10-too-big.conf": f"[Instance]\nUnit=too-big.service\nPages={PAGES}\n",
        "/etc/hugeplan.d/20-greedy.conf": (
            f"[Instance]\nUnit=greedy.service\nPages={PAGES}\nShortage=degrade\n"
        ),
        "/etc/systemd/system/too-big.service": SERVICE,
        "/etc/systemd/system/greedy.service": SERVICE,
        "/etc/systemd/system/small.service": SERVICE,
    },
    enable=("too-big.service", "greedy.service"),
    boots=(Boot(host_lives),),
)
