# SPDX-License-Identifier: LGPL-2.1-or-later
"""Functions for the scenarios of the DEB and of the RPM: a host with a running PostgreSQL and a description of it, and what
a package must not change."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from databases import (
    check_postgresql,
    drop_in,
    installed_postgresql,
    postgresql_files,
    postgresql_unit,
    psql,
)
from guestlib import *
from memory import pool_file
from scenario import Boot, Content, Node, Scenario

# The versions of Debian 12 to 14. The configuration of a server that does not exist is ignored.
POSTGRESQL_VERSIONS = (15, 17, 18)
SHARED_BYTES = 128 * MIB
CONFIGURATION = Path("/etc/hugeplan.d")
DROP_IN = CONFIGURATION / "20-postgresql.conf"
STATE = CONFIGURATION / ".boots"
LIMITS = Path("/etc/security/limits.d/60-hugeplan.conf")
GUARD = Path("/run/sysctl.d/zz-hugeplan.conf")
SYSCTL = Path("/etc/sysctl.d/50-mine.conf")  # of an administrator
LIMIT_SEC = 1200  # a package manager is slow under emulation on a busy host
UNITS = ("hugeplan.socket", "hugeplan.service", "hugeplan-check.service")


def database_unit() -> str:
    return postgresql_unit(installed_postgresql())


def host() -> tuple[object, ...]:
    """The kernel's settings that hugeplan manages."""
    settings = "kernel.shmmax kernel.shmall vm.hugetlb_shm_group vm.nr_overcommit_hugepages"
    return pools(), thp(), output(f"sysctl {settings}")


def database() -> tuple[Any, ...]:
    """What a package must not change. Free pages are not part of it, because PostgreSQL may touch more pages."""
    pid = unit(database_unit(), "MainPID")
    starts = [(one.start, one.size) for one in hugetlb_mappings(pid)]
    started = Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[19]  # proc(5), field 22
    return pid, started, starts, pools()


def write_drop_in() -> None:
    DROP_IN.write_text(
        f"[Instance]\nEngine=postgresql\nUnit={database_unit()}\n"
        f"Memory={SHARED_BYTES}\nPriority=80\n"
    )


def check_dpkg(arguments: str, text: str) -> subprocess.CompletedProcess[str]:
    return succeeds(f"DEBIAN_FRONTEND=noninteractive dpkg {arguments}", text, timeout_sec=300)


def check_known() -> None:
    """What the installation has made besides the files of the package."""
    check(sh("getent group hugetlb").returncode == 0, "the group hugetlb exists")
    known = output("journalctl --list-catalog")
    check("The group hugetlb is missing" in known, "the catalog has the messages")
    check_equal(list(CONFIGURATION.iterdir()), [], "/etc/hugeplan.d exists and is empty")


def check_enabled(expected: str = "enabled") -> None:
    for name in UNITS:
        is_now = sh(f"systemctl is-enabled {name}").stdout.strip()
        check_equal(is_now, expected, f"{name} is {expected}")


def check_reserved() -> None:
    check_postgresql(installed_postgresql(), SHARED_BYTES, {0, 1})
    check_equal(instance("postgresql")["verdict"], "ready", "the instance is ready")
    text = drop_in(database_unit())
    check("hugeplanctl wait postgresql" in text, "its unit has a gate", text)
    check(sum(pools().values()) > 0, "pages are reserved", pools())
    check(GUARD.exists(), "the guard against systemd-sysctl exists")
    wait_for(lambda: unit("hugeplan-check.service") == "active")
    systemctl("start hugeplan-metrics.timer", "an optional unit is started")


@contextlib.contextmanager
def upgrading() -> Iterator[None]:
    """The package is upgraded meanwhile."""
    before, daemon, counted = database(), unit("hugeplan.service", "MainPID"), STATE.read_text()
    guard = GUARD.stat().st_ino
    yield
    check(unit("hugeplan.service", "MainPID") not in ("0", daemon), "the daemon was restarted")
    check_equal(database(), before, "an upgrade leaves PostgreSQL its process and its pages")
    check_equal(instance("postgresql")["verdict"], "ready", "the instance is ready for the new daemon")
    check_equal(STATE.read_text(), counted, "an upgrade is not counted as a boot")
    check_equal(GUARD.stat().st_ino, guard, "the guard stayed in place")
    check_enabled()
    check_equal(failed_units(), [], "no unit failed")


def check_installed_again() -> None:
    check_equal(instance("postgresql")["verdict"], "ready", "the instance is ready again")
    check("hugeplanctl wait" in drop_in(database_unit()), "its unit has a gate again")


def check_without_hugeplan() -> None:
    """The package is removed: the database runs, and can be restarted."""
    check(DROP_IN.exists() and STATE.exists(), "the removal leaves the configuration and the state")
    check_equal(drop_in(database_unit()), "", "the gate is removed with the package")
    running = [name for name in (*UNITS, "hugeplan-metrics.timer") if unit(name) != "inactive"]
    check_equal(running, [], "hugeplan no longer runs")
    # hugeplan no longer overrides the administrator's settings.
    check(not GUARD.exists(), "the guard against systemd-sysctl is removed")
    before = pools()
    more = sum(before.values()) + 8
    SYSCTL.write_text(f"vm.nr_hugepages = {more}\n")
    output("systemctl restart systemd-sysctl.service")
    check_equal(sum(pools().values()), more, "sysctl.d is in effect again")
    SYSCTL.unlink()
    for node, pages in before.items():
        pool_file(node).write_text(str(pages))
    systemctl(f"restart {database_unit()}", "PostgreSQL can be restarted without hugeplan")
    check(hugetlb_mappings(unit(database_unit(), "MainPID")), "PostgreSQL has huge pages without hugeplan")
    check_equal(output(psql("SELECT count(*) FROM t")), "50000", "PostgreSQL answers without hugeplan")


def packaged_scenario(
    boots: tuple[Boot, Boot],
    suites: tuple[str, ...],
    more_suites: tuple[str, ...] = (),
    files: dict[str, Content] | None = None,
) -> Scenario:
    """Two boots. In the first one PostgreSQL starts without huge pages if there are none, in the second one it fails."""
    return Scenario(
        is_packaged=True,
        suites=suites,
        more_suites=more_suites,
        nodes=(Node("1G"), Node("1G")),
        files={**_postgresql("try"), **(files or {})},
        boots=(boots[0], Boot(boots[1].check, files=_postgresql("on"), limit_sec=boots[1].limit_sec)),
    )


def _postgresql(huge_pages: str) -> dict[str, Content]:
    files: dict[str, Content] = {}
    for version in POSTGRESQL_VERSIONS:
        files |= postgresql_files(version, f"{SHARED_BYTES // MIB}MB")
        settings = f"/etc/postgresql/{version}/main/conf.d/zz-hugeplan-vm.conf"
        files[settings] = f"huge_pages = {huge_pages}\n"
    return files
