# SPDX-License-Identifier: LGPL-2.1-or-later
"""Hugetlb limits: MariaDB and PostgreSQL share a pool, and both have their pages in either order of starts. A unit that
takes more than its own pages gets ENOMEM. The limits stay in effect whatever systemd does, and for each kind of unit."""

from pathlib import Path

from databases import check_postgresql, drop_in, installed_postgresql, postgresql
from guestlib import *
from memory import configure, pages_service, reload_all, start_pages, stop_pages
from scenario import Boot, Node, Scenario

MARIADB = "mariadb.service"
SHARED_BUFFERS = 128  # MiB
LEAST = (128 + 2 * 16) * MIB // DEFAULT_PAGE_BYTES  # of MariaDB: the buffer pool and two log buffers
FOUND = 30  # pages that existed before hugeplan, and are for others
GREEDY = 20  # pages planned for MariaDB, so few that without a hugetlb limit it takes those of PostgreSQL


def hugetlb_limits() -> None:
    configured()
    # In both orders.
    for first, second in ((MARIADB, postgresql()), (postgresql(), MARIADB)):
        for name in (first, second):
            systemctl(f"start {name}", f"{first} first: {name} starts")
        check_postgresql(installed_postgresql(), SHARED_BUFFERS * MIB, {0})
        check_equal(unit(MARIADB), "active", "MariaDB runs")
        check_equal(limit(MARIADB), GREEDY, "MariaDB is kept to what was planned for it")
        check(promised(MARIADB) <= GREEDY, "and has no more", promised(MARIADB))
        check_equal(limit(MARIADB, "1GB"), 0, "nor any of another size")
        pages = instance("pg")["pagesGranted"]
        check_equal(limit(postgresql()), pages, "PostgreSQL is kept to the server's own answer")
        check_equal(promised(postgresql()), pages, "and has taken all of it")
        check_equal(pools()[0], FOUND + pages + GREEDY, "nothing more was reserved")
        systemctl(f"stop {MARIADB} {postgresql()}", "both stop")
    # A hugetlb limit of the size that the gate has just learned is high enough.
    plan("20-mariadb", "[Instance]\nEngine=mariadb\n")
    systemctl(f"start {MARIADB}", "MariaDB starts")
    taken = sum(one.size for one in hugetlb_mappings(unit(MARIADB, "MainPID")))
    check(taken // DEFAULT_PAGE_BYTES >= LEAST, "all of it is huge", taken)
    check_equal(limit(MARIADB), instance("mariadb")["pagesGranted"], "within its hugetlb limit")
    # This unit would take free pages of PostgreSQL.
    service("neighbour", "hold 11")
    plan("40-neighbour", "[Instance]\nUnit=neighbour.service\nPages=10\nIsolate=yes\n")
    check(sum(pools("free_hugepages").values()) > 11, "pages lie free", pools("free_hugepages"))
    done = sh("systemctl start neighbour.service", timeout_sec=120)
    check(done.returncode != 0, "a neighbour that takes more than its own does not start")
    check(any("Cannot allocate memory" in line for line in messages("-t", "pages")), "it gets ENOMEM")
    systemctl(f"start {postgresql()}", "PostgreSQL still does")
    check_postgresql(installed_postgresql(), SHARED_BUFFERS * MIB, {0})
    service("neighbour", "hold 10")
    sh("systemctl daemon-reload")
    systemctl("start neighbour.service", "with its own it starts")
    check_equal(limit("neighbour.service"), 10, "and has its hugetlb limit")
    whatever_systemd_does()
    however_a_unit_is_built()
    checked()
    switched_off()


# The guest


def group(name: str) -> Path:
    """The control group of a running unit."""
    return Path("/sys/fs/cgroup" + unit(name, "ControlGroup"))


def limit(name: str, size: str = "2MB") -> int | None:
    """The pages of 2M that a unit may take; None: no limit."""
    text = (group(name) / f"hugetlb.{size}.rsvd.max").read_text().strip()
    return None if text == "max" or int(text) >= 1 << 62 else int(text) // DEFAULT_PAGE_BYTES


def promised(name: str) -> int:
    """The pages of 2M that a unit has mapped."""
    return int((group(name) / "hugetlb.2MB.rsvd.current").read_text()) // DEFAULT_PAGE_BYTES


def plan(name: str, text: str | None) -> None:
    configure(name, text)
    reload_all()  # for gate and hugetlb limit


def service(name: str, arguments: str, more: str = "") -> None:
    """A unit that is not started yet; `more` are lines of its section [Service]."""
    Path(f"/etc/systemd/system/{name}.service").write_text(pages_service(arguments) + more)


def configured() -> None:
    directory = Path(f"/etc/postgresql/{installed_postgresql()}/main/conf.d")
    (directory / "hugeplan-vm.conf").write_text(
        f"huge_pages = on\nfsync = off\nshared_buffers = {SHARED_BUFFERS}MB\n"
    )
    configure("30-pg", f"[Instance]\nEngine=postgresql\nUnit={postgresql()}\n")
    plan("20-mariadb", f"[Instance]\nEngine=mariadb\nPages={GREEDY}\n")
    text = drop_in(MARIADB)
    check(text.count("hugeplanctl") == 1 and "hugeplanctl wait mariadb" in text,
          "the gate alone runs in the unit: hugetlb limits are hugepland's", text)


def whatever_systemd_does() -> None:
    pages, pid = limit(postgresql()), unit(postgresql(), "MainPID")
    for command in ("daemon-reload", "daemon-reexec",
                    f"set-property --runtime {postgresql()} CPUWeight=200 MemoryHigh=1500M",
                    "restart hugeplan.service", f"restart {MARIADB}"):
        systemctl(command, f"systemctl {command}")
        check_equal(limit(postgresql()), pages, "the hugetlb limit stays as it was")
    check_equal(unit(postgresql(), "MainPID"), pid, "and PostgreSQL runs on")
    check(limit(MARIADB) is not None, "MariaDB has its own again")


HARDENED = """\
User=nobody
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectControlGroups=yes
ProtectKernelTunables=yes
ProtectProc=invisible
PrivateDevices=yes
PrivateNetwork=yes
SystemCallFilter=@system-service
"""

KINDS = {
    "hardened": HARDENED,
    "delegated": "Delegate=yes\n",
    "sliced": "Slice=db-first.slice\n",
    "within": "Delegate=yes\nSlice=db-first.slice\nUser=nobody\n",
}


def however_a_unit_is_built() -> None:
    for name, more in KINDS.items():
        service(name, "hold 4", more)
        configure(f"50-{name}", f"[Instance]\nUnit={name}.service\nPages=4\nIsolate=yes\n")
    reload_all()
    for name in KINDS:
        systemctl(f"start {name}.service", f"{name}: it starts")
        check_equal(limit(f"{name}.service"), 4, f"{name}: and is limited")
        systemctl(f"stop {name}.service", f"{name}: it stops")
        configure(f"50-{name}", None)
    reload_all()


def findings() -> set[str]:
    return {one["id"] for one in hugeplan("check")["problems"]}


def checked() -> None:
    ours = {"hugetlb-limit-missing", "hugetlb-limit-wrong", "hugetlb-unlimited"}
    check_equal(findings() & ours, set(), "check has nothing to say of hugetlb limits")
    file = group("neighbour.service") / "hugetlb.2MB.rsvd.max"
    file.write_text("max")
    check_equal(findings() & ours, {"hugetlb-limit-missing"}, "check finds a limit that was removed")
    file.write_text(str(15 * DEFAULT_PAGE_BYTES))
    check_equal(findings() & ours, {"hugetlb-limit-wrong"}, "check finds a limit that was changed")
    systemctl("restart neighbour.service", "the neighbour is started again")
    check_equal(findings() & ours, set(), "and all is well")
    start_pages("stranger", "hold 20")
    check_equal(findings() & ours, {"hugetlb-unlimited"}, "check finds a user of huge pages without a limit")
    stop_pages("stranger")
    systemctl("stop neighbour.service", "the neighbour stops")
    limit_of_all = Path("/sys/fs/cgroup/system.slice/hugetlb.2MB.rsvd.max")
    limit_of_all.write_text(str((promised(MARIADB) + promised(postgresql()) + 9) * DEFAULT_PAGE_BYTES))
    check("cgroup-max" in findings(), "check finds a limit of all units that is below their sum")
    done = sh("systemctl start neighbour.service", timeout_sec=120)
    said_why = any("system.slice is" in line for line in messages("-t", "hugeplanctl"))
    check(done.returncode != 0 and said_why, "the gate refuses, and says why")
    limit_of_all.write_text("max")
    plan("40-neighbour", None)


def switched_off() -> None:
    systemctl(f"stop {postgresql()} {MARIADB}", "both stop")
    plan("20-mariadb", f"[Instance]\nEngine=mariadb\nPages={GREEDY}\nIsolate=no\n")
    systemctl(f"start {MARIADB}", "MariaDB starts")
    check_equal(limit(MARIADB), None, "it is not limited")
    check(promised(MARIADB) > GREEDY, "and takes what is PostgreSQL's", promised(MARIADB))
    systemctl(f"stop {MARIADB}", "MariaDB stops")


SCENARIO = Scenario(
    nodes=(Node("2G"),),
    suites=(),
    more_suites=("bookworm", "trixie", "forky"),
    files={
        "/etc/hugeplan.d/00-host.conf": "[Host]\nExistingPages=keep\n",
        "/etc/mysql/mariadb.conf.d/90-hugeplan-vm.cnf": """\
[mariadbd]
large-pages
innodb_buffer_pool_size = 128M
key_buffer_size = 16M
aria_pagecache_buffer_size = 16M
""",
    },
    boots=(Boot(hugetlb_limits, kernel_args=f"hugepages={FOUND}", limit_sec=900),),
)
