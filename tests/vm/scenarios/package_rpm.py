# SPDX-License-Identifier: LGPL-2.1-or-later
"""The RPM package, tested like the DEB in `package`. Presets decide which units are enabled, and an installation starts
none. An upgrade marks the daemon, and systemd's triggers restart it. There is no purge. systemd.rpmspec has the parts of
an RPM host that Debian does not have."""

from __future__ import annotations

import re
from pathlib import Path

from databases import drop_in
from guestlib import *
from packaged import (
    LIMIT_SEC,
    UNITS,
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
from scenario import Boot

PROGRAMS = (Path("/usr/bin/hugeplanctl"), Path("/usr/lib/hugeplan"))
SITE_PRESET = Path("/etc/systemd/system-preset/10-site.preset")


def changes_nothing() -> None:
    pid, before = unit(database_unit(), "MainPID"), host()
    check_equal(unit(database_unit()), "active", "PostgreSQL runs")
    check_rpm("--install /vm/packages/systemd.rpm", "systemd is a package")
    check_rpm("--install /vm/packages/older.rpm", "the package is installed")
    check_rpm("--verify hugeplan", "its files are as they were packaged")
    check_enabled()
    check_known()
    check_equal(unit("hugeplan.service"), "inactive", "an installation starts nothing")
    check_started()
    check_equal(host(), before, "pools and transparent huge pages are as before")
    check_equal(unit(database_unit(), "MainPID"), pid, "PostgreSQL is the same process")
    check_equal(drop_in(database_unit()), "", "PostgreSQL's unit has no gate")
    write_drop_in()


def lives_on() -> None:
    check_reserved()
    for name in UNITS:
        check(int(unit(name, "InactiveExitTimestampMonotonic")) > 0, f"{name} was started at boot")
    upgrade()
    before = database()
    check_erased()
    check_equal(database(), before, "erasing it leaves PostgreSQL its process and its pages")
    check_without_hugeplan()
    before = database()
    check_rpm("--install /vm/packages/newer.rpm", "the package is installed again")
    check_enabled()
    check_started()
    check_equal(database(), before, "this installation leaves PostgreSQL its process and its pages")
    check_installed_again()
    # With a preset of the site.
    check_erased()
    SITE_PRESET.parent.mkdir(parents=True, exist_ok=True)
    SITE_PRESET.write_text("disable hugeplan*\n")
    check_rpm("--install /vm/packages/newer.rpm", "the package is installed on a host whose preset disables it")
    check_enabled("disabled")


def upgrade() -> None:
    socket, older = unit("hugeplan.socket", SINCE), version()
    with upgrading():
        check_rpm("--upgrade /vm/packages/newer.rpm", "the package is upgraded")
    check(version() != older, "the newer package is installed", older)
    check_rpm("--verify hugeplan", "its files are as they were packaged")
    check_equal(unit("hugeplan.socket", SINCE), socket, "the socket was not restarted")


SINCE = "ActiveEnterTimestampMonotonic"


def check_rpm(arguments: str, text: str) -> None:
    done = sh(f"rpm {arguments}", timeout_sec=300)
    # rpm exits with 0 although a scriptlet fails, and a scriptlet although systemctl fails.
    complaint = re.search(r"scriptlet failed|^Failed ", done.stderr, re.MULTILINE)
    check(done.returncode == 0 and not complaint, text, said(done))


def check_erased() -> None:
    check_rpm("--erase hugeplan", "the package is erased")
    left = [*Path("/etc/systemd/system").rglob("hugeplan[d.-][!v]*")]
    left += [path for path in PROGRAMS if path.exists()]
    check_equal(left, [], "its programs and its enabled units are gone")


def check_started() -> None:
    """Starts the two units that need no boot."""
    systemctl("start hugeplan.socket hugeplan.service", "it can be started")
    check_equal(unit("hugeplan.service"), "active", "hugeplan runs")
    check_equal(failed_units(), [], "no unit failed")


def version() -> str:
    return output("rpm --query --queryformat '%{VERSION}-%{RELEASE}' hugeplan")


SCENARIO = packaged_scenario(
    suites=(),
    more_suites=("trixie",),
    boots=(Boot(changes_nothing, limit_sec=LIMIT_SEC), Boot(lives_on, limit_sec=LIMIT_SEC)),
)
