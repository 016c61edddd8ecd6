# SPDX-License-Identifier: LGPL-2.1-or-later
"""Four nodes: two with memory and CPUs, one without CPUs, one without memory. Each placement has its pages on the right
nodes. An instance that names a node without memory, or a node that does not exist, is refused; the others are not."""

from guestlib import *
from memory import configure, reload
from scenario import Boot, Node, Scenario

ABSENT = 77


def listed(attribute: str) -> set[int]:
    """A list of nodes as the kernel writes it: "0-1,3"."""
    found = set()
    for part in (SYSTEM_NODES / attribute).read_text().strip().split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def placed() -> None:
    # Linux numbers nodes in the order in which it finds them, not as the firmware does.
    with_memory, with_cpus = listed("has_memory"), listed("has_cpu")
    bare = [node for node in nodes() if node not in with_memory]
    cpuless = [node for node in nodes() if node not in with_cpus]
    whole = sorted(with_memory & with_cpus)
    shapes = (len(bare), len(cpuless), len(whole))
    if not check_equal(shapes, (1, 1, 2), "one node without memory, one without CPUs, two whole"):
        return
    for name, text in {
        "spread": "Pages=91\nPriority=90",
        "pack": "Pages=100\nPlacement=pack\nPriority=80",
        "bind": f"Pages=40\nPlacement=bind\nNodes={cpuless[0]}\nPriority=70",
        "split": f"NodeMemory={whole[0]}:64M {whole[1]}:128M\nPriority=60",
        "memoryless": f"Pages=10\nNodes={bare[0]}",
        "absent": f"Pages=10\nNodes={whole[0]},{ABSENT}",
    }.items():
        configure(name, f"[Instance]\n{text}\n")
    reload()
    expected = {node: 30 for node in with_memory}
    expected[min(with_memory)] += 1
    check_equal(instance_nodes("spread"), expected, "spread: evenly, the odd page on the first node")
    packed = instance_nodes("pack")
    check(sorted(packed.values()) == [100], "pack: all on one node", packed)
    check(bare[0] not in packed, "pack: one with memory", packed)
    check_equal(instance_nodes("bind"), {cpuless[0]: 40}, "bind: on the node without CPUs")
    split = {node: size // DEFAULT_PAGE_BYTES for node, size in zip(whole, (64 << 20, 128 << 20))}
    check_equal(instance_nodes("split"), split, "split: as written")
    for name in ("spread", "pack", "bind", "split"):
        check_equal(instance(name)["verdict"], "ready", f"{name} is ready")
    sums = dict.fromkeys(nodes(), 0)
    for name in ("spread", "pack", "bind", "split"):
        for node, pages in instance_nodes(name).items():
            sums[node] += pages
    check_equal(pools(), sums, "the kernel has these pages on these nodes, and no others")
    refused("memoryless", f"node {bare[0]} has no memory")
    refused("absent", f"node {ABSENT} does not exist")


def refused(name: str, why: str) -> None:
    judged = instance(name)
    check_equal(judged["verdict"], "refused", f"{name} is refused")
    check_equal(judged["reasonId"], "node-absent", f"{name}: because of its node")
    check_equal(judged["reason"], why, f"{name}: the reason names the node")
    check(judged["remedy"], f"{name}: there is a remedy", judged)


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("512M", cpus=0), Node(None), Node("1G")),
    boots=(Boot(placed, limit_sec=200),),
)
