# SPDX-License-Identifier: LGPL-2.1-or-later
"""arm64: kernels with base pages of 4K and of 16K have different sizes of huge pages. Instances use two sizes at once.
PostgreSQL has pages of the same size on both kernels, which is the default size on one of them only."""

import mmap

from databases import check_postgresql, drop_in, postgresql_files, postgresql_unit
from guestlib import *
from scenario import Boot, Node, Scenario

VERSION = 17
POSTGRESQL = postgresql_unit(VERSION)
SHARED_BUFFERS = 256  # MiB
KIB = 1 << 10
LARGE = 32 * MIB
SMALL_MEMORY = 100 * MIB
NODE = 1  # PostgreSQL's


def base_of_4k() -> None:
    serves({"64K": 64 * KIB, "2M": 2 * MIB, "32M": LARGE, "1G": 1 << 30}, "64K")


def base_of_16k() -> None:
    serves({"2M": 2 * MIB, "32M": LARGE, "1G": 1 << 30}, "2M")


def serves(sizes: dict[str, int], small: str) -> None:
    kernels = {int(path.name[len("hugepages-"):-2]) * KIB for path in Path("/sys/kernel/mm/hugepages").iterdir()}
    check_equal(kernels, set(sizes.values()), "the kernel's sizes")
    check_equal(instance("pg")["verdict"], "ready", "PostgreSQL is ready")
    granted = instance_nodes("pg")
    check_equal(granted, {NODE: instance("pg")["pagesGranted"]}, "with pages of its node")
    check_equal(pools(page_bytes=LARGE), {0: 0, **granted}, "which the kernel has there")
    check("hugeplanctl wait pg" in drop_in(POSTGRESQL), "a gate stands before it", drop_in(POSTGRESQL))
    check_postgresql(VERSION, SHARED_BUFFERS * MIB, {NODE}, LARGE)
    check_equal(instance("small")["pageSizeBytes"], sizes[small], f"small has pages of {small}, the first there are")
    pages = SMALL_MEMORY // sizes[small]
    check_equal(instance_nodes("small"), {0: pages // 2, 1: pages // 2}, "on both nodes")
    check_equal(pools(page_bytes=sizes[small]), instance_nodes("small"), "and the kernel agrees")
    told = instance("none")["reason"]
    check(f"no huge pages of 512M (they have {', '.join(sizes)})" in told, "what there is not is refused", told)
    page_tables()
    check_units(POSTGRESQL)
    check_equal(messages("--priority=err", "-u", "hugeplan.service"), [], "the daemon logs no error")


def page_tables() -> None:
    """The page tables that hugeplan shows are those of the kernel for as much memory as the instance has."""
    base = mmap.PAGESIZE
    explained = output("hugeplanctl explain small")
    told = re.search(r"up to (\d+)K per session with pages of (\d+)K", explained)
    if not check(told, "page tables are told", explained):
        return
    check_equal(int(told[2]) * KIB, base, "by the base page")
    before = table_bytes()
    with mmap.mmap(-1, SMALL_MEMORY) as memory:
        for offset in range(0, SMALL_MEMORY, base):
            memory[offset] = 1
        taken = table_bytes() - before
    # The first and the last table may be partly used, and there are tables of higher levels.
    check(0 <= taken - int(told[1]) * KIB + base <= 4 * base, "and they are the kernel's", (told[1], taken))


def table_bytes() -> int:
    return int(re.search(r"VmPTE:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) * KIB


SCENARIO = Scenario(
    nodes=(Node("1536M"), Node("1536M")),
    suites=(),
    more_suites=("trixie-arm64",),
    files={
        "/etc/hugeplan.d/20-pg.conf": f"""\
[Instance]
Engine=postgresql
Unit={POSTGRESQL}
PageSize=32M
Nodes={NODE}
Placement=bind
""",
        "/etc/hugeplan.d/30-small.conf": f"[Instance]\nMemory={SMALL_MEMORY // MIB}M\nPageSize=64K,2M\n",
        "/etc/hugeplan.d/40-none.conf": "[Instance]\nPages=1\nPageSize=512M\n",
        f"/etc/postgresql/{VERSION}/main/conf.d/page_size.conf": "huge_page_size = 32MB\n",
        **postgresql_files(VERSION, f"{SHARED_BUFFERS}MB"),
    },
    boots=(Boot(base_of_4k, limit_sec=600), Boot(base_of_16k, kernel="linux-image-arm64-16k", limit_sec=600)),
)
