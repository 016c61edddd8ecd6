# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Debian package on a host with a running PostgreSQL. Its installation changes nothing. With a description and a reboot
the database has its pages and its gate. Upgrade, removal, purge and installation never affect the database or its
pages."""

from __future__ import annotations

import re
from pathlib import Path

from databases import drop_in
from guestlib import *
from packaged import (
    CONFIGURATION,
    LIMIT_SEC,
    LIMITS,
    check_dpkg,
    check_enabled,
    check_installed_again,
    check_known,
    check_reserved,
    check_without_hugeplan,
    database,
    database_unit,
    host,
    packaged_scenario,
    upgrading,
    write_drop_in,
)
from scenario import Boot, Content


def changes_nothing() -> None:
    pid, before = unit(database_unit(), "MainPID"), host()
    check_equal(unit(database_unit()), "active", "PostgreSQL runs")
    check_dpkg("--install /vm/packages/older.deb", "the package is installed")
    check_equal(host(), before, "pools and transparent huge pages are as before")
    check_equal(unit(database_unit(), "MainPID"), pid, "PostgreSQL is the same process")
    check_equal(drop_in(database_unit()), "", "PostgreSQL's unit has no gate")
    check_enabled()
    check_equal(unit("hugeplan.service"), "active", "hugeplan runs")
    check_equal(failed_units(), [], "no unit failed")
    check_known()
    write_drop_in()


def lives_on() -> None:
    check_reserved()
    upgrade()
    before = database()
    done = check_dpkg("--remove hugeplan", "the package is removed")
    check(re.search(r"hugeplan: [1-9]\d* huge pages stay reserved", done.stdout),
          "the removal prints how many pages stay reserved", said(done))
    check_equal(database(), before, "removal leaves PostgreSQL its process and its pages")
    check_without_hugeplan()
    before = database()
    check_dpkg("--install /vm/packages/newer.deb", "the package is installed again")
    check_equal(database(), before, "this installation leaves PostgreSQL its process and its pages")
    check_installed_again()
    purge_and_return()


def upgrade() -> None:
    with upgrading():
        check_dpkg("--install /vm/packages/newer.deb", "the package is upgraded")
    versions = [output(f"dpkg-deb --field /vm/packages/{one}.deb Version") for one in NAMES]
    check_equal(version(), versions[1], "the newer package is installed")
    check(sh("dpkg --compare-versions {} lt {}".format(*versions)).returncode == 0, "its version is higher")


def purge_and_return() -> None:
    before = database()
    LIMITS.write_text("# written by hugeplan\n")
    done = check_dpkg("--purge hugeplan", "the package is purged")
    check("stay reserved" in done.stdout, "the purge prints that pages stay reserved", said(done))
    check_equal(database(), before, "a purge leaves PostgreSQL its process and its pages")
    left = [path for path in (CONFIGURATION, LIMITS, Path("/run/hugeplan")) if path.exists()]
    left += Path("/run/sysctl.d").glob("*hugeplan*")
    left += Path("/etc/systemd/system").rglob("hugeplan[d.-][!v]*")
    check_equal(left, [], "configuration, state and enabled units are removed")
    check_dpkg("--install /vm/packages/newer.deb", "the package is installed after the purge")
    check_equal(database(), before, "pages without a description are not given back")
    check_equal(unit("hugeplan.service"), "active", "hugeplan runs")
    check_equal(list(CONFIGURATION.iterdir()), [], "/etc/hugeplan.d is empty again")
    # While a database without a description runs, hugeplan keeps pages that it may still take.
    output(f"systemctl stop {database_unit()}")
    succeeds(f"sh {AUTOPKGTEST}", "the package's own test passes", timeout_sec=300)


AUTOPKGTEST = "/vm/autopkgtest"
# On the host that boots the guest.
SOURCE = Path(__file__).resolve().parent / "../../../debian/tests/life"


def autopkgtest() -> dict[str, Content]:
    return {AUTOPKGTEST: SOURCE.read_text()} if SOURCE.exists() else {}


NAMES = ("older", "newer")


def version() -> str:
    return output("dpkg-query --show --showformat='${Version}' hugeplan")


SCENARIO = packaged_scenario(
    suites=("bookworm",),
    more_suites=("trixie", "forky"),
    files=autopkgtest(),
    boots=(Boot(changes_nothing, limit_sec=LIMIT_SEC), Boot(lives_on, limit_sec=LIMIT_SEC)),
)
