# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared by the tests in Python: command line, hosts in a directory, running a program on one, waiting, failed
checks."""

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
# The emulator for programs of another architecture; set by `meson test`.
WRAPPER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))
SLOWNESS = 10 if WRAPPER else 1
PATIENCE = 20.0 * SLOWNESS  # seconds until a wait fails; a condition that is met takes a fraction of one
# Files of a case that are not part of its host.
OWN_FILES = (".expected", ".command")
OWN_NAMES = ("host", "tree", "README")

# In memory if possible, because the programs call fsync(2). Some tests execute files that they have written there.
MEMORY = "/dev/shm"
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
    tempfile.tempdir = MEMORY


class Failure(AssertionError):
    """A failed check; its text says what was expected, or what was found."""


class Skipped(Exception):
    """This host cannot run the test; the text says what it lacks."""


def need(holds: bool, what: str) -> None:
    if not holds:
        raise Skipped(what)


def need_root() -> None:
    need(os.geteuid() == 0, "only root can become another user")


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Failure(what)


def expect(done: subprocess.CompletedProcess[str], code: int, *texts: str,
           stderr: str = "") -> subprocess.CompletedProcess[str]:
    """Checks the exit code, and that TEXTS are in standard error if CODE is not 0, else in standard output."""
    check(done.returncode == code, f"exit code {done.returncode} instead of {code}: {done.stdout}{done.stderr}")
    for text in texts:
        check(text in (done.stderr if code else done.stdout), f"no {text!r}: {done.stdout}{done.stderr}")
    check(stderr in done.stderr, f"no {stderr!r}: {done.stderr}")
    return done


def wait_until(what: str, is_so: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() <= end:
        with contextlib.suppress(FileNotFoundError):  # it may not be written yet
            if is_so():
                return
        time.sleep(0.01)
    raise Failure(f"{what}: not within {seconds:g} s")


def whole_path(text: str) -> pathlib.Path:
    return pathlib.Path(text).resolve()


def parser(summary: str | None, *paths: str, rest: str | None = None) -> argparse.ArgumentParser:
    """The parser of an option --NAME=PATH for each of PATHS, and of positional arguments REST."""
    made = argparse.ArgumentParser(description=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in paths:
        made.add_argument(f"--{name}", type=whole_path, required=True)
    if rest:
        made.add_argument(rest, nargs="*")
    return made


def copy_program(program: str, directory: pathlib.Path) -> str:
    """Copies a program to be run there. By a process of its own: a child that another thread forks meanwhile would keep
    the copy open for writing, so that it cannot be run (ETXTBSY)."""
    subprocess.run(["cp", program, directory], check=True)
    return str(directory / os.path.basename(program))


def execute(command: list[str], cwd: str | pathlib.Path | None, timeout: float = 60 * SLOWNESS, umask: int = -1,
            user: int | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout, cwd=cwd, umask=umask,
                          user=user, env=ENVIRONMENT | environment, stdin=subprocess.DEVNULL)


def run(program: pathlib.Path, *words: object, root: pathlib.Path | None = None,
        cwd: str | pathlib.Path | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    """Runs PROGRAM with WORDS, on the host in ROOT if one is given; MORE as for execute()."""
    on_root = [f"--root={root}"] if root else []
    return execute([*WRAPPER, str(program), *on_root, *map(str, words)], cwd or root, **more)


def passes(name: str, test: Callable[[], object]) -> bool:
    """Runs a test and prints its result, with the text that it returns. An exception fails this test only."""
    start = time.monotonic()
    try:
        figures = test()
    except Skipped as why:
        print(f"skip {name}: {why}", flush=True)
        return os.environ.get("CI") != "true"
    except Exception:
        print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
        return False
    print(f"ok   {name}{f': {figures}' if figures else ''} ({time.monotonic() - start:.2f} s)", flush=True)
    return True


def pages_said(hugeplanctl: str, engine: str, settings: dict[str, str]) -> int:
    """The pages of 2M that `hugeplanctl size` prints for an engine with these settings."""
    command = [hugeplanctl, "--json=short", "size", engine, "--page-size=2M"]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE)
    check(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)["pages"]


def postgresql_programs() -> pathlib.Path | None:
    """The directory of the newest server's programs, on Debian."""
    found = pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in found), key=lambda path: float(path.parent.name), default=None)


def tests_in(names: dict[str, object], wanted: list[str]) -> dict[str, Callable[..., None]]:
    """The functions test_* of a module; if WANTED is not empty, only the named ones."""
    tests = {name: test for name, test in names.items() if name.startswith("test_")}
    return {name: tests[name] for name in wanted or tests}


def summary_of(results: list[bool]) -> int:
    """Prints the number of tests; returns the exit code."""
    print(f"{len(results)} tests, {results.count(False)} failed")
    return int(not all(results))


def skip(reason: str) -> int:
    """Prints why a test is skipped; returns the exit code. With CI=true a skipped test is a failure."""
    print(f"skipped: {reason}")
    return 1 if os.environ.get("CI") == "true" else SKIP


def make_root(case: str | pathlib.Path, directory: pathlib.Path) -> None:
    """Makes the host of a case of cases/ in DIRECTORY."""
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
    """The host of a case, in the folder `root` of an otherwise empty directory."""
    with tempfile.TemporaryDirectory(prefix=f"hugeplan-{pathlib.Path(sys.argv[0]).stem}-") as name:
        root = pathlib.Path(name).resolve() / "root"
        root.mkdir()
        make_root(case, root)
        yield root
