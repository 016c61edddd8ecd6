# SPDX-License-Identifier: LGPL-2.1-or-later
"""Verify

`hugeplanctl verify` says whether each database has the huge pages that were reserved for it. The other ways read the same
from every backend. `hugeplanctl snapshot` records what all verbs read of the host: also units, settings, and each process.
In a virtual machine without KVM it takes 1.9 to 2.6 s (goal: 2 s), 0.7 to 0.9 s of it in system calls, some twenty
for each name in the archive. Three quarters of its own instructions mask words."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pools import find_pool, persistent_pages
from report import Report, Way
from running import CONFIG, HUGEPLANCTL, configure, refuse_mistakes, run

# Backends that have touched all of a shared segment and some memory of their own.
BACKENDS = """
import mmap, os, sys, time
n, pages, page = map(int, sys.argv[2:])
open(sys.argv[1], "w").write(str(os.getpid()))
memory = mmap.mmap(-1, pages * page, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x40000)
parent = os.getpid()
for _ in range(n):
    if os.fork() == 0:
        own = mmap.mmap(-1, 4 << 20)
        for at in range(0, pages * page, page):
            memory[at] = 1
        own[::4096] = b"x" * (len(own) // 4096)
        memory[0:1] = b"x"
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(0)
print(flush=True)
time.sleep(1000)
"""


def measure(report: Report) -> None:
    pool, pages, unit = find_pool(), 256, "hugeplan-bench.service"
    hierarchy = next((path for path in map(Path, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"))
                      if (path / "cgroup.controllers").exists()), None)
    if hierarchy is None:
        report.left_out("verify", "there is no hierarchy of control groups, version 2, here")
        return
    group = hierarchy / "system.slice" / unit
    is_new = not group.parent.exists()
    counters: list[Path] = []
    configure(0, 0, pool)
    (CONFIG / "50-bench.conf").write_text(f"[Instance]\nUnit={unit}\nPages={pages}\nPageSize={pool.size_name}\n")
    refuse_mistakes()
    pool.write(persistent_pages(pool.directory) + pages)
    group.mkdir(parents=True)
    try:
        for n in (500,) if report.is_quick else (500, 2000):
            with with_backends(group, n, pages, pool.page_bytes) as pids:
                compare_verify(report, n, pids, "by the processes' mappings")
        for directory in (hierarchy, group.parent):
            control = directory / "cgroup.subtree_control"
            if "hugetlb" in (directory / "cgroup.controllers").read_text() and "hugetlb" not in control.read_text():
                control.write_text("+hugetlb")
                counters.insert(0, control)
        with with_backends(group, 500, pages, pool.page_bytes) as pids:
            compare_verify(report, 500, pids, "by the hugetlb controller")
    finally:
        for control in counters:
            control.write_text("-hugetlb")
        group.rmdir()
        if is_new:
            group.parent.rmdir()


@contextlib.contextmanager
def with_backends(group: Path, n: int, pages: int, page_bytes: int) -> Iterator[list[int]]:
    command = [sys.executable, "-c", BACKENDS, str(group / "cgroup.procs"), str(n), str(pages), str(page_bytes)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert parent.stdout
        parent.stdout.readline()
        time.sleep(2 + n / 100)  # until all backends have touched their memory
        yield [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
    finally:
        parent.kill()
        parent.wait()
        while (group / "cgroup.procs").read_text():
            time.sleep(0.1)


def compare_verify(report: Report, n: int, pids: list[int], how: str) -> None:
    def read_all(name: str) -> Callable[[], float]:
        files = " ".join(f"/proc/{pid}/{name}" for pid in pids)
        return lambda: run(["sh", "-c", f"cat {files} >/dev/null"]).wall_msec

    report.compare(f"Verify with {n:,} backends, {how}: time", "ms", [
        Way("hugeplanctl verify bench", lambda: run([HUGEPLANCTL, "verify", "bench"]).wall_msec),
        Way("hugeplanctl verify", lambda: run([HUGEPLANCTL, "verify"]).wall_msec),
        Way("hugeplanctl snapshot",
            lambda: run(["sh", "-c", f"rm -f /run/snapshot; exec {HUGEPLANCTL} snapshot /run/snapshot"]).wall_msec),
        Way("cat of every status", read_all("status")),
        Way("cat of every smaps_rollup", read_all("smaps_rollup")),
        Way("cat of every numa_maps", read_all("numa_maps")),
    ], report.rounds(11))
