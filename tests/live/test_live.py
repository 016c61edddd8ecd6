#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""hugepland on the running kernel, with real huge pages of 2M.

usage: HUGEPLAN_LIVE=1 test_live.py --hugepland=PROGRAM --hugeplanctl=PROGRAM
                                       --plain-hugepland=PROGRAM --kill-at=PROGRAM [TEST...]

The plain program is built without sanitizers, which make system calls of their own.

Needs root, a pool of 2M pages of which no page is in use, 4 GiB of available memory, and a host without hugeplan: the
test makes /etc/hugeplan.d. At the end the pools, transparent huge pages and vm.min_free_kbytes are restored, and all
files are removed. Skips (77) with a reason if something is missing, or without HUGEPLAN_LIVE=1. """

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

from shared import HUGEPAGES, PATIENCE, child, common, count, is_alive, public_copy, touched, wait_until

from common import SKIP, check, passes
from run_daemon import Daemons

CONFIG = pathlib.Path("/etc/hugeplan.d")
RUNTIME = pathlib.Path("/run/hugeplan")
LEFT_BEHIND = (RUNTIME, pathlib.Path("/run/varlink/registry/org.hugeplan.Manager"),
               pathlib.Path("/run/sysctl.d/zz-hugeplan.conf"))
THP = pathlib.Path("/sys/kernel/mm/transparent_hugepage")
ABOVE_PAGES = 8
MIN_FREE = pathlib.Path("/proc/sys/vm/min_free_kbytes")


# ---- the host ----

def persistent() -> int:
    return count("nr_hugepages") - count("surplus_hugepages")


def node_pools() -> list[pathlib.Path]:
    pools = sorted(pathlib.Path("/sys/devices/system/node").glob("node*/hugepages/hugepages-*kB/nr_hugepages"))
    return pools or sorted(HUGEPAGES.parent.glob("hugepages-*kB/nr_hugepages"))


def set_pool(pages: int) -> None:
    (HUGEPAGES / "nr_hugepages").write_text(f"{pages}\n")
    check(persistent() == pages, f"the kernel makes {persistent()} of {pages} pages")


def check_size(said: int, taken: Callable[[], int], above_share: float = 1.0) -> int:
    """With the pages SAID a server leaves few of them, and with exactly the pages that it took it takes them again.
    Returns these; the pool has one page fewer."""
    set_pool(said)
    pages = taken()
    check(pages <= said <= pages * above_share + ABOVE_PAGES, f"the server takes {pages} pages, the size is {said}")
    set_pool(pages)
    check((again := taken()) == pages, f"with {pages} pages the server takes {again}")
    set_pool(pages - 1)
    return pages


def why_not() -> str | None:
    """What is missing for these tests, if anything."""
    if os.environ.get("HUGEPLAN_LIVE") != "1":
        return "it changes this host's pools for a while; set HUGEPLAN_LIVE=1 to allow it"
    if os.geteuid() != 0:
        return "it needs root"
    if not os.access(HUGEPAGES / "nr_hugepages", os.W_OK):
        return "this kernel has no pool of 2M pages that can be written"
    if CONFIG.exists() and any(CONFIG.iterdir()):
        return f"{CONFIG} has files: hugeplan is in use here"
    if RUNTIME.exists() and any(RUNTIME.iterdir()):
        return f"{RUNTIME} has files: hugepland runs here"
    if count("nr_hugepages") != count("free_hugepages"):
        return "huge pages are in use"
    memory = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
    if int(memory["MemAvailable"].split()[0]) < 4 << 20:
        return "less than 4 GiB of memory are available"
    return None


def thp_files() -> list[pathlib.Path]:
    return [THP / "enabled", *sorted(THP.glob("hugepages-*kB/enabled"))]


def chosen(path: pathlib.Path) -> str:
    text = path.read_text()
    return text[text.index("[") + 1:text.index("]")]


@contextlib.contextmanager
def host_as_it_was() -> Iterator[None]:
    """Restores the host at the end, also after SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    pools = {path: int(path.read_text()) for path in node_pools()}
    policies = {path: chosen(path) for path in thp_files() if path.exists()}
    min_free = MIN_FREE.read_text()
    had_config = CONFIG.exists()
    try:
        yield
    finally:
        for path, value in policies.items():
            if chosen(path) != value:
                path.write_text(value)
        MIN_FREE.write_text(min_free)
        for path, pages in pools.items():
            path.write_text(f"{pages}\n")
        for path in LEFT_BEHIND:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        shutil.rmtree(CONFIG, ignore_errors=True)
        if had_config:
            CONFIG.mkdir()


class Live(Daemons):
    """The programs on this host."""

    def __init__(self, programs: argparse.Namespace, logs: pathlib.Path) -> None:
        super().__init__(pathlib.Path("/"), programs.hugepland, programs.hugeplanctl, logs)
        self.to_kill = Daemons(self.root, programs.plain_hugepland, programs.hugeplanctl, logs)
        self.kill_at = str(programs.kill_at)

    def spawn_to_kill(self, at: int) -> subprocess.Popen[bytes]:
        """A daemon that is killed before system call number AT; with 0, one whose calls are counted until it ends."""
        return self.to_kill.spawn(self.kill_at, str(at))


def end_by(daemons: Daemons, daemon: subprocess.Popen[bytes], number: int) -> None:
    daemon.send_signal(number)
    daemon.wait(PATIENCE)
    daemons.daemons.remove(daemon)


# ---- tests ----

def test_pages_in_use_are_not_given_back(live: Live) -> None:
    """Pages in use are neither given back nor turned into surplus pages; existing pages stay."""
    set_pool(20)
    with child(lambda: touched(10, range(10))) as page_user:
        live.config("20-a.conf", "[Instance]\nPages=40\nPageSize=2M\n")
        daemon = live.start()
        check(persistent() == 50, f"existing pages count towards the plan if they are free: {persistent()}")
        with child(lambda: touched(25, range(25))) as other:  # 35 of 50 are in use now
            live.remove_config("20-a.conf")
            live.reload()
            check(persistent() == 35, f"pages in use stay: {persistent()}")
            check(count("surplus_hugepages") == 0, "there are no surplus pages")
            check(is_alive(page_user) and is_alive(other), "no process is killed")
        wait_until("the release", lambda: count("free_hugepages") == 25)
        live.reload()
        check(persistent() == 20, f"existing pages stay: {persistent()}")
        live.stop(daemon)


def test_killed_or_stopped_while_it_writes(live: Live) -> None:
    """A daemon that ends during a reservation leaves nothing behind that the next one does not recognize."""
    for number in (signal.SIGKILL, signal.SIGTERM):
        for delay in (0.0, 0.01, 0.02, 0.04, 0.08):
            live.config("20-a.conf", "[Instance]\nPages=1000\nPageSize=2M\n")
            daemon = live.spawn()
            time.sleep(delay)
            end_by(live, daemon, number)
            daemon = live.start()
            check(persistent() == 1000, f"{persistent()} pages after signal {number}")
            live.remove_config("20-a.conf")
            live.reload()
            check(persistent() == 0, f"{persistent()} pages are left after signal {number}")
            live.stop(daemon)


def count_calls(live: Live) -> int:
    """The system calls of a daemon's start until the end of its rounds."""
    daemon = live.spawn_to_kill(0)
    live.wait_for_round(daemon)
    end_by(live.to_kill, daemon, signal.SIGTERM)
    return int(live.log(daemon).split()[-2])


def kill_start(live: Live, at: int) -> None:
    """Starts a daemon that is killed before system call number AT; if it makes fewer calls, it is terminated."""
    daemon = live.spawn_to_kill(at)
    live.wait_for_round(daemon)
    end_by(live.to_kill, daemon, signal.SIGTERM)


def start_well(live: Live, why: str, expected: dict[str, int]) -> subprocess.Popen[bytes]:
    daemon = live.start()
    check(live.verdicts() == dict.fromkeys(expected, "ready"), f"{why}: {live.verdicts()}")
    check(persistent() == sum(expected.values()), f"{why}: {persistent()} pages")
    check("broken" not in live.log(daemon), f"{why}: {live.log(daemon)}")
    return daemon


def test_killed_at_every_system_call(live: Live) -> None:
    """A daemon that is killed before any system call, while it reserves or gives back pages, leaves a ledger that the
    next one can use. With HUGEPLAN_FAULTS=whole at each call, else at some."""
    share = {"whole": sys.maxsize, "few": 2}.get(os.environ.get("HUGEPLAN_FAULTS", ""), 8)
    a, b = "[Instance]\nPages=24\nPageSize=2M\n", "[Instance]\nPages=8\nPageSize=2M\n"
    n_runs = 0

    live.config("20-a.conf", a)
    live.config("30-b.conf", b)
    for what, before, after in (("reserves", {}, {"a": 24, "b": 8}), ("gives back", {"a": 24, "b": 8}, {"a": 24})):
        def set_up(before: dict[str, int] = before, after: dict[str, int] = after) -> None:
            live.config("20-a.conf", a)
            live.config("30-b.conf", b)
            if before:
                live.stop(start_well(live, "before", before))
            if "b" not in after:
                live.remove_config("30-b.conf")

        def take_down(daemon: subprocess.Popen[bytes]) -> None:
            for path in CONFIG.iterdir():
                path.unlink()
            live.reload()
            check(persistent() == 0, f"{persistent()} pages are left")
            live.stop(daemon)
            shutil.rmtree(RUNTIME)

        set_up()
        n_calls = count_calls(live)
        take_down(start_well(live, what, after))
        for at in sorted(random.sample(range(1, n_calls + 1), min(share, n_calls))):
            set_up()
            kill_start(live, at)
            take_down(start_well(live, f"{what}, killed at call {at} of {n_calls}", after))
            n_runs += 1
    print(f"     {n_runs} kills, the last start has {n_calls} calls")


def test_signals_do_not_cut_writes_short(live: Live) -> None:
    """A signal interrupts the kernel's allocation of pages, so the writing thread must block signals."""
    live.config("20-a.conf", "[Instance]\nPages=1200\nPageSize=2M\n")
    daemon = live.spawn()
    wait_until("the socket", lambda: (RUNTIME / "org.hugeplan.Manager").exists())
    for _ in range(50):
        daemon.send_signal(signal.SIGHUP)
        time.sleep(0.002)
    wait_until("the pages", lambda: persistent() == 1200)
    wait_until("the verdict", lambda: live.verdicts() == {"a": "ready"})
    live.stop(daemon)


def test_transparent_huge_pages(live: Live) -> None:
    """The policy is set for all sizes, and vm.min_free_kbytes, which the kernel raises with it, is restored."""
    if not (THP / "enabled").exists():
        return
    (THP / "enabled").write_text("always")
    MIN_FREE.write_text("71234\n")
    live.config("20-a.conf", "[Instance]\nPages=8\nPageSize=2M\nEngine=postgresql\n")
    daemon = live.start()
    check(chosen(THP / "enabled") == "never", chosen(THP / "enabled"))
    check(all(chosen(path) in ("never", "inherit") for path in thp_files()[1:]), "the policy of every size is set")
    check(MIN_FREE.read_text() == "71234\n", f"vm.min_free_kbytes is {MIN_FREE.read_text()}")
    live.stop(daemon)


def test_not_root(live: Live) -> None:
    """Only root can run hugepland, which says so."""
    with public_copy(live.hugepland[-1]) as hugepland:
        done = subprocess.run([hugepland], check=False, text=True, capture_output=True,
                              timeout=PATIENCE, user=65534, group=65534, extra_groups=[])
    check(done.returncode == 1 and "must run as root" in done.stderr, done.stderr)


def run_test(programs: argparse.Namespace, test: Callable[[Live], None]) -> None:
    with tempfile.TemporaryDirectory(prefix="hugeplan-live-") as directory:
        live = Live(programs, pathlib.Path(directory))
        with host_as_it_was():
            set_pool(0)
            try:
                test(live)
            finally:
                live.to_kill.end()
                live.end()


def main() -> int:
    arguments = common.parser(__doc__, "hugepland", "hugeplanctl", "plain-hugepland", "kill-at", rest="tests").parse_args()
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return SKIP
    tests = common.tests_in(globals(), arguments.tests)
    return common.summary_of([passes(name, lambda test=test: run_test(arguments, test))  # type: ignore[misc]
                              for name, test in tests.items()])


if __name__ == "__main__":
    sys.exit(main())
