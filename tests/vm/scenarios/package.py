# SPDX-License-Identifier: LGPL-2.1-or-later
"""The life of the Debian package on a host with a running PostgreSQL: installed it changes nothing;
with one drop-in and a reboot the database has its pages and its gate; upgrade, removal, purge and
the way back never touch the database or its pages."""

from __future__ import annotations

import subprocess
from pathlib import Path

from databases import check_postgresql, drop_in, postgresql_files, postgresql_unit, psql
from guestlib import (
    MIB,
    check,
    check_equal,
    failed_units,
    hugetlb_mappings,
    instance,
    output,
    pools,
    said,
    sh,
    thp,
    unit,
    wait_for,
)
from scenario import Boot, Node, Scenario

POSTGRESQL = 15
UNIT = postgresql_unit(POSTGRESQL)
SHARED_BYTES = 128 * MIB
CONFIGURATION = Path("/etc/hugeplan.d")
DROP_IN = CONFIGURATION / "20-postgresql.conf"
STATE = CONFIGURATION / ".boots.json"
LIMITS = Path("/etc/security/limits.d/60-hugeplan.conf")
LIMIT_SEC = 1200  # dpkg is slow under emulation on a busy host
UNITS = (
    "hugeplan.socket",
    "hugeplan.service",
    "hugeplan-boot.service",
    "hugeplan-boot-good.service",
    "hugeplan-check.service",
    "hugeplan-limits.service",
)


def changes_nothing() -> None:
    pid, before = unit(UNIT, "MainPID"), host()
    check_equal(unit(UNIT), "active", "PostgreSQL runs")
    check_dpkg("--install /vm/packages/older.deb", "the package is installed")
    check_equal(host(), before, "pools and transparent huge pages are as they were")
    check_equal(unit(UNIT, "MainPID"), pid, "PostgreSQL was not touched")
    check_equal(drop_in(UNIT), "", "PostgreSQL's unit got no gate")
    check_equal(list(CONFIGURATION.iterdir()), [], "/etc/hugeplan.d is there, and empty")
    for name in UNITS:
        check_equal(output(f"systemctl is-enabled {name}"), "enabled", f"{name} is enabled")
    check_equal(unit("hugeplan.service"), "active", "hugeplan runs")
    check_equal(failed_units(), [], "no unit failed")
    check(sh("getent group hugetlb").returncode == 0, "the group hugetlb was made")
    known = output("journalctl --list-catalog")
    check("The group hugetlb is missing" in known, "the journal knows the messages")
    DROP_IN.write_text(
        f"[Instance]\nEngine=postgresql\nUnit={UNIT}\nMemory={SHARED_BYTES}\nPriority=80\n"
    )


def lives_on() -> None:
    check_postgresql(POSTGRESQL, SHARED_BYTES, {0, 1})
    check_equal(instance("postgresql")["verdict"], "ready", "its pages are reserved")
    check("hugeplanctl wait postgresql" in drop_in(UNIT), "its unit waits for them", drop_in(UNIT))
    check(sum(pools().values()) > 0, "there are pools", pools())
    wait_for(lambda: unit("hugeplan-boot-good.service") == "active")
    upgrade()
    remove_and_return()
    purge_and_return()


def upgrade() -> None:
    before, daemon, counted = database(), unit("hugeplan.service", "MainPID"), STATE.read_text()
    check_dpkg("--install /vm/packages/newer.deb", "the package is upgraded")
    versions = [output(f"dpkg-deb --field /vm/packages/{one}.deb Version") for one in NAMES]
    check_equal(version(), versions[1], "the newer one is installed")
    check(sh("dpkg --compare-versions {} lt {}".format(*versions)).returncode == 0, "it is newer")
    check(unit("hugeplan.service", "MainPID") not in ("0", daemon), "the daemon was restarted")
    check_equal(database(), before, "an upgrade leaves PostgreSQL its process and its pages")
    check_equal(instance("postgresql")["verdict"], "ready", "the new daemon knows the instance")
    check_equal(STATE.read_text(), counted, "an upgrade counts as no boot")
    check_equal(failed_units(), [], "no unit failed")


def remove_and_return() -> None:
    before = database()
    check_dpkg("--remove hugeplan", "the package is removed")
    check_equal(database(), before, "removal leaves PostgreSQL its process and its pages")
    check(DROP_IN.exists() and STATE.exists(), "removal leaves the configuration and the state")
    check_equal(drop_in(UNIT), "", "the gate is gone with the package")
    check(unit("hugeplan.service") != "active", "hugeplan no longer runs")
    done = sh(f"systemctl restart {UNIT}")
    check(done.returncode == 0, "PostgreSQL can be restarted without hugeplan", said(done))
    check_postgresql_pages()
    before = database()
    check_dpkg("--install /vm/packages/newer.deb", "the package is installed again")
    check_equal(database(), before, "the way back leaves PostgreSQL its process and its pages")
    check_equal(instance("postgresql")["verdict"], "ready", "the instance is ready again")
    check("hugeplanctl wait" in drop_in(UNIT), "the gate is back")


def purge_and_return() -> None:
    before = database()
    LIMITS.write_text("# written by hugeplan\n")
    done = check_dpkg("--purge hugeplan", "the package is purged")
    check("stay reserved" in done.stdout, "the purge says that the pool stays", said(done))
    check_equal(database(), before, "a purge leaves PostgreSQL its process and its pages")
    left = [path for path in (CONFIGURATION, LIMITS, Path("/run/hugeplan")) if path.exists()]
    left += Path("/run/sysctl.d").glob("*hugeplan*")
    left += Path("/etc/systemd/system").rglob("hugeplan[.-][!v]*")
    check_equal(left, [], "configuration, state and enabled units are gone")
    check_dpkg("--install /vm/packages/newer.deb", "the package is installed after the purge")
    check_equal(database(), before, "nothing is given back that nobody describes any more")
    check_equal(unit("hugeplan.service"), "active", "hugeplan runs")
    check_equal(list(CONFIGURATION.iterdir()), [], "/etc/hugeplan.d is empty again")


NAMES = ("older", "newer")


def check_dpkg(arguments: str, text: str) -> subprocess.CompletedProcess[str]:
    done = sh(f"DEBIAN_FRONTEND=noninteractive dpkg {arguments}", timeout_sec=300)
    check(done.returncode == 0, text, said(done))
    return done


def host() -> tuple[object, ...]:
    """All that hugeplan manages, as the kernel has it."""
    settings = "kernel.shmmax kernel.shmall vm.hugetlb_shm_group vm.nr_overcommit_hugepages"
    return pools(), thp(), output(f"sysctl {settings}")


def database() -> tuple[object, ...]:
    """What no package operation may change. Not the free pages: PostgreSQL may touch more of its own."""
    pid = unit(UNIT, "MainPID")
    starts = [(one.start, one.sizes["Size"]) for one in hugetlb_mappings(pid)]
    started = Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[19]  # proc(5), field 22
    return pid, started, starts, pools()


def check_postgresql_pages() -> None:
    shared = hugetlb_mappings(unit(UNIT, "MainPID"))
    check(shared, "PostgreSQL has huge pages without hugeplan, too")
    check_equal(output(psql("SELECT count(*) FROM t")), "50000", "PostgreSQL still answers")


def version() -> str:
    return output("dpkg-query --show --showformat='${Version}' hugeplan")


SCENARIO = Scenario(
    is_packaged=True,
    nodes=(Node("1G"), Node("1G")),
    files={
        **postgresql_files(POSTGRESQL, "128MB"),
        f"/etc/postgresql/{POSTGRESQL}/main/conf.d/zz-hugeplan-vm.conf": "huge_pages = try\n",
    },
    boots=(
        Boot(changes_nothing, limit_sec=LIMIT_SEC),
        Boot(
            lives_on,
            files={
                f"/etc/postgresql/{POSTGRESQL}/main/conf.d/zz-hugeplan-vm.conf": "huge_pages = on\n"
            },
            limit_sec=LIMIT_SEC,
        ),
    ),
)
