# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the live tests share, beside tests/common.py: pages that somebody has, a root of its own that shows this kernel,
and a program where every user can run it."""

from __future__ import annotations

import contextlib
import mmap
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import common  # noqa: E402
from common import check  # noqa: E402

PAGE = 2 << 20
MAP_HUGETLB = 0x40000
PATIENCE = 60.0  # seconds; the kernel has to find real pages

# On the disk, as a host's databases are.
tempfile.tempdir = None


def wait_until(what: str, is_so: Callable[[], bool], seconds: float = PATIENCE) -> None:
    common.wait_until(what, is_so, seconds)


# ---- pages ----

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
    """A process that has done WORK, and waits."""
    ready, done = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            kept = work()  # lives as long as it is referred to
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


def is_alive(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


# ---- files ----

@contextlib.contextmanager
def captured_root() -> Iterator[pathlib.Path]:
    """A root that shows this kernel, with files of its own."""
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
    """The path of a copy of PROGRAM that anybody may run, while the context lasts: a checkout below /root is closed to
    all but root."""
    with tempfile.TemporaryDirectory(prefix="hugeplan-public-") as directory:
        os.chmod(directory, 0o755)
        copy = shutil.copy(program, directory)
        os.chmod(copy, 0o755)
        yield copy
