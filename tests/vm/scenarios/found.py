# SPDX-License-Identifier: LGPL-2.1-or-later
"""`import --write` finds and describes the servers of Debian's packages, which then start with their pages: PostgreSQL by
its cluster, MariaDB by its unit, Tomcat by the scripts that its unit starts; and a running instance of MariaDB's
template."""

from pathlib import Path

from databases import postgresql_files, postgresql_unit
from guestlib import *
from memory import reload_all
from scenario import Boot, Node, Scenario

VERSION = 17
POSTGRESQL = postgresql_unit(VERSION)
TOMCAT = Path("/etc/default/tomcat10")
SECOND = "mariadb@second.service"
UNITS = (POSTGRESQL, "mariadb.service", "tomcat10.service", SECOND)


def suggestions() -> dict[str, dict]:
    return {one["unit"]: one for one in hugeplan("import")["databases"]}


def mapped_pages(name: str) -> int:
    sizes = (one.size for one in hugetlb_mappings(unit(name, "MainPID")))
    return sum(sizes) // DEFAULT_PAGE_BYTES


def check_server(name: str, pages: int) -> None:
    done = sh(f"systemctl restart {name}", timeout_sec=240)
    if not check(done.returncode == 0, f"{name} starts", said(done)):
        return
    # Java maps its heap after its unit has become active.
    taken = wait_for(lambda: mapped_pages(name), 120)
    check(0 < taken <= pages, f"{name} takes no more than was found", (taken, pages))
    described = next(one for one in hugeplan("status")["instances"] if one["unit"] == name)
    check_equal(instance(described["name"])["verdict"], "ready", f"{name} has its pages")


def found() -> None:
    # As in MariaDB's manual: a group of options, a directory, and `systemctl start`.
    output("mariadb-install-db --user=mysql --datadir=/var/lib/mysql-second", timeout_sec=180)
    systemctl(f"start {SECOND}", "a second MariaDB runs by the template")
    # Tomcat uses no huge pages by default. import does not run a script that computes a size.
    found = suggestions()
    check(not found["tomcat10.service"]["path"], "Tomcat without large pages is not proposed")
    before = TOMCAT.read_text()
    TOMCAT.write_text(f'{before}JAVA_OPTS="-XX:+UseLargePages -Xmx$(expr 32 + 32)m"\n')
    why = suggestions()["tomcat10.service"]["reason"]
    check("computed by a script" in (why or ""), "Tomcat with a heap that a script computes is not proposed", why)
    TOMCAT.write_text(f'{before}JAVA_HOME={Path("/usr/lib/jvm/default-java").resolve()}\n'
                      'JAVA_OPTS="$JAVA_OPTS -XX:+UseLargePages -XX:+UseG1GC -XX:ReservedCodeCacheSize=64m -Xmx64m"\n')
    told = hugeplan("import")
    names = [one["name"] for one in told["passedOver"]]
    check("mariadb@bootstrap.service" in names, "import lists what it passed over", names)
    check("postgresql.service" not in names, "Debian's unit for all clusters, which starts no server, is not listed", names)
    by_unit = suggestions()
    for name in UNITS:
        check(name in by_unit and by_unit[name]["path"], f"{name} is proposed", by_unit.get(name))
    succeeds("hugeplanctl import --write", "the files are written")
    reload_all()
    for name in UNITS:
        check_server(name, by_unit[name]["pages"])
    check(not any(one["path"] for one in suggestions().values()), "nothing is left to be described")
    becomes_exact(by_unit["tomcat10.service"]["pages"])


def becomes_exact(by_rule: int) -> None:
    """The pages that Java had when it stopped are its exact size for the next start."""
    unit_name = "tomcat10.service"
    taken = mapped_pages(unit_name)
    systemctl(f"stop {unit_name}", "Tomcat stops")
    name = next(one["name"] for one in hugeplan("status")["instances"] if one["unit"] == unit_name)
    exact = f"In effect: {taken} pages of 2M, measured: exact"
    check(wait_for(lambda: exact in output(f"hugeplanctl explain {name}")),
          f"{by_rule} pages by the rule: the measured size is exact", output(f"hugeplanctl explain {name}"))
    systemctl(f"start {unit_name}", "Tomcat starts again")
    check_equal(next(one for one in hugeplan("status")["instances"] if one["name"] == name)["pagesWanted"], taken,
                "it is granted the measured size")
    check_equal(wait_for(lambda: mapped_pages(unit_name) == taken and taken, 120), taken, "it maps the same number of pages again")


SCENARIO = Scenario(
    nodes=(Node("3G"),),
    suites=(),
    more_suites=("trixie",),
    files={
        **postgresql_files(VERSION, "64MB"),
        f"/etc/postgresql/{VERSION}/main/conf.d/found.conf": "huge_pages = try\n",
        "/etc/mysql/mariadb.conf.d/90-found.cnf": (
            "[mariadbd]\nlarge-pages\ninnodb_buffer_pool_size = 64M\nkey_buffer_size = 8M\n"
            "aria_pagecache_buffer_size = 8M\n"
            "[mariadbd.second]\ndatadir = /var/lib/mysql-second\nport = 3307\n"
            "socket = /run/mysqld/second.sock\npid-file = /run/mysqld/second.pid\n"
        ),
    },
    boots=(Boot(found, limit_sec=900),),
)
