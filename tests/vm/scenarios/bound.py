# SPDX-License-Identifier: LGPL-2.1-or-later
"""MariaDB by its own files: nothing says how large it is, and it is reserved early what it takes, on
the node that it is bound to."""

from guestlib import (
    DEFAULT_PAGE_BYTES,
    MIB,
    check,
    check_equal,
    hugeplan,
    hugetlb_mappings,
    instance,
    output,
    pools,
    unit,
    used_nodes,
    wait_for,
)
from scenario import Boot, Node, Scenario

UNIT = "mariadb.service"
NODE = 1
CACHES = 16  # MiB, of each of the key caches
BUFFER_POOL = 160
# The pool, its alignment, two log buffers of 16 MiB, the key caches.
LEAST = (BUFFER_POOL + 2 * 16) * MIB // DEFAULT_PAGE_BYTES
FIGURE = LEAST + (3 * 2 + 2 * CACHES) * MIB // DEFAULT_PAGE_BYTES


def by_its_own_files() -> None:
    explained = hugeplan("explain mariadb")["sizes"][0]
    check_equal(explained["pages"], FIGURE, "the figure is that of the option files")
    check_equal(pools(), {0: 0, NODE: FIGURE}, "that many pages are reserved")
    check_equal(instance("mariadb")["verdict"], "ready", "the instance is ready")
    wait_for(lambda: unit(UNIT) != "activating", 90)
    if not check_equal(unit(UNIT), "active", "MariaDB runs"):
        return
    mapped = hugetlb_mappings(unit(UNIT, "MainPID"))
    check_equal(used_nodes(mapped), {NODE}, "every page of it is on its node")
    taken = sum(one.sizes["Size"] for one in mapped)
    pages = taken // DEFAULT_PAGE_BYTES
    check(LEAST <= pages <= FIGURE, "InnoDB is huge, and nothing is missing", pages)
    check(FIGURE - pages <= 3 + 3, "hardly anything is left over", pages)
    version = output("mariadbd --version")
    check("10.11." in version, "of a version that was measured", version)


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        "/etc/hugeplan.d/20-mariadb.conf": (
            f"[Instance]\nEngine=mariadb\nNodes={NODE}\nPlacement=bind\n"
        ),
        "/etc/mysql/mariadb.conf.d/90-hugeplan-vm.cnf": f"""\
[mariadb-5.5]
innodb_buffer_pool_size = 1T
[mariadbd]
large-pages
loose-innodb-buffer-pool-size = {BUFFER_POOL}M
key_buffer = {CACHES}M
aria_pagecache_buffer_size = {CACHES}M
""",
    },
    enable=(UNIT,),
    boots=(Boot(by_its_own_files),),
)
