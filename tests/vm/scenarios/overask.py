# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two instances ask for a hundred times the pages that the host has. Written to the kernel, such a count leaves no
memory for the host. One instance is refused, the other gets what can be spared, and the host runs. Pages that the
other one has not mapped go to a more important instance, and back to the host when others need memory. Then the owner
of a database reports a size that is too large: hugeplan accepts it within bounds, in the next boot as well. At last
programs may allocate little more (vm.overcommit_memory=2)."""

import subprocess
import time
from pathlib import Path

from databases import LIAR, LIAR_TEXT
from guestlib import *
from memory import CONFIG, configure, reload_all
from scenario import Boot, Node, Scenario

PAGES = 100_000
SMALL = 60
KEPT_FREE = 0.10  # KeepFree='s default
EATER = "import time; taken = b'x' * ({} << 20); time.sleep(300)"
AUTO_SHARE = 0.95  # AutoMemory=, more than KeepFree= leaves, so that a size of that much is granted in part
BEYOND = 5000  # pages, of a host that has some 1,500
LEARNED = CONFIG / "20-liar.conf.d/90-learned.conf"
NEIGHBOUR = 120  # MiB, of each of two
COMMIT_LEFT = 150 * MIB
LEFT = 100 * MIB  # of MemAvailable, which is what is free less another 100 MiB that the kernel keeps for itself

SERVICE = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"


def killed() -> list[str]:
    return [entry["MESSAGE"] for entry in journal("--dmesg", "--grep=Out of memory|oom-kill")]


def host_lives() -> None:
    for name, verdict, state in (("too-big", "refused", "failed"), ("greedy", "degraded", "active")):
        judged = instance(name)
        check_equal(judged["verdict"], verdict, f"{name} is {verdict}")
        check(judged["reason"], f"{name} has a reason", judged)
        check_equal(judged["pagesWanted"], PAGES, f"{name}'s preference is on record")
        check_equal(unit(f"{name}.service"), state, f"{name}'s unit is {state}")
    check_equal(unit("hugeplan.service"), "active", "hugeplan runs")
    # Pages may be given back between the two reads.
    check(wait_for(lambda: status_pools() == pools()), "status has the kernel's counts", (status_pools(), pools()))
    for node in nodes():
        reserved = pools()[node] * DEFAULT_PAGE_BYTES
        total = meminfo(node)["MemTotal"]
        check(reserved > 0.5 * total, f"node {node}: more than half of the memory is reserved", (reserved, total))
        check(reserved <= (1 - KEPT_FREE) * total, f"node {node}: KeepFree= is not reserved", (reserved, total))
    left = meminfo()
    enough = KEPT_FREE / 2 * left["MemTotal"]
    check(left["MemFree"] >= enough, "the host has memory left after the boot", left)
    check(not killed(), "nobody was killed for memory", killed())
    # An instance with a higher priority is added.
    part = granted("greedy")
    configure("30-small", SMALL_CONFIG)
    systemctl("daemon-reload")
    done = sh("hugeplanctl reload")
    check(done.returncode in (0, 3), "small is read", said(done))
    systemctl("start small.service", "small starts")
    check_equal(instance("small")["verdict"], "ready", "small has its pages")
    check(granted("greedy") < part, "greedy has fewer", (part, granted("greedy")))
    check_equal(unit("greedy.service"), "active", "greedy runs on")
    host_is_fed()


def granted(name: str) -> int:
    return sum(node["pages"] for node in instance(name)["nodes"])


def host_is_fed() -> None:
    """Another process takes memory that is left to the host; hugeplan gives back pages that are not mapped."""
    before = sum(pools().values())
    eater = subprocess.Popen(["python3", "-c", EATER.format(80)])
    began = time.monotonic()
    check(
        wait_for(lambda: sum(pools().values()) < before, 90),
        "pages are given back",
        (before, pools(), meminfo()),
    )
    note(f"{before - sum(pools().values())} pages after {time.monotonic() - began:.0f} s")
    check_equal(eater.poll(), None, "the process that took the memory runs")
    check_equal(instance("small")["verdict"], "ready", "small keeps its pages")
    eater.kill()
    check(not killed(), "nobody was killed for memory", killed())
    output("systemctl disable --now too-big.service greedy.service small.service 2>/dev/null")
    for name in ("10-too-big", "20-greedy", "30-small"):
        configure(name, None)
    owner_reports_too_much()


# The owner reports a size that is too large


def bound_pages() -> dict[int, int]:
    """The pages of each node that all learned sizes together may have."""
    return {node: int(AUTO_SHARE * meminfo(node)["MemTotal"]) // DEFAULT_PAGE_BYTES for node in nodes()}


def says(pages: int) -> None:
    Path("/etc/liar").write_text(f"PAGES={pages}\n")


def kept() -> str:
    return LEARNED.read_text() if LEARNED.exists() else ""


def spare(node: int) -> int:
    """Memory that is free, or that the kernel can reclaim at once: page cache that is not mapped, and slab. "Mapped"
    includes shared memory, for instance of the journal, which may not be mapped; the page cache does not."""
    found = meminfo(node)
    mapped = max(found["Mapped"] - found["Shmem"], 0)
    return found["MemFree"] + max(found["Active(file)"] + found["Inactive(file)"] - mapped, 0) + found["SReclaimable"]


def check_host(when: str) -> None:
    # Page cache that comes and goes is noticed later, if it is less than a page.
    check(wait_for(lambda: all(spare(node) + DEFAULT_PAGE_BYTES >= KEPT_FREE * meminfo(node)["MemTotal"] for node in nodes()), 90),
          f"{when}: KeepFree= is held", (pools(), [meminfo(node) for node in nodes()]))
    check(meminfo()["MemAvailable"] >= LEFT, f"{when}: the host has memory left", meminfo())
    check(not killed(), f"{when}: nobody was killed for memory", killed())


def owner_reports_too_much() -> None:
    configure("00-host", f"[Host]\nAutoMemory={AUTO_SHARE:.0%}\n")
    configure("20-liar", LIAR_CONFIG)
    reload_all()
    says(BEYOND)
    systemctl("start liar.service", "a size larger than the host: the unit starts")
    check_equal((kept(), sum(pools().values())), ("", 0), "that size is not stored, and no page is reserved")
    check_equal(instance("liar")["reasonId"], "beyond-bound", "status has the reason")
    most = sum(bound_pages().values()) - 2
    says(most)
    systemctl("restart liar.service", "the largest size within the bound: the unit starts")
    check(wait_for(lambda: f"Pages=2M:{most}\n" in kept(), 10), "that size is stored", messages("-u", "hugeplan.service")[-10:])
    part = granted("liar")
    note(f"{part} of {most} pages, {meminfo()['MemAvailable'] // MIB} MiB left")
    check(sum(bound_pages().values()) / 2 < part < most, "the instance has the pages that can be spared", (part, most))
    check_host("false size")
    configure("30-small", SMALL_CONFIG)
    systemctl("daemon-reload")
    done = sh("hugeplanctl reload")
    check(done.returncode in (0, 3), "small is read", said(done))
    systemctl("start small.service", "small starts")
    check(granted("liar") < part, "the liar has fewer", (part, granted("liar")))
    check_small_and_neighbours("false size")


def check_small_and_neighbours(when: str) -> None:
    """The instance with a higher priority has its pages, and other services get memory."""
    check_equal((instance("small")["verdict"], granted("small")), ("ready", SMALL), f"{when}: small has its pages")
    check_host(when)
    for name in ("first", "second"):
        systemctl(f"start neighbour@{name}.service", f"{when}: a {name} service of {NEIGHBOUR} MiB starts")
    names = [f"neighbour@{name}.service" for name in ("first", "second")]
    check(wait_for(lambda: all(int(unit(name, "MemoryCurrent")) >= NEIGHBOUR * MIB for name in names), 60),
          f"{when}: both have their memory", [unit(name, "MemoryCurrent") for name in names])
    check_equal([unit(name) for name in names], ["active", "active"], f"{when}: and run")
    check_host(f"{when}, with neighbours")
    check_equal(instance("small")["verdict"], "ready", f"{when}: small keeps its pages")


def remembers_no_more_than_it_may() -> None:
    """The next boot reads the false size from disk, and the gate reports it again."""
    beyond = [node for node, most in bound_pages().items() if pools()[node] > most + SMALL]
    check_equal(beyond, [], "next boot: no node reserves more than its bound")
    check_equal(unit("liar.service"), "active", "next boot: the liar has started")
    check_equal(unit("small.service"), "active", "next boot: small has started")
    check_small_and_neighbours("next boot")
    keeps_commit_limit()


def keeps_commit_limit() -> None:
    """With vm.overcommit_memory=2 each page lowers what programs may allocate, of which little is left."""
    output("systemctl stop liar.service small.service neighbour@first.service neighbour@second.service")
    for name in ("00-host", "20-liar", "30-small"):
        configure(name, None)
    sh("hugeplanctl reload")
    output("sysctl -w vm.overcommit_memory=2 vm.overcommit_ratio=50")
    host = meminfo()
    allocated = host["CommitLimit"] - host["Committed_AS"] - COMMIT_LEFT
    output("systemd-run --unit=allocated python3 -c 'import mmap, signal; "
           f"memory = mmap.mmap(-1, {allocated}, flags=mmap.MAP_PRIVATE); signal.pause()'")
    check(wait_for(lambda: meminfo()["Committed_AS"] > host["Committed_AS"] + allocated),
          "CommitLimit: a program has allocated most of it", meminfo())
    configure("30-large", f"[Instance]\nPages={2 * COMMIT_LEFT // DEFAULT_PAGE_BYTES + 10}\n")
    sh("hugeplanctl reload")
    host = meminfo()
    check(host["Committed_AS"] < host["CommitLimit"], "CommitLimit: programs may allocate more", host)
    judged = instance("large")
    check("CommitLimit" in judged.get("reason", ""), "CommitLimit: the instance is refused for it", judged)
    output("systemctl stop allocated.service")
    sh("hugeplanctl reload")
    check_equal(instance("large")["verdict"], "ready", "CommitLimit: once the program has ended, the instance is ready")
    check("[commit-limit]" in sh("hugeplanctl check").stdout, "CommitLimit: check has a warning")


LIAR_CONFIG = "[Instance]\nEngine=mariadb\nUnit=liar.service\nMemory=auto\nPriority=50\nShortage=degrade\n"
SMALL_CONFIG = f"[Instance]\nUnit=small.service\nPages={SMALL}\nPriority=90\n"

SCENARIO = Scenario(
    nodes=(Node("1536M"), Node("1536M")),
    files={
        "/etc/hugeplan.d/10-too-big.conf": f"[Instance]\nUnit=too-big.service\nPages={PAGES}\n",
        "/etc/hugeplan.d/20-greedy.conf": (
            f"[Instance]\nUnit=greedy.service\nPages={PAGES}\nShortage=degrade\n"
        ),
        "/etc/systemd/system/too-big.service": SERVICE,
        "/etc/systemd/system/greedy.service": SERVICE,
        "/etc/systemd/system/small.service": SERVICE,
        str(LIAR): LIAR_TEXT,
        "/etc/systemd/system/liar.service": SERVICE.replace(
            "[Service]\n", "[Service]\nUser=daemon\nEnvironmentFile=/etc/liar\n"
            f"ExecStartPre=-/usr/bin/python3 {LIAR} liar $PAGES 1\n"),
        "/etc/systemd/system/neighbour@.service": (
            f"[Service]\nExecStart=/usr/bin/python3 -c \"{EATER.format(NEIGHBOUR)}\"\n"),
    },
    enable=("too-big.service", "greedy.service"),
    boots=(
        Boot(host_lives, limit_sec=900),
        Boot(remembers_no_more_than_it_may, enable=("liar.service", "small.service"), limit_sec=600),
    ),
)
