# SPDX-License-Identifier: LGPL-2.1-or-later
"""MariaDB and PostgreSQL are bound to the second node, with sizes from their own files. Their pages are reserved early, on
that node only. Then MariaDB is no longer bound: the cover is as large as what it may take from PostgreSQL."""

from databases import check_postgresql, drop_in, installed_postgresql, postgresql_files, postgresql_unit
from guestlib import *
from memory import configure, pages_service, reload_all
from scenario import Boot, Content, Node, Scenario

MARIADB = "mariadb.service"
MEASURED = ("10.11.", "11.8.")  # of MariaDB
NODE = 1
CACHES = 16  # MiB, of each of the key caches
BUFFER_POOL = 160
# LEAST is the buffer pool and two log buffers of 16 MiB. FIGURE also has the alignment and the key caches.
LEAST = (BUFFER_POOL + 2 * 16) * MIB // DEFAULT_PAGE_BYTES
FIGURE = LEAST + (3 * 2 + 2 * CACHES) * MIB // DEFAULT_PAGE_BYTES
SHARED_BUFFERS = 128
COLD = 60  # pages of a unit that touches none


def bound() -> None:
    reserved_early()
    mariadb()
    postgresql()
    configure("20-mariadb", "[Instance]\nEngine=mariadb\n")
    reload_all()
    for turn in ("first", "second"):
        systemctl(f"restart {MARIADB}", f"{turn} restart of MariaDB")
        covered(turn)
        check_equal(takers(), {MARIADB}, f"{turn}: PostgreSQL is protected from it")
    # This unit passes its gate and fails before it has mapped a page.
    configure("30-fails", "[Instance]\nUnit=fails.service\nPages=150\n")
    reload_all()
    check(sh("systemctl start fails.service").returncode != 0, "a third unit fails after its gate")
    check(wait_for(lambda: takers() == {MARIADB}), "failed: the daemon learns that it is gone", takers())
    check(not [one for one in status()["problems"] if one["id"] == "pages-exposed"], "failed: none is exposed")
    covered("failed")
    systemctl(f"stop {MARIADB}")
    covered("stopped")
    check_equal(takers(), set(), "stopped: no cover is for MariaDB")
    beside_an_unbound_one()
    check_verified(MARIADB, postgresql_unit(installed_postgresql()))


def reserved_early() -> None:
    explained = hugeplan("explain mariadb")["sizes"][0]
    check_equal(explained["pages"], FIGURE, "MariaDB's size is that of its option files")
    for name in ("mariadb", "postgresql"):
        check_equal(instance(name)["verdict"], "ready", f"{name} is ready")
    pages = instance("postgresql")["pagesGranted"]
    check_equal(pools(), {0: 0, NODE: FIGURE + pages}, "the pages are on that node only")


def mariadb() -> None:
    wait_for(lambda: unit(MARIADB) != "activating", 90)
    if not check_equal(unit(MARIADB), "active", "MariaDB runs"):
        return
    check(active_since(MARIADB) > active_since("hugeplan.service"), "MariaDB has started after hugeplan")
    gated(MARIADB, "mariadb")
    mapped = hugetlb_mappings(unit(MARIADB, "MainPID"))
    check_equal(used_nodes(mapped), {NODE}, "all pages of MariaDB are on its node")
    pages = sum(one.size for one in mapped) // DEFAULT_PAGE_BYTES
    check(LEAST <= pages <= FIGURE, "MariaDB has its buffer pool on huge pages", pages)
    check(FIGURE - pages <= 3 + 3, "hardly any page is left over", pages)
    version = output("mariadbd --version")
    check(any(one in version for one in MEASURED), "the version of MariaDB is one that was measured", version)


def postgresql() -> None:
    version = installed_postgresql()
    check_postgresql(version, SHARED_BUFFERS * MIB, {NODE})
    gated(postgresql_unit(version), "postgresql")


def beside_an_unbound_one() -> None:
    configure("30-fails", None)
    configure("40-cold", f"[Instance]\nUnit=cold.service\nPages={COLD}\n")
    reload_all()
    systemctl(f"start cold.service {MARIADB}", "a unit that is bound to no node starts, and MariaDB again")
    check(wait_for(lambda: "X-Seen=" in Path("/etc/hugeplan.d/20-mariadb.conf.d/90-learned.conf").read_text(), 90),
          "MariaDB is counted, by the daemon or by a reload before it")
    covered("with neighbours")
    check(sum(one["cover"] for one in status()["pools"]) > 0, "PostgreSQL has a cover", status())
    systemctl(f"stop cold.service {MARIADB} {postgresql_unit(installed_postgresql())}", "all units stop")
    for name in ("20-mariadb", "30-postgresql", "40-cold"):
        configure(name, None)
    reload_all()
    wait_for(lambda: not any(pools().values()), 20)
    check_equal(set(pools().values()), {0}, "without instances all pages are given back")


def takers() -> set[str]:
    return {one["taker"] for one in status()["covers"]}


def covered(when: str) -> None:
    """Within 10 s, which is long before the daemon looks again by itself."""
    wait_for(is_at_rest, 10)
    check(is_at_rest(), f"{when}: each pool is exactly plan and cover", status()["pools"])
    lost = [one for one in status()["instances"] if one["verdict"] != "ready"]
    check_equal(lost, [], f"{when}: all instances are ready")
    idle = [one for one in hugeplan("verify")["waste"] if one["kind"] == "idle"]
    check_equal(idle, [], f"{when}: verify finds no idle page")


def is_at_rest() -> bool:
    pools_are = all(one["total"] == one["owned"] + one["cover"] for one in status()["pools"])
    return pools_are and not hugeplan("plan")["steps"]


def gated(name: str, instance_name: str) -> None:
    text = drop_in(name).splitlines()
    for line in ("After=hugeplan.service", "NUMAPolicy=bind", f"NUMAMask={NODE}"):
        check(line in text, f"{name} has {line}", text)
    gate = f"ExecStartPre=/usr/bin/hugeplanctl wait {instance_name}"
    check(gate in text, f"{name} has its gate", text)


def files(version: int) -> dict[str, Content]:
    return {
        "/etc/hugeplan.d/30-postgresql.conf": (
            f"[Instance]\nEngine=postgresql\nUnit={postgresql_unit(version)}\n"
            f"Nodes={NODE}\nPlacement=bind\n"
        ),
        **postgresql_files(version, f"{SHARED_BUFFERS}MB"),
    }


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    suites=("trixie",),
    more_suites=("bookworm",),
    files={
        "/etc/systemd/system/cold.service": pages_service(f"reserve {COLD}"),
        "/etc/systemd/system/cold.service.d/zz.conf": "[Service]\nNUMAPolicy=default\n",
        "/etc/systemd/system/fails.service": "[Service]\nType=oneshot\nExecStart=/bin/false\n",
        "/etc/hugeplan.d/20-mariadb.conf": (f"[Instance]\nEngine=mariadb\nNodes={NODE}\nPlacement=bind\n"),
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
    files_on={"bookworm": files(15), "trixie": files(17)},
    enable=(MARIADB,),
    boots=(Boot(bound, limit_sec=1200),),
)
