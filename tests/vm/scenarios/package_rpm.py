# SPDX-License-Identifier: LGPL-2.1-or-later
"""The life of the RPM package, as `package` has it of the DEB, by RPM's ways: presets decide what is
enabled, and an installation starts nothing; an upgrade marks the daemon, and systemd's triggers
restart it; there is no purge. What Debian lacks of an RPM host is in systemd.rpmspec."""

from __future__ import annotations

import re
from pathlib import Path

from databases import drop_in
from guestlib import *
from packaged import (
    GUARD,
    LIMIT_SEC,
    STATE,
    UNITS,
    check_enabled,
    check_known,
    check_reserved,
    check_without_hugeplan,
    database,
    database_unit,
    host,
    packaged_scenario,
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
    check_equal(host(), before, "pools and transparent huge pages are as they were")
    check_equal(unit(database_unit(), "MainPID"), pid, "PostgreSQL was not touched")
    check_equal(drop_in(database_unit()), "", "PostgreSQL's unit got no gate")
    write_drop_in()


def lives_on() -> None:
    check_reserved()
    for name in UNITS:
        check(int(unit(name, "InactiveExitTimestampMonotonic")) > 0, f"{name} was started at boot")
    upgrade()
    # Erase and return.
    before = database()
    check_erased()
    check_equal(database(), before, "erasing it leaves PostgreSQL its process and its pages")
    check_without_hugeplan()
    before = database()
    check_rpm("--install /vm/packages/newer.rpm", "the package is installed again")
    check_enabled()
    check_started()
    check_equal(database(), before, "the way back leaves PostgreSQL its process and its pages")
    check_equal(instance("postgresql")["verdict"], "ready", "the instance is ready again")
    check("hugeplanctl wait" in drop_in(database_unit()), "the gate is back")
    # A site that decides for itself what runs on its hosts.
    check_erased()
    SITE_PRESET.parent.mkdir(parents=True, exist_ok=True)
    SITE_PRESET.write_text("disable hugeplan*\n")
    check_rpm("--install /vm/packages/newer.rpm", "the package is installed where it is not wanted")
    check_enabled("disabled")


def upgrade() -> None:
    before, daemon, counted = database(), unit("hugeplan.service", "MainPID"), STATE.read_text()
    guard = GUARD.stat().st_ino
    socket, older = unit("hugeplan.socket", SINCE), version()
    check_rpm("--upgrade /vm/packages/newer.rpm", "the package is upgraded")
    check(version() != older, "the newer one is installed", older)
    check_rpm("--verify hugeplan", "its files are as they were packaged")
    check(unit("hugeplan.service", "MainPID") not in ("0", daemon), "the daemon was restarted")
    check_equal(unit("hugeplan.socket", SINCE), socket, "and the socket was not")
    check_equal(database(), before, "an upgrade leaves PostgreSQL its process and its pages")
    check_equal(instance("postgresql")["verdict"], "ready", "the new daemon knows the instance")
    check_equal(STATE.read_text(), counted, "an upgrade counts as no boot")
    check_equal(GUARD.stat().st_ino, guard, "the guard was never missing")
    check_enabled()
    check_equal(failed_units(), [], "no unit failed")


SINCE = "ActiveEnterTimestampMonotonic"


def check_rpm(arguments: str, text: str) -> None:
    done = sh(f"rpm {arguments}", timeout_sec=300)
    # rpm goes on when a scriptlet fails, and a scriptlet when systemctl does.
    complaint = re.search(r"scriptlet failed|^Failed ", done.stderr, re.MULTILINE)
    check(done.returncode == 0 and not complaint, text, said(done))


def check_erased() -> None:
    check_rpm("--erase hugeplan", "the package is erased")
    left = [*Path("/etc/systemd/system").rglob("hugeplan[d.-][!v]*")]
    left += [path for path in PROGRAMS if path.exists()]
    check_equal(left, [], "its programs and its enabled units are gone")


def check_started() -> None:
    """The two units that do not belong to a moment of the boot."""
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
