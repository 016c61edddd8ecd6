# SPDX-License-Identifier: LGPL-2.1-or-later
"""Memory fails under databases that are bound to its node. An error in a free huge page that is reserved leaves the page
in its pool, where it counts as free: without one more page, the database that touches its last page is killed. A page
that the kernel takes out of the pool is replaced, and so is a page in use whose database starts again."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from pathlib import Path

from guestlib import *
from memory import pages_service
from scenario import Boot, Node, Scenario

NODE = 1
TOUCHED, LATER = 20, 30
PLANNED = TOUCHED + LATER
MEMORY = Path("/sys/devices/system/memory")
FAILED = SYSTEM_NODES / f"node{NODE}/memory_failure/failed"
# While pages are reserved for bound units, hugeplan looks once a minute.
LIMIT_SEC = 80

# Documentation/admin-guide/mm/pagemap.rst
SMALL_PAGE = 4096
HEAD, HUGE, POISONED = 1 << 15, 1 << 17, 1 << 19
FRAME = (1 << 55) - 1


def fails() -> None:
    for name in ("touched", "later"):
        systemctl(f"start {name}.service")
    check_equal(pools("free_hugepages"), {0: 0, NODE: LATER}, "later has not touched its pages yet, and no other is free")
    with contextlib.suppress(OSError):  # it tells that the page has an error
        error("hard", next(free_pages()))
    check_equal((FAILED.read_text(), pool(NODE, "free_hugepages")), ("1\n", LATER), "the kernel counts a bad page as free")
    check(wait_for(lambda: pool(NODE) == PLANNED + 1, LIMIT_SEC), "the pool gets one more page", pools())
    error("soft", page_of("touched"))
    check(wait_for(lambda: pool(NODE) == PLANNED + 1, LIMIT_SEC), "a page that was moved away is replaced", pools())
    output("systemctl kill --signal=USR1 later.service")
    check(wait_for(lambda: pool(NODE, "free_hugepages") == 1), "later touches all of its pages", pools("free_hugepages"))
    check_equal(unit("later.service"), "active", "and lives on")
    error("hard", page_of("touched"))
    systemctl("restart touched.service")
    check_equal(pool(NODE), PLANNED + 2, "the page in use is replaced for the next start")
    check_equal([instance(name)["verdict"] for name in ("touched", "later")], ["ready", "ready"], "both are ready")
    found = sh("hugeplanctl check").stdout
    check("[memory-errors]" in found and "hugetlb-unlimited" not in found, "check names the cause", found)
    check("conflict" not in found, "check has nothing to say of hugeplan itself", found)


def error(kind: str, frame: int) -> None:
    (MEMORY / f"{kind}_offline_page").write_text(str(frame * SMALL_PAGE))


def free_pages() -> Iterator[int]:
    """The first frames of huge pages that nobody has touched."""
    with open("/proc/kpageflags", "rb", 0) as flags, open("/proc/kpagecount", "rb", 0) as counts:
        at = 0
        while data := flags.read(SMALL_PAGE * 8):
            for value in struct.unpack(f"={len(data) // 8}Q", data):
                if value & (HEAD | HUGE | POISONED) == HEAD | HUGE:
                    counts.seek(at * 8)
                    if counts.read(8) == bytes(8):
                        yield at
                at += 1


def page_of(name: str) -> int:
    """The frame of the first huge page of a unit."""
    pid = unit(f"{name}.service", "MainPID")
    with open(f"/proc/{pid}/pagemap", "rb", 0) as file:
        file.seek(hugetlb_mappings(pid)[0].start // SMALL_PAGE * 8)
        return struct.unpack("=Q", file.read(8))[0] & FRAME


def bound(name: str, pages: int) -> str:
    return f"[Instance]\nUnit={name}.service\nPages={pages}\nNodes={NODE}\nPlacement=bind\n"


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    suites=("trixie",),
    files={
        "/etc/hugeplan.d/20-touched.conf": bound("touched", TOUCHED),
        "/etc/hugeplan.d/20-later.conf": bound("later", LATER),
        "/etc/systemd/system/touched.service": pages_service(f"hold {TOUCHED}"),
        "/etc/systemd/system/later.service": pages_service(f"reserve {LATER}"),
    },
    # The other kernel handles no memory errors.
    boots=(Boot(fails, limit_sec=300, kernel="linux-image-amd64"),),
)
