# SPDX-License-Identifier: LGPL-2.1-or-later
"""The boot job

Pages for three instances and transparent huge pages: hugepland from exec to READY=1 and its end, the others with what they
need for the same. The floor is a static C program that makes the same writes, reads them back and says READY=1.

The kernel's own time for the pages, in the last table, nobody can save: with 4,096 pages it is most of the floor's. What is
left is what others do not do: reading nodes, pools and policies before and after, the configuration, a thread for the write
so that clients are served meanwhile, the ledger on disk before the first page and after the last, watches, an answer for
each instance: 430 system calls and 1.1 million instructions in user space. Of the CPU time with 64 pages 21 % open, read
and close 101 files, 12 % are the write, 9 % page faults and 5 % watches (on an EPYC). Without any file read or watched it
would take three quarters of the time, which is the limit. Linked with jansson the floor takes 1.13 of itself."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from goals import GOALS
from pools import Pool, find_pool
from report import FellShort, Report, Way
from running import (HELPERS, HUGEPLAND, LEDGER, SETTLED, configure, describe, find_program, refuse_mistakes, run,
                     write_file)

SIZES = (64, 1024, 4096)
TUNED = Path("/etc/tuned")
THP_FILES = (Path("/sys/kernel/mm/transparent_hugepage/enabled"), Path("/sys/kernel/mm/transparent_hugepage/defrag"))


def measure(report: Report) -> None:
    pool = find_pool()
    before = {path: path.read_text().partition("[")[2].partition("]")[0] for path in THP_FILES}
    if TUNED.is_dir():
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "bench", TUNED], check=True)
    try:
        for pages in SIZES:
            if not pool.has_room(pages):
                report.left_out(f"The boot job, {pages:,} pages of {pool.size_name}", "too little memory is free")
                continue
            warm_up(report, pool, pages)
            configure(0, 0, pool, TransparentHugePages="madvise")
            for index, share in enumerate((pages - 2 * (pages // 3), pages // 3, pages // 3)):
                describe(index, share, pool)
            refuse_mistakes()
            time.sleep(SETTLED)
            report.compare(f"Boot job, {pages:,} pages of {pool.size_name}: CPU of all processes", "ms",
                           job_ways(pool, pages, before), report.rounds(21))
        measure_writes(report, pool, SIZES[-1], before)
    finally:
        restore(before)


def warm_up(report: Report, pool: Pool, pages: int) -> None:
    """Allocates the pages once, because memory that was never used is slower to allocate."""
    pool.write(pool.base_pages + pages)
    found = pool.read() - pool.base_pages
    pool.reset()
    if found != pages:
        report.say(f"Only {found:,} of {pages:,} pages can be reserved at once now.")


def restore(words: dict[Path, str]) -> None:
    for path, word in words.items():
        path.write_text(word)


def job(pool: Pool, total: int, before: dict[Path, str], *commands: list[str], is_daemon: bool = False) -> float:
    """The milliseconds of CPU. A floor may be ended by SIGTERM after its READY=1, before it ends by itself."""
    LEDGER.unlink(missing_ok=True)
    try:
        ok = (0, 143) if commands[0][0].startswith(str(HELPERS)) else (0,)
        spent = sum(run(command, is_daemon=is_daemon, ok=ok).cpu_msec for command in commands)
        if pool.read() != total:
            raise FellShort(f"{commands[0][0]} got {pool.read()} of {total} pages")
    finally:
        pool.reset()
        restore(before)
    return spent


def job_ways(pool: Pool, pages: int, before: dict[Path, str]) -> list[Way]:
    total, kib = pool.base_pages + pages, pool.page_bytes >> 10
    enabled, defrag = map(str, THP_FILES)
    sysctl_file = write_file("job.conf", f"vm.nr_hugepages = {total}\n")
    tmpfiles_file = write_file("job-tmpfiles.conf", f"w {enabled} - - - - madvise\nw {defrag} - - - - madvise\n")
    if TUNED.is_dir():
        write_tuned(total)

    def do(*commands: list[str], is_daemon: bool = False) -> float:
        return job(pool, total, before, *commands, is_daemon=is_daemon)

    recipe = (f"sysctl -qw vm.nr_hugepages={total}; echo madvise >{enabled}; echo madvise >{defrag};"
              f" grep -q 'HugePages_Total: *{total}$' /proc/meminfo")
    return [
        Way("hugepland", lambda: do([HUGEPLAND], is_daemon=True)),
        Way("floor: static C, the same writes, read back", lambda: do([
            str(HELPERS / "bench-set"), pool.file, str(total), enabled, "madvise", defrag, "madvise"], is_daemon=True),
            GOALS.get(f"job-{pages}-floor")),
        Way("systemd-sysctl, systemd-tmpfiles", lambda: do([find_program("systemd-sysctl", "systemd"), sysctl_file],
                       [find_program("systemd-tmpfiles", "systemd"), "--create", tmpfiles_file]),
            GOALS[f"job-{pages}-systemd"]),
        Way("tuned, once", lambda: do([find_program("tuned", "tuned"), "--profile", "bench", "--no-dbus"])),
        Way("sysctl, two echos and a grep",
            lambda: do(["env", f"PATH={Path(find_program('sysctl', 'procps')).parent}:/usr/bin:/bin", "sh", "-c", recipe])),
        Way("hugeadm with --thp-madvise",
            lambda: do([find_program("hugeadm", "libhugetlbfs-bin"), "--pool-pages-min", f"{kib}KB:{total}",
                        "--thp-madvise"]),
            GOALS.get(f"job-{pages}-hugeadm")),
    ]


def write_tuned(total: int) -> None:
    (TUNED / "bench").mkdir(exist_ok=True)
    (TUNED / "tuned-main.conf").write_text("daemon = 0\n")
    (TUNED / "bench/tuned.conf").write_text(
        f"[main]\nsummary=bench\n[sysctl]\nvm.nr_hugepages={total}\n[vm]\ntransparent_hugepages=madvise\n"
        f"[sysfs]\n{THP_FILES[1]}=madvise\n")


def measure_writes(report: Report, pool: Pool, pages: int, before: dict[Path, str]) -> None:
    """Measures the time within write(2) only, to which slices and the thread might add."""
    if not pool.has_room(pages):
        return
    total, clock = pool.base_pages + pages, Path("/run/bench-write-clock")

    def within_write(command: list[str]) -> float:
        clock.unlink(missing_ok=True)
        job(pool, total, before, command, is_daemon=True)
        return sum(int(line) for line in clock.read_text().split()) / 1e6

    configure(1, pages, pool)
    preloaded = ["env", f"LD_PRELOAD={HELPERS / 'bench-write-clock.so'}", f"BENCH_WRITE_CLOCK={clock}", HUGEPLAND]
    report.compare(f"{pages:,} pages of {pool.size_name}: CPU within the writes to nr_hugepages", "ms", [
        Way("hugepland, all its writes", lambda: within_write(preloaded)),
        Way("floor: one write",
            lambda: within_write([str(HELPERS / "bench-set"), f"--clock={clock}", pool.file, str(total)]),
            GOALS["writes-4096"]),
    ], report.rounds(21))
