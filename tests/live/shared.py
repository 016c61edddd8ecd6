# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared by the live tests: processes that have huge pages, a root directory with this kernel's /proc and /sys, a
copy of a program that every user can run, and the lock and state of this host's pools."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterable, Iterator

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import common  # noqa: E402
from common import check  # noqa: E402

PAGE = 2 << 20
MAP_HUGETLB = 0x40000
HUGEPAGES = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB")
OVERCOMMIT = HUGEPAGES / "nr_overcommit_hugepages"
HIERARCHIES = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/systemd")
PATIENCE = 60.0  # seconds until a wait fails; the kernel must find real pages

# Not in memory: databases are on disk.
tempfile.tempdir = None


def wait_until(what: str, is_so: Callable[[], bool], seconds: float = PATIENCE) -> None:
    common.wait_until(what, is_so, seconds)


# ---- the pool ----

def count(attribute: str) -> int:
    return int((HUGEPAGES / attribute).read_text())


def reserved() -> int:
    """Pages in use or reserved. Read until two reads agree, because a page that is touched in between would be
    missing."""
    before = None
    while (now := (count("free_hugepages"), count("resv_hugepages"))) != before:
        before = now
    return count("nr_hugepages") - now[0] + now[1]


@contextlib.contextmanager
def pools_locked() -> Iterator[None]:
    """Holds the lock of the scripts: one program may change the pools at a time."""
    descriptor = os.open(HUGEPAGES.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def no_surplus() -> Iterator[None]:
    """Forbids surplus pages, with which any server would start."""
    before = OVERCOMMIT.read_text()
    OVERCOMMIT.write_text("0\n")
    try:
        yield
    finally:
        OVERCOMMIT.write_text(before)


class MorePages(unittest.TestCase):
    """Tests with PAGES more pages of 2M in the pool."""

    PAGES: int
    gained = 0

    @classmethod
    def setUpClass(cls) -> None:
        before = count("nr_hugepages")
        (HUGEPAGES / "nr_hugepages").write_text(str(before + cls.PAGES))
        cls.gained = count("nr_hugepages") - before
        if cls.gained < cls.PAGES:
            cls.tearDownClass()
            raise unittest.SkipTest(f"the kernel makes only {cls.gained} of {cls.PAGES} pages")

    @classmethod
    def tearDownClass(cls) -> None:
        # The difference, because others may have changed the pool meanwhile.
        (HUGEPAGES / "nr_hugepages").write_text(str(max(0, count("nr_hugepages") - cls.gained)))


# ---- processes ----

@contextlib.contextmanager
def unit_group(unit: str) -> Iterator[pathlib.Path]:
    """The control group of a unit, as systemd would make it."""
    hierarchy = next(path for path in map(pathlib.Path, HIERARCHIES) if (path / "cgroup.procs").exists())
    group = hierarchy / "system.slice" / unit
    had_slice = group.parent.exists()
    group.mkdir(parents=True)
    try:
        yield group
    finally:
        group.rmdir()
        if not had_slice:
            group.parent.rmdir()

def map_pages(n: int, flags: int = mmap.MAP_SHARED) -> mmap.mmap:
    return mmap.mmap(-1, n * PAGE, flags=flags | mmap.MAP_ANONYMOUS | MAP_HUGETLB)


def touch(memory: mmap.mmap, pages: Iterable[int]) -> None:
    for page in pages:
        memory[page * PAGE] = 1


def touched(n_mapped: int, pages: Iterable[int], flags: int = mmap.MAP_PRIVATE) -> mmap.mmap:
    memory = map_pages(n_mapped, flags)
    touch(memory, pages)
    return memory


@contextlib.contextmanager
def child(work: Callable[[], object]) -> Iterator[int]:
    """A process that has done WORK, keeps its result, and waits to be killed."""
    ready, done = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            kept = work()  # memory stays mapped as long as it is referred to
            os.write(done, b"x")
            while kept is not child:
                signal.pause()
        finally:
            os._exit(1)
    os.close(done)
    try:
        check(os.read(ready, 1) == b"x", "the child could not do its work")
        yield pid
    finally:
        os.close(ready)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@contextlib.contextmanager
def server(title: str, command: list[str], log: pathlib.Path, seconds: float = PATIENCE,
           end: Callable[[subprocess.Popen[bytes]], None] = subprocess.Popen.kill) -> Iterator[int]:
    """The pid of a MySQL or MariaDB that takes connections."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        wait_until(f"{title} has started", lambda: process.poll() is not None or "ready for connections" in log.read_text(),
                   seconds)
        check(process.poll() is None, f"{title} does not start: {log.read_text()}")
        yield process.pid
    finally:
        end(process)
        process.wait(seconds)


def is_alive(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


# ---- tests ----

def run_unittest(reason: str | None, *contexts: contextlib.AbstractContextManager[None]) -> int:
    """Runs the tests of the main module within CONTEXTS, unless there is a REASON to skip them. The module's `hugeplanctl`
    is a copy of the program in the first argument. Returns the exit code."""
    program = os.path.abspath(sys.argv.pop(1))
    if reason:
        print(f"skipped: {reason}")
        return common.SKIP
    with contextlib.ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        sys.modules["__main__"].hugeplanctl = stack.enter_context(public_copy(program))  # type: ignore[attr-defined]
        result = unittest.main(verbosity=2, exit=False).result
    if result.wasSuccessful() and result.testsRun == len(result.skipped):
        return common.SKIP
    return int(not result.wasSuccessful())


# ---- files ----

@contextlib.contextmanager
def captured_root() -> Iterator[pathlib.Path]:
    """A root directory with this kernel's /proc and /sys, and with other files of its own."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="hugeplan-live-"))
    with contextlib.ExitStack() as stack:
        stack.callback(subprocess.run, ["rm", "-rf", "--one-file-system", root], check=True)
        root.chmod(0o755)
        for name in ("proc", "sys"):
            (root / name).mkdir()
            subprocess.run(["mount", "--rbind", "--make-rslave", f"/{name}", root / name], check=True)
            stack.callback(subprocess.run, ["umount", "-lR", root / name], check=True)
        yield root


@contextlib.contextmanager
def public_copy(program: str | os.PathLike[str]) -> Iterator[str]:
    """The path of a copy of PROGRAM that every user may run: a checkout below /root is closed to others."""
    with tempfile.TemporaryDirectory(prefix="hugeplan-public-") as directory:
        os.chmod(directory, 0o755)
        copy = shutil.copy(program, directory)
        os.chmod(copy, 0o755)
        yield copy
