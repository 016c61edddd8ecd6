#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""scripts/quickstart and scripts/run-tests when they are interrupted or have no network, and units/after-stop by what
systemd says, with fake programs in place of apt-get, meson, systemctl and others. Nothing is installed; any user can
run this.

usage: run_scripts.py SOURCE-DIR
"""

from __future__ import annotations

import functools
import pathlib
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable

import common
from common import check
from terminal import Foreground

PATIENCE = 60.0


class Checkout:
    """A copy of the scripts, and a directory of fake programs that is first in $PATH."""

    def __init__(self, source: pathlib.Path, directory: pathlib.Path) -> None:
        self.root = directory / "checkout"
        self.programs = directory / "programs"
        self.programs.mkdir()
        shutil.copytree(source / "scripts", self.root / "scripts")
        shutil.copytree(source / "units", self.root / "units")
        self.calls = directory / "calls"
        self.program("id", "echo 0")
        self.program("dpkg-query", "exit 1")  # nothing is installed
        self.program("pkg-config", "exit 1")

    def program(self, name: str, script: str) -> None:
        """A fake program NAME, which records its arguments, a line for each call, and runs SCRIPT."""
        path = self.programs / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>{self.calls}\n{script}\n')
        path.chmod(0o755)

    def run(self, *arguments: str) -> Foreground:
        return Foreground([self.root / arguments[0], *arguments[1:]],
                          {"PATH": f"{self.programs}:/usr/bin:/bin", "TMPDIR": str(self.programs.parent)})

    def wait_for_call(self, text: str, script: Foreground) -> None:
        end = time.monotonic() + PATIENCE
        while not (self.calls.exists() and text in self.calls.read_text()):
            check(time.monotonic() < end, f"no {text!r}: {script.output}")
            script.read(0.05)


def test_no_network(checkout: Checkout) -> None:
    """Without a network the scripts say what failed and what to run."""
    checkout.program("apt-get", 'echo "E: Failed to fetch http://deb.example/" >&2; exit 100')
    for script in ("scripts/quickstart", "scripts/run-tests"):
        run = checkout.run(script)
        check(run.finish(PATIENCE) == 1, run.output)
        for text in ("Failed to fetch", "lists of packages cannot be fetched", "is there a network",
                     "apt-get update", "install: gcc libc6-dev meson"):
            check(text in run.output, f"{text}: {run.output}")
    calls = checkout.calls.read_text()
    check("APT::Update::Error-Mode=any update" in calls, f"a partial update of the lists is an error: {calls}")


def test_interrupted_installation(checkout: Checkout) -> None:
    """An interrupted installation of packages is reported with the command that completes it."""
    for way in (Foreground.press_ctrl_c, Foreground.terminate):
        for script in ("scripts/quickstart", "scripts/run-tests"):
            checkout.calls.unlink(missing_ok=True)
            checkout.program("apt-get", '[ "$*" != "${*#*update}" ] || exec sleep 2')
            run = checkout.run(script)
            checkout.wait_for_call("install --no-install-recommends", run)
            way(run)
            code = run.finish(PATIENCE)
            check(code == (130 if way is Foreground.press_ctrl_c else 143), f"{code}: {run.output}")
            check("interrupted while packages were being installed; run: dpkg --configure -a" in run.output, run.output)
            check("FAILED" not in run.output and "OK" not in run.output, run.output)


def test_interrupted_tests(checkout: Checkout) -> None:
    """An interrupted test run has no verdict."""
    checkout.program("dpkg-query", "echo installed")
    checkout.program("pkg-config", "exit 0")
    for name in ("cc", "ninja"):
        checkout.program(name, "exit 0")
    checkout.program("meson", '[ "$1" != test ] || exec sleep 2')
    for way, expected in ((Foreground.press_ctrl_c, 130), (Foreground.terminate, 143), (Foreground.hang_up, 129)):
        checkout.calls.unlink(missing_ok=True)
        run = checkout.run("scripts/run-tests", "--quick")
        checkout.wait_for_call("meson test", run)
        way(run)
        code = run.finish(PATIENCE)
        check(code in (expected, -signal.SIGHUP), f"{code}: {run.output}")
        if way is not Foreground.hang_up:
            check("run-tests: interrupted" in run.output and "no verdict" in run.output, run.output)
        check("FAILED" not in run.output and "OK" not in run.output, run.output)


def test_interrupted_build(checkout: Checkout) -> None:
    """A quickstart that is interrupted during the build says that nothing was changed."""
    checkout.program("dpkg-query", "echo installed")
    checkout.program("pkg-config", "exit 0")
    for name in ("cc", "ninja"):
        checkout.program(name, "exit 0")
    checkout.program("meson", "exec sleep 2")
    run = checkout.run("scripts/quickstart")
    checkout.wait_for_call("meson setup", run)
    run.press_ctrl_c()
    check(run.finish(PATIENCE) == 130, run.output)
    check("interrupted; nothing was changed on this host" in run.output, run.output)
    check("FAILED" not in run.output, run.output)


def test_guard_after_stop(checkout: Checkout) -> None:
    """The guard is removed only if it is certain that no daemon needs it."""
    script, guard = checkout.root / "units/after-stop", checkout.root / "guard"
    script.write_text(script.read_text().replace("/run/sysctl.d/zz-hugeplan.conf", str(guard)))
    for jobs, result, stays in (
            ("hugeplan.service stop running", "success", False),
            ("hugeplan.service stop running", "timeout", False),  # it hung, and was killed
            ("hugeplan.service restart running", "success", True),
            ("hugeplan.service restart running", "watchdog", True),
            ("hugeplan.service  start waiting", "success", True),  # the unit has stopped for a restart
            ("shutdown.target  stop  waiting\n2 hugeplan.service stop  running", "success", False),
            ("shutdown.target  start waiting\n2 hugeplan.service stop  running", "success", True),
            ("shutdown.target  start waiting", "success", True),
            ("", "success", False),
            ("", "signal", True),
            (None, "success", True)):
        checkout.program("systemctl", "exit 1" if jobs is None else f"printf '{f'1 {jobs}' if jobs else ''}\n'")
        guard.write_text("vm.nr_hugepages = 512\n")
        for _ in range(2):  # the second time there may be no guard
            done = common.run(script, "hugeplan.service", PATH=f"{checkout.programs}:/usr/bin:/bin",
                              SERVICE_RESULT=result)
            common.expect(done, 0)
            check(guard.exists() == stays, f"{jobs!r}, {result}: {done.stdout}{done.stderr}")
    calls = set(checkout.calls.read_text().splitlines())
    check(calls == {"systemctl list-jobs --no-legend --plain hugeplan.service shutdown.target"}, f"{calls}")


def main() -> int:
    source = pathlib.Path(sys.argv[1])
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup(1) all processes would ignore it

    def run_test(test: Callable[[Checkout], None]) -> None:
        with tempfile.TemporaryDirectory(prefix="hugeplan-scripts-") as directory:
            test(Checkout(source, pathlib.Path(directory)))

    return common.summary_of([common.passes(name, functools.partial(run_test, test))
                              for name, test in common.tests_in(globals(), []).items()])


if __name__ == "__main__":
    sys.exit(main())
