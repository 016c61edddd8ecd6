# SPDX-License-Identifier: LGPL-2.1-or-later
"""What scenarios do to a guest while it runs: its memory, its pools, hugeplan's configuration."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

from guestlib import *

PAGES = HOME / "pages"
CONFIG = Path("/etc/hugeplan.d")

# Nearly all free memory of a node of 1G. One in eight of its small pages is kept, and one in ninety of these cannot be
# moved, so half of the places for a huge page have no page that cannot be moved.
FRAGMENTED_MIB = 850
KEPT_ONE_IN = 8
PINNED_ONE_IN = 90
LEFT_FREE = 64 * MIB

# The pool counts that a witness unit found.
WITNESS = Path("/run/witness")


def pools_witness(order: str, page_bytes: int = DEFAULT_PAGE_BYTES) -> str:
    """A unit, to be enabled, that writes the pool counts of one moment of early boot to WITNESS."""
    counts = f"{SYSTEM_NODES}/node*/hugepages/hugepages-{page_bytes // 1024}kB/nr_hugepages"
    return f"""\
[Unit]
DefaultDependencies=no
{order}
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'cat {counts} >{WITNESS}'
[Install]
WantedBy=sysinit.target
"""


def witnessed() -> list[int]:
    """The pool counts in WITNESS, in the order of the nodes' names."""
    return [int(count) for count in WITNESS.read_text().split()]


def pages_service(arguments: str) -> str:
    """A unit that runs the tool `pages`, and is active once that has its pages."""
    return f"""\
[Service]
Type=notify
ExecStart={PAGES} {arguments}
TimeoutStartSec=100
"""


def start_pages(name: str, arguments: str, more: str = "") -> None:
    """Runs the tool `pages` as NAME.service, with more lines for its section, until that has its pages."""
    Path(f"/run/systemd/system/{name}.service").write_text(f"{pages_service(arguments)}{more}\n")
    output(f"systemctl daemon-reload && systemctl start {name}.service", timeout_sec=90)


def stop_pages(name: str) -> None:
    output(f"systemctl stop {name}.service")


def fragment(node: int, is_cache_kept: bool) -> None:
    """Fragments a node of 1G: small pages are scattered over it, some of them not movable, and the rest is full of page
    cache. Some 235 huge pages can be had then, but only by dropping cache and moving pages.

    is_cache_kept: the cache belongs to a service with MemoryMin=. The kernel reclaims none of that for an allocation, so
    one write gets a quarter of the pages or less each time. Otherwise one write gets between a tenth and all.
    """
    start_pages("fragmenter", f"fragment {FRAGMENTED_MIB} {KEPT_ONE_IN} {PINNED_ONE_IN} {node}")
    sparse = Path("/var/tmp/sparse")
    with sparse.open("wb") as file:
        file.truncate(meminfo(node)["MemFree"] - LEFT_FREE)
    protection = "1G" if is_cache_kept else "0"
    output(f"systemctl set-property --runtime cache.slice MemoryMin={protection}")
    start_pages("cache", f"cache {sparse} {node}", f"Slice=cache.slice\nMemoryMin={protection}")


def pool_file(node: int) -> Path:
    return SYSTEM_NODES / f"node{node}/hugepages/hugepages-{DEFAULT_PAGE_BYTES // 1024}kB/nr_hugepages"


@contextlib.contextmanager
def watched_pools(nodes: Collection[int]) -> Iterator[dict[int, tuple[int, int]]]:
    """Reads the pools of these nodes without pause; the dict gets the lowest and the highest counts at the end."""
    files = [str(pool_file(node)) for node in nodes]
    seen: dict[int, tuple[int, int]] = {}
    process = subprocess.Popen([PAGES, "lowest", *files], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    process.stdout.readline()
    try:
        yield seen
    finally:
        process.terminate()
        for node, line in zip(nodes, process.stdout, strict=True):
            _, low, high, _ = line.split()
            seen[node] = (int(low), int(high))
        process.wait()


def configure(name: str, text: str | None) -> None:
    """Writes a file of /etc/hugeplan.d, or removes it; without a reload."""
    path = CONFIG / f"{name}.conf"
    if text is None:
        path.unlink()
    else:
        path.write_text(text)


def reload() -> str:
    """The output of `hugeplanctl reload`, which has to succeed."""
    return succeeds("hugeplanctl reload", "hugeplanctl reload succeeds", timeout_sec=120).stdout


def reload_all() -> str:
    """Has systemd read its units again first, because gates and other lines of drop-ins may have changed."""
    systemctl("daemon-reload")
    return reload()
