#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The size that hugeplanctl determines for Java, compared with a virtual machine on real huge pages of 2M.

usage: HUGEPLAN_LIVE=1 test_java.py HUGEPLANCTL

For each collector: with the pages of `hugeplanctl size jvm` all of Java's memory is in huge pages, and at most a few
pages are left. With exactly the pages that Java took, the same is true; with one page fewer ZGC does not start, and the
other collectors fall back to small pages for a part. Needs what test_live.py needs, and Java 11 or later; skips (77).
"""

from __future__ import annotations

import contextlib
import functools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import test_live
from shared import no_surplus, pools_locked, reserved, wait_until
from test_live import check_size

from common import SKIP, check, pages_said, passes

PATIENCE = 30.0
# Java's messages when pages are missing: it uses small pages, or has no heap. Both come before "Create VM", which is
# printed even if Java is about to end.
FALLS_BACK = "Failed to reserve"
HAS_NO_HEAP = "Failed to allocate initial Java heap"
OPTIONS = ("-XX:+UseLargePages", "-XX:-UsePerfData", "-XX:+UnlockExperimentalVMOptions", "-Xlog:startuptime")
# keytool waits for a certificate on standard input.
IDLE = ("-m", "java.base/sun.security.tools.keytool.Main", "-printcert")

COLLECTORS = {"g1": "UseG1GC", "parallel": "UseParallelGC", "serial": "UseSerialGC", "zgc": "UseZGC",
              "shenandoah": "UseShenandoahGC"}
CASES = (
    {"gc": "g1", "Xmx": "300m"},
    {"gc": "g1", "Xmx": "1g", "ReservedCodeCacheSize": "64m"},
    {"gc": "parallel", "Xmx": "512m"},
    {"gc": "serial", "Xmx": "333m", "TieredStopAtLevel": "1"},
    {"gc": "zgc", "Xmx": "512m", "Xms": "512m"},
    {"gc": "shenandoah", "Xmx": "512m"},
)

Settings = dict[str, str]


def version() -> str | None:
    """The version that java(1) prints, "17.0.15"; None without Java."""
    if not shutil.which("java"):
        return None
    done = subprocess.run(["java", "-version"], check=True, text=True, capture_output=True, timeout=PATIENCE)
    found = re.search(r'version "([0-9.]+)', done.stderr)
    return found.group(1) if found else None


def why_not() -> str | None:
    reason = test_live.why_not()
    if reason:
        return reason
    if not version() or int(version().split(".")[0]) < 11:
        return "there is no Java 11 or later; install Debian's package default-jre-headless"
    return None


def option(name: str, value: str) -> str:
    if name in ("Xmx", "Xms"):
        return f"-{name}{value}"
    return f"-XX:+{COLLECTORS[value]}" if name == "gc" else f"-XX:{name}={value}"


def knows(settings: Settings) -> bool:
    """Whether this Java has the collector of SETTINGS."""
    return subprocess.run(["java", "-XX:+UnlockExperimentalVMOptions", option("gc", settings["gc"]), "-version"],
                          capture_output=True, timeout=PATIENCE).returncode == 0


@contextlib.contextmanager
def machine(settings: Settings, log: pathlib.Path) -> Iterator[bool]:
    """A virtual machine; yields whether it has started."""
    command = ["java", *OPTIONS, *(option(name, value) for name, value in settings.items()), *IDLE]
    with log.open("wb") as output, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output,
                                                    stderr=output) as process:
        try:
            wait_until("Java has started", lambda: process.poll() is not None
                       or "Create VM" in log.read_text(), PATIENCE)
            yield process.poll() is None
        finally:
            process.kill()
    wait_until("the pages are given back", lambda: reserved() == 0, PATIENCE)


def taken(settings: Settings, log: pathlib.Path) -> int:
    with machine(settings, log) as has_started:
        check(has_started, f"Java does not start: {log.read_text()}")
        check(FALLS_BACK not in log.read_text(), f"Java falls back: {log.read_text()}")
        return reserved()


def check_case(hugeplanctl: str, settings: Settings, log: pathlib.Path) -> str:
    said = pages_said(hugeplanctl, "jvm", {"server_version": version(), **settings})
    pages = check_size(said, lambda: taken(settings, log), 1.02)
    with machine(settings, log):
        message = HAS_NO_HEAP if settings["gc"] == "zgc" else FALLS_BACK
        check(message in log.read_text(), f"Java starts with {pages - 1} pages, too: {log.read_text()}")
    return f"{pages} pages, the size is {said}"


def run_cases(hugeplanctl: str, log: pathlib.Path) -> int:
    n_failed = 0
    for settings in CASES:
        name = " ".join(f"{name}={value}" for name, value in settings.items())
        if not knows(settings):
            print(f"skip {name}: this Java has no such collector")
            continue
        n_failed += not passes(name, functools.partial(check_case, hugeplanctl, settings, log))
    return n_failed


def main() -> int:
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return SKIP
    with (tempfile.TemporaryDirectory(prefix="hugeplan-live-") as directory, pools_locked(),
          test_live.host_as_it_was(), no_surplus()):
        n_failed = run_cases(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(directory) / "log")
    print(f"Java {version()}: {len(CASES)} cases, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
