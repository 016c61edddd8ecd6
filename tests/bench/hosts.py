# SPDX-License-Identifier: LGPL-2.1-or-later
"""Generated hosts for --root=, with any number of nodes and of database instances."""

import contextlib
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from running import refuse_mistakes

NODE_KIB = 512 << 20
PAGE_SIZES_KIB = (2048, 1048576)
PAGE_BYTES = PAGE_SIZES_KIB[0] << 10
BOOT_ID = "11111111-2222-3333-4444-555555555555"
PLACEMENTS = ("spread", "bind", "interleave", "pack")


@contextlib.contextmanager
def made_up(nodes: int, instances: int, gigabytes: int = 0, hugeplanctl: str | None = None) -> Iterator[Path]:
    """A generated host in memory; with HUGEPLANCTL, which makes its plan, all instances have started."""
    with tempfile.TemporaryDirectory(prefix="hugeplan-bench-", dir="/run") as directory:
        root = make_host(Path(directory, "root"), nodes, instances, gigabytes)
        refuse_mistakes(root, root / "etc/hugeplan.d")
        if hugeplanctl:
            start_instances(root, hugeplanctl)
        yield root


# ---- a host that has just booted ----


def make_host(root: Path, nodes: int, instances: int, gigabytes: int = 0) -> Path:
    """Makes a host with instances of PostgreSQL that all fit, with the placements PLACEMENTS in turn. GIGABYTES is
    the size of all instances; 0: a quarter of the memory."""
    put(root / "etc/passwd", "root:x:0:0::/:/bin/sh\npostgres:x:26:26::/:/bin/sh\n")
    put(root / "etc/group", "root:x:0:\npostgres:x:26:\n")
    write_proc(root / "proc", nodes)
    write_sys(root / "sys", nodes)
    write_config(root / "etc/hugeplan.d", nodes, instances, gigabytes or nodes * NODE_KIB // 4 >> 20)
    return root


def write_proc(proc: Path, nodes: int) -> None:
    free = "".join(f"Node {node}, zone Normal {' 64' * 11}\n" for node in range(nodes))
    put(proc / "meminfo", f"MemTotal: {nodes * NODE_KIB} kB\nHugepagesize: 2048 kB\nSwapTotal: 0 kB\n")
    put(proc / "buddyinfo", free)
    put(proc / "cmdline", "quiet\n")
    put(proc / "sys/kernel/osrelease", "6.12.0\n")
    put(proc / "sys/kernel/random/boot_id", f"{BOOT_ID}\n")
    put(proc / "self/smaps", "KernelPageSize: 4 kB\n")


def write_sys(sys: Path, nodes: int) -> None:
    thp = sys / "kernel/mm/transparent_hugepage"
    put(thp / "enabled", "always madvise [never]\n")
    put(thp / "defrag", "always defer defer+madvise [madvise] never\n")
    for name in "online", "possible", "has_memory", "has_cpu":
        put(sys / "devices/system/node" / name, f"0-{nodes - 1}\n")
    for kib in PAGE_SIZES_KIB:
        write_counts(size_directory(sys, kib), resv_hugepages=0)
    for node in range(nodes):
        put(node_directory(sys, node) / "meminfo", meminfo(node, NODE_KIB))
        for kib in PAGE_SIZES_KIB:
            write_counts(node_directory(sys, node) / f"hugepages/hugepages-{kib}kB")


def meminfo(node: int, free_kib: int) -> str:
    return f"Node {node} MemTotal: {NODE_KIB} kB\nNode {node} MemFree: {free_kib} kB\n"


def size_directory(sys: Path, kib: int) -> Path:
    return sys / f"kernel/mm/hugepages/hugepages-{kib}kB"


def node_directory(sys: Path, node: int) -> Path:
    return sys / f"devices/system/node/node{node}"


def write_counts(directory: Path, pages: int = 0, free: int = 0, **more: int) -> None:
    counts = {"nr_hugepages": pages, "free_hugepages": free, "surplus_hugepages": 0, **more}
    for name, count in counts.items():
        put(directory / name, f"{count}\n")


def write_config(directory: Path, nodes: int, instances: int, gigabytes: int) -> None:
    # An instance that is bound to a node gets at most a quarter of the node.
    share_mib = max(2, gigabytes * 1024 // max(instances, 1))
    put(directory / "00-host.conf", "[Host]\nKeepFree=1G\n")
    for index in range(instances):
        placement = PLACEMENTS[index % len(PLACEMENTS)]
        mib, where = share_mib, ""
        if placement == "bind":
            mib, where = min(share_mib, NODE_KIB // 1024 // 4), f"Nodes={index // 4 % nodes}\n"
        put(directory / f"50-db{index}.conf",
            f"[Instance]\nEngine=postgresql\nUnit=db{index}.service\nUser=postgres\nMemory={mib}M\n"
            f"PageSize=2M\nPriority={index % 7}\nPlacement={placement}\n{where}")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# ---- the same host with all instances running ----


def start_instances(root: Path, hugeplanctl: str) -> None:
    """Reserves all pages of the plan, a quarter of them in use, and counts them in the units' control groups."""
    done = subprocess.run([hugeplanctl, f"--root={root}", "--json=short", "plan"],
                          capture_output=True, text=True, check=False)
    planned = [row for row in json.loads(done.stdout)["instances"] if row["pagesGranted"] > 0]
    pages: Counter[int] = Counter()
    used: Counter[int] = Counter()
    for row in planned:
        own = {grant["node"]: grant["pages"] // 4 for grant in row["nodes"]}
        used.update(own)
        pages.update({grant["node"]: grant["pages"] for grant in row["nodes"]})
        write_group(root / "sys/fs/cgroup/system.slice" / row["unit"], row["pagesGranted"], own)
    write_counts(size_directory(root / "sys", PAGE_SIZES_KIB[0]), pages.total(),
                 pages.total() - used.total(), resv_hugepages=pages.total() - used.total())
    for node, count in pages.items():
        put(node_directory(root / "sys", node) / "meminfo", meminfo(node, NODE_KIB - count * PAGE_SIZES_KIB[0]))
        write_counts(node_directory(root / "sys", node) / f"hugepages/hugepages-{PAGE_SIZES_KIB[0]}kB",
                     count, count - used[node])
    put(root / "run/hugeplan/ledger", ledger(root, planned, pages))


def write_group(group: Path, pages: int, used: dict[int, int]) -> None:
    by_node = " ".join(f"N{node}={count * PAGE_BYTES}" for node, count in used.items())
    put(group / "cgroup.events", "populated 1\nfrozen 0\n")
    put(group / "cgroup.procs", "4711\n")
    put(group / "hugetlb.2MB.numa_stat", f"total={sum(used.values()) * PAGE_BYTES} {by_node}\n")
    put(group / "hugetlb.2MB.rsvd.current", f"{pages * PAGE_BYTES}\n")


def ledger(root: Path, planned: list[dict[str, Any]], pages: Counter[int]) -> str:
    lines = [f"hugeplan-ledger 1 1 {BOOT_ID} open"]
    lines += [f"pool {node} {kib << 10} 0 {count if kib << 10 == PAGE_BYTES else 0} 0"
              for node, count in pages.items() for kib in PAGE_SIZES_KIB]
    placements = {row["name"]: config_value(root, row["file"], "Placement") for row in planned}
    for row in planned:
        nodes = ",".join(f"{grant['node']}:{grant['pages']}" for grant in row["nodes"])
        lines.append(f"instance {row['name']} {row['pageSizeBytes']} {row['pagesWanted']} {placements[row['name']]} "
                     f"{nodes} stood,ready")
    for row in planned:
        placement = placements[row["name"]]
        policy = placement if placement in ("bind", "interleave") else "any"
        nodes = ",".join(str(grant["node"]) for grant in row["nodes"])
        lines.append(f"hold {row['unit']} - {policy} {nodes} counted {row['name']} -")
    return "\n".join([*lines, "end", ""])


def config_value(root: Path, file: str, key: str) -> str:
    lines = (root / file.lstrip("/")).read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith(f"{key}="))
