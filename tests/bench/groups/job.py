# SPDX-License-Identifier: LGPL-2.1-or-later
"""All that a host needs at boot: pages of three instances, and transparent huge pages. Ours says of each instance
whether it has its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from goals import GOALS
from pools import Pool, find_pool
from report import FellShort, Report, Way
from running import HUGEPLAND, STATE, configure, describe, find_program, run, write_file

from .apply import SIZES, warm_up

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
            report.compare(f"Whole boot job, {pages:,} pages of {pool.size_name}: CPU of all processes", "ms",
                           job_ways(pool, pages, before), report.rounds(21), "3 instances, to READY=1 and the end")
    finally:
        restore(before)


def restore(words: dict[Path, str]) -> None:
    for path, word in words.items():
        path.write_text(word)


def job_ways(pool: Pool, pages: int, before: dict[Path, str]) -> list[Way]:
    total, kib = pool.base_pages + pages, pool.page_bytes >> 10
    enabled, defrag = THP_FILES
    sysctl_file = write_file("job.conf", f"vm.nr_hugepages = {total}\n")
    tmpfiles_file = write_file("job-tmpfiles.conf", f"w {enabled} - - - - madvise\nw {defrag} - - - - madvise\n")
    if TUNED.is_dir():
        write_tuned(total)

    def job(*commands: list[str], is_daemon: bool = False) -> float:
        STATE.unlink(missing_ok=True)
        try:
            spent = sum(run(command, is_daemon=is_daemon).cpu_msec for command in commands)
            if pool.read() != total:
                raise FellShort(f"{commands[0][0]} got {pool.read()} of {total} pages")
        finally:
            pool.reset()
            restore(before)
        return spent

    recipe = (f"sysctl -qw vm.nr_hugepages={total}; echo madvise >{enabled}; echo madvise >{defrag};"
              f" grep -q 'HugePages_Total: *{total}$' /proc/meminfo")
    return [
        Way("hugepland", lambda: job([HUGEPLAND], is_daemon=True)),
        Way("systemd-sysctl, systemd-tmpfiles",
            lambda: job([find_program("systemd-sysctl", "systemd"), sysctl_file],
                        [find_program("systemd-tmpfiles", "systemd"), "--create", tmpfiles_file]),
            GOALS[f"job-{pages}-systemd"]),
        Way("tuned, once", lambda: job([find_program("tuned", "tuned"), "--profile", "bench", "--no-dbus"]),
            GOALS.get(f"job-{pages}-tuned")),
        Way("sysctl, two echos and a grep",
            lambda: job(["env", f"PATH={Path(find_program('sysctl', 'procps')).parent}:/usr/bin:/bin", "sh", "-c",
                         recipe]),
            GOALS.get(f"job-{pages}-shell")),
        Way("hugeadm with --thp-madvise",
            lambda: job([find_program("hugeadm", "libhugetlbfs-bin"), "--pool-pages-min", f"{kib}KB:{total}",
                         "--thp-madvise"]),
            GOALS.get(f"job-{pages}-hugeadm")),
    ]


def write_tuned(total: int) -> None:
    (TUNED / "bench").mkdir(exist_ok=True)
    (TUNED / "tuned-main.conf").write_text("daemon = 0\n")
    (TUNED / "bench/tuned.conf").write_text(
        f"[main]\nsummary=bench\n[sysctl]\nvm.nr_hugepages={total}\n[vm]\ntransparent_hugepages=madvise\n"
        f"[sysfs]\n{THP_FILES[1]}=madvise\n")
