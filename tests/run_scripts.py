#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What scripts/quickstart and scripts/run-tests say when they are interrupted, or have no network:
with programs of the test's own in place of apt-get, meson and so on, as any user. Nothing is installed.

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
    """A copy of the scripts, and a directory of programs that go before all others."""

    def __init__(self, source: pathlib.Path, directory: pathlib.Path) -> None:
        self.root = directory / "checkout"
        self.programs = directory / "programs"
        self.programs.mkdir()
        shutil.copytree(source / "scripts", self.root / "scripts")
        self.said = directory / "said"
        self.program("id", "echo 0")
        self.program("dpkg-query", "exit 1")  # nothing is installed
        self.program("pkg-config", "exit 1")

    def program(self, name: str, script: str) -> None:
        """Its arguments are noted, a line for each call."""
        path = self.programs / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>{self.said}\n{script}\n')
        path.chmod(0o755)

    def run(self, *arguments: str) -> Foreground:
        return Foreground([self.root / arguments[0], *arguments[1:]],
                          {"PATH": f"{self.programs}:/usr/bin:/bin",
                           "TMPDIR": str(self.programs.parent)})

    def wait_until_said(self, text: str, script: Foreground) -> None:
        end = time.monotonic() + PATIENCE
        while not (self.said.exists() and text in self.said.read_text()):
            check(time.monotonic() < end, f"no {text!r}: {script.output}")
            script.read(0.05)


def test_no_network(checkout: Checkout) -> None:
    """It says what it could not do, and what to run."""
    checkout.program("apt-get", 'echo "E: Failed to fetch http://deb.example/" >&2; exit 100')
    for script in ("scripts/quickstart", "scripts/run-tests"):
        run = checkout.run(script)
        check(run.finish(PATIENCE) == 1, run.output)
        for text in ("Failed to fetch", "lists of packages cannot be fetched", "is there a network",
                     "apt-get update", "install: gcc libc6-dev meson"):
            check(text in run.output, f"{text}: {run.output}")
    said = checkout.said.read_text()
    check("APT::Update::Error-Mode=any update" in said, f"lists that are old do not do: {said}")


def test_interrupted_installation(checkout: Checkout) -> None:
    for way in (Foreground.press_ctrl_c, Foreground.terminate):
        for script in ("scripts/quickstart", "scripts/run-tests"):
            checkout.said.unlink(missing_ok=True)
            checkout.program("apt-get", '[ "$*" != "${*#*update}" ] || exec sleep 3')
            run = checkout.run(script)
            checkout.wait_until_said("install --no-install-recommends", run)
            way(run)
            code = run.finish(PATIENCE)
            check(code == (130 if way is Foreground.press_ctrl_c else 143), f"{code}: {run.output}")
            check("interrupted while packages were being installed; run: dpkg --configure -a" in run.output, run.output)
            check("FAILED" not in run.output and "OK" not in run.output, run.output)


def test_interrupted_tests(checkout: Checkout) -> None:
    """Half a test run is no verdict."""
    checkout.program("dpkg-query", "echo installed")
    checkout.program("pkg-config", "exit 0")
    for name in ("cc", "ninja"):
        checkout.program(name, "exit 0")
    checkout.program("meson", '[ "$1" != test ] || exec sleep 3')
    for way, expected in ((Foreground.press_ctrl_c, 130), (Foreground.terminate, 143), (Foreground.hang_up, 129)):
        checkout.said.unlink(missing_ok=True)
        run = checkout.run("scripts/run-tests", "--quick")
        checkout.wait_until_said("meson test", run)
        way(run)
        code = run.finish(PATIENCE)
        check(code in (expected, -signal.SIGHUP), f"{code}: {run.output}")
        if way is not Foreground.hang_up:
            check("run-tests: interrupted" in run.output and "no verdict" in run.output, run.output)
        check("FAILED" not in run.output and "OK" not in run.output, run.output)


def test_interrupted_build(checkout: Checkout) -> None:
    """Nothing has been changed by then, and it says so."""
    checkout.program("dpkg-query", "echo installed")
    checkout.program("pkg-config", "exit 0")
    for name in ("cc", "ninja"):
        checkout.program(name, "exit 0")
    checkout.program("meson", "exec sleep 3")
    run = checkout.run("scripts/quickstart")
    checkout.wait_until_said("meson setup", run)
    run.press_ctrl_c()
    check(run.finish(PATIENCE) == 130, run.output)
    check("interrupted; nothing was changed on this host" in run.output, run.output)
    check("FAILED" not in run.output, run.output)


def main() -> int:
    source = pathlib.Path(sys.argv[1])
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup(1) would have everybody below ignore it

    def run_test(test: Callable[[Checkout], None]) -> None:
        with tempfile.TemporaryDirectory(prefix="hugeplan-scripts-") as directory:
            test(Checkout(source, pathlib.Path(directory)))

    return common.summary_of([common.passes(name, functools.partial(run_test, test))
                              for name, test in common.tests_in(globals(), []).items()])


if __name__ == "__main__":
    sys.exit(main())
