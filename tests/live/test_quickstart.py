#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""scripts/quickstart on the running kernel restores the host, whenever and however it is interrupted.

usage: HUGEPLAN_LIVE=1 test_quickstart.py --quickstart=SCRIPT [--runs=N] [TEST...]

Each run has a terminal of its own, so that Ctrl-C reaches every process in the foreground. The moments are random;
HUGEPLAN_SEED=N repeats them, HUGEPLAN_RUNS=N is their number. Needs what test_live.py needs; skips (77). """

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time

from shared import child, common, is_alive, touched, wait_until
from test_live import CONFIG, RUNTIME, chosen, host_as_it_was, node_pools, thp_files, why_not

from common import SKIP, Failure, check, passes
from terminal import Foreground, TerminalError

MARKER = pathlib.Path("/run/hugeplan-quickstart")
LEDGER = RUNTIME / "ledger"
LOGS = (tempfile.gettempdir(), "hugeplan-quickstart.*.log")
WATCHED = (CONFIG, RUNTIME, MARKER, pathlib.Path("/run/sysctl.d"), pathlib.Path("/run/varlink"))
SETTINGS = [pathlib.Path("/sys/kernel/mm/transparent_hugepage") / name
            for name in ("shmem_enabled", "defrag", "khugepaged/max_ptes_none")]
SETTINGS += [pathlib.Path("/proc/sys") / name
             for name in ("kernel/shmmax", "kernel/shmall", "vm/hugetlb_shm_group",
                          "vm/min_free_kbytes", "vm/nr_overcommit_hugepages")]
BUILD_SEC = 900.0
# The output before the first change of the host.
BEGUN = "== A plan"


def describe(path: pathlib.Path) -> object:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return str(path.readlink())
    return (stat.filemode(mode), path.read_bytes() if stat.S_ISREG(mode) else None)


def host() -> dict[str, object]:
    """Everything that the script may change or leave behind."""
    found: dict[str, object] = {str(path): path.read_text()
                                for path in [*node_pools(), *thp_files(), *SETTINGS]
                                if path.exists()}
    for log in pathlib.Path(LOGS[0]).glob(LOGS[1]):
        found[str(log)] = "exists"
    for top in WATCHED:
        if top.exists():
            found |= {str(path): describe(path) for path in [top, *top.rglob("*")]}
    return found


def daemons(script: pathlib.Path) -> list[int]:
    """The pids of running daemons of this checkout."""
    program = script.parents[1] / "build/src/hugepland"
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "exe").readlink() == program:
                found.append(int(entry.name))
    return found


class Run(Foreground):
    def __init__(self, script: pathlib.Path, environment: dict[str, str] | None = None) -> None:
        super().__init__([script], environment)


def check_as_before(script: pathlib.Path, before: dict[str, object], what: str, output: str) -> None:
    now = host()
    changed = {path: (before.get(path), now.get(path))
               for path in sorted(before.keys() | now.keys()) if before.get(path) != now.get(path)}
    check(not changed, f"{what}: the host has changed (before, now): {changed}\n{output}")
    left = daemons(script)
    check(not left, f"{what}: processes {left} still run\n{output}")


class Demonstration:
    """The duration of an undisturbed run, and the moment of its first change."""

    def __init__(self, script: pathlib.Path) -> None:
        before = host()
        Run(script).finish(BUILD_SEC)  # for the build
        run = Run(script)
        self.begun = run.read_until(BEGUN, BUILD_SEC) - run.began
        code = run.finish()
        self.seconds = time.monotonic() - run.began
        self.script = script
        check(code == 0 and "this host is as before" in run.output, f"{code}: {run.output}")
        check_as_before(script, before, "an undisturbed run", run.output)
        print(f"     the first change is after {self.begun:.1f} s, the end after {self.seconds:.1f} s", flush=True)

    def interrupt(self, way: str, moment: float, draw: random.Random) -> Run:
        """Interrupts a run. MOMENT: 0 is the first change, 1 the end, -1 the beginning."""
        run = Run(self.script)
        if moment >= 0:
            run.read_until(BEGUN, BUILD_SEC)
        run.read(max(moment, 0) * (self.seconds - self.begun))
        if moment < 0:
            run.read((moment + 1) * self.begun)
        {"Ctrl-C": run.press_ctrl_c, "Ctrl-C and again": lambda: run.press_ctrl_c_often(draw),
         "TERM": run.terminate, "HUP": run.hang_up, "KILL": run.kill}[way]()
        return run


def check_message(way: str, run: Run, code: int) -> None:
    """The last message says whether the host is restored, unless the terminal is gone."""
    if way == "HUP":
        check(code in (129, -signal.SIGHUP, 0), f"{way}: exit status {code}")
        return
    if code < 0 and "==" not in run.output:  # before the first line of output
        return
    is_done = code == 0 and "this host is as before" in run.output
    is_reported = (code == {"TERM": 143}.get(way, 130) and "interrupted" in run.output
               and ("this host is as before" in run.output
                    or "nothing was changed on this host" in run.output))
    check(is_done or is_reported, f"{way}: exit status {code}:\n{run.output}")


# ---- tests ----

def test_interrupted(demonstration: Demonstration, draw: random.Random, n_runs: int) -> None:
    """An interrupted run restores the host; after SIGKILL the next run does."""
    ways = ["Ctrl-C"] * 4 + ["Ctrl-C and again"] * 3 + ["TERM", "HUP", "KILL"]
    drawn = [(ways[i % len(ways)], (i + draw.random()) / n_runs) for i in range(n_runs)]
    drawn += [("Ctrl-C", -draw.random()), ("TERM", -draw.random())]
    draw.shuffle(drawn)
    for way, moment in drawn:
        before = host()
        run = demonstration.interrupt(way, moment, draw)
        code = run.finish()
        output = run.output
        try:
            if way == "KILL":
                check(code in (-signal.SIGKILL, 0), f"exit status {code}")
                next_run = Run(demonstration.script)
                code, output = next_run.finish(), output + next_run.output
                check(code == 0 and "this host is as before" in next_run.output, output)
            else:
                check_message(way, run, code)
            check_as_before(demonstration.script, before, f"{way} at {moment:.2f}", output)
        except (Failure, TerminalError) as failure:
            raise Failure(f"{way} at {moment:.2f}: {failure}") from None
        print(f"     {way} at {moment:.2f}: as before", flush=True)


def test_ledger_is_gone(demonstration: Demonstration, draw: random.Random, n_runs: int) -> None:
    """Without a ledger the script restores the pools from its own record."""
    before = host()
    run = Run(demonstration.script)
    run.read_until("== The gate", BUILD_SEC)
    run.kill()
    run.finish()
    wait_until("the daemon's end", lambda: not daemons(demonstration.script))
    LEDGER.unlink(missing_ok=True)
    again = Run(demonstration.script)
    check(again.finish() == 0, again.output)
    check("reverting the changes" in again.output, again.output)
    check_as_before(demonstration.script, before, "without a ledger", run.output + again.output)


def test_pages_in_use(demonstration: Demonstration, draw: random.Random, n_runs: int) -> None:
    """Pages that another process has taken stay until it ends, and the script says so."""
    before = host()
    surplus = [path.with_name("surplus_hugepages") for path in node_pools()]
    run = Run(demonstration.script)
    run.read_until("== The gate", BUILD_SEC)
    with contextlib.ExitStack() as stack:
        with run.frozen():
            page_user = stack.enter_context(child(lambda: touched(10, range(10))))
            run.press_ctrl_c()
        code = run.finish()
        check(code == 130 and "but 10 pages are in use by others" in run.output, run.output)
        check("as before" not in run.output, run.output)
        check(sum(int(path.read_text()) for path in surplus) == 10, "ten pages are surplus")
        check(is_alive(page_user), "the process lives")
    check_as_before(demonstration.script, before, "pages in use", run.output)


def test_others_change_the_pools(demonstration: Demonstration, draw: random.Random, n_runs: int) -> None:
    """Pages that others have added meanwhile stay, and the script says so."""
    pool = next(path for path in node_pools() if "-2048kB" in str(path))
    before = host()
    run = Run(demonstration.script)
    run.read_until("== The gate", BUILD_SEC)
    with run.frozen():
        pool.write_text(f"{int(pool.read_text()) + 5}\n")
        run.press_ctrl_c()
    code = run.finish()
    difference = re.search(r"0 pages before, 5 now; to set it: echo 0 >(/sys/\S+)", run.output)
    check(code == 130 and difference is not None, f"{code}: {run.output}")
    assert difference
    check("is not as before" in run.output, run.output)
    check(pathlib.Path(difference[1]).read_text() == "5\n", "the pool has five pages")
    pool.write_text("0\n")
    check_as_before(demonstration.script, before, "others' pages", run.output)


def test_restores_what_it_found(demonstration: Demonstration, draw: random.Random, n_runs: int) -> None:
    """An existing pool, ledger and guard, and a policy that is changed meanwhile, are restored."""
    pool, policy, guard = node_pools()[-1], thp_files()[0], RUNTIME / "../sysctl.d/zz-hugeplan.conf"
    pool.write_text("7\n")
    RUNTIME.mkdir(exist_ok=True)
    boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    LEDGER.write_text(f"hugeplan-ledger 1 1 {boot_id} open\nend\n")
    had_directory = guard.parent.exists()
    guard.parent.mkdir(exist_ok=True)
    guard.write_text("# of an earlier day\n")
    before = host()
    try:
        for end in (Run.press_ctrl_c, Run.kill, None):
            run = Run(demonstration.script)
            run.read_until("== The gate", BUILD_SEC)
            with run.frozen():
                was = chosen(policy)
                policy.write_text("never" if was != "never" else "madvise")
                if end:
                    end(run)
            run.finish()
            if end is Run.kill:
                run = Run(demonstration.script)
                run.finish()
            check_as_before(demonstration.script, before, "what it found", run.output)
    finally:
        pool.write_text("0\n")
        LEDGER.unlink()
        guard.unlink()
        RUNTIME.rmdir()
        if not had_directory:
            guard.parent.rmdir()


def test_keeps_out_of_the_way(demonstration: Demonstration, draw: random.Random, n_runs: int) -> None:
    """The script changes nothing if hugeplan runs already."""
    script = demonstration.script
    with tempfile.TemporaryDirectory() as name:
        stub = pathlib.Path(name, "systemctl")
        for unit in ("hugeplan.service", "hugeplan.socket"):
            for state in ("active", "activating", "reloading"):
                stub.write_text(f'#!/bin/sh\n[ "$4" != {unit} ] || echo {state}\n')
                stub.chmod(0o755)
                before = host()
                run = Run(script, {"PATH": f"{name}:{os.environ['PATH']}"})
                check(run.finish() == 0 and "so nothing was changed" in run.output, run.output)
                check_as_before(script, before, f"{unit} {state}", run.output)
    before = host()
    daemon = subprocess.Popen([script.parents[1] / "build/src/hugepland"], stderr=subprocess.DEVNULL)
    try:
        wait_until("the daemon", LEDGER.exists)
        during = host()
        for is_stopped in (False, True):
            daemon.send_signal(signal.SIGSTOP if is_stopped else signal.SIGCONT)
            run = Run(script)
            check(run.finish() == 0 and "hugepland runs here" in run.output, run.output)
            check("so nothing was changed" in run.output, run.output)
            now = host()
            check(now == during, f"{set(now.items()) ^ set(during.items())}")
    finally:
        daemon.send_signal(signal.SIGCONT)
        daemon.terminate()
        daemon.wait()
        LEDGER.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        RUNTIME.rmdir()
    for path in (pathlib.Path("/run/varlink/registry"), pathlib.Path("/run/varlink")):
        if str(path) not in before:
            path.rmdir()
    check_as_before(script, before, "hugepland by hand", "")


def main() -> int:
    parser = common.parser(__doc__, "quickstart", rest="tests")
    parser.add_argument("--runs", type=int, default=int(os.environ.get("HUGEPLAN_RUNS", "10")))
    options = parser.parse_args()
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return SKIP
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup(1) all processes would ignore it
    seed = int(os.environ.get("HUGEPLAN_SEED") or random.randrange(1 << 32))
    print(f"HUGEPLAN_SEED={seed}", flush=True)
    with host_as_it_was():
        demonstration = Demonstration(options.quickstart)
        tests = common.tests_in(globals(), options.tests)
        return int(not all(passes(name, lambda test=test: test(demonstration, random.Random(seed), options.runs))  # type: ignore[misc]
                           for name, test in tests.items()))


if __name__ == "__main__":
    sys.exit(main())
