# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests in Python share: the command line, hosts in a directory, running a program on one, waiting, and how a
check fails."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import unpack_host

HERE = pathlib.Path(__file__).resolve().parent
SKIP = 77
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb",
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
               "UBSAN_OPTIONS": os.environ.get("UBSAN_OPTIONS", "print_stacktrace=1")}
# What runs the programs where they were built for another machine; set by `meson test`.
WRAPPER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))
SLOWNESS = 10 if WRAPPER else 1
PATIENCE = 20.0 * SLOWNESS  # seconds; what a test waits for takes a fraction of one
# Files of a case that are no part of its host.
OWN_FILES = (".expected", ".command")
OWN_NAMES = ("host", "tree", "README")

# In memory if possible: the programs wait until what they store is on disk. Some tests execute what they write.
MEMORY = "/dev/shm"
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
    tempfile.tempdir = MEMORY


class Failure(AssertionError):
    """A check that does not hold."""


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Failure(what)


def wait_until(what: str, is_so: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds:g} s")
        time.sleep(0.01)


def whole_path(text: str) -> pathlib.Path:
    return pathlib.Path(text).resolve()


def parser(summary: str | None, *paths: str, rest: str | None = None) -> argparse.ArgumentParser:
    """Takes --NAME=PATH for each of PATHS, and any number of words called REST."""
    made = argparse.ArgumentParser(description=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in paths:
        made.add_argument(f"--{name}", type=whole_path, required=True)
    if rest:
        made.add_argument(rest, nargs="*")
    return made


def execute(command: list[str], cwd: str | pathlib.Path | None, timeout: float = 60 * SLOWNESS, umask: int = -1,
            user: int | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout, cwd=cwd, umask=umask,
                          user=user, env=ENVIRONMENT | environment, stdin=subprocess.DEVNULL)


def run(program: pathlib.Path, *words: object, root: pathlib.Path | None = None,
        cwd: str | pathlib.Path | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    """PROGRAM with WORDS, on the host in ROOT if there is one; MORE as for execute()."""
    on_root = [f"--root={root}"] if root else []
    return execute([*WRAPPER, str(program), *on_root, *map(str, words)], cwd or root, **more)


def passes(name: str, test: Callable[[], object]) -> bool:
    """Runs a test and prints how it went, with what it returns. What goes wrong in a test is its failure, not that of
    the others."""
    start = time.monotonic()
    try:
        figures = test()
    except Exception:
        print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
        return False
    print(f"ok   {name}{f': {figures}' if figures else ''} ({time.monotonic() - start:.2f} s)", flush=True)
    return True


def pages_said(hugeplanctl: str, engine: str, settings: dict[str, str]) -> int:
    """The pages of 2M for an engine with these settings."""
    command = [hugeplanctl, "--json=short", "size", engine, "--page-size=2M"]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE)
    check(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)["pages"]


def tests_in(names: dict[str, object], wanted: list[str]) -> dict[str, Callable[..., None]]:
    """The functions test_* of a module; with WANTED, those that it names."""
    tests = {name: test for name, test in names.items() if name.startswith("test_")}
    return {name: tests[name] for name in wanted or tests}


def summary_of(results: list[bool]) -> int:
    """Prints how many tests there were; returns the exit code."""
    print(f"{len(results)} tests, {results.count(False)} failed")
    return int(not all(results))


def skip(reason: str) -> int:
    """Prints why a test is left out; returns the exit code. Where a machine of CI runs it, nothing may be missing."""
    print(f"skipped: {reason}")
    return 1 if os.environ.get("CI") == "true" else SKIP


def make_root(case: str | pathlib.Path, directory: pathlib.Path) -> None:
    """The host of a case of cases/ in DIRECTORY."""
    case = HERE / "cases" / case
    host = HERE / "hosts" / (case / "host").read_text(encoding="utf-8").strip()
    snapshot = host.with_suffix(".tar")
    unpack_host.unpack(snapshot if snapshot.exists() else host.with_suffix(".tree"), directory)
    if (case / "tree").exists():
        unpack_host.unpack(case / "tree", directory)
    for entry in sorted(case.iterdir()):
        if entry.name not in OWN_NAMES and entry.suffix not in OWN_FILES:
            shutil.copytree(entry, directory / entry.name, symlinks=True, dirs_exist_ok=True)


@contextlib.contextmanager
def root_of(case: str | pathlib.Path) -> Iterator[pathlib.Path]:
    """The host of a case, in a directory that has room beside it."""
    with tempfile.TemporaryDirectory(prefix=f"hugeplan-{pathlib.Path(sys.argv[0]).stem}-") as name:
        root = pathlib.Path(name).resolve() / "root"
        root.mkdir()
        make_root(case, root)
        yield root
