# SPDX-License-Identifier: LGPL-2.1-or-later
"""`hugeplanctl verify` compared with the kernel's counts: PostgreSQL and MariaDB on two nodes use their pages, fall back to
small pages (completely, and in part), are idle, and are stopped."""

import json
from pathlib import Path
from typing import Any

from databases import charged, installed_postgresql, postgresql, psql
from guestlib import *
from memory import configure
from scenario import Boot, Node, Scenario

MARIADB = "mariadb.service"
MARIADB_CONF = Path("/etc/mysql/mariadb.conf.d/90-verify.cnf")
DAY = 24 * 60 * 60


def set_huge_pages(value: str) -> None:
    etc = Path(f"/etc/postgresql/{installed_postgresql()}/main")
    (etc / "start.conf").write_text("manual\n")
    (etc / "conf.d/hugeplan-vm.conf").write_text(f"huge_pages = {value}\nshared_buffers = 256MB\nmax_connections = 40\nfsync = off\n")


def allow_only(name: str, pages: int | None) -> None:
    """Limits the huge pages of a unit, although its gate passes."""
    directory = Path(f"/etc/systemd/system/{name}.d")
    limit = directory / "99-limit.conf"
    if pages is None:
        limit.unlink()
    else:
        directory.mkdir(exist_ok=True)
        own = "/sys/fs/cgroup$$(sed -n s/^0:://p /proc/self/cgroup)/hugetlb.2MB.rsvd.max"
        limit.write_text(f"[Service]\nExecStartPre=+/bin/sh -c 'echo {pages * DEFAULT_PAGE_BYTES} >\"{own}\"'\n")
    output("systemctl daemon-reload")


def proof(name: str, prefix: str = "") -> dict[str, Any]:
    done = sh(f"{prefix} hugeplanctl verify {name} --json=short")
    found: dict[str, Any] = json.loads(done.stdout)
    check_equal(done.returncode, 0 if found["asPlanned"] else 3, f"{name}: the exit status says as much")
    return found


def page_tables(name: str) -> int:
    """The bytes of page tables of all processes of the unit."""
    group = Path("/sys/fs/cgroup" + unit(name, "ControlGroup"))
    texts = [Path(f"/proc/{pid}/status").read_text() for pid in (group / "cgroup.procs").read_text().split()]
    return sum(int(line.split()[1]) * 1024 for text in texts for line in text.splitlines()
               if line.startswith("VmPTE:"))


def as_the_kernel_has_it(name: str, database: str) -> None:
    """Compares verify with the kernel's counts, which may change meanwhile: they have to be the same before and after."""
    kernel, found = None, {}
    for _ in range(20):
        before = (charged(database), page_tables(database))
        found = proof(name)
        kernel = (charged(database), page_tables(database))
        if kernel == before:
            break
    assert kernel
    use, tables = kernel
    check_equal(found["outcome"], "in-use", f"{name} uses its pages")
    check_equal(found["server"]["pid"], int(unit(database, "MainPID")), f"{name}: the process of its server")
    check_equal(found["touchedBytes"], sum(use.used.values()) * DEFAULT_PAGE_BYTES, f"{name}: pages touched")
    check_equal(found["mappedBytes"], found["touchedBytes"] + use.promised * DEFAULT_PAGE_BYTES,
                f"{name}: pages mapped")
    mapped = sum(one.size for one in hugetlb_mappings(unit(database, "MainPID")))
    check_equal(found["mappedBytes"], mapped, f"{name}: the mapped pages of smaps")
    (row,) = found["server"]["pages"]
    check_equal({node["node"]: node["pages"] for node in row["nodes"]}, use.used, f"{name}: by node")
    check_equal(found["pageTableBytes"], tables, f"{name}: its page tables")
    check_equal(instance(name)["outcome"], "in-use", f"{name}: status says so, too")


def others_see(name: str, outcome: str) -> None:
    seen = proof(name, "runuser -u nobody --")
    check_equal(seen["outcome"], outcome, f"{name}: everyone may see the outcome {outcome}")
    mine = proof(name)
    check_equal((seen["mappedBytes"], seen["touchedBytes"]), (mine["mappedBytes"], mine["touchedBytes"]),
                f"{name}: everyone sees the same figures")


def in_use() -> None:
    set_huge_pages("on")
    MARIADB_CONF.write_text("[mariadbd]\nlarge-pages\ninnodb_buffer_pool_size = 200M\nkey_buffer_size = 16M\n"
                            "aria_pagecache_buffer_size = 16M\n")
    configure("20-pg", f"[Instance]\nEngine=postgresql\nUnit={postgresql()}\n")
    configure("30-maria", f"[Instance]\nEngine=mariadb\nUnit={MARIADB}\n")
    output("systemctl daemon-reload && systemctl restart hugeplan.service")
    check_equal(proof("pg")["outcome"], "not-started", "PostgreSQL does not run yet")
    for name in (postgresql(), MARIADB):
        systemctl(f"restart {name}")
    wait_for(lambda: sh(psql("SELECT 1")).stdout.strip() == "1")
    as_the_kernel_has_it("pg", postgresql())
    as_the_kernel_has_it("maria", MARIADB)
    others_see("pg", "in-use")
    check_equal(sh("hugeplanctl verify").returncode, 0, "all is as planned")
    metrics_are_written()


def metrics_are_written() -> None:
    """The user of hugeplan-metrics.service can read what others have mapped: also of MariaDB, which has a capability that
    its owner does not have."""
    systemctl("start hugeplan-metrics.service", "the metrics are written")
    file = Path("/run/hugeplan-metrics/hugeplan.prom")
    text = file.read_text() if file.exists() else ""
    for name in ("pg", "maria"):
        check(f'hugeplan_database_outcome{{database="{name}",outcome="in-use"}} 1\n' in text, f"{name}: its outcome is in the metrics", text)
    check_equal((file.owner(), file.stat().st_mode & 0o777), ("hugeplan-metrics", 0o644), "owner and mode of the metrics")


def idle() -> None:
    up = float(Path("/proc/uptime").read_text().split()[0])
    Path("/run/uptime").write_text(f"{up + 3 * DAY + 60:.2f} 0.00\n")
    later = "unshare --mount sh -c 'mount --bind /run/uptime /proc/uptime; exec \"$@\"' later"
    found = proof("pg", later)
    check_equal(found["outcome"], "idle", "three days later it has touched few of them")
    text = output(f"{later} hugeplanctl verify")
    check("\nidle 3 d  " in text, "verify shows since when it is idle", text)
    rows = [row for row in json.loads(output(f"{later} hugeplanctl verify --json=short"))["waste"]
            if (row["kind"], row["instance"]) == ("untouched", "pg")]
    check_equal([row["pages"] for row in rows], [charged(postgresql()).promised], "pages that it never touched are waste")


def fell_back() -> None:
    set_huge_pages("try")
    allow_only(postgresql(), 0)
    allow_only(MARIADB, 60)
    for name in (postgresql(), MARIADB):
        systemctl(f"restart {name}")
    pg, maria = proof("pg"), proof("maria")
    check_equal((pg["outcome"], pg["mappedBytes"]), ("fell-back", 0), "PostgreSQL fell back completely")
    check("huge_pages=try" in pg["why"], "the reason is huge_pages=try", pg)
    check(pg["smallBytes"] >= 256 << 20, "its segment is in small pages", pg)
    check_equal(maria["outcome"], "fell-back", "MariaDB fell back")
    check(0 < maria["mappedBytes"] <= 60 * DEFAULT_PAGE_BYTES, "MariaDB fell back in part", maria)
    check(maria["smallBytes"] >= 200 << 20, "its buffer pool is in small pages", maria)
    check("silently" in maria["why"], "the reason says that MariaDB fell back silently", maria)
    for name in ("pg", "maria"):
        check_equal(instance(name)["outcome"], "fell-back", f"{name}: status says so, too")
        check_equal(instance(name)["verdict"], "ready", f"{name}: its pages are reserved")
    waste = {row["instance"]: row["pages"] for row in hugeplan("verify")["waste"] if row["kind"] == "fell-back"}
    check_equal(waste.get("pg"), instance("pg")["pagesGranted"], "PostgreSQL's pages are wasted")
    seen = proof("pg", "runuser -u nobody --")
    check(seen["outcome"] in ("starting", "fell-back"), "other users see it by the hugetlb controller, after a minute", seen)
    set_huge_pages("off")
    systemctl(f"restart {postgresql()}")
    check_equal(proof("pg")["why"], "its huge_pages is off", "the reason is huge_pages=off")


def mended() -> None:
    set_huge_pages("on")
    for name in (postgresql(), MARIADB):
        allow_only(name, None)
        systemctl(f"restart {name}")
    as_the_kernel_has_it("pg", postgresql())
    systemctl(f"stop {postgresql()}")
    check_equal(proof("pg")["outcome"], "not-started", "stopped, it is not started")
    waste = {row["instance"]: row["kind"] for row in hugeplan("verify")["waste"]}
    check_equal(waste.get("pg"), "disabled", "its pages are waste, because the unit is disabled")


def verified() -> None:
    in_use()
    idle()
    fell_back()
    mended()


SCENARIO = Scenario(
    nodes=(Node("1536M"), Node("1G")),
    more_suites=("trixie",),
    boots=(Boot(verified, limit_sec=600),),
)
