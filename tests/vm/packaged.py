# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scenarios of the DEB and of the RPM have in common: a host with a running PostgreSQL,
one drop-in for it, and what no package may ever touch."""

from __future__ import annotations

import subprocess
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

# Of Debian 12 to 14: a configuration whose server does not exist is nobody's cluster.
POSTGRESQL_VERSIONS = (15, 17, 18)
SHARED_BYTES = 128 * MIB
CONFIGURATION = Path("/etc/hugeplan.d")
DROP_IN = CONFIGURATION / "20-postgresql.conf"
STATE = CONFIGURATION / ".boots"
LIMITS = Path("/etc/security/limits.d/60-hugeplan.conf")
GUARD = Path("/run/sysctl.d/zz-hugeplan.conf")
SYSCTL = Path("/etc/sysctl.d/50-mine.conf")  # an administrator's own
LIMIT_SEC = 1200  # a package manager is slow under emulation on a busy host
UNITS = ("hugeplan.socket", "hugeplan.service", "hugeplan-check.service")


def database_unit() -> str:
    return postgresql_unit(installed_postgresql())


def host() -> tuple[object, ...]:
    """All that hugeplan manages, as the kernel has it."""
    settings = "kernel.shmmax kernel.shmall vm.hugetlb_shm_group vm.nr_overcommit_hugepages"
    return pools(), thp(), output(f"sysctl {settings}")


def database() -> tuple[Any, ...]:
    """What no package may change. Not the free pages: PostgreSQL may touch more of its own."""
    pid = unit(database_unit(), "MainPID")
    starts = [(one.start, one.sizes["Size"]) for one in hugetlb_mappings(pid)]
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
    """What an installed package has made beyond its own files."""
    check(sh("getent group hugetlb").returncode == 0, "the group hugetlb was made")
    known = output("journalctl --list-catalog")
    check("The group hugetlb is missing" in known, "the journal knows the messages")
    check_equal(list(CONFIGURATION.iterdir()), [], "/etc/hugeplan.d is there, and empty")


def check_enabled(expected: str = "enabled") -> None:
    for name in UNITS:
        is_now = sh(f"systemctl is-enabled {name}").stdout.strip()
        check_equal(is_now, expected, f"{name} is {expected}")


def check_reserved() -> None:
    check_postgresql(installed_postgresql(), SHARED_BYTES, {0, 1})
    check_equal(instance("postgresql")["verdict"], "ready", "its pages are reserved")
    text = drop_in(database_unit())
    check("hugeplanctl wait postgresql" in text, "its unit waits for them", text)
    check(sum(pools().values()) > 0, "there are pools", pools())
    check(GUARD.exists(), "and a guard that keeps systemd-sysctl from moving their pages")
    wait_for(lambda: unit("hugeplan-check.service") == "active")


def check_without_hugeplan() -> None:
    """The package is gone: the database lives on, and starts again."""
    check(DROP_IN.exists() and STATE.exists(), "removal leaves the configuration and the state")
    check_equal(drop_in(database_unit()), "", "the gate is gone with the package")
    running = [name for name in ("hugeplan.socket", "hugeplan.service") if unit(name) == "active"]
    check_equal(running, [], "hugeplan no longer runs")
    # What an administrator wrote there, hugeplan no longer overrides.
    check(not GUARD.exists(), "the guard against systemd-sysctl is gone")
    before = pools()
    more = sum(before.values()) + 8
    SYSCTL.write_text(f"vm.nr_hugepages = {more}\n")
    output("systemctl restart systemd-sysctl.service")
    check_equal(sum(pools().values()), more, "sysctl.d counts again")
    SYSCTL.unlink()
    for node, pages in before.items():
        pool_file(node).write_text(str(pages))
    systemctl(f"restart {database_unit()}", "PostgreSQL can be restarted without hugeplan")
    shared = hugetlb_mappings(unit(database_unit(), "MainPID"))
    check(shared, "PostgreSQL has huge pages without hugeplan, too")
    check_equal(output(psql("SELECT count(*) FROM t")), "50000", "PostgreSQL still answers")


def packaged_scenario(
    boots: tuple[Boot, Boot],
    suites: tuple[str, ...],
    more_suites: tuple[str, ...] = (),
    files: dict[str, Content] | None = None,
) -> Scenario:
    """Two boots: without huge pages if there are none, then with them or not at all."""
    first, second = boots
    return Scenario(
        is_packaged=True,
        suites=suites,
        more_suites=more_suites,
        nodes=(Node("1G"), Node("1G")),
        files={**_postgresql("try"), **(files or {})},
        boots=(first, Boot(second.check, files=_postgresql("on"), limit_sec=second.limit_sec)),
    )


def _postgresql(huge_pages: str) -> dict[str, Content]:
    files: dict[str, Content] = {}
    for version in POSTGRESQL_VERSIONS:
        files |= postgresql_files(version, f"{SHARED_BYTES // MIB}MB")
        settings = f"/etc/postgresql/{version}/main/conf.d/zz-hugeplan-vm.conf"
        files[settings] = f"huge_pages = {huge_pages}\n"
    return files
