# SPDX-License-Identifier: LGPL-2.1-or-later
"""The measured pool of huge pages, and the restoration of all pools."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HUGEPAGES = Path("/sys/kernel/mm/hugepages")
NODES = Path("/sys/devices/system/node")


@dataclass(frozen=True)
class Pool:
    """The measured pool: the default page size on the first node with memory."""

    directory: Path
    node: int
    page_bytes: int
    base_pages: int

    @property
    def file(self) -> str:
        return str(self.directory / "nr_hugepages")

    def read(self) -> int:
        return int(Path(self.file).read_text())

    def write(self, pages: int) -> None:
        Path(self.file).write_text(str(pages))

    def reset(self) -> None:
        if self.read() != self.base_pages:
            self.write(self.base_pages)

    def has_room(self, pages: int) -> bool:
        """Whether PAGES fit and leave a quarter of the available memory."""
        return pages * self.page_bytes <= meminfo("MemAvailable") * 3 // 4

    @property
    def size_name(self) -> str:
        for unit, scale in ("G", 1 << 30), ("M", 1 << 20):
            if self.page_bytes % scale == 0:
                return f"{self.page_bytes // scale}{unit}"
        return f"{self.page_bytes >> 10}K"


def meminfo(key: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) << 10
    sys.exit(f"bench: /proc/meminfo has no {key}; is this a kernel with huge pages?")


def find_pool() -> Pool:
    page_bytes = meminfo("Hugepagesize")
    name = f"hugepages-{page_bytes >> 10}kB"
    with_memory = NODES / "has_memory"
    node = int(with_memory.read_text().replace(",", "-").split("-")[0]) if with_memory.exists() else 0
    directory = NODES / f"node{node}/hugepages" / name
    if not directory.exists():
        directory = HUGEPAGES / name
    return Pool(directory, node, page_bytes, persistent_pages(directory))


def persistent_pages(directory: Path) -> int:
    """The number to write to restore a pool: nr_hugepages includes surplus pages."""
    surplus = directory / "surplus_hugepages"
    return int((directory / "nr_hugepages").read_text()) - int(surplus.read_text())


@contextlib.contextmanager
def pools_kept() -> Iterator[None]:
    """Locks the pools of this host, and restores them at the end."""
    lock = os.open(HUGEPAGES, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("bench: another script is changing the pools of this host; waiting for it", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    directories = list(NODES.glob("node*/hugepages/hugepages-*kB")) or list(HUGEPAGES.glob("*"))
    before = {directory: persistent_pages(directory) for directory in directories}
    try:
        yield
    finally:
        for directory, pages in before.items():
            if persistent_pages(directory) != pages:
                (directory / "nr_hugepages").write_text(str(pages))
        os.close(lock)


def can_reserve() -> bool:
    return os.access(next(HUGEPAGES.glob("*/nr_hugepages"), HUGEPAGES / "none"), os.W_OK)
