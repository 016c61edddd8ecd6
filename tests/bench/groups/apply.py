# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pages alone: hugeplan beside whatever writes a number to a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from goals import Goal
from pools import Pool, find_pool
from report import FellShort, Report, Way
from running import HELPERS, HUGEPLAND, STATE, configure, find_program, run, write_file

SIZES = (64, 1024, 4096)


def measure(report: Report) -> None:
    pool = find_pool()
    for pages in SIZES:
        if not pool.has_room(pages):
            report.left_out(f"Reserving {pages:,} pages of {pool.size_name}", "too little memory is free")
            continue
        warm_up(report, pool, pages)
        configure(1, pages, pool)
        report.compare(f"Reserving {pages:,} pages of {pool.size_name}: CPU of the whole process", "ms",
                       apply_ways(pool, pages), report.rounds(21),
                       "hugepland with start, READY=1, end; no pages are given back")
        measure_writes(report, pool, pages)


def warm_up(report: Report, pool: Pool, pages: int) -> None:
    """Memory that was never used is slower to have; everybody is to find the same."""
    pool.write(pool.base_pages + pages)
    found = pool.read() - pool.base_pages
    pool.reset()
    if found != pages:
        report.say(f"Only {found:,} of {pages:,} pages can be had at once now.")


def reserve(pool: Pool, total: int, command: list[str], *, is_daemon: bool = False) -> float:
    """ms of CPU."""
    STATE.unlink(missing_ok=True)
    try:
        cost = run(command, is_daemon=is_daemon)
        if pool.read() != total:
            raise FellShort(f"{command[0]} got {pool.read()} of {total} pages")
    finally:
        pool.reset()
    return cost.cpu_msec


def apply_ways(pool: Pool, pages: int) -> list[Way]:
    total = pool.base_pages + pages
    kib = pool.page_bytes >> 10
    sysctl_file = write_file("bench.conf", f"vm.nr_hugepages = {total}\n")
    tmpfiles_file = write_file("tmpfiles.conf", f"w {pool.file} - - - - {total}\n")

    def other(name: str, package: str, *arguments: str) -> Callable[[], float]:
        return lambda: reserve(pool, total, [find_program(name, package), *arguments])

    is_small, is_large = pages == min(SIZES), pages == max(SIZES)
    return [
        Way("hugepland", lambda: reserve(pool, total, [HUGEPLAND], is_daemon=True)),
        Way("floor: static C, write, read back",
            lambda: reserve(pool, total, [str(HELPERS / "bench-set"), pool.file, str(total)]),
            Goal(1.05) if is_large else None),
        Way("sysctl -w", other("sysctl", "procps", "-qw", f"vm.nr_hugepages={total}")),
        Way("hugeadm --pool-pages-min",
            other("hugeadm", "libhugetlbfs-bin", "--pool-pages-min", f"{kib}KB:{total}"),
            Goal(1.0) if is_small else None),
        Way("systemd-sysctl FILE", other("systemd-sysctl", "systemd", sysctl_file)),
        Way("systemd-tmpfiles --create FILE", other("systemd-tmpfiles", "systemd", "--create", tmpfiles_file)),
    ]


def measure_writes(report: Report, pool: Pool, pages: int) -> None:
    """The time within write(2) alone: what slicing and the thread add to the kernel's own work."""
    total = pool.base_pages + pages
    clock = Path("/run/bench-write-clock")

    def within_write(command: list[str], *, is_daemon: bool = False) -> float:
        clock.unlink(missing_ok=True)
        reserve(pool, total, command, is_daemon=is_daemon)
        return sum(int(line) for line in clock.read_text().split()) / 1e6

    preloaded = ["env", f"LD_PRELOAD={HELPERS / 'bench-write-clock.so'}", f"BENCH_WRITE_CLOCK={clock}", HUGEPLAND]
    report.compare(f"Reserving {pages:,} pages of {pool.size_name}: CPU within the writes to nr_hugepages", "ms", [
        Way("hugepland, all its writes", lambda: within_write(preloaded, is_daemon=True)),
        Way("floor: one write",
            lambda: within_write([str(HELPERS / "bench-set"), pool.file, str(total), str(clock)]), Goal(1.05)),
    ], report.rounds(21))
